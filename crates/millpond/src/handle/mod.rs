//! Handles: data whose accesses the runtime orders. Versions, renaming and reductions.

use std::marker::PhantomData;
use std::panic::Location;
use std::ptr::NonNull;

use crate::error::{Error, Kind, Label};
use crate::handle::access::{Access, CanRead, CanShare, CanWrite, Full, Operation, Root};
use crate::handle::access::{Accumulate, Commutative, Concurrent, Inout, Read, Reduce, Write};

pub(crate) mod access;
pub(crate) mod bound;
pub(crate) mod claim;
pub(crate) mod datum;
pub(crate) mod exclusion;
mod lent;
pub(crate) mod reduction;
pub(crate) mod storage;
pub(crate) mod version;

pub(crate) use datum::Datum;
pub use lent::Lent;
use reduction::Reducer;
use version::State;
pub use version::Version;

/// A datum whose accesses the runtime orders.
///
/// Tasks do not hold a handle. They declare an access to it ([`read`](Handle::read),
/// [`inout`](Handle::inout), …), and their bodies get the value. A handle can be made before the
/// runtime and kept in any structure. Several scopes can use it in turn. While accesses are
/// outstanding, it belongs to one scope, and other scopes get [`Kind::Busy`]. An open scope gives
/// up an idle handle under the conditions listed there. Between scopes, [`get`](Handle::get) lends
/// the value, [`get_mut`](Handle::get_mut) borrows it, and [`into_inner`](Handle::into_inner) takes
/// it.
///
/// `B` says which scopes may spawn on the handle. [`Root`] means the scopes opened by
/// [`Runtime::scope`](crate::Runtime::scope). A handle of a nested task serves only that task's own
/// scope. `R` says what the scope may do: a task that declared `read` can pass on only reads. A
/// program whose scopes are closures names neither. A function that spawns in any scope names `B`
/// as the [`Brand`](crate::Spawn::Brand) of its scope:
///
/// ```
/// use millpond::{Handle, Runtime, Spawn};
///
/// fn double<'s, S: Spawn<'s>>(s: &S, number: &Handle<u64, S::Brand>) {
///     s.spawn(number.inout(), |number| *number *= 2);
/// }
///
/// let (rt, number) = (Runtime::new()?, Handle::new(3));
/// rt.scope(|s| {
///     double(s, &number);
///     s.nest(number.inout(), |s, number| double(s, &number));
/// })?;
/// assert_eq!(number.into_inner()?, 12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The value may hold borrows:
///
/// ```
/// use millpond::{Handle, Runtime, Spawn};
///
/// let mut numbers = vec![1.0; 1000];
/// let blocks: Vec<_> = numbers.chunks_mut(100).map(Handle::new).collect();
/// Runtime::builder().workers(2).build()?.scope(|s| {
///     for block in &blocks {
///         s.spawn(block.inout(), |block| block.iter_mut().for_each(|x| *x *= 2.0));
///     }
/// })?;
/// drop(blocks);
/// assert_eq!(numbers.iter().sum::<f64>(), 2000.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Handle<T, B = Root, R = Full> {
    datum: NonNull<Datum>,
    /// Invariant in `T`: tasks write through a shared handle.
    _owns: PhantomData<(T, fn(T) -> T, fn(B) -> B, R)>,
}

// SAFETY: a handle owns its value. `into_inner` moves the value to the thread that calls it.
unsafe impl<T: Send, B, R> Send for Handle<T, B, R> {}
// SAFETY: a shared handle only declares accesses. Only the scope that holds the claim touches the
// datum's cells. The bounds of each access say what tasks may do with the value (`read` needs
// `T: Sync`).
unsafe impl<T: Send, B, R> Sync for Handle<T, B, R> {}

impl<T> Handle<T> {
    /// Makes a datum with a first value. Costs one allocation: 168 bytes of metadata, then the
    /// value.
    ///
    /// ```
    /// let word = millpond::Handle::new("heron");
    /// assert_eq!(word.into_inner()?, "heron");
    /// # Ok::<(), millpond::Error>(())
    /// ```
    pub fn new(value: T) -> Self {
        Handle::with_value(value)
    }

