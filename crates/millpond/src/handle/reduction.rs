//! Reductions: private copies that start as the identity, combined before the next other access ([TG](crate#sources) §2.2).
//!
//! All `reduce` accesses of one generation share a [`Reduction`]. Each task computes its part on a private copy. When
//! an access of another kind follows, or the scope ends, the front end first spawns a *combine* task, which a scheme
//! sees as an `inout`: no scheme needs to know about reductions.
//!
//! Parts are combined as they come, so that memory is bounded by the tasks that run at once; under `deterministic` by a
//! tree of fixed shape, or, scalars, in reference order at the end ([`parts`]). The storage of a part that is combined
//! serves a task that starts later.

use std::iter;
use std::ptr::NonNull;

use self::erased::Operator;
use self::parts::{Block, Parts, Shape, Spare};
use super::datum::Datum;
use super::version::{Dropped, Version};
use crate::error::Label;
use crate::panics::{PanicPayload, catch};
use crate::sync::Guarded;
use crate::worker::turns::Turns;

mod erased;
mod operators;
mod parts;

pub(crate) use erased::{Describe, ReducerRef, describe};
pub use operators::{And, Append, Bits, Collects, Max, Min, Number, Or, Prod, Sum};

/// How values are combined: an associative and commutative operation with an identity ([TG](crate#sources) §2.2).
///
/// Tasks whose reducers are equal (`==`, same type) belong to one generation and run at once. A closure could not say
/// that it equals another; hence a trait. A panic in [`identity`](Reducer::identity), [`combine`](Reducer::combine) or
/// [`absorb`](Reducer::absorb) fails the task for which it is called; under
/// [`deterministic`](crate::Builder::deterministic), where parts are combined, the combination.
///
/// The comparison runs in the middle of a spawn, so it should do nothing else. If it panics, the reducers count as
/// unequal; and it panics if it uses the session on which the task is spawned; or, while a thread that is no worker of
/// the session's runtime spawns on it, opens a scope or uses another session. A fork in it runs one half after the
/// other then. It must not wait in other ways either, by a channel, a lock or a thread: of the threads that are no
/// workers, one at a time spawns on the sessions of a runtime, and who is waited for may have to wait for its turn.
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
    /// Whether values are large, as a tile of a matrix is; if nothing else is said, whether `T` itself takes more than
    /// 64 bytes. A collection's elements do not count, so who reduces `Vec`s element by element says so.
    ///
    /// Under [`deterministic`](crate::Builder::deterministic) parts of large values are combined two by two, while
    /// other tasks run, in a tree whose shape follows from the number of tasks. Others are kept, and combined one by
    /// one in reference order. Of floating-point numbers the two may differ in the last bits; each is the same in every
    /// run.
    const LARGE: bool = size_of::<T>() > 64;

    /// The neutral element, shaped like the datum (a tile's size is known at run time only).
    ///
    /// The tasks of one reduction call it one at a time. It may wait, as a body may; a task that comes meanwhile is put aside.
    fn identity(&self, like: &T) -> T;

    /// Combines a part into a value.
    fn combine(&self, into: &mut T, part: T);

    /// Combines a part into a value, and makes it the neutral element again, so that a task that starts later has it as
    /// its part. Then a reduction makes about as many values as tasks run at once, not one for each task.
    ///
    /// It returns whether it did. If not, it has changed neither, and [`combine`](Reducer::combine) follows; so it is
    /// where a reducer does not have it.
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

/// One generation of `reduce` accesses, or a piece of one.
pub struct Reduction {
    version: NonNull<Version>,
    /// Whose open reduction this is or was; the reduction owns one of its parts.
    datum: NonNull<Datum>,
    operator: Box<dyn Operator>,
    /// Of the first member: the combine task goes by it.
    label: Label,
    /// Which generation of the datum.
    group: u32,
    /// How many members there are; the issuer's.
    members: Guarded<u32>,
    /// Taken around `Reducer::identity`, which looks at the value: `T` need not be `Sync`.
    looking: Turns,
    shape: Shape,
    /// Pointers to a `T` in a room of the operator.
    parts: Parts<NonNull<()>>,
}

impl std::fmt::Debug for Reduction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reduction").field("parts", &self.parts).finish_non_exhaustive()
    }
}

