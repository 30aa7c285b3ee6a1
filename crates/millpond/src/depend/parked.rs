//! The parked scheme, our own: a task waits at one place at a time.
//!
//! [TG](crate#sources) §4.4 gives every access a ticket, and searches the waiting tasks for ready
//! ones. It leaves open how to replace that search. Here a task *parks* at its first access that is
//! not granted. The thread that ends the generation before that access wakes the task. The task
//! continues with its next access, and is ready after the last one.
//!
//! ```text
//!   version   tail ──────────────────────────────────────────────┐      (the issuer's: youngest generation,
//!                                                                 ▼       its mode, how many it has issued)
//!   generations      ┌──────┐   prev   ┌──────┐   prev   ┌──────┐
//!     oldest first   │ w    │ ◀─────── │ r r r│ ◀─────── │ w    │
//!                    │ word │          │ word │          │ word │
//!                    └──┬───┘          └──┬───┘          └──────┘
//!                       ▼                 ▼
//!                    r ─▶ r               w          parked accesses, of the generation after
//! ```
//!
//! A generation's `word` has one of four values:
//!
//! * null while no task is parked at it;
//! * a chain of the access records parked at it;
//! * `DONE` when all its members were released;
//! * `RETIRED` when it is the last of its version.
//!
//! So an access is granted if no generation precedes its own, or if the preceding one is `DONE`. A
//! task parks at the generation *before* its own, as a thread waits at its predecessor's node in a
//! queue lock. See T. Craig, *Building FIFO and priority-queuing spin locks from atomic swap*,
//! 1993, and P. Magnusson et al., *Queue locks on cache coherent multiprocessors*, IPPS 1994.
//! [Decision 14][decision 14] describes how other systems wake tasks that wait for data.
//!
//! An issue costs no read-modify-write, except one if it ends a generation of several members.
//! Parking costs one. A release costs one; the last release of several members costs two. All
//! operations are O(1). The wake-ups of a task cost O(its accesses) in total.
//!
//! Protocol:
//!
//! 1. `issue` (one thread) joins the youngest generation if that is open and of the same mode.
//!    Otherwise it closes the youngest and adds another generation: the embedded one if the version
//!    has none yet; the youngest itself if that is `DONE` (then no other thread knows it); else a
//!    new one. It writes a generation before any other thread can know it.
//! 2. Members count themselves down in `left`, from 0. The issuer counts them in a cell, and adds
//!    its count when it closes the generation. The thread that brings `left` to 0 ends the
//!    generation. (Before the generation is closed, `left` is 0 or less, and no subtraction makes
//!    it 0.) A generation of one `write` or `inout` needs no count.
//! 3. The thread that ends a generation first gives back the preceding one. No member needs it any
//!    more: all have passed it. Then the thread exchanges `word` for `DONE`, and wakes the tasks in
//!    the chain that it got. After the exchange it does not touch the generation again: the issuer
//!    may reuse it, or the last member of the next generation may give it back.
//! 4. `issue` sets the link of a waiting record to the generation before its own. `enter` and
//!    `granted` scan a task's accesses in order. They load the word at each link, *acquire*. If it
//!    is not `DONE`, they push the access by a compare-and-swap, *release*. If that fails because
//!    the word has become `DONE`, the scan continues. Once pushed, the task belongs to the thread
//!    whose exchange takes it out; all its records were issued before.
//! 5. `retire` sets the youngest word to `RETIRED`, if it is not `DONE`. The thread that ends that
//!    generation finds `RETIRED` in the exchange, and owns the version.
//!
//! [decision 14]: ../../../../docs/decisions/0014-parked.md
//!
//! Everything before a release happens before the exchange, because the changes of the count form
//! one release sequence. So it also happens before a thread reads `DONE`, and before a task is
//! woken.

use std::ptr::{self, NonNull};

use self::generation::{Generation, Link};
use super::store::{Kept, Local, Store, give_back};
use super::{Mode, Released, Scheme};
use crate::sync::Guarded;
use crate::sync::tracked::Ordering::{AcqRel, Acquire};
use crate::task::{Record, TaskRef};

