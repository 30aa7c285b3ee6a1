//! The paper's pools: a placement of queues, and a rule for when a put wakes a sleeper
//! ([TP](crate#sources) §3, §6.3). The rows of the paper's Tables 2 and 3 are in
//! [`variants`](super::variants).
//!
//! Needs the Cargo feature `catalogue`.

use std::sync::Arc;

use crossbeam_utils::CachePadded;

use super::params::Params;
use super::placement::{Found, Placement};
use super::settings::{Settings, Tally};
use crate::pool::{Counts, Leave, Pool, Put};
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use crate::task::TaskRef;

/// A row of the tables, as a type.
pub trait Variant: Send + Sync + 'static {
    /// The name in the tables.
    const NAME: &'static str;

    /// Where workers put tasks, and how they find them.
    type Placement: Placement;

    /// When a put wakes a sleeper.
    type Wake: Wake;
}

/// When a put wakes a sleeping worker ([TP](crate#sources) §6.3).
pub trait Wake: Send + Sync + 'static {
    /// Whether workers never sleep, so that a put need not wake one.
    const BUSY: bool = false;

    /// Whether a put must wake a sleeping worker, given what the other workers can find.
    fn wakes(found: Found) -> bool;
}

/// Each put that other workers can see wakes a sleeper.
pub enum EachPut {}

/// A put into an empty queue wakes a sleeper.
pub enum IntoEmpty {}

/// Workers do not sleep: an idle worker searches for work all the time. So a put wakes none, and
/// needs no fence.
pub enum Busy {}

impl Wake for EachPut {
    #[inline]
    fn wakes(found: Found) -> bool {
        found != Found::Nothing
    }
}

impl Wake for IntoEmpty {
    #[inline]
    fn wakes(found: Found) -> bool {
        found == Found::InAnEmptyQueue
    }
}

impl Wake for Busy {
    const BUSY: bool = true;

    #[inline]
    fn wakes(_found: Found) -> bool {
        // A thread that waits for a call, and not for work, may sleep. Calls reach it without this.
        false
    }
}

/// The pool of one row of the paper's tables ([TP](crate#sources) §3, §6.3). A row is a placement
/// of queues, and a rule for when a put wakes a sleeper.
///
/// `V` is a row of [`variants`](crate::pool::variants). [`AnyPool`](crate::pool::AnyPool) can be
/// the pool of any row. Needs the Cargo feature `catalogue`.
///
/// ```
/// use millpond::pool::{Named, variants::Dq8};
/// use millpond::{DefaultMemory, DefaultScheme, Parts, Runtime, Spawn};
///
/// let rt: Runtime<Parts<DefaultMemory, Named<Dq8>, DefaultScheme>> = Runtime::builder().workers(2).build_with()?;
/// assert_eq!(rt.scope(|s| s.wait(s.spawn((), |()| 6)))??, 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Named<V: Variant> {
    pub(super) placement: V::Placement,
    hungry: CachePadded<AtomicUsize>,
    tally: Arc<Tally>,
    /// How many puts of each seat asked to wake a sleeper.
    wake_calls: Box<[Arc<WakeCalls>]>,
}

/// A counter that one seat writes.
type WakeCalls = CachePadded<AtomicU64>;

/// The part of the pool that belongs to one worker.
pub struct Local<L> {
    placement: L,
    wake_calls: Arc<WakeCalls>,
}

// SAFETY: a task is put into one queue, or moves from one to another. A queue of one thread, or
// under a lock, returns each task once. So do the queues of `shared`, by their protocols. The
// locks, or the link of `TwoLock`, order a put before the take.
unsafe impl<V: Variant> Pool for Named<V> {
    type Local = Local<<V::Placement as Placement>::Local>;
    type Choice = Params;

    const NAME: &'static str = V::NAME;

    const HONOURS_PRIORITY: bool = false;

    fn with(seats: usize, params: &Params) -> (Self, Vec<Self::Local>) {
        let settings = Settings::new(*params);
        let (placement, locals) = Placement::new(seats, &settings);
        let wake_calls: Box<[Arc<WakeCalls>]> = (0..seats).map(|_| Arc::default()).collect();
        let local = |(placement, calls): (_, &Arc<WakeCalls>)| Local { placement, wake_calls: calls.clone() };
        let locals = locals.into_iter().zip(&wake_calls).map(local).collect();
        let hungry = CachePadded::new(AtomicUsize::new(0));
        (Named { placement, hungry, tally: settings.tally, wake_calls }, locals)
    }

    #[inline]
    fn put(&self, local: &mut Self::Local, task: TaskRef, _why: Put) -> bool {
        let wakes = V::Wake::wakes(self.placement.put(&mut local.placement, task));
        if wakes {
            // Not a read-modify-write: only this seat writes.
            local.wake_calls.store(local.wake_calls.load(Relaxed) + 1, Relaxed);
        }
        wakes
    }

    #[inline]
    fn take(&self, local: &mut Self::Local) -> Option<TaskRef> {
        self.placement.take(&mut local.placement)
    }

    #[inline]
    fn take_if(&self, local: &mut Self::Local, wanted: impl Fn(TaskRef) -> bool) -> (Option<TaskRef>, bool) {
        (self.placement.take_if(&mut local.placement, wanted), false)
    }

    #[inline]
    fn steal(&self, local: &mut Self::Local) -> Option<TaskRef> {
        self.placement.steal(&mut local.placement)
    }

    /// Does nothing: while a worker runs a body, the tasks that the pool's rule keeps private stay
    /// private.
    #[inline]
    fn expose(&self, _local: &mut Self::Local) -> bool {
        false
    }

    fn leave(&self, local: &mut Self::Local, leave: Leave) -> bool {
        self.placement.leave(&mut local.placement, leave)
    }

    fn hungry(&self, searching: bool) {
        if searching {
            self.hungry.fetch_add(1, Relaxed);
        } else {
            self.hungry.fetch_sub(1, Relaxed);
        }
    }

    #[inline]
    fn is_hungry(&self) -> bool {
        self.hungry.load(Relaxed) > 0
    }

    fn has_work(&self) -> bool {
        self.placement.has_work()
    }

    fn balances(&self) -> bool {
        V::Placement::BALANCES
    }

    fn waits_busily(&self) -> bool {
        V::Wake::BUSY
    }

    /// As in the paper, whose idle threads wait for a condition variable
    /// ([TP](crate#sources) §4.1).
    fn sleeps_at_once(&self) -> bool {
        !V::Wake::BUSY
    }

    fn counts(&self) -> Counts {
        let wake_calls = self.wake_calls.iter().map(|calls| calls.load(Relaxed)).sum();
        Counts { wake_calls, wake_ups: 0, more_arrays: self.tally.more_arrays() }
    }
}
