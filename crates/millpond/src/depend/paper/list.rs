//! The list scheme ([TG](crate#sources) §4.3, Fig. 4): one ordered list of all tasks waiting for a
//! version.
//!
//! Needs the Cargo feature `catalogue`.
//!
//! A version works on only two generations at a time. For the *oldest*, it needs the number of
//! unreleased accesses. For the *youngest*, it needs the mode. Between them is a list of access
//! records in issue order. The first record of a generation points to its last, and the last record
//! holds their number. For the youngest generation, the version holds both.
//!
//! ```text
//!            oldest (granted: a count)     waiting (a list)            youngest (a mode)
//!          ┌──────────────────────────┐   ┌────┐ ┌────┬────┐ ┌────┐
//!          │ oldest = 3               │   │ w 1│→│ r ·│·r 2│→│ w  │
//!          └──────────────────────────┘   └────┘ └────┴────┘ └────┘
//!                                          head              first and tail, of 1
//! ```
//!
//! `issue` is O(1), and so is `release`, which takes a whole generation off the list; its caller
//! grants each access. One lock per version guards both ends (the paper found one better than two).
//!
//! Protocol:
//!
//! 1. `issue` (one thread) and `release` (any) hold the lock while they use anything but
//!    `generations`. The `issue` of a `write` does not: no other task uses its version (§3.3).
//! 2. `generations` contains the lock too, and its release has *release* ordering. So a thread that
//!    loads a value with *acquire* sees everything before the release of an access that led to that
//!    value.
//! 3. Only the issuer increases the number of generations. So if it reads 0, the number stays 0. If
//!    it reads 1 and the youngest mode shares, an access of that mode may start: the earlier
//!    generations were released, whether or not the oldest is released meanwhile.
//! 4. `release` takes the records of the new oldest generation off the list under the lock. They
//!    are granted without the lock, because a grant may run other code, such as the pool's.
//! 5. A task counts its waiting accesses (`Header::unmet`), plus a guard while it is issued. The
//!    thread that brings the count to 0 owns the task.
//!
//! This differs from Fig. 4. There, a mark ends each generation, and `release` scans to it under
//! the lock while it counts and grants (35–42). Here the grants are outside the lock (4), so that
//! scan would be an additional one, after which the records of a large generation have left the
//! caches. Line 47 of the figure resets the youngest mode when the list runs empty. Here an idle
//! version has no generation, and its youngest mode is not read. `retired` says that the issuer
//! uses another version (§3.3). The last release then frees this one.

use std::ptr::{self, NonNull};

use crate::depend::{Mode, Released, Scheme};
use crate::sync::tracked::{AtomicPtr, Ordering};
use crate::sync::{Guarded, Locked, prefetch_for_write};
use crate::task::Record;

/// The list scheme ([TG](crate#sources) §4.3, Fig. 4): one ordered list holds all tasks that wait
/// for a version. One lock guards the list. An issue and a release take O(1).
///
/// Needs the Cargo feature `catalogue`.
#[derive(Debug)]
pub struct List;

/// The list scheme's data in a version. The lock of `generations` guards the cells.
#[derive(Debug, Default)]
#[repr(C)]
pub struct ListMeta {
    /// The number of generations with an unreleased access.
    generations: Locked,
    /// The number of unreleased accesses of the oldest generation.
    oldest: Guarded<u32>,
    /// The mode of the youngest generation, as a number. Only the issuer writes it.
    youngest: Guarded<u8>,
    retired: Guarded<bool>,
    waiting: Waiting,
}

pub(super) type Link = Option<NonNull<Record>>;

// SAFETY: the cells are used only under the lock, or by the issuer while the version is idle.
// `youngest` is the exception: only the issuer reads and writes it, and a release never does.
unsafe impl Send for ListMeta {}
// SAFETY: as above.
unsafe impl Sync for ListMeta {}

/// The waiting accesses, in issue order, linked through their records.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Waiting {
    /// Used under the scheme's lock, except by `prefetch_next`, which reads it without the lock.
    head: AtomicPtr<Record>,
    tail: Guarded<Link>,
    /// The first record of the youngest generation, and the number of its waiting records. Valid
    /// while there is a `tail`.
    first: Guarded<Link>,
    members: Guarded<u32>,
}

/// The word of a generation's only record, which is both first and last. No record has this
/// address.
fn alone() -> *mut () {
    ptr::without_provenance_mut(1)
}

impl Waiting {
    /// Adds an access. If it `joins`, it goes to the youngest generation. Otherwise that generation
    /// is closed, and the access begins a new one.
    #[inline]
    pub(super) fn append(&self, record: &Record, joins: bool) {
        record.set_link(ptr::null_mut());
        match self.tail.get() {
            Some(tail) => {
                // SAFETY: a record on the list stays valid until it is released. It is not granted
                // yet.
                let tail = unsafe { tail.as_ref() };
                if !joins {
                    self.close(tail);
                }
                tail.set_link(ptr::from_ref(record).cast_mut().cast());
            }
            None => self.head.store(ptr::from_ref(record).cast_mut(), Ordering::Relaxed),
        }
        self.tail.set(Some(record.into()));
        if joins {
            self.members.set(self.members.get() + 1);
        } else {
            self.first.set(Some(record.into()));
            self.members.set(1);
        }
    }