mod generation;

/// The parked scheme, which is our own: a task waits at one place at a time. An issue and a release
/// take O(1). The wake-ups of a task take O(its accesses) in total.
#[derive(Debug)]
pub struct Parked;

/// The parked scheme's data in a version.
#[derive(Debug, Default)]
#[repr(C)]
pub struct ParkedMeta {
    /// The youngest generation. Only the issuer uses this field and the next three.
    tail: Guarded<Link>,
    /// The number of accesses issued to it.
    members: Guarded<u64>,
    /// Its mode, as a number.
    mode: Guarded<u8>,
    /// Whether accesses of its mode may still join it.
    open: Guarded<bool>,
    /// The version's first generation.
    first: Generation,
}

// SAFETY: only the issuer uses the cells. For `first`, see `Generation`.
unsafe impl Send for ParkedMeta {}
// SAFETY: as above.
unsafe impl Sync for ParkedMeta {}

/// The generation of an issued access.
#[inline]
fn own(record: &Record) -> &Generation {
    // SAFETY: `issue` set it. A generation stays until all its members, and those of the next one,
    // were released.
    unsafe { &*record.own().cast() }
}

/// Returns whether an access is granted. If not, parks its task at the preceding generation.
///
/// The record's link holds the address of that generation, so no thread waits for the line of the
/// access's own generation.
#[inline]
fn pass(record: &Record) -> bool {
    let before: Link = NonNull::new(record.link().cast());
    // SAFETY: the thread that ends the access's own generation gives it back, but not before that
    // access was released.
    before.is_none_or(|before| !unsafe { before.as_ref() }.park(record))
}

/// Makes the access wait for the generation before its own. See `pass`.
#[inline]
fn wait_for(record: &Record, before: &Generation) {
    record.set_link(ptr::from_ref(before).cast_mut().cast());
}

impl ParkedMeta {
    /// Tells a model that the memory is reused.
    #[cfg(all(test, loom))]
    pub(super) fn end(&mut self) {
        self.tail.set(None);
        self.first.end_model();
    }

    #[inline]
    fn tail(&self) -> Option<&Generation> {
        // SAFETY: the youngest generation has no successor that could give it back.
        self.tail.get().map(|tail| unsafe { tail.as_ref() })
    }

    /// Whether all accesses issued to the open generation `tail` were released.
    #[inline]
    fn is_empty(&self, tail: &Generation) -> bool {
        tail.left.load(Acquire) == self.members.get().wrapping_neg()
    }

    /// Gives a generation back, unless it is the embedded one.
    #[inline]
    fn give(&self, local: &mut Local<Generation>, generation: NonNull<Generation>) {
        if !ptr::eq(generation.as_ptr(), &raw const self.first) {
            local.give(generation);
        }
    }

    /// Like `give`, for a thread that need not be a worker.
    fn give_from_anywhere(&self, generation: Link) {
        if let Some(generation) = generation.filter(|at| !ptr::eq(at.as_ptr(), &raw const self.first)) {
            give_back(generation);
        }
    }

    /// Closes the open generation `tail`: no access joins it any more. Returns whether all its
    /// members were released. If so, the caller must end it.
    #[inline]
    fn close(&self, tail: &Generation) -> bool {
        self.open.set(false);
        let members = self.members.get();
        self.is_empty(tail) || tail.left.fetch_add(members, AcqRel).wrapping_add(members) == 0
    }

    /// Returns the generation after `tail`, which is closed, for its first access.
    #[inline]
    fn next(local: &mut Local<Generation>, tail: &Generation, record: &Record) -> NonNull<Generation> {
        if tail.is_done() {
            tail.begin(None);
            return tail.into();
        }
        let next = local.take();
        // SAFETY: the generation was just taken, and no other thread knows it.
        unsafe { next.as_ref() }.begin(Some(tail.into()));
        wait_for(record, tail);
        next
    }
}

/// Takes the lock of the store for a fork.
pub(super) fn take_lock() -> Box<dyn std::any::Any> {
    super::store::take_lock::<Generation>()
}

