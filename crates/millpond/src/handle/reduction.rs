//! Reductions: private copies that start as the identity. The runtime combines them before the next
//! other access ([TG](crate#sources) §2.2).
//!
//! All `reduce` accesses of one generation share a [`Reduction`]. Each task computes its part on a
//! private copy. When an access of another kind follows, or the scope ends, the front end first
//! spawns a *combine* task. A scheme sees this task as an `inout`, so no scheme needs to know about
//! reductions.
//!
//! The runtime combines parts as they arrive, so there are about as many parts as running tasks.
//! Under `deterministic`, it combines large parts in a tree of fixed shape, and small ones in
//! reference order at the end ([`combining`]). A later task reuses the storage of a combined part.
//!
//! An `accumulate` access is a member, too. Its body adds to a copy that holds what earlier bodies
//! added ([`copies`]). Under `deterministic`, it has a part of its own.

use std::ptr::NonNull;

use self::combining::{Block, ReductionParts, Shape, Spare};
use self::copies::Copies;
use self::erased::Operator;
use self::paths::Paths;
use self::tree::{Part, Range};
use super::datum::Datum;
use super::version::{Dropped, Version};
use crate::error::Label;
use crate::panics::{PanicPayload, catch};
use crate::sync::Guarded;
use crate::worker::current;
use crate::worker::turns::Turns;

mod combining;
mod copies;
mod erased;
mod inline;
mod operators;
mod paths;
mod tree;

pub(crate) use erased::{ReducerOps, ReducerRef};
pub(crate) use inline::{EndParts, MakeParts, Rooms};
pub use operators::{And, Append, Bits, Collects, Max, Min, Number, Or, Prod, Sum};
pub(crate) use paths::Path;