impl Reduction {
    /// A reduction into the current version of `datum`, whose part the caller has counted.
    pub(crate) fn open(
        datum: NonNull<Datum>,
        reducer: &ReducerRef<'_>,
        label: Label,
        group: u32,
        ordered: bool,
    ) -> NonNull<Reduction> {
        // SAFETY: the caller holds the datum's handle.
        let version = unsafe { datum.as_ref() }.current();
        let operator = reducer.make();
        let shape = match ordered {
            false => Shape::AsTheyCome,
            true if operator.is_large() => Shape::Tree,
            true => Shape::InOrder,
        };
        let (members, looking, parts) = (Guarded::new(0), Turns::default(), Parts::new(shape));
        let reduction = Reduction { version, datum, operator, label, group, members, looking, shape, parts };
        NonNull::from(Box::leak(Box::new(reduction)))
    }

    pub(crate) fn version_at(&self) -> NonNull<Version> {
        self.version
    }

    pub(crate) fn version(&self) -> &Version {
        // SAFETY: the version has an access outstanding (the members', then the combine task's), so it lives.
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

    pub(crate) fn is(&self, reducer: &ReducerRef<'_>) -> bool {
        self.operator.is(reducer)
    }

    /// Whether an access of generation `group` can join.
    pub(crate) fn has_room(&self, group: u32) -> bool {
        self.group == group && self.members.get() < u32::MAX
    }

    /// Enters a member, for which there is room; its number. Only the issuer does.
    pub(crate) fn enter(&self) -> u32 {
        let member = self.members.get();
        self.members.set(member + 1);
        member
    }

    /// A private copy for one task. May panic as the reducer does.
    pub(crate) fn part(&self) -> NonNull<()> {
        // In order, all parts are kept to the end.
        let spare = if self.shape == Shape::InOrder { None } else { self.parts.spare() };
        let room = match spare {
            Some(Spare::Identity(part)) => return part,
            Some(Spare::Room(room)) => room,
            None => self.operator.room(),
        };
        let make = || {
            let _turn = self.looking.take();
            // SAFETY: the version was produced, members do not write it, and the turn keeps other looks away; nobody
            // else knows the room, which is empty.
            unsafe { self.operator.identity(self.version().value(), room) }
        };
        catch(make).unwrap_or_else(|caught| {
            self.parts.keep(Spare::Room(room));
            caught.resume()
        });
        room
    }

    /// Takes a member's finished part, and combines it with others that are there. What the reducer throws, if that is
    /// this member's failure.
    pub(crate) fn contribute(&self, member: u32, part: NonNull<()>) -> Dropped {
        let (mut mine, mut spare) = (Block::new(member, part), None);
        while let Some((into, part)) = self.parts.meet(mine, spare) {
            // SAFETY: both are full rooms, which are on no list.
            match unsafe { self.operator.combine(into.part, part) } {
                Ok(spent) => (mine, spare) = (into, Some(spent)),
                Err(caught) => {
                    self.discard(into.part, true);
                    return self.parts.fail(&into, caught).map_or(Ok(()), Err);
                }
            }
        }
        Ok(())
    }

    /// Drops a part that will not be combined, with its value if it is `full`. What the drop throws is forgotten: there
    /// was a failure before.
    pub(crate) fn discard(&self, part: NonNull<()>, full: bool) {
        // SAFETY: the part came from `part` and its owner gives it up.
        let _has_failed_already = unsafe { self.operator.free(part, full) };
    }

    /// Combines what is left into the version, for the combine task. What the reducer throws is its failure.
    pub(crate) fn combine(&self) -> Result<(), PanicPayload> {
        let (mut left, failed) = self.parts.end();
        let combine = |part| {
            // SAFETY: the combine task has the version alone (it is an `inout`), whose value is there; the part is a
            // full room, which is on no list.
            unsafe { self.operator.combine(self.version().value(), part) }.and_then(|spare| self.free_spare(spare))
        };
        let result = failed.map_or(Ok(()), Err).and_then(|()| left.try_for_each(combine));
        left.for_each(|part| self.discard(part, true));
        result
    }

    fn free_spare(&self, spare: Spare<NonNull<()>>) -> Dropped {
        let (room, full) = match spare {
            Spare::Identity(part) => (part, true),
            Spare::Room(room) => (room, false),
        };
        // SAFETY: the caller has taken it off the list.
        unsafe { self.operator.free(room, full) }
    }

    /// Frees a reduction with all storage. The first that is thrown by a drop.
    ///
    /// # Safety
    ///
    /// No task uses it any more.
    pub(crate) unsafe fn free(this: NonNull<Reduction>) -> Dropped {
        // SAFETY: `open` leaked a box.
        let reduction = unsafe { Box::from_raw(this.as_ptr()) };
        let (not_combined, _failed) = reduction.parts.end();
        let spares = iter::from_fn(|| reduction.parts.spare());
        let free = |dropped: Dropped, spare| dropped.and(reduction.free_spare(spare));
        not_combined.map(Spare::Identity).chain(spares).fold(Ok(()), free)
    }
}