impl Kept for Generation {
    fn store() -> &'static Store<Self> {
        static STORE: Store<Generation> = Store::new();
        &STORE
    }

    fn end_model(&self) {
        self.end_model();
    }
}

// SAFETY: an access is granted when the preceding generation is done, or there is none. Members of
// one generation do not conflict. A generation is done only when all its members were released, and
// those were granted before. A task is ready when its scan has passed all its accesses. One thread
// at a time runs the scan, and hands it over through the word (protocol 4). So the task becomes
// ready once. Zeros are a version without a generation.
unsafe impl Scheme for Parked {
    type Meta = ParkedMeta;
    type Local = Local<Generation>;
    type Shared = ();

    const NAME: &'static str = "parked";

    #[inline]
    fn is_idle(meta: &ParkedMeta) -> bool {
        meta.tail().is_none_or(|tail| if meta.open.get() { meta.is_empty(tail) } else { tail.is_done() })
    }

    #[inline]
    fn is_ready(meta: &ParkedMeta, mode: Mode) -> bool {
        let joins = meta.open.get() && meta.mode.get() == mode as u8;
        let first = |tail: &Generation| tail.before().is_none_or(Generation::is_done);
        Self::is_idle(meta) || (joins && meta.tail().is_some_and(first))
    }

    #[inline]
    fn prefetch(_meta: &ParkedMeta, record: &Record) {
        own(record).prefetch();
    }

    // The table of `AnyScheme` is a second caller. Without this attribute, the default engine would
    // call `issue` out of line too.
    #[inline(always)]
    unsafe fn issue(local: &mut Local<Generation>, meta: &ParkedMeta, record: &Record) -> bool {
        let mode = record.mode();
        let next = match meta.tail() {
            None => NonNull::from(&meta.first),
            Some(tail) => {
                if meta.open.get() {
                    if meta.mode.get() == mode as u8 {
                        meta.members.set(meta.members.get() + 1);
                        record.set_own(ptr::from_ref(tail).cast_mut().cast());
                        if let Some(before) = tail.before().filter(|before| !before.is_done()) {
                            wait_for(record, before);
                        }
                        return record.link().is_null();
                    }
                    if meta.close(tail) {
                        // No task is parked at it, because it has no successor.
                        if let Some(before) = tail.take_before() {
                            meta.give(local, before);
                        }
                        tail.set_done();
                    }
                }
                ParkedMeta::next(local, tail, record)
            }
        };
        meta.tail.set(Some(next));
        meta.mode.set(mode as u8);
        meta.open.set(mode.shares());
        meta.members.set(1);
        record.set_own(next.as_ptr().cast());
        record.link().is_null()
    }

    #[inline]
    unsafe fn enter((): &(), task: TaskRef, waiting: usize) -> bool {
        waiting == 0 || task.records().iter().all(pass)
    }

    #[inline]
    unsafe fn granted(record: &Record) -> bool {
        let task = record.task();
        task.header().accesses() < 2 || task.records()[task.index_of(record) + 1..].iter().all(pass)
    }

    #[inline]
    unsafe fn release((): &(), local: &mut Local<Generation>, meta: &ParkedMeta, record: &Record) -> Released {
        let generation = own(record);
        if record.mode().shares() && generation.left.fetch_sub(1, AcqRel) != 1 {
            return Released { granted: None, last: false };
        }
        if let Some(before) = generation.take_before() {
            meta.give(local, before);
        }
        let this = NonNull::from(generation);
        match generation.end() {
            Ok(granted) => Released { granted, last: false },
            Err(_retired) => {
                meta.give(local, this);
                Released { granted: None, last: true }
            }
        }
    }

    unsafe fn retire(meta: &ParkedMeta) -> bool {
        let Some(tail) = meta.tail() else { return true };
        let idle = if meta.open.get() {
            tail.retire_open();
            meta.close(tail)
        } else {
            !tail.retire()
        };
        if idle {
            meta.give_from_anywhere(tail.take_before());
            meta.give_from_anywhere(meta.tail.get());
            meta.tail.set(None);
        }
        idle
    }
}
