//! Handles: data that the runtime orders accesses to; versions, renaming, reductions.

use std::marker::PhantomData;
use std::panic::Location;
use std::ptr::NonNull;

use crate::access::{Access, CanRead, CanShare, CanWrite, Full, Root};
use crate::access::{Commutative, Concurrent, Inout, Read, Reduce, Write};
use crate::error::{Error, Kind, Label};

pub(crate) mod bound;
pub(crate) mod claim;
pub(crate) mod datum;
pub(crate) mod exclusion;
pub(crate) mod reduction;
pub(crate) mod storage;
pub(crate) mod version;

pub(crate) use datum::Datum;
use reduction::Reducer;
use version::State;
pub use version::Version;

/// A datum that the runtime orders accesses to.
///
/// Tasks do not hold a handle: they declare an access to it ([`read`](Handle::read), [`inout`](Handle::inout), …) and
/// are handed the value. A handle can be made before the runtime, kept in any structure, and used by one scope after
/// the other; while accesses are outstanding it belongs to one scope, and another one gets [`Kind::Busy`], which says
/// when an open scope gives up a handle that is idle.
///
/// `B` says which scopes may spawn on it ([`Root`]: those opened by [`Runtime::scope`](crate::Runtime::scope); in a
/// nested task: only that task's own scope), and `R` what that scope may do (a task that declared `read` hands out
/// reads only). A program whose scopes are closures names neither. A function that spawns in any scope names `B` as the
/// [`Brand`](crate::Spawn::Brand) of its scope:
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
    /// Invariant in `T`: through a shared handle tasks write.
    _owns: PhantomData<(T, fn(T) -> T, fn(B) -> B, R)>,
}

// SAFETY: a handle owns its value, which `into_inner` moves to whatever thread calls it.
unsafe impl<T: Send, B, R> Send for Handle<T, B, R> {}
// SAFETY: through a shared handle accesses are declared; only the one scope that holds the claim touches the datum's
// cells, and the bounds of each access say what tasks may do with the value (`read` needs `T: Sync`).
unsafe impl<T: Send, B, R> Sync for Handle<T, B, R> {}

impl<T> Handle<T> {
    /// A datum with a first value. Costs one allocation, in which the value lies behind what the runtime keeps about it
    /// (168 bytes).
    ///
    /// ```
    /// let word = millpond::Handle::new("heron");
    /// assert_eq!(word.into_inner()?, "heron");
    /// # Ok::<(), millpond::Error>(())
    /// ```
    pub fn new(value: T) -> Self {
        Handle::with_value(value)
    }

    /// A datum without a first value: some task must [`write`](Handle::write) it before one reads it. Costs what
    /// [`new`](Handle::new) does.
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

    /// The value, after all tasks. Takes constant time.
    ///
    /// ```
    /// use millpond::{Handle, Kind, Runtime, Spawn};
    ///
    /// let (rt, n) = (Runtime::builder().workers(1).build()?, Handle::new(1));
    /// let early = rt.scope(|s| {
    ///     // Alone, a worker runs a parent only when its scope waits.
    ///     s.nest(n.inout(), |_, _| ());
    ///     n.into_inner()
    /// })?;
    /// assert_eq!(early.unwrap_err().kind(), &Kind::Busy { arg: 0 });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Kind::Busy`] while accesses are outstanding: it never blocks, and the value is dropped after the last of
    /// them. [`Kind::NeverWritten`] if there is no value, [`Kind::Poisoned`] if the task failed that should have
    /// produced it.
    #[track_caller]
    pub fn into_inner(mut self) -> Result<T, Error> {
        let value: *mut T = self.get_mut()?;
        let version = self.datum().version();
        version.set_full(false);
        // SAFETY: the version holds a value that nobody else uses, and `full` was cleared so that it is not dropped.
        Ok(unsafe { value.read() })
    }

    /// The value, in place, between scopes. Takes constant time.
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
    /// As [`into_inner`](Handle::into_inner).
    #[track_caller]
    pub fn get_mut(&mut self) -> Result<&mut T, Error> {
        let label = Label::place(Location::caller());
        let datum = self.datum();
        if !datum.is_idle() {
            return Err(Error::new(label, Kind::Busy { arg: 0 }));
        }
        let version = datum.version();
        match version.state() {
            // SAFETY: the version holds a `T`; the handle is borrowed exclusively, so nothing can be issued, and
            // nothing is outstanding.
            State::Produced => Ok(unsafe { version.value().cast().as_mut() }),
            State::Unset => Err(Error::new(label, Kind::NeverWritten { arg: 0 })),
            State::Failed(cause) => Err(Error::poisoned(label, &cause)),
        }
    }
}

impl<T, B, R> Handle<T, B, R> {
    pub(crate) fn with_value(value: T) -> Self {
        let handle = Self::without_value();
        // SAFETY: its version is new, and nobody else knows it.
        unsafe { handle.fill(value) };
        handle
    }

    /// Gives the first value.
    ///
    /// # Safety
    ///
    /// There is none, and nobody else knows the version.
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