    /// Makes a datum without a first value: a task must [`write`](Handle::write) it before another
    /// task reads it. Costs the same as [`new`](Handle::new).
    ///
    /// ```
    /// use millpond::{Handle, Kind, Runtime, Spawn};
    ///
    /// let (rt, sum) = (Runtime::new()?, Handle::<u32>::unset());
    /// let result = rt.scope(|s| {
    ///     s.spawn(sum.inout(), |sum| *sum += 1);
    /// });
    /// assert_eq!(result.unwrap_err().kind(), &Kind::NeverWritten { arg: 0 });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unset() -> Self {
        Handle::without_value()
    }

    /// Returns the value after all tasks. Takes constant time.
    ///
    /// ```
    /// use millpond::{Handle, Kind, Runtime, Spawn};
    ///
    /// let (rt, n) = (Runtime::builder().workers(1).build()?, Handle::new(1));
    /// let early = rt.scope(|s| {
    ///     // A single worker runs a parent only when its scope waits.
    ///     s.nest(n.inout(), |_, _| ());
    ///     n.into_inner()
    /// })?;
    /// assert_eq!(early.unwrap_err().kind(), &Kind::Busy { arg: 0 });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Kind::Busy`] while accesses are outstanding. The call never blocks; then the value is
    /// dropped after the last access. [`Kind::NeverWritten`] if there is no value.
    /// [`Kind::Poisoned`] if the task that should have produced the value failed.
    #[track_caller]
    pub fn into_inner(mut self) -> Result<T, Error> {
        let value: *mut T = self.get_mut()?;
        let version = self.datum().version();
        version.set_full(false);
        // SAFETY: the version holds a value that no other code uses. `full` was cleared, so the
        // value is not dropped.
        Ok(unsafe { value.read() })
    }

    /// Borrows the value in place, between scopes. Takes constant time. Through a shared handle,
    /// use [`get`](Handle::get).
    ///
    /// ```
    /// use millpond::{Handle, Runtime, Spawn};
    ///
    /// let (rt, mut x) = (Runtime::new()?, Handle::new(64.0_f64));
    /// while *x.get_mut()? > 1.0 {
    ///     rt.scope(|s| {
    ///         s.spawn(x.inout(), |x| *x = x.sqrt().floor());
    ///     })?;
    /// }
    /// assert_eq!(x.into_inner()?, 1.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The same as [`into_inner`](Handle::into_inner).
    #[track_caller]
    pub fn get_mut(&mut self) -> Result<&mut T, Error> {
        let label = Label::place(Location::caller());
        let datum = self.datum();
        datum.forget_lends();
        if !datum.is_idle() {
            return Err(Error::new(label, Kind::Busy { arg: 0 }));
        }
        let version = datum.version();
        match version.state() {
            // SAFETY: the version holds a `T`. The handle is borrowed exclusively, so no access can
            // be issued, and none is outstanding.
            State::Produced => Ok(unsafe { version.value().cast().as_mut() }),
            State::Unset => Err(Error::new(label, Kind::NeverWritten { arg: 0 })),
            State::Failed(cause) => Err(Error::poisoned(label, &cause)),
        }
    }
}

impl<T, B, R> Handle<T, B, R> {
    pub(crate) fn with_value(value: T) -> Self {
        let handle = Self::without_value();
        // SAFETY: the version is new, and no other code knows it.
        unsafe { handle.fill(value) };
        handle
    }

    /// Writes the first value.
    ///
    /// # Safety
    ///
    /// The version has no value yet, and no other code knows it.
    #[inline]
    pub(crate) unsafe fn fill(&self, value: T) {
        let version = self.datum().version();
        // SAFETY: the version has room for a `T`.
        unsafe { version.value().cast().write(value) };
        version.set_full(true);
        version.set_state(State::Produced);
    }

    pub(crate) fn without_value() -> Self {
        Handle { datum: Datum::allocate::<T>(), _owns: PhantomData }
    }

    /// Returns the same datum, but it is never renamed ([TG](crate#sources) §3.3, footnote 2).
    ///
    /// If the value is in use, a [`write`](Handle::write) waits for the earlier tasks, as an
    /// [`inout`](Handle::inout) would, and reuses the same storage.
    /// [`Spawn::set`](crate::Spawn::set) then waits as [`Spawn::wait_on`](crate::Spawn::wait_on)
    /// does. Use it for a value so large that only one copy should exist, or whose address matters.
    /// The result is the same.
    ///
    /// Call it when you make the handle. If the handle was renamed before, the value stays at its
    /// current address. Nested tasks that use the datum do not rename it either.
    ///
    /// ```
    /// use millpond::{Handle, Runtime, Spawn};
    ///
    /// let (rt, frame) = (Runtime::builder().workers(1).build()?, Handle::new(1).in_place());
    /// rt.scope(|s| {
    ///     let slow = s.nest(frame.read(), |s, frame| {
    ///         s.spawn(frame.read(), |frame| assert_eq!(*frame, 1));
    ///     });
    ///     let next = s.spawn(frame.write(), |frame| frame.set(2));
    ///     // With renaming, it would have run at its spawn (see `write`).
    ///     assert!(!next.is_done() && !slow.is_done());
    /// })?;
    /// assert_eq!(frame.into_inner()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use = "it gives the handle back"]
    pub fn in_place(self) -> Self {
        // The version that a view shows belongs to another scope. In a stack, tasks rename nothing
        // anyway.
        if !self.datum().is_view() {
            self.datum().version().set_in_place(true);
        }
        self
    }

