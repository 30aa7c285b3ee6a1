//! The list scheme (TG §4.3, Fig. 4): all tasks that wait for a version are kept on one ordered list.
//!
//! At any time a version works on two generations only: the *oldest*, of which it is enough to know how many
//! accesses are not released, and the *youngest*, of which it is enough to know the mode. What lies between is a list
//! of access records in issue order, in which the last of each generation carries a mark.
//!
//! ```text
//!            oldest (granted: a count)     waiting (a list)            youngest (a mode)
//!          ┌──────────────────────────┐   ┌────┐ ┌────┬────┐ ┌────┐
//!          │ oldest = 3               │   │ w ·│→│ r  │ r ·│→│ w  │     · = last in its generation
//!          └──────────────────────────┘   └────┘ └────┴────┘ └────┘
//!                                          head                tail
//! ```
//!
//! `issue` is O(1). `release` is O(1) amortised over all accesses: each record is walked over once, when its
//! generation becomes the oldest. One lock a version guards both ends (the paper found one better than two).
//!
//! Protocol:
//!
//! 1. `issue` (one thread) and `release` (any) hold the lock while they touch anything but `state`.
//! 2. `state` holds the lock and the number of generations. It is given back with *release* ordering, so whoever
//!    loads a value with *acquire* sees everything that happened before the release of an access that led to it.
//! 3. Only the issuer lets the number of generations grow. So when the issuer reads 0 it stays 0, and when it reads 1
//!    and the youngest mode shares, an access of that mode may start: the generations before are done, whether or
//!    not the oldest is released meanwhile.
//! 4. The records of the new oldest generation are taken off the list under the lock, but granted after it is given
//!    back: a grant may run other code (it puts a task into a pool).
//! 5. A task counts its accesses that wait (`Header::unmet`), plus a guard while it is issued: who brings the count to 0
//!    has the task.
//!
//! Where Fig. 4 differs: its line 47 resets the youngest mode when the list runs empty; here an idle version is one
//! with no generation, and its youngest mode is not read. `retired` says that the issuer has gone on to another
//! version (§3.3), and the last release then frees this one.

use std::ptr;

use super::{Mode, Released, Scheme};
use crate::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use crate::sync::{Guarded, prefetch_for_write};
use crate::task::{Header, Record, TaskRef};

/// See the [module](self).
#[derive(Debug)]
pub struct List;

/// What the list scheme keeps beside a version. The cells are guarded by the lock bit of `state`.
#[derive(Debug, Default)]
#[repr(C)]
pub struct ListMeta {
    /// Twice the number of generations with an access that is not released, plus one while locked.
    state: AtomicU32,
    /// Accesses of the oldest generation that are not released.
    oldest: Guarded<u32>,
    /// The mode of the youngest generation, as a number; written by the issuer only.
    youngest: Guarded<u8>,
    retired: Guarded<bool>,
    /// Guarded too, but for `prefetch`, which looks at it from outside.
    head: AtomicPtr<Record>,
    tail: Guarded<Link>,
}

type Link = Option<ptr::NonNull<Record>>;

/// Says in `Record::own` that the record is the last of its generation.
fn mark_last(record: &Record) {
    record.set_own(ptr::from_ref(record).cast_mut().cast());
}

const LOCKED: u32 = 1;

// SAFETY: the cells are only touched under the lock, except `youngest`, which the issuer alone writes and reads
// (release never looks at it).
unsafe impl Send for ListMeta {}
// SAFETY: as above.
unsafe impl Sync for ListMeta {}

impl ListMeta {
    /// A model's sign that the memory is used for something else.
    #[cfg(all(test, loom))]
    pub(super) fn end(&mut self) {
        self.state.with_mut(|_| ());
        self.head.with_mut(|head| *head = ptr::null_mut());
    }

    /// Takes the lock; the number of generations.
    #[inline]
    fn lock(&self) -> u32 {
        // The load alone would bring the line here to be read only, and the compare-and-swap once more.
        prefetch_for_write(ptr::NonNull::from(&self.state).cast(), 4);
        // Loom would not look at what the load of a thread hides from its compare-and-swap, so there it is a guess.
        let mut seen = if cfg!(loom) { 0 } else { self.state.load(Ordering::Relaxed) };
        loop {
            if seen & LOCKED != 0 {
                seen = self.wait_for_lock();
            }
            match self.state.compare_exchange_weak(seen, seen | LOCKED, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return seen >> 1,
                Err(now) => seen = now,
            }
        }
    }

    /// The state once it is not locked. The holder does a few loads and stores, unless it lost its processor.
    #[cold]
    fn wait_for_lock(&self) -> u32 {
        let mut turns = 0;
        loop {
            crate::sync::spin_for_lock();
            let seen = self.state.load(Ordering::Relaxed);
            if seen & LOCKED == 0 {
                return seen;
            }
            turns += 1;
            if turns % 64 == 0 && cfg!(not(loom)) {
                std::thread::yield_now();
            }
        }
    }