    /// The same datum, but never renamed ([TG](crate#sources) §3.3, footnote 2): a [`write`](Handle::write) while the value is
    /// in use waits for the tasks before it, as an [`inout`](Handle::inout) would, and goes into the same storage; and
    /// [`Spawn::set`](crate::Spawn::set) waits as [`Spawn::wait_on`](crate::Spawn::wait_on) does. For a value so large that
    /// there should be one of it only, or one whose place matters. The result is the same.
    ///
    /// To be said when the handle is made; of a handle that was renamed before, the value stays where it then is. Nested
    /// tasks that work on the datum do not rename it either.
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
    ///     // Renamed, it would have run at its spawn (see `write`).
    ///     assert!(!next.is_done() && !slow.is_done());
    /// })?;
    /// assert_eq!(frame.into_inner()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use = "it gives the handle back"]
    pub fn in_place(self) -> Self {
        // The version that a view shows is another scope's; in a stack nothing is renamed anyway.
        if !self.datum().is_view() {
            self.datum().version().set_in_place(true);
        }
        self
    }

    /// A nested task's handle on a held datum, of its frame's.
    pub(crate) fn held(datum: NonNull<Datum>) -> Self {
        Handle { datum, _owns: PhantomData }
    }

    #[inline]
    pub(crate) fn datum(&self) -> &Datum {
        // SAFETY: the handle owns a part of the datum, or the datum is held by the frame of the body that the
        // handle's brand confines it to.
        unsafe { self.datum.as_ref() }
    }

    /// Declares that a task reads the datum: its body gets `&T`, the value at the task's place in reference order.
    ///
    /// If there is none, the task does not run: it fails as [`Kind::Poisoned`], or [`Kind::NeverWritten`]. So it does
    /// with each access but `write`.
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

    /// Declares that a task writes the datum without reading it: its body gets an [`Out`](crate::Out) that it must
    /// set. The task does not wait for readers of the old value: it writes a new version. (Unless the handle is
    /// [in place](Handle::in_place), or the runtime has [no room](crate::Builder::rename_bytes) for one: then it waits as
    /// an [`inout`](Handle::inout) would. The result is the same.)
    ///
    /// While the old version is in use, the spawn renames ([TG](crate#sources) §3.3): one block, which is used again if it is
    /// of no more than 512 bytes, and the old one is freed after its last use. A version that nobody uses is written again, at
    /// no such cost.
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// # let (rt, frame) = (Runtime::builder().workers(1).build()?, Handle::new(1));
    /// rt.scope(|s| {
    ///     let slow = s.nest(frame.read(), |s, frame| {
    ///         s.spawn(frame.read(), |frame| assert_eq!(*frame, 1));
    ///     });
    ///     let next = s.spawn(frame.write(), |frame| frame.set(2));
    ///     // One worker ran the write, being ready, at its spawn, before the reader.
    ///     assert!(next.is_done() && !slow.is_done());
    /// })?;
    /// assert_eq!(frame.into_inner()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// For borrowed data (`Handle<&mut [f64]>`) this would replace the reference, not the numbers; use
    /// [`inout`](Handle::inout).
    #[inline]
    pub fn write(&self) -> Access<'_, T, Write, B>
    where
        T: Send,
        R: CanWrite,
    {
        Access::new(self.datum, Write)
    }

    /// Declares that a task reads and writes the datum: its body gets `&mut T`, after all that was spawned earlier on
    /// it.
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

    /// As [`inout`](Handle::inout), but consecutive commutative tasks may run in any order, one at a time.
    ///
    /// ```
    /// # use millpond::{Handle, Runtime, Spawn};
    /// # let rt = Runtime::builder().workers(1).build()?;
    /// let (late, log) = (Handle::unset(), Handle::new(Vec::new()));
    /// rt.scope(|s| {
    ///     s.nest(late.write(), |s, late| s.set(&late, 1));
    ///     s.spawn((late.read(), log.commutative()), |(late, log)| log.push(*late));
    ///     // Need not wait for the one before, which waits for `late`; with `inout` it would.
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

    /// Declares that a task updates the datum through `&T` (atomics, locks), at once with the other consecutive
    /// concurrent tasks. What it does through the reference is not ordered by the runtime, and should commute.
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

    /// Declares that a task contributes to a reduction: its body gets `&mut T`, a private copy that starts as the
    /// reducer's identity and is combined into the datum before the next other access.
    ///
    /// Parts are combined as they come, and their storage serves tasks that start later: there are about as many as
    /// tasks that run at once. Under [`deterministic`](crate::Builder::deterministic) all are kept until the
    /// combination, unless they are [large](Reducer::LARGE).
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
        Access::new(self.datum, Reduce(reducer, reduction::describe::<T, O>))
    }
}

impl<T, B, R> Drop for Handle<T, B, R> {
    fn drop(&mut self) {
        if !self.datum().is_held() {
            // SAFETY: the datum was allocated for this handle, which is gone, and with it the right to issue.
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