/// How values are combined: an associative and commutative operation with an identity
/// ([TG](crate#sources) §2.2).
///
/// Consecutive tasks with equal reducers (`==`, same type) belong to one generation and run at
/// once. Reducers of a type without size are equal; they are not compared. A reducer is no closure,
/// because closures cannot be compared. A panic in [`identity`](Reducer::identity),
/// [`combine`](Reducer::combine) or [`absorb`](Reducer::absorb) fails the task for which it is
/// called. Under [`deterministic`](crate::Builder::deterministic), a panic of `combine` or `absorb`
/// fails the combination instead of a task.
///
/// The comparison runs in the middle of a spawn, so it should only compare. If it panics, the
/// reducers count as unequal. It panics if it uses the session on which the task is spawned. If the
/// spawning thread is no worker of the session's runtime, it also panics if it opens a scope or
/// uses another session. A fork in it then runs its halves one after the other.
///
/// The comparison must not wait for a channel, a lock or a thread either. Of the threads that are
/// no workers, only one at a time spawns on a runtime's sessions. So the awaited thread may itself
/// wait for this spawn.
///
/// ```
/// use millpond::{Handle, Reducer, Runtime, Spawn};
///
/// #[derive(Clone, Copy, PartialEq, Eq)]
/// struct Longest;
/// impl Reducer<String> for Longest {
///     fn identity(&self, _like: &String) -> String {
///         String::new()
///     }
///     fn combine(&self, into: &mut String, part: String) {
///         if (part.len(), &part) > (into.len(), into) {
///             *into = part;
///         }
///     }
/// }
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let longest = Handle::new(String::from("ox"));
/// rt.scope(|s| {
///     for word in ["a", "heron", "carp"] {
///         s.spawn(longest.reduce(Longest), move |part| part.push_str(word));
///     }
/// })?;
/// assert_eq!(longest.into_inner()?, "heron");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how values of type `{T}` are combined",
    label = "not a reducer of `{T}`",
    note = "use a reducer that fits (`Sum`, `Prod`, `Min`, `Max`: numbers; `And`, `Or`: bits; `Append`: collections), \
            or implement `Reducer<{T}>` for a type of your own"
)]
pub trait Reducer<T>: Copy + Eq + Send + Sync + 'static {
    /// Whether values are large, like a tile of a matrix. By default, a value is large if `T`
    /// itself takes more than 64 bytes. This does not count a collection's elements, so set it for
    /// a reducer that combines `Vec`s element by element.
    ///
    /// Large parts are combined in a tree, whose halves may run at once.
    ///
    /// Under [`deterministic`](crate::Builder::deterministic), parts of tasks that
    /// [`reduce`](crate::Handle::reduce) are combined in pairs while other tasks run, in a tree
    /// whose shape depends only on the number of tasks. Small parts are kept, and combined one by
    /// one in reference order. For floating-point numbers, the two ways may differ in the last
    /// bits. Each gives the same result in every run.
    const LARGE: bool = size_of::<T>() > 64;

    /// Returns the neutral element, shaped like the datum (a tile's size is known only at run
    /// time).
    ///
    /// The tasks of one reduction call it one at a time. It may wait, as a body may. Another task
    /// that calls it meanwhile is suspended. Under
    /// [`deterministic`](crate::Builder::deterministic), [`Acc::join`](crate::Acc::join) and
    /// [`Acc::for_each`](crate::Acc::for_each) call it at any time, with the copy of their body as
    /// `like`. So does a leaf that adds to the datum's value itself.
    fn identity(&self, like: &T) -> T;

    /// Combines a part into a value.
    fn combine(&self, into: &mut T, part: T);

    /// Combines a part into a value, and makes the part the neutral element again. A later task
    /// then reuses the part. So a reduction makes about as many values as there are running tasks,
    /// not one per task. (A part of at most 64 bytes may be made for one leaf, unless values are
    /// [`LARGE`](Reducer::LARGE).)
    ///
    /// Returns whether it did so. If not, it has changed neither value, and the runtime calls
    /// [`combine`](Reducer::combine) instead. The default implementation returns `false`.
    ///
    /// ```
    /// use millpond::{Handle, Reducer, Runtime, Spawn};
    ///
    /// #[derive(Clone, Copy, PartialEq, Eq)]
    /// struct Add;
    /// impl Reducer<Vec<f64>> for Add {
    ///     const LARGE: bool = true;
    ///
    ///     fn identity(&self, like: &Vec<f64>) -> Vec<f64> {
    ///         vec![0.0; like.len()]
    ///     }
    ///     fn combine(&self, into: &mut Vec<f64>, mut part: Vec<f64>) {
    ///         self.absorb(into, &mut part);
    ///     }
    ///     fn absorb(&self, into: &mut Vec<f64>, part: &mut Vec<f64>) -> bool {
    ///         into.iter_mut().zip(part).for_each(|(into, part)| *into += std::mem::take(part));
    ///         true
    ///     }
    /// }
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let tile = Handle::new(vec![0.5; 1000]);
    /// rt.scope(|s| {
    ///     for k in 0..100 {
    ///         s.spawn(tile.reduce(Add), move |part| part.iter_mut().for_each(|x| *x += f64::from(k)));
    ///     }
    /// })?;
    /// assert_eq!(tile.into_inner()?, [4950.5; 1000]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn absorb(&self, into: &mut T, part: &mut T) -> bool {
        let _unchanged = (into, part);
        false
    }
}

/// One generation of `reduce` and `accumulate` accesses, or a section of one.
pub struct Reduction {
    version: NonNull<Version>,
    /// The datum whose open reduction this is or was. The reduction owns one of the datum's parts.
    datum: NonNull<Datum>,
    operator: Operator,
    /// The label of the first member. The combine task uses it.
    label: Label,
    /// The generation of the datum.
    group: u32,
    /// The number of members. Only the issuer uses it.
    members: Guarded<u32>,
    /// Held during `Reducer::identity`, which reads the value, because `T` need not be `Sync`.
    looking: Turns,
    shape: Shape,
    /// Pointers to a `T`, each in a room of the operator.
    parts: ReductionParts<NonNull<()>>,
    /// The same, of accumulating tasks.
    copies: Copies,
    paths: Paths,
    /// The copy, and a part that holds the identity, of leaves that run at their spawn. Only the
    /// issuer uses them.
    own_copy: Guarded<Option<NonNull<()>>>,
    own_part: Guarded<Option<NonNull<()>>>,
}

impl std::fmt::Debug for Reduction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reduction").field("parts", &self.parts).finish_non_exhaustive()
    }
}

