//! Pools: where ready tasks wait, and how workers find them ([TP](crate#sources) §3).

pub use crate::task::TaskRef;

#[cfg(feature = "catalogue")]
mod any;
#[cfg(feature = "catalogue")]
mod paper;
pub(crate) mod random;
pub(crate) mod split;
#[cfg(test)]
mod testing;
#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(feature = "catalogue")]
pub use any::{AnyPool, Chosen};
#[cfg(feature = "catalogue")]
pub use paper::{named::Named, params, variants};
pub(crate) use split::DefaultPool;
pub use split::Split;

/// Why a task is put. It hints when the owner will take a task again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// A running body spawned the task and continues. The owner may not return to the pool for
    /// long.
    Spawned,
    /// A worker released the task and takes its next task right away.
    Released,
}

/// Why a worker leaves its tasks to other workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// The worker continues with a body that may take long, and then returns to its pool.
    Body,
    /// The worker gives up its seat, or does something else that may wait for other workers.
    Seat,
}

/// What a pool has counted since it was made.
///
/// ```
/// use millpond::pool::{Counts, Pool, Split};
///
/// let (pool, _seats) = Split::new(1);
/// assert_eq!(pool.counts(), Counts::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// How many puts asked to wake a sleeper ([`Pool::put`] returned `true`), whether or not a
    /// worker slept.
    pub wake_calls: u64,
    /// How many sleeping workers were woken for a task: by such a call, or by a thief that found
    /// more tasks. The pool itself does not know this number, and returns 0.
    /// [`Runtime::pool_counts`] and [`TaskPool::pool_counts`] add it.
    ///
    /// [`Runtime::pool_counts`]: crate::Runtime::pool_counts
    /// [`TaskPool::pool_counts`]: crate::taskpool::TaskPool::pool_counts
    pub wake_ups: u64,
    /// How many arrays were allocated because an array of a fixed size was full.
    pub more_arrays: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: Counts) {
        self.wake_calls += other.wake_calls;
        self.wake_ups += other.wake_ups;
        self.more_arrays += other.more_arrays;
    }
}