    /// Closes the youngest generation, which ends with `tail`: stores its extent in its records.
    #[inline]
    fn close(&self, tail: &Record) {
        match self.members.get() {
            1 => tail.set_own(alone()),
            members => {
                tail.set_own(ptr::without_provenance_mut(members as usize));
                let first = self.first.get().expect("it has members");
                // SAFETY: as in `append`.
                unsafe { first.as_ref() }.set_own(ptr::from_ref(tail).cast_mut().cast());
            }
        }
    }

    /// Takes the next generation off the list. Returns its chain and the number of its records. The
    /// generation is the youngest waiting one or closed. If it is closed, this touches nothing that
    /// `append` touches.
    #[inline]
    pub(super) fn advance(&self, youngest: bool) -> (Link, u32) {
        let Some(first) = NonNull::new(self.head.load(Ordering::Relaxed)) else { return (None, 0) };
        if youngest {
            self.head.store(ptr::null_mut(), Ordering::Relaxed);
            self.tail.set(None);
            return (Some(first), self.members.get());
        }
        // SAFETY: as in `append`.
        let own = unsafe { first.as_ref() }.own();
        let last = if own == alone() { first } else { NonNull::new(own.cast()).expect("its generation is closed") };
        // SAFETY: as in `append`.
        let last = unsafe { last.as_ref() };
        self.head.store(last.link().cast(), Ordering::Relaxed);
        last.set_link(ptr::null_mut());
        (Some(first), last.own().addr() as u32)
    }

    /// Prefetches the lines of the task that is granted next, unless other tasks run in between:
    /// its record, and the header before it.
    #[inline]
    pub(super) fn prefetch_next(&self) {
        if let Some(next) = NonNull::new(self.head.load(Ordering::Relaxed)) {
            Record::prefetch_task(next);
        }
    }

    /// Tells a model that the memory is reused.
    #[cfg(all(test, loom))]
    pub(in crate::depend) fn end(&mut self) {
        self.head.with_mut(|head| *head = ptr::null_mut());
    }
}

/// Whether an access of `mode` joins the oldest generation. True if there is no generation, or if
/// the oldest is also the youngest and shares `mode`.
#[inline]
pub(super) fn joins_oldest(generations: u32, youngest: &Guarded<u8>, mode: Mode) -> bool {
    match generations {
        0 => true,
        1 => mode.shares() && youngest.get() == mode as u8,
        _ => false,
    }
}

impl ListMeta {
    /// Tells a model that the memory is reused.
    #[cfg(all(test, loom))]
    pub(in crate::depend) fn end(&mut self) {
        self.generations.end();
        self.waiting.end();
    }

    /// Begins with the first access of an idle version. No other thread uses the version: the
    /// thread that made it idle did so as its last act.
    #[inline]
    fn begin(&self, mode: Mode) {
        self.oldest.set(1);
        self.youngest.set(mode as u8);
        self.generations.unlock(1);
    }
}

// SAFETY: an access joins the oldest generation only if that is also the youngest and shares its
// mode. Otherwise it goes on the list, and is granted when every earlier generation has been
// released (Fig. 4). The lock and the release/acquire pair on `generations` order a release before
// the grants that it causes. Zeros are an unlocked version with no generation.
unsafe impl Scheme for List {
    type Meta = ListMeta;
    type Local = ();
    type Shared = ();

    const NAME: &'static str = "list";

    #[inline]
    fn is_idle(meta: &ListMeta) -> bool {
        meta.generations.get() == 0
    }

    #[inline]
    fn is_ready(meta: &ListMeta, mode: Mode) -> bool {
        joins_oldest(meta.generations.get(), &meta.youngest, mode)
    }

    #[inline]
    fn prefetch(meta: &ListMeta, _record: &Record) {
        prefetch_for_write(NonNull::from(meta).cast(), size_of::<ListMeta>());
        meta.waiting.prefetch_next();
    }

    unsafe fn issue((): &mut (), meta: &ListMeta, record: &Record) -> bool {
        let mode = record.mode();
        if mode == Mode::Write {
            meta.begin(mode);
            return true;
        }
        let generations = meta.generations.lock();
        if generations == 0 {
            meta.begin(mode);
            return true;
        }
        let joins = mode.shares() && meta.youngest.get() == mode as u8;
        if joins && generations == 1 {
            meta.oldest.set(meta.oldest.get() + 1);
            meta.generations.unlock(1);
            return true;
        }
        meta.youngest.set(mode as u8);
        meta.waiting.append(record, joins);
        meta.generations.unlock(generations + u32::from(!joins));
        false
    }

    unsafe fn release((): &(), (): &mut (), meta: &ListMeta, _record: &Record) -> Released {
        let generations = meta.generations.lock();
        let left = meta.oldest.get() - 1;
        meta.oldest.set(left);
        if left > 0 {
            meta.generations.unlock(generations);
            return Released::default();
        }
        let (granted, members) = meta.waiting.advance(generations == 2);
        meta.oldest.set(members);
        let last = generations == 1 && meta.retired.get();
        meta.generations.unlock(generations - 1);
        Released { granted, last }
    }

    unsafe fn retire(meta: &ListMeta) -> bool {
        let generations = meta.generations.lock();
        meta.retired.set(true);
        meta.generations.unlock(generations);
        generations == 0
    }
}