impl Reduction {
    /// Opens a reduction into the current version of `datum`, on a runtime with this many workers.
    /// The caller has counted the reduction's part of the datum.
    pub(crate) fn open(
        datum: NonNull<Datum>,
        reducer: ReducerRef<'_>,
        label: Label,
        group: u32,
        ordered: bool,
        workers: usize,
    ) -> NonNull<Reduction> {
        // SAFETY: the caller holds the datum's handle.
        let version = unsafe { datum.as_ref() }.current();
        let operator = Operator::copy_of(reducer);
        let shape = match ordered {
            false => Shape::AsTheyCome,
            true if reducer.is_large() => Shape::Tree,
            true => Shape::InOrder,
        };
        let (members, looking, parts) = (Guarded::new(0), Turns::default(), ReductionParts::new(shape));
        // A scope's caller has a seat, too.
        let copies = Copies::new(workers + 1);
        let reduction = Reduction {
            version,
            datum,
            operator,
            label,
            group,
            members,
            looking,
            shape,
            parts,
            copies,
            paths: Paths::default(),
            own_copy: Guarded::default(),
            own_part: Guarded::default(),
        };
        NonNull::from(Box::leak(Box::new(reduction)))
    }

    pub(crate) fn version_at(&self) -> NonNull<Version> {
        self.version
    }

    pub(crate) fn version(&self) -> &Version {
        // SAFETY: the version has an access outstanding (first the members', then the combine
        // task's), so it lives.
        unsafe { self.version.as_ref() }
    }

    /// The label of the first member.
    pub(crate) fn label(&self) -> Label {
        self.label
    }

    pub(crate) fn datum(&self) -> NonNull<Datum> {
        self.datum
    }

    /// The generation of the datum that its members belong to.
    pub(crate) fn group(&self) -> u32 {
        self.group
    }

    /// Whether it has an equal reducer (see [`ReducerRef::is`]).
    #[inline]
    pub(crate) fn is(&self, reducer: ReducerRef<'_>, compare: impl FnOnce(&dyn Fn() -> bool) -> bool) -> bool {
        self.operator.get().is(reducer, compare)
    }

    /// Whether an access of generation `group` can join.
    pub(crate) fn has_room(&self, group: u32) -> bool {
        self.group == group && self.members.get() < u32::MAX
    }

    /// Adds a member, for which there is room, and returns its number. Only the issuer calls this.
    pub(crate) fn enter(&self) -> u32 {
        let member = self.members.get();
        self.members.set(member + 1);
        member
    }

    /// Returns a private copy for one task. Panics if the reducer does.
    pub(crate) fn part(&self) -> NonNull<()> {
        // In reference order, all parts are kept to the end.
        let spare = if self.shape == Shape::InOrder { None } else { self.parts.spare() };
        let room = match spare {
            Some(Spare::Identity(part)) => return part,
            Some(Spare::Empty(room)) => room,
            None => self.operator.get().room(),
        };
        let make = || {
            let _turn = self.looking.take();
            // SAFETY: the version was produced, and members do not write it. The turn excludes
            // other readers. No other code knows the room, which is empty.
            unsafe { self.operator.get().identity(self.version().value(), room) }
        };
        catch(make).unwrap_or_else(|caught| {
            self.parts.keep(Spare::Empty(room));
            caught.resume()
        });
        room
    }

    /// Whether accumulating tasks share [copies](Reduction::copy). Otherwise each has its own part.
    pub(crate) fn has_copies(&self) -> bool {
        self.shape == Shape::AsTheyCome
    }

    /// Returns a copy for an accumulating task, which has it alone until it is put back. Panics if
    /// the reducer does.
    pub(crate) fn copy(&self) -> NonNull<()> {
        debug_assert!(self.has_copies());
        self.copies.take(current::seat()).unwrap_or_else(|| self.new_copy())
    }

    fn new_copy(&self) -> NonNull<()> {
        let copy = self.part();
        self.copies.record(copy);
        copy
    }

    /// Takes back what [`copy`](Reduction::copy) returned.
    pub(crate) fn put_back(&self, copy: NonNull<()>) {
        self.copies.put_back(current::seat(), copy);
    }

    /// The path of a parent that is this member, if its tasks need parts of their own.
    pub(crate) fn path_of_member(&self, member: u32) -> Option<NonNull<Path>> {
        (!self.has_copies()).then(|| self.paths.of_member(member))
    }

    /// The path of the parent with this number below another one.
    pub(crate) fn path_below(&self, above: &Path, number: u32) -> NonNull<Path> {
        self.paths.below(above, number)
    }

    /// Returns a part for the leaf with this number below a parent. Panics if the reducer does.
    pub(crate) fn part_below(&self, above: &Path, number: u32) -> NonNull<()> {
        let part = self.part();
        self.paths.record_below(above, number, part);
        part
    }

