//! The list scheme ([TG](crate#sources) §4.3, Fig. 4): all tasks that wait for a version are kept on one ordered list.
//!
//! Needs the Cargo feature `catalogue`.
//!
//! At any time a version works on two generations only: the *oldest*, of which it is enough to know how many
//! accesses are not released, and the *youngest*, of which it is enough to know the mode. What lies between is a list
//! of access records in issue order. The first of a generation says which is its last, and its last how many they are; for
//! the youngest both are kept beside the version.
//!
//! ```text
//!            oldest (granted: a count)     waiting (a list)            youngest (a mode)
//!          ┌──────────────────────────┐   ┌────┐ ┌────┬────┐ ┌────┐
//!          │ oldest = 3               │   │ w 1│→│ r ·│·r 2│→│ w  │
//!          └──────────────────────────┘   └────┘ └────┴────┘ └────┘
//!                                          head              first and tail, of 1
//! ```
//!
//! `issue` is O(1), and so is `release`, which takes a whole generation off; who called it grants each. One lock a version
//! guards both ends (the paper found one better than two).
//!
//! Protocol:
//!
//! 1. `issue` (one thread) and `release` (any) hold the lock while they touch anything but `generations`; but for the
//!    `issue` of a `write`, whose version nobody else uses (§3.3).
//! 2. `generations` holds the lock, too. It is given back with *release* ordering, so whoever
//!    loads a value with *acquire* sees everything that happened before the release of an access that led to it.
//! 3. Only the issuer lets the number of generations grow. So when the issuer reads 0 it stays 0, and when it reads 1
//!    and the youngest mode shares, an access of that mode may start: the generations before are done, whether or
//!    not the oldest is released meanwhile.
//! 4. The records of the new oldest generation are taken off the list under the lock, but granted after it is given
//!    back: a grant may run other code (it puts a task into a pool).
//! 5. A task counts its accesses that wait (`Header::unmet`), plus a guard while it is issued: who brings the count to 0
//!    has the task.
//!
//! Where Fig. 4 differs: a mark ends each generation there, and `release` scans to it under the lock, counting and granting
//! (35–42). The grants are outside here (4), so the scan would be a second one, over records that a large generation has
//! driven out of the caches until the grants come to them. Its line 47 resets the youngest mode when the list runs empty;
//! here an idle version is one with no generation, and its youngest mode is not read. `retired` says that the issuer has
//! gone on to another version (§3.3), and the last release then frees this one.

use std::ptr::{self, NonNull};

use crate::depend::{Mode, Released, Scheme};
use crate::sync::tracked::{AtomicPtr, Ordering};
use crate::sync::{Guarded, Locked, prefetch_for_write};
use crate::task::Record;

/// See the [module](self).
#[derive(Debug)]
pub struct List;

/// What the list scheme keeps beside a version. The cells are guarded by the lock of `generations`.
#[derive(Debug, Default)]
#[repr(C)]
pub struct ListMeta {
    /// The number of generations with an access that is not released.
    generations: Locked,
    /// Accesses of the oldest generation that are not released.
    oldest: Guarded<u32>,
    /// The mode of the youngest generation, as a number; written by the issuer only.
    youngest: Guarded<u8>,
    retired: Guarded<bool>,
    waiting: Waiting,
}

pub(super) type Link = Option<NonNull<Record>>;

// SAFETY: the cells are only touched under the lock, except `youngest`, which the issuer alone writes and reads (release
// never looks at it), and by the issuer while the version is idle.
unsafe impl Send for ListMeta {}
// SAFETY: as above.
unsafe impl Sync for ListMeta {}

/// The accesses that wait, in issue order, linked through their records.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Waiting {
    /// Under the scheme's lock, but for `prefetch_next`, which looks at it from outside.
    head: AtomicPtr<Record>,
    tail: Guarded<Link>,
    /// The first of the youngest generation, and how many of that wait; while there is a `tail`.
    first: Guarded<Link>,
    members: Guarded<u32>,
}

/// What the only access of a generation says, which is its first and its last: no record has this address.
fn alone() -> *mut () {
    ptr::without_provenance_mut(1)
}

impl Waiting {
    /// Adds an access: to a new generation, so that the youngest is closed, unless it joins that.
    #[inline]
    pub(super) fn append(&self, record: &Record, joins: bool) {
        record.set_link(ptr::null_mut());
        match self.tail.get() {
            Some(tail) => {
                // SAFETY: a record on the list stays valid until it is released, and it is not granted yet.
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

    /// Writes into the youngest generation what it is, which ends with `tail`.
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

    /// Takes the next generation off the list: as a chain, and how many they are. It is the youngest of those that wait, or
    /// closed; then this touches nothing that `append` does.
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

    /// Asks for the lines of the task that is granted next, unless others run in between: its record, and the header
    /// before that.
    #[inline]
    pub(super) fn prefetch_next(&self) {
        if let Some(next) = NonNull::new(self.head.load(Ordering::Relaxed)) {
            Record::prefetch_task(next);
        }
    }

    /// A model's sign that the memory is used for something else.
    #[cfg(all(test, loom))]
    pub(in crate::depend) fn end(&mut self) {
        self.head.with_mut(|head| *head = ptr::null_mut());
    }
}

/// Whether an access of `mode` belongs to the oldest generation, if that is the youngest too, or there is none.
#[inline]
pub(super) fn joins_oldest(generations: u32, youngest: &Guarded<u8>, mode: Mode) -> bool {
    match generations {
        0 => true,
        1 => mode.shares() && youngest.get() == mode as u8,
        _ => false,
    }
}

impl ListMeta {
    /// A model's sign that the memory is used for something else.
    #[cfg(all(test, loom))]
    pub(in crate::depend) fn end(&mut self) {
        self.generations.end();
        self.waiting.end();
    }

    /// The first access of an idle version. Nobody else looks at it: who has made it idle did so as its last act.
    #[inline]
    fn begin(&self, mode: Mode) {
        self.oldest.set(1);
        self.youngest.set(mode as u8);
        self.generations.unlock(1);
    }
}

// SAFETY: an access joins the oldest generation only if that is also the youngest and shares its mode, else it goes
// on the list and is granted when every generation before it has been released (Fig. 4); the lock and the
// release/acquire pair on `generations` order a release before the grants that it leads to. Zeros are an unlocked
// version with no generation.
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
