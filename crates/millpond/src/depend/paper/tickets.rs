//! The tickets scheme ([TG](crate#sources) §4.4, Fig. 5): it compares counters instead of following
//! edges.
//!
//! Needs the Cargo feature `catalogue`.
//!
//! A version has a queue for each mode (R, W, C, P of the paper; N for `concurrent`). For each
//! queue, `next` counts the tickets taken, and `global` counts the tickets served. An access takes
//! a ticket of its own queue, and notes the tickets taken from the other queues. It may run when
//! these were served. An `inout` also waits for its own queue. All operations are O(1): an issue, a
//! release, and the check of one access.
//!
//! ```text
//!   issue                                                 ready
//!     note next of the queues to wait for  (3–5, 20–23)     global of each is what was noted     (7–8, 25–26)
//!     next of the own queue is one more    (2, 21)        release
//!                                                           global of the own queue is one more  (10, 17, 28)
//! ```
//!
//! A `write` waits for no task (15). The figure keeps three or four tickets. This implementation
//! keeps their *sum*, and compares it with the sum of the counters. The results are equal.
//! Until an access is released, the queues that it waits for serve no more than the noted tickets:
//! later tasks in them wait for this access.
//!
//! A release does not know which tasks it makes ready. A task that is not ready is in a pool
//! (`tickets/waiting.rs`), which idle workers search (§4.4). The paper says that issue and release
//! "must not execute in exclusion"; it means that they need not.
//!
//! Protocol (the pool has its own):
//!
//! 1. Only the issuer uses `next`. Releases count `global`, *acquire* and *release* (and SeqCst,
//!    which the pool needs). It is the last field of the version touched by a release.
//! 2. `retire` adds to `global` of the youngest generation's queue, so that it becomes `RETIRED`
//!    when all its tickets were served. The thread whose release makes it `RETIRED` owns the
//!    version: all earlier generations were released before. A thread that reads such a counter
//!    computes the tickets served from it and `next`, which no longer changes.

use std::ptr;

use self::waiting::Pool;
use crate::depend::{Mode, Released, Scheme};
use crate::sync::tracked::AtomicU64;
use crate::sync::tracked::Ordering::{AcqRel, Acquire, SeqCst};
use crate::sync::{Guarded, prefetch_for_write};
use crate::task::{Record, ScopePtr, TaskRef};

mod waiting;

/// The tickets scheme ([TG](crate#sources) §4.4, Fig. 5): it compares counters instead of following
/// edges. An issue and a release take O(1). A release does not know which tasks it makes ready, so
/// idle workers search the waiting tasks.
///
/// Needs the Cargo feature `catalogue`.
#[derive(Debug)]
pub struct Tickets;

/// The tickets scheme's data in a version.
#[derive(Debug, Default)]
#[repr(C)]
pub struct TicketsMeta {
    /// The number of tickets served of each queue.
    global: [AtomicU64; QUEUES],
    /// The number of tickets taken of each queue, modulo 2³². Only the issuer writes it.
    next: [Guarded<u32>; QUEUES],
    /// The mode of the youngest generation (8 bits), and its depth in the task graph. Only the
    /// issuer uses it.
    youngest: Guarded<u32>,
}

const QUEUES: usize = 5;
const _: () = assert!(cfg!(loom) || size_of::<TicketsMeta>() == 64);

/// The value of a retired version's counter after its last ticket was served. Greater than any
/// count.
const RETIRED: u64 = 1 << 63;

// SAFETY: only the issuer writes `next` and `youngest`. Other threads read `next` only after a
// `retire` that tells them to, and it was written before.
unsafe impl Send for TicketsMeta {}
// SAFETY: as above.
unsafe impl Sync for TicketsMeta {}

/// The queue of a mode.
#[inline]
fn queue(mode: Mode) -> usize {
    match mode {
        Mode::Read => 0,
        Mode::Write | Mode::Inout => 1,
        Mode::Commutative => 2,
        Mode::Reduce => 3,
        Mode::Concurrent => 4,
    }
}

/// Whether an access waits for the tickets of a queue.
#[inline]
fn waits_for(mode: Mode, other: usize) -> bool {
    mode == Mode::Inout || (mode != Mode::Write && other != queue(mode))
}

/// The sum of the tickets that an access waits for (32 bits). The pool stores the task's depth in
/// the same word, in the first access.
#[inline]
fn noted(record: &Record) -> u32 {
    record.own().addr() as u32
}

impl TicketsMeta {
    /// Tells a model that the memory is reused.
    #[cfg(all(test, loom))]
    pub(in crate::depend) fn end(&mut self) {
        self.global.iter_mut().for_each(|global| global.with_mut(|_| ()));
    }

    /// The number of tickets served of a queue, modulo 2³².
    #[inline]
    fn served(&self, queue: usize) -> u32 {
        let global = self.global[queue].load(SeqCst);
        if global < RETIRED / 2 {
            global as u32
        } else {
            self.next[queue].get().wrapping_sub((RETIRED - global) as u32)
        }
    }

    /// The sum over the queues that an access of `mode` waits for.
    #[inline]
    fn sum(mode: Mode, of: impl Fn(usize) -> u32) -> u32 {
        (0..QUEUES).filter(|&queue| waits_for(mode, queue)).fold(0, |sum, queue| sum.wrapping_add(of(queue)))
    }