    /// A nested task's handle on a datum that its frame holds.
    pub(crate) fn held(datum: NonNull<Datum>) -> Self {
        Handle { datum, _owns: PhantomData }
    }

    #[inline]
    pub(crate) fn datum(&self) -> &Datum {
        // SAFETY: the handle owns a part of the datum, or the body's frame holds the datum. The
        // brand confines such a handle to that body.
        unsafe { self.datum.as_ref() }
    }

    /// Declares that a task reads the datum. The body gets `&T`: the value at the task's place in
    /// reference order.
    ///
    /// If there is no value, the task does not run, and fails as [`Kind::Poisoned`] or
    /// [`Kind::NeverWritten`]. This holds for every access but `write`.
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// # let (rt, list) = (Runtime::new()?, Handle::new(vec![1]));
    /// rt.scope(|s| {
    ///     let before = s.spawn(list.read(), |list| list.len());
    ///     s.spawn(list.inout(), |list| list.push(2));
    ///     let after = s.spawn(list.read(), |list| list.len());
    ///     assert_eq!((s.wait(before)?, s.wait(after)?), (1, 2));
    ///     Ok::<(), millpond::Error>(())
    /// })??;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn read(&self) -> Access<'_, T, Read, B>
    where
        T: Send + Sync,
        R: CanRead,
    {
        Access::new(self.datum, Read)
    }

    /// Declares that a task writes the datum without reading it. The body gets an
    /// [`Out`](crate::Out) that it must set. The task writes a new version, so it does not wait for
    /// readers of the old value.
    ///
    /// The task writes in place if the handle is [in place](Handle::in_place), or if the runtime
    /// has [no room](crate::Builder::rename_bytes) for a new version. Then it waits as an
    /// [`inout`](Handle::inout) would. The result is the same.
    ///
    /// If the old version is in use, the spawn renames ([TG](crate#sources) §3.3). This costs one
    /// block; the runtime reuses blocks of up to 512 bytes. The old version is freed after its last
    /// use. If the old version is idle, the task writes to it at no such cost.
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// # let (rt, frame) = (Runtime::builder().workers(1).build()?, Handle::new(1));
    /// rt.scope(|s| {
    ///     let slow = s.nest(frame.read(), |s, frame| {
    ///         s.spawn(frame.read(), |frame| assert_eq!(*frame, 1));
    ///     });
    ///     let next = s.spawn(frame.write(), |frame| frame.set(2));
    ///     // The write was ready, so the worker ran it at its spawn, before the reader.
    ///     assert!(next.is_done() && !slow.is_done());
    /// })?;
    /// assert_eq!(frame.into_inner()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// For borrowed data (`Handle<&mut [f64]>`), this would replace the reference, not the numbers.
    /// Use [`inout`](Handle::inout) instead.
    #[inline]
    pub fn write(&self) -> Access<'_, T, Write, B>
    where
        T: Send,
        R: CanWrite,
    {
        Access::new(self.datum, Write)
    }

    /// Declares that a task reads and writes the datum. The body gets `&mut T`, after all earlier
    /// tasks on the datum.
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// # let (rt, n) = (Runtime::new()?, Handle::new(3));
    /// rt.scope(|s| {
    ///     s.spawn(n.inout(), |n| *n *= 2);
    ///     s.spawn(n.inout(), |n| *n += 1);
    /// })?;
    /// assert_eq!(n.into_inner()?, 3 * 2 + 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn inout(&self) -> Access<'_, T, Inout, B>
    where
        T: Send,
        R: CanRead + CanWrite,
    {
        Access::new(self.datum, Inout)
    }

    /// Like [`inout`](Handle::inout), but consecutive commutative tasks may run in any order, one
    /// at a time.
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// # let rt = Runtime::builder().workers(1).build()?;
    /// let (late, log) = (Handle::unset(), Handle::new(Vec::new()));
    /// rt.scope(|s| {
    ///     s.nest(late.write(), |s, late| s.set(&late, 1));
    ///     s.spawn((late.read(), log.commutative()), |(late, log)| log.push(*late));
    ///     // It does not wait for the task before, which waits for `late`. An `inout` would.
    ///     s.spawn(log.commutative(), |log| log.push(2));
    /// })?;
    /// assert_eq!(log.into_inner()?, [2, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn commutative(&self) -> Access<'_, T, Commutative, B>
    where
        T: Send,
        R: CanRead + CanWrite,
    {
        Access::new(self.datum, Commutative)
    }