/// Holds ready tasks until workers take them.
///
/// The *seats* (workers, numbered from 0) share a pool. Each seat has a [`Local`](Pool::Local) that
/// only its worker touches.
///
/// [`Split`] and `Named` implement this trait, and other crates can, too. Only the
/// runtime calls the methods. No method calls back into the runtime. A method may hold a lock of
/// the pool while it calls `wanted`.
///
/// A `Local` moves from thread to thread with its seat. One thread at a time uses it. The runtime
/// drops a pool only when the pool holds no task.
///
/// ```
/// use millpond::pool::{Pool, Split};
///
/// let (pool, mut seats) = Split::new(2);
/// assert_eq!(seats.len(), 2);
/// assert!(!pool.has_work() && pool.take(&mut seats[0]).is_none() && pool.steal(&mut seats[1]).is_none());
/// ```
///
/// # Safety
///
/// An implementation hands each task that was put to exactly one taker. Everything before the put
/// happens before the take. The runtime dereferences the tasks that it takes. `take_if` calls
/// `wanted` with a task that the pool holds, and returns no other task.
pub unsafe trait Pool: Send + Sync + Sized + 'static {
    /// The part of the pool that belongs to one worker.
    type Local: Send + 'static;

    /// The parameters of this type of pool; `()` if it has none.
    type Choice: Clone + std::fmt::Debug + Default + Send + Sync + 'static;

    /// The name of this pool on the command line.
    const NAME: &'static str;

    /// Whether a task's priority changes the order in which tasks are taken.
    const HONOURS_PRIORITY: bool;

    /// Makes a pool for `seats` workers, and the local part of each.
    fn with(seats: usize, choice: &Self::Choice) -> (Self, Vec<Self::Local>);

    /// Like [`with`](Pool::with), with the default choice.
    fn new(seats: usize) -> (Self, Vec<Self::Local>) {
        Self::with(seats, &Self::Choice::default())
    }

    /// Adds a ready task. Returns true if another worker can now find a task where it could find
    /// none before. The caller then wakes a sleeping worker.
    fn put(&self, local: &mut Self::Local, task: TaskRef, why: Put) -> bool;

    /// Takes the task at the working end of the worker's own queue.
    fn take(&self, local: &mut Self::Local) -> Option<TaskRef>;

    /// Like [`take`](Pool::take), but only if the task at the working end is `wanted`. The second
    /// value is true if other workers can no longer find tasks that they could find before. If the
    /// worker then runs something else, it calls [`leave`](Pool::leave).
    fn take_if(&self, local: &mut Self::Local, wanted: impl Fn(TaskRef) -> bool) -> (Option<TaskRef>, bool);

    /// Takes a task from another worker or from outside, and perhaps moves more tasks into `local`.
    /// Returns `None` if one round finds nothing.
    fn steal(&self, local: &mut Self::Local) -> Option<TaskRef>;

    /// Takes the oldest task that other workers can see in the queue of `seat`. The runtime calls
    /// this now and then, so that endlessly spawning tasks do not starve the others. Returns `None`
    /// if there is no such task, or if the pool has its own order, like the papers' pools.
    fn take_oldest(&self, seat: usize) -> Option<TaskRef> {
        _ = seat;
        None
    }

    /// Puts a task that has waited long enough. If the pool's order allows, the next worker that
    /// takes a task takes this one. Returns the same as [`put`](Pool::put).
    fn put_first(&self, local: &mut Self::Local, task: TaskRef) -> bool {
        self.put(local, task, Put::Spawned)
    }

    /// Makes the tasks behind the working end visible to other workers, before the worker starts a
    /// body. It may do nothing if other workers can already see tasks. Returns the same as
    /// [`put`](Pool::put).
    fn expose(&self, local: &mut Self::Local) -> bool;

    /// The task that [`take`](Pool::take) would probably return, unless another worker can take it
    /// before. The worker prefetches its cache lines. `None` is always right.
    fn next(&self, local: &Self::Local) -> Option<TaskRef> {
        _ = local;
        None
    }

    /// Makes all tasks visible to other workers, before the worker is away for long. A pool that
    /// shares no tasks may keep them before a [body](Leave::Body). It must not keep them when the
    /// worker leaves its [seat](Leave::Seat): no other worker would run them. Returns the same as
    /// [`put`](Pool::put).
    fn leave(&self, local: &mut Self::Local, leave: Leave) -> bool;

    /// Tells the pool that a worker has no work from now on (`true`), or has work again (`false`).
    /// The worker may sleep in between.
    fn hungry(&self, searching: bool);

    /// Whether some worker has no work, according to the calls of [`hungry`](Pool::hungry).
    fn is_hungry(&self) -> bool;

    /// Whether [`steal`](Pool::steal) might find a task. A worker checks this last, before it
    /// sleeps. The answer may be a wrong `true`. It must not be `false` if the put of a waiting
    /// task returned `true` before the sleeper's fence. There is one exception: the owner of that
    /// task, which is then awake, has taken it back or is about to.
    fn has_work(&self) -> bool;

    /// Whether a worker can get the tasks put by another worker. If not, a worker that has run its
    /// own tasks finds no more, except tasks left [with a seat](Leave::Seat).
    fn balances(&self) -> bool {
        true
    }

    /// Whether idle workers search for work all the time instead of sleeping. Then no worker
    /// sleeps, whatever [`Idle`](crate::Idle) says. So [`put`](Pool::put) may always return
    /// `false`.
    fn waits_busily(&self) -> bool {
        false
    }

    /// Whether an idle worker sleeps at once, without a search, if the program does not choose
    /// otherwise ([`Idle::ByPool`](crate::Idle::ByPool)).
    fn sleeps_at_once(&self) -> bool {
        false
    }

    /// What this pool has counted. All numbers are 0 if it counts nothing.
    fn counts(&self) -> Counts {
        Counts::default()
    }
}