    /// Whether an access was granted (Fig. 5, `ready_check`).
    #[inline]
    fn serves(&self, mode: Mode, noted: u32) -> bool {
        Self::sum(mode, |queue| self.served(queue)) == noted
    }

    /// The mode of the youngest generation, as a number. 0 if there was none.
    #[inline]
    fn mode(&self) -> u8 {
        self.youngest.get() as u8
    }

    fn depth(&self) -> u32 {
        self.youngest.get() >> 8
    }

    fn set_youngest(&self, mode: u8, depth: u32) {
        self.youngest.set(depth << 8 | u32::from(mode));
    }
}

/// The scheme's data in the version of an access.
#[cfg(not(all(test, loom)))]
#[inline]
fn meta(record: &Record) -> &TicketsMeta {
    record.version().meta().of::<Tickets>()
}

/// A model has no versions. The target is the scheme's data itself.
#[cfg(all(test, loom))]
fn meta(record: &Record) -> &TicketsMeta {
    // SAFETY: the records of models point there, exposed, and not longer than it lives.
    unsafe { &*ptr::with_exposed_provenance(record.target()) }
}

/// The depth in the task graph of a task whose accesses were just issued. It is the greatest depth
/// of its generations, which all get this depth.
fn depth_of(task: TaskRef) -> u32 {
    let metas = || task.records().iter().map(meta);
    let depth = metas().map(TicketsMeta::depth).max().unwrap_or(0);
    metas().for_each(|meta| meta.set_youngest(meta.mode(), depth));
    depth
}

/// The nesting depth of the task's scope.
fn level_of(task: TaskRef) -> u32 {
    // The tasks of models, and of step-by-step tests, belong to no scope.
    if cfg!(any(test, feature = "conformance")) && task.header().scope() == ScopePtr::DANGLING {
        return 0;
    }
    // SAFETY: a scope outlives its tasks.
    unsafe { task.header().scope_state().as_ref() }.depth()
}

/// Whether all accesses of a task were granted.
fn is_ready(task: TaskRef) -> bool {
    let granted = |record: &Record| meta(record).serves(record.mode(), noted(record));
    task.records().iter().all(granted)
}

// SAFETY: an access is granted when all earlier accesses in the queues that it waits for were
// released. These include all that it conflicts with. A task is ready when all its accesses are
// granted, and is found once, by the lock of the pool. The counters' acquire and release order what
// happened before the releases before the task. Zeros are a version whose tickets are all untaken.
unsafe impl Scheme for Tickets {
    type Meta = TicketsMeta;
    type Local = ();
    type Shared = Pool;

    const NAME: &'static str = "tickets";

    const SEARCHES: bool = true;

    #[inline]
    fn is_idle(meta: &TicketsMeta) -> bool {
        // All accesses before the youngest generation were released before it.
        match meta.mode() {
            0 => true,
            mode => {
                let queue = queue(Mode::of(mode.into()));
                meta.served(queue) == meta.next[queue].get()
            }
        }
    }

    #[inline]
    fn is_ready(meta: &TicketsMeta, mode: Mode) -> bool {
        meta.serves(mode, TicketsMeta::sum(mode, |queue| meta.next[queue].get()))
    }

    #[inline]
    fn prefetch(meta: &TicketsMeta, _record: &Record) {
        prefetch_for_write(ptr::NonNull::from(meta).cast(), size_of::<TicketsMeta>());
    }

    #[inline]
    unsafe fn issue((): &mut (), meta: &TicketsMeta, record: &Record) -> bool {
        let mode = record.mode();
        let sum = TicketsMeta::sum(mode, |queue| meta.next[queue].get());
        record.set_own(ptr::without_provenance_mut(sum as usize));
        let taken = &meta.next[queue(mode)];
        taken.set(taken.get().wrapping_add(1));
        let joins = mode.shares() && meta.mode() == mode as u8;
        meta.set_youngest(mode as u8, meta.depth() + u32::from(!joins));
        meta.serves(mode, sum)
    }

    #[inline]
    unsafe fn enter(pool: &Pool, task: TaskRef, waiting: usize) -> bool {
        let depth = if task.header().accesses() > 1 || waiting > 0 { depth_of(task) } else { 0 };
        waiting == 0 || !pool.put(task, level_of(task), depth, is_ready)
    }

    #[inline]
    unsafe fn granted(_record: &Record) -> bool {
        unreachable!("no release finds an access")
    }

    #[inline]
    unsafe fn release(pool: &Pool, (): &mut (), meta: &TicketsMeta, record: &Record) -> Released {
        let served = meta.global[queue(record.mode())].fetch_add(1, SeqCst) + 1;
        pool.note_release();
        Released { granted: None, last: served == RETIRED }
    }

    unsafe fn retire(meta: &TicketsMeta) -> bool {
        let mode = meta.mode();
        if mode == 0 {
            return true;
        }
        let queue = queue(Mode::of(mode.into()));
        let global = meta.global[queue].load(Acquire);
        let taken = global + u64::from(meta.next[queue].get().wrapping_sub(global as u32));
        meta.global[queue].fetch_add(RETIRED - taken, AcqRel) == taken
    }

    #[inline]
    fn find(pool: &Pool) -> Option<TaskRef> {
        pool.find(is_ready)
    }

    #[inline]
    fn has_ready(pool: &Pool) -> bool {
        pool.has_changed()
    }
}