    /// Declares that a task updates the datum through `&T` (atomics, locks). Consecutive concurrent
    /// tasks may run at the same time. The runtime does not order their operations through the
    /// reference, so these should commute.
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    ///
    /// # let rt = Runtime::new()?;
    /// let hits = [(); 4].map(|()| AtomicUsize::new(0));
    /// let hits = Handle::new(hits);
    /// rt.scope(|s| {
    ///     for n in 0..10 {
    ///         s.spawn(hits.concurrent(), move |hits| hits[n % 4].fetch_add(1, Relaxed));
    ///     }
    /// })?;
    /// assert_eq!(hits.into_inner()?.map(AtomicUsize::into_inner), [3, 3, 2, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn concurrent(&self) -> Access<'_, T, Concurrent, B>
    where
        T: Send + Sync,
        R: CanShare,
    {
        Access::new(self.datum, Concurrent)
    }

    /// Declares that a task contributes to a reduction. The body gets `&mut T`: a private copy that
    /// starts as the reducer's identity. The runtime combines it into the datum before the next
    /// other access.
    ///
    /// The runtime combines parts as they arrive, and later tasks reuse their storage. So there are
    /// about as many parts as running tasks. Under
    /// [`deterministic`](crate::Builder::deterministic), it keeps all parts until the combination,
    /// unless they are [large](Reducer::LARGE).
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn, Sum};
    /// # let (rt, total) = (Runtime::new()?, Handle::new(100));
    /// rt.scope(|s| {
    ///     for n in 1..=3 {
    ///         s.spawn(total.reduce(Sum), move |part| {
    ///             assert_eq!(*part, 0);
    ///             *part += n;
    ///         });
    ///     }
    ///     s.spawn(total.read(), |total| assert_eq!(*total, 106));
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn reduce<O: Reducer<T>>(&self, reducer: O) -> Access<'_, T, Reduce<O>, B>
    where
        T: Send,
        R: CanRead + CanWrite,
    {
        Access::new(self.datum, Reduce(Operation::of::<T>(reducer)))
    }

    /// Declares that a task adds to the datum by a reducer. A leaf gets an [`Acc`](crate::Acc), a
    /// parent an [`Accumulator`](crate::Accumulator), which it can pass on.
    ///
    /// It differs from [`reduce`](Handle::reduce) in what the body sees. A task that reduces has a
    /// private copy, which starts as the identity, and which the runtime combines once per task. A
    /// task that accumulates adds to a copy that holds what earlier tasks added. There is about one
    /// copy per worker, and the runtime combines each of them once, before the next other access.
    /// So prefer it where bodies only add. A leaf that runs at its spawn adds to the value itself.
    ///
    /// If a task that accumulates fails, or a task below it, the datum is poisoned, as for any
    /// access.
    ///
    /// Under [`deterministic`](crate::Builder::deterministic), each task has its own copy, also
    /// below parents. The runtime keeps them until the combination, except for
    /// [large](Reducer::LARGE) ones of tasks of the scope itself. The result is bitwise the same
    /// in every run.
    ///
    /// Tasks that accumulate and tasks that reduce by an equal reducer run at once.
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn, Sum};
    /// # let (rt, total) = (Runtime::new()?, Handle::new(100));
    /// rt.scope(|s| {
    ///     for n in 1..=3 {
    ///         s.spawn(total.accumulate(Sum), move |mut total| total.add(n));
    ///     }
    ///     s.spawn(total.read(), |total| assert_eq!(*total, 106));
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn accumulate<O: Reducer<T>>(&self, reducer: O) -> Access<'_, T, Accumulate<O>, B>
    where
        T: Send,
        R: CanRead + CanWrite,
    {
        Access::new(self.datum, Accumulate(Operation::of::<T>(reducer)))
    }
}

impl<T, B, R> Drop for Handle<T, B, R> {
    fn drop(&mut self) {
        if !self.datum().is_held() {
            // SAFETY: the datum was allocated for this handle. The handle is gone, and so is the
            // right to issue.
            unsafe { Datum::drop_handle(self.datum) }
        }
    }
}

impl<T, B, R> std::fmt::Debug for Handle<T, B, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").field("datum", &self.datum).finish_non_exhaustive()
    }
}

impl<T> From<T> for Handle<T> {
    fn from(value: T) -> Self {
        Handle::new(value)
    }
}