    /// Gives the lock back and says how many generations there are now, in one store: who sees 0 may free the version.
    #[inline]
    fn unlock(&self, generations: u32) {
        self.state.store(generations << 1, Ordering::Release);
    }

    /// The number of generations; see *Protocol* 3 for what the issuer may conclude.
    #[inline]
    fn generations(&self) -> u32 {
        self.state.load(Ordering::Acquire) >> 1
    }

    /// Appends to the list of waiting accesses; under the lock.
    fn append(&self, record: &Record) {
        match self.tail.get() {
            Some(tail) => {
                // SAFETY: a record on the list stays valid until it is released, and it is not granted yet.
                let tail = unsafe { tail.as_ref() };
                tail.set_link(ptr::from_ref(record).cast_mut().cast());
            }
            None => self.head.store(ptr::from_ref(record).cast_mut(), Ordering::Relaxed),
        }
        self.tail.set(Some(record.into()));
    }

    /// Takes the next generation off the list, as a chain; counts it as the oldest. Under the lock.
    fn advance(&self) -> Link {
        let first = ptr::NonNull::new(self.head.load(Ordering::Relaxed))?;
        let (mut last, mut count) = (first, 1);
        loop {
            // SAFETY: as in `append`.
            let record = unsafe { last.as_ref() };
            // The grants come after the walk: the headers are on their way meanwhile.
            prefetch_for_write(record.task().cast(), size_of::<Header>());
            match ptr::NonNull::new(record.link().cast::<Record>()) {
                Some(next) if record.own().is_null() => (last, count) = (next, count + 1),
                rest => {
                    record.set_link(ptr::null_mut());
                    self.head.store(rest.map_or(ptr::null_mut(), ptr::NonNull::as_ptr), Ordering::Relaxed);
                    if rest.is_none() {
                        self.tail.set(None);
                    }
                    break;
                }
            }
        }
        self.oldest.set(count);
        Some(first)
    }
}

// SAFETY: an access joins the oldest generation only if that is also the youngest and shares its mode, else it goes
// on the list and is granted when every generation before it has been released (Fig. 4); the lock and the
// release/acquire pair on `generations` order a release before the grants that it leads to. Zeros are an unlocked
// version with no generation.
unsafe impl Scheme for List {
    type Meta = ListMeta;
    type Local = ();

    const NAME: &'static str = "list";

    #[inline]
    fn is_idle(meta: &ListMeta) -> bool {
        meta.state.load(Ordering::Acquire) == 0
    }

    #[inline]
    fn is_ready(meta: &ListMeta, mode: Mode) -> bool {
        match meta.generations() {
            0 => true,
            1 => mode.shares() && meta.youngest.get() == mode as u8,
            _ => false,
        }
    }

    #[inline]
    fn prefetch(meta: &ListMeta, _record: &Record) {
        prefetch_for_write(ptr::NonNull::from(meta).cast(), size_of::<ListMeta>());
        // Which task is granted next, unless others run in between: its record, and the header before that.
        if let Some(next) = ptr::NonNull::new(meta.head.load(Ordering::Relaxed)) {
            let block = next.as_ptr().wrapping_byte_sub(size_of::<Header>());
            prefetch_for_write(
                ptr::NonNull::new(block).unwrap_or(next).cast(),
                size_of::<Header>() + size_of::<Record>(),
            );
        }
    }

    unsafe fn issue((): &mut (), meta: &ListMeta, record: &Record) -> bool {
        let mode = record.mode();
        record.set_link(ptr::null_mut());
        record.set_own(ptr::null_mut());
        let generations = meta.lock();
        if generations == 0 {
            meta.oldest.set(1);
            meta.youngest.set(mode as u8);
            meta.unlock(1);
            return true;
        }
        let joins = mode.shares() && meta.youngest.get() == mode as u8;
        if joins && generations == 1 {
            meta.oldest.set(meta.oldest.get() + 1);
            meta.unlock(1);
            return true;
        }
        if !joins {
            meta.youngest.set(mode as u8);
            if let Some(tail) = meta.tail.get() {
                // SAFETY: as in `append`.
                mark_last(unsafe { tail.as_ref() });
            }
        }
        meta.append(record);
        meta.unlock(generations + u32::from(!joins));
        false
    }

    #[inline]
    unsafe fn enter(task: TaskRef, waiting: usize) -> bool {
        task.header().unguard(waiting as u32)
    }

    #[inline]
    unsafe fn granted(record: &Record) -> bool {
        TaskRef(record.task()).header().meet()
    }

    unsafe fn release((): &mut (), meta: &ListMeta, _record: &Record) -> Released {
        let generations = meta.lock();
        let left = meta.oldest.get() - 1;
        meta.oldest.set(left);
        if left > 0 {
            meta.unlock(generations);
            return Released { granted: None, last: false };
        }
        let granted = meta.advance();
        let last = generations == 1 && meta.retired.get();
        meta.unlock(generations - 1);
        Released { granted, last }
    }

    unsafe fn retire(meta: &ListMeta) -> bool {
        let generations = meta.lock();
        meta.retired.set(true);
        meta.unlock(generations);
        generations == 0
    }
}