    /// Returns the part of a parent's body, for [`Path::put_back`]. Panics if the reducer does.
    pub(crate) fn part_of(&self, path: &Path) -> NonNull<()> {
        path.take_part().unwrap_or_else(|| {
            let part = self.part();
            self.paths.record(path, part);
            part
        })
    }

    /// Takes a member's finished part, and combines it with waiting parts. Returns the reducer's
    /// panic payload if that is this member's failure.
    pub(crate) fn contribute(&self, member: u32, part: NonNull<()>) -> Dropped {
        let (mut mine, mut spare) = (Block::new(member, part), None);
        while let Some((into, part)) = self.parts.meet(mine, spare) {
            // SAFETY: both rooms are full, and neither is on a list.
            match unsafe { self.operator.get().combine(into.part, part) } {
                Ok(spent) => (mine, spare) = (into, Some(spent)),
                Err(caught) => {
                    self.discard(part, false);
                    self.discard(into.part, true);
                    return self.parts.fail(&into, caught).map_or(Ok(()), Err);
                }
            }
        }
        Ok(())
    }

    /// Drops a part that will not be combined, with its value if it is `full`. A panic of that drop
    /// is ignored, because there was a failure before.
    pub(crate) fn discard(&self, part: NonNull<()>, full: bool) {
        // SAFETY: the part came from `part` and its owner gives it up.
        let _has_failed_already = unsafe { self.operator.get().free(part, full) };
    }

    /// Combines the remaining parts into the version, for the combine task. A panic of the reducer
    /// is that task's failure.
    pub(crate) fn combine(&self) -> Result<(), PanicPayload> {
        let (mut left, failed) = self.remaining();
        let mut result = failed.map_or(Ok(()), Err);
        if result.is_ok() && self.has_copies() && self.operator.get().is_large() && left.len() > 1 {
            match (Range { reduction: self, parts: &left }).combine() {
                Ok(Part(all)) => left = vec![all],
                Err(caught) => return Err(caught),
            }
        }
        for part in left {
            if result.is_err() {
                self.discard(part, true);
                continue;
            }
            // SAFETY: the combine task is an `inout`, so it has the version alone, and the value is
            // there. The part is a full room that is on no list.
            result = unsafe { self.merge(self.version().value(), part) };
        }
        result
    }

    /// All parts that were not combined, in reference order, and the failure of the first failed
    /// combination.
    fn remaining(&self) -> (Vec<NonNull<()>>, Option<PanicPayload>) {
        let (of_members, failed) = self.parts.end();
        let mut all = self.paths.end(of_members);
        all.extend(self.copies.end());
        (all, failed)
    }

    /// Combines a part into a value, and frees the part.
    ///
    /// # Safety
    ///
    /// `into` points to a value that the caller has alone. The part is a full room that is on no
    /// list.
    unsafe fn merge(&self, into: NonNull<()>, part: NonNull<()>) -> Result<(), PanicPayload> {
        // SAFETY: as the caller promises.
        match unsafe { self.operator.get().combine(into, part) } {
            Ok(spare) => self.free_spare(spare),
            Err(caught) => {
                self.discard(part, false);
                Err(caught)
            }
        }
    }

    fn free_spare(&self, spare: Spare<NonNull<()>>) -> Dropped {
        let (room, full) = match spare {
            Spare::Identity(part) => (part, true),
            Spare::Empty(room) => (room, false),
        };
        // SAFETY: the caller took the room off its list.
        unsafe { self.operator.get().free(room, full) }
    }

    /// Frees a reduction with all its storage. Returns the first panic payload of a drop.
    ///
    /// # Safety
    ///
    /// No task uses the reduction any more.
    pub(crate) unsafe fn free(this: NonNull<Reduction>) -> Dropped {
        // SAFETY: `open` leaked a box.
        let reduction = unsafe { Box::from_raw(this.as_ptr()) };
        let (not_combined, _failed) = reduction.remaining();
        let mut dropped = Ok(());
        for part in not_combined {
            dropped = dropped.and(reduction.free_spare(Spare::Identity(part)));
        }
        if let Some(part) = reduction.own_part.take() {
            dropped = dropped.and(reduction.free_spare(Spare::Identity(part)));
        }
        while let Some(spare) = reduction.parts.spare() {
            dropped = dropped.and(reduction.free_spare(spare));
        }
        dropped
    }
}
