//! The parked scheme, ours: a task waits at one place at a time.
//!
//! [TG](crate#sources) §4.4 gives every access a ticket and finds ready tasks by a search among those that wait; what to put in
//! the place of that search it leaves open. Here a task *parks* at the first of its accesses that is not granted, and whoever
//! ends the generation before that one wakes it: it goes on to its next access, and is ready after the last.
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
//! A generation's `word` is null while nobody is parked at it, a chain of access records that are parked at it, `DONE`
//! when all its members were released, or `RETIRED` when it is the last of its version. (A task parks at the generation
//! *before* its own, as a thread waits at its predecessor's node in the queue lock of T. Craig, *Building FIFO and
//! priority-queuing spin locks from atomic swap*, 1993, and of P. Magnusson et al., *Queue locks on cache coherent
//! multiprocessors*, IPPS 1994. How others wake those that wait for data is in [decision 14].) So an access is granted if it has no generation before its own, or that one is `DONE`.
//!
//! Issuing costs no read-modify-write but one for a generation of several members that ends; parking costs one, releasing
//! one, and one more for the last of several members. All is O(1); a wake-up is O(accesses) of the woken task in all.
//!
//! Protocol:
//!
//! 1. `issue` (one thread) joins the youngest generation, if that is open and of the same mode, or closes it and adds
//!    another: the embedded one if the version has none yet, the youngest itself if that is `DONE` (nobody else knows it
//!    then), else a new one. It writes a generation before anybody else can know it.
//! 2. Members count themselves down in `left`, from 0; the issuer counts them in a cell, and adds its count when it
//!    closes the generation. Who brings `left` to 0 by that ends the generation. (Before it is closed, `left` is 0 or
//!    less, and no subtraction makes it 0.) A generation of one `write` or `inout` needs no count.
//! 3. Who ends a generation gives the one before back, which none of its members needs any more (they have all passed
//!    it), then exchanges its `word` for `DONE`, and wakes what it got. After the exchange it does not touch the
//!    generation again: the issuer may use it anew, or the last member of the next give it back.
//! 4. `issue` has set the link of a record that waits to the generation before its own. `enter` and `granted` scan over
//!    a task's accesses, in order: they load the word at each link, *acquire*, and if that is not `DONE`, push the
//!    access by a compare-and-swap, *release*; which fails if it has become `DONE`, and the scan goes on. Once pushed,
//!    the task is whose exchange takes it out. All its records were issued before.
//! 5. `retire` makes the youngest word `RETIRED`, if it is not `DONE`; who ends that generation finds it in the exchange,
//!    and has the version.
//!
//! [decision 14]: ../../../../docs/decisions/0014-parked.md
//!
//! What happened before a release happens before the exchange (the count's changes form one release sequence), and so
//! before who reads `DONE`, or is woken.

use std::ptr::{self, NonNull};

use self::generation::{Generation, Link};
use super::store::{Kept, Local, Store, give_back};
use super::{Mode, Released, Scheme};
use crate::sync::Guarded;
use crate::sync::tracked::Ordering::{AcqRel, Acquire};
use crate::task::{Record, TaskRef};

mod generation;

/// See the [module](self).
#[derive(Debug)]
pub struct Parked;

/// What the parked scheme keeps beside a version.
#[derive(Debug, Default)]
#[repr(C)]
pub struct ParkedMeta {
    /// The youngest generation. This and what follows is the issuer's.
    tail: Guarded<Link>,
    /// The accesses that were issued to it.
    members: Guarded<u64>,
    /// Its mode, as a number.
    mode: Guarded<u8>,
    /// Whether accesses of its mode may still join it.
    open: Guarded<bool>,
    /// The version's first generation.
    first: Generation,
}

// SAFETY: the cells are the issuer's; `first` is a generation, see there.
unsafe impl Send for ParkedMeta {}
// SAFETY: as above.
unsafe impl Sync for ParkedMeta {}

/// The generation of an access that was issued.
#[inline]
fn own(record: &Record) -> &Generation {
    // SAFETY: `issue` set it; a generation stays until all its members were released, and the next one's after that.
    unsafe { &*record.own().cast() }
}

/// Whether an access is granted; else its task is parked at the generation before.
///
/// Where that is, the record's link says, so that nobody waits for the line of the access's own generation.
#[inline]
fn pass(record: &Record) -> bool {
    let before: Link = NonNull::new(record.link().cast());
    // SAFETY: it is given back by who ends the access's own generation, not before that was released.
    before.is_none_or(|before| !unsafe { before.as_ref() }.park(record))
}

/// The access waits for a generation before its own; see `pass`.
#[inline]
fn wait_for(record: &Record, before: &Generation) {
    record.set_link(ptr::from_ref(before).cast_mut().cast());
}

impl ParkedMeta {
    /// A model's sign that the memory is used for something else.
    #[cfg(all(test, loom))]
    pub(super) fn end(&mut self) {
        self.tail.set(None);
        self.first.end_model();
    }

    #[inline]
    fn tail(&self) -> Option<&Generation> {
        // SAFETY: the youngest generation has none after it that could give it back.
        self.tail.get().map(|tail| unsafe { tail.as_ref() })
    }

    /// Whether all that were issued to the open generation `tail` were released.
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

    /// As `give`, by a thread that need not be a worker.
    fn give_from_anywhere(&self, generation: Link) {
        if let Some(generation) = generation.filter(|at| !ptr::eq(at.as_ptr(), &raw const self.first)) {
            give_back(generation);
        }
    }

    /// No access joins the open generation `tail` any more; whether all its members were released: then it is the
    /// caller's to end it.
    #[inline]
    fn close(&self, tail: &Generation) -> bool {
        self.open.set(false);
        let members = self.members.get();
        self.is_empty(tail) || tail.left.fetch_add(members, AcqRel).wrapping_add(members) == 0
    }

    /// The generation after `tail`, which is closed, for its first access.
    #[inline]
    fn next(local: &mut Local<Generation>, tail: &Generation, record: &Record) -> NonNull<Generation> {
        if tail.is_done() {
            tail.begin(None);
            return tail.into();
        }
        let next = local.take();
        // SAFETY: just taken: nobody else knows it.
        unsafe { next.as_ref() }.begin(Some(tail.into()));
        wait_for(record, tail);
        next
    }
}

/// Takes the lock of the store, for a fork.
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

// SAFETY: an access is granted when the generation before its own is done, or there is none: members of one generation
// do not conflict, and a generation is only done when all its members were released, which were granted before. A task
// is ready when its scan has passed all its accesses; the scan is one thread's at a time, which hands it over by the
// word (protocol 4), so it becomes ready once. Zeros are a version without a generation.
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

    // The table of `AnyScheme` is a second caller: without this the default engine would call it too.
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
                        // Nobody is parked at it: there was none after it.
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
