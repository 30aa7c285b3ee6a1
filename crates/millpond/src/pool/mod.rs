//! Pools: where ready tasks wait, and who finds them ([TP](crate#sources) §3).

pub use crate::task::TaskRef;

#[cfg(feature = "catalogue")]
pub mod any;
#[cfg(feature = "catalogue")]
mod paper;
mod random;
pub mod split;
#[cfg(test)]
mod testing;
#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(feature = "catalogue")]
pub use paper::{named, params, variants};

/// Why a task is put, a hint for when the owner will look at the pool again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// By a body that spawned it and goes on: the owner may not come back for long.
    Spawned,
    /// By a worker that released it and takes the next task right away.
    Released,
}

/// Why a worker leaves what it has put to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// It goes on with a body that may take long, and comes back to its pool.
    Body,
    /// It gives up its seat; or does something else, which may wait for what others do.
    Seat,
}

/// Where ready tasks wait, and who finds them.
///
/// A pool is shared by *seats* (workers, numbered from 0); each seat has a [`Local`](Pool::Local) that only its worker
/// touches.
///
/// [`split::Split`] and `named::Named` implement it, and so can other crates. Only the runtime calls the methods. No
/// method calls back into the runtime. A method may hold a lock of the pool's own while it calls `wanted`.
///
/// A `Local` goes from thread to thread with its seat, and one thread uses it at a time. The runtime drops a pool when no
/// task is in it.
///
/// ```
/// use millpond::pool::{Pool, split::Split};
///
/// let (pool, mut seats) = Split::new(2);
/// assert_eq!(seats.len(), 2);
/// assert!(!pool.has_work() && pool.take(&mut seats[0]).is_none() && pool.steal(&mut seats[1]).is_none());
/// ```
///
/// # Safety
///
/// An implementor hands every task that was put to exactly one taker, and what happened before the
/// put happens before the take. The runtime dereferences what it takes. `take_if` calls `wanted` with a task that the
/// pool holds, and returns no other one.
pub unsafe trait Pool: Send + Sync + Sized + 'static {
    /// What one worker keeps for itself.
    type Local: Send + 'static;

    /// What is left to choose when the type is named; `()` if there is nothing.
    type Choice: Clone + std::fmt::Debug + Default + Send + Sync + 'static;

    /// The name by which the command line chooses it.
    const NAME: &'static str;

    /// Whether a task's priority changes the order in which tasks are taken.
    const HONOURS_PRIORITY: bool;

    /// A pool for `seats` workers, and the local part of each.
    fn with(seats: usize, choice: &Self::Choice) -> (Self, Vec<Self::Local>);

    /// As [`with`](Pool::with) the default choice.
    fn new(seats: usize) -> (Self, Vec<Self::Local>) {
        Self::with(seats, &Self::Choice::default())
    }

    /// Adds a ready task. True if another worker can now find a task where before it could find none: the caller
    /// then wakes a sleeper.
    fn put(&self, local: &mut Self::Local, task: TaskRef, why: Put) -> bool;

    /// Takes the task at the working end of the worker's own queue.
    fn take(&self, local: &mut Self::Local) -> Option<TaskRef>;

    /// As [`take`](Pool::take), but only if the task at the working end is `wanted`; and whether others cannot find
    /// tasks any more that they could find before: then a worker that goes on with something else calls
    /// [`leave`](Pool::leave).
    fn take_if(&self, local: &mut Self::Local, wanted: impl Fn(TaskRef) -> bool) -> (Option<TaskRef>, bool);

    /// Takes a task from another worker or from outside, and perhaps more of them into `local`; `None` if nothing was
    /// found in one round.
    fn steal(&self, local: &mut Self::Local) -> Option<TaskRef>;

    /// Takes the task that has waited longest of those that the worker of `seat` has put, and that others can see: asked now and
    /// then, so that tasks that spawn tasks without end let all others run as well. `None`: no such task, or the pool's order is its
    /// own, as that of the papers' pools.
    fn take_oldest(&self, seat: usize) -> Option<TaskRef> {
        _ = seat;
        None
    }

    /// Puts a task for which others have waited long enough: whoever takes one next should take this one, if the pool's order
    /// allows. Returns as [`put`](Pool::put) does.
    fn put_first(&self, local: &mut Self::Local, task: TaskRef) -> bool {
        self.put(local, task, Put::Spawned)
    }

    /// Makes what waits behind the working end visible to others, before the worker disappears into a body; it may
    /// leave it at what they can see already. Returns as [`put`](Pool::put) does.
    fn expose(&self, local: &mut Self::Local) -> bool;

    /// The task that [`take`](Pool::take) would probably return, if nobody else can take it before the next call: the
    /// worker fetches its lines early. `None` is always right.
    fn next(&self, local: &Self::Local) -> Option<TaskRef> {
        _ = local;
        None
    }

    /// Makes everything visible to others, before the worker disappears for long. A pool whose rule is that tasks are not
    /// shared may keep them before a [body](Leave::Body), never before the [seat](Leave::Seat) is left: then nobody else
    /// would run them. Returns as [`put`](Pool::put) does.
    fn leave(&self, local: &mut Self::Local, leave: Leave) -> bool;

    /// Tells the pool that a worker has nothing to do from now on (`true`), or no longer; it may be asleep meanwhile.
    fn hungry(&self, searching: bool);

    /// Whether some worker has nothing to do, by what [`hungry`](Pool::hungry) was told.
    fn is_hungry(&self) -> bool;

    /// Whether [`steal`](Pool::steal) might find something: the last look before a worker sleeps. It may err
    /// towards `true`, never towards `false` for a task whose put returned `true` before the sleeper's fence, unless
    /// its owner, who is awake then, has taken it back or is about to.
    fn has_work(&self) -> bool;

    /// Whether a worker gets what another one has put. If not, a worker that has run its own is done; only what is left
    /// [with the seat](Leave::Seat) is for all.
    fn balances(&self) -> bool {
        true
    }

    /// Whether workers that have nothing to do look for work all the time, instead of sleeping.
    fn waits_busily(&self) -> bool {
        false
    }
}
