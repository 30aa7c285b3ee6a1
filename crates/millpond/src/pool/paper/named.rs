//! The paper's pools: a placement of queues, and a rule for when a put wakes a sleeper
//! ([TP](crate#sources) §3, §6.3). The rows of the paper's Tables 2 and 3 are in
//! [`variants`](super::variants).
//!
//! Needs the Cargo feature `catalogue`.

use crossbeam_utils::CachePadded;

use super::params::Params;
use super::placement::{Found, Placement};
use crate::pool::{Leave, Pool, Put};
use crate::sync::atomic::{AtomicUsize, Ordering::Relaxed};
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

/// Workers do not sleep: an idle worker searches for work all the time.
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
    fn wakes(found: Found) -> bool {
        // Some threads sleep nevertheless: threads that are not workers of the pool, and workers
        // that slept before the pool was told.
        found != Found::Nothing
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
    placement: V::Placement,
    hungry: CachePadded<AtomicUsize>,
}

// SAFETY: a task is put into one queue, or moves from one to another. A queue of one thread, or
// under a lock, returns each task once. So do the queues of `shared`, by their protocols. The
// locks, or the link of `TwoLock`, order a put before the take.
unsafe impl<V: Variant> Pool for Named<V> {
    type Local = <V::Placement as Placement>::Local;
    type Choice = Params;

    const NAME: &'static str = V::NAME;

    const HONOURS_PRIORITY: bool = false;

    fn with(seats: usize, params: &Params) -> (Self, Vec<Self::Local>) {
        let (placement, locals) = Placement::new(seats, params);
        (Named { placement, hungry: CachePadded::new(AtomicUsize::new(0)) }, locals)
    }

    #[inline]
    fn put(&self, local: &mut Self::Local, task: TaskRef, _why: Put) -> bool {
        V::Wake::wakes(self.placement.put(local, task))
    }

    #[inline]
    fn take(&self, local: &mut Self::Local) -> Option<TaskRef> {
        self.placement.take(local)
    }

    #[inline]
    fn take_if(&self, local: &mut Self::Local, wanted: impl Fn(TaskRef) -> bool) -> (Option<TaskRef>, bool) {
        (self.placement.take_if(local, wanted), false)
    }

    #[inline]
    fn steal(&self, local: &mut Self::Local) -> Option<TaskRef> {
        self.placement.steal(local)
    }

    /// Does nothing: while a worker runs a body, the tasks that the pool's rule keeps private stay
    /// private.
    #[inline]
    fn expose(&self, _local: &mut Self::Local) -> bool {
        false
    }

    fn leave(&self, local: &mut Self::Local, leave: Leave) -> bool {
        self.placement.leave(local, leave)
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
}
