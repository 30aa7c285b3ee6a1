//! The list scheme with two locks ([TG](crate#sources) §4.3): one for the oldest generation, one
//! for the youngest.
//!
//! Needs the Cargo feature `catalogue`.
//!
//! Everything else is as in [`list`](super::list). With three generations or more, `issue` and
//! `release` touch nothing in common, and each takes the lock of its own end. With fewer, the
//! generation that a release takes off the list may be the one that an issue appends to. Then both
//! take both locks. Both are O(1). The paper found one lock faster.
//!
//! Protocol:
//!
//! 1. `oldest` (the lock) guards the count of the oldest generation and the head of the list.
//!    `youngest` guards the mode of the youngest generation and the tail. A thread that takes both
//!    takes `oldest` first.
//! 2. The issuer increases `generations`, with `youngest` locked. Releases decrease it, with
//!    `oldest` locked. If the issuer, with `youngest` locked, reads 3, no concurrent release gets
//!    beyond the second generation: the next release would find 2, and wait for `youngest`. If a
//!    release, with `oldest` locked, reads 3, the number does not fall, and the second generation
//!    is closed and linked to the third. The issuer did that before it counted the third
//!    (*release*, and *acquire* by the thread that reads the count).
//! 3. The issuer reads `generations` without a lock, as in `list`. The thread that brought it to 0
//!    releases the locks afterwards. `retire` takes both locks, so that no thread frees the version
//!    before.

use std::ptr::NonNull;

use super::list::{Waiting, joins_oldest};
use crate::depend::{Mode, Released, Scheme};
use crate::sync::tracked::{AtomicU32, Ordering};
use crate::sync::{Guarded, Locked, prefetch_for_write};
use crate::task::Record;

/// The list scheme with a lock for each end ([TG](crate#sources) §4.3): one for the oldest
/// generation, one for the youngest. An issue and a release take O(1).
///
/// Needs the Cargo feature `catalogue`.
#[derive(Debug)]
pub struct TwoLocks;

/// The scheme's data in a version.
#[derive(Debug, Default)]
#[repr(C)]
pub struct TwoLocksMeta {
    oldest: Locked,
    youngest: Locked,
    /// The number of generations with an unreleased access.
    generations: AtomicU32,
    /// The number of unreleased accesses of the oldest generation.
    members: Guarded<u32>,
    /// The mode of the youngest generation, as a number. Only the issuer writes it.
    mode: Guarded<u8>,
    retired: Guarded<bool>,
    waiting: Waiting,
}

/// From this number of generations on, each side needs only one lock.
const MIN_GENERATIONS_APART: u32 = 3;

// SAFETY: the cells are used under the locks that guard them (protocol 1), or by the issuer while
// the version is idle. Only the issuer uses `mode`.
unsafe impl Send for TwoLocksMeta {}
// SAFETY: as above.
unsafe impl Sync for TwoLocksMeta {}

impl TwoLocksMeta {
    /// Tells a model that the memory is reused.
    #[cfg(all(test, loom))]
    pub(in crate::depend) fn end(&mut self) {
        self.oldest.end();
        self.youngest.end();
        self.generations.with_mut(|_| ());
        self.waiting.end();
    }

    fn lock_both(&self) {
        self.oldest.lock();
        self.youngest.lock();
    }

    fn unlock_both(&self) {
        self.youngest.unlock(0);
        self.oldest.unlock(0);
    }

    /// Begins with the first access of an idle version.
    #[inline]
    fn begin(&self, mode: Mode) {
        self.members.set(1);
        self.mode.set(mode as u8);
        self.generations.store(1, Ordering::Relaxed);
    }

    /// Puts an access on the list. `youngest` is locked.
    fn wait(&self, record: &Record, joins: bool) {
        self.waiting.append(record, joins);
        if !joins {
            self.mode.set(record.mode() as u8);
            self.generations.fetch_add(1, Ordering::Release);
        }
    }

    /// Issues an access with both locks taken. Returns true if it is granted.
    fn issue_among_few(&self, record: &Record, joins: bool) -> bool {
        match self.generations.load(Ordering::Relaxed) {
            0 => self.begin(record.mode()),
            1 if joins => self.members.set(self.members.get() + 1),
            _ => {
                self.wait(record, joins);
                return false;
            }
        }
        true
    }
}

// SAFETY: as for the list scheme. The two locks separate accesses to the same end (protocol 1 and
// 2). Zeros are an unlocked version with no generation.
unsafe impl Scheme for TwoLocks {
    type Meta = TwoLocksMeta;
    type Local = ();
    type Shared = ();

    const NAME: &'static str = "two-lock-list";

    #[inline]
    fn is_idle(meta: &TwoLocksMeta) -> bool {
        meta.generations.load(Ordering::Acquire) == 0
    }

    #[inline]
    fn is_ready(meta: &TwoLocksMeta, mode: Mode) -> bool {
        joins_oldest(meta.generations.load(Ordering::Acquire), &meta.mode, mode)
    }

    #[inline]
    fn prefetch(meta: &TwoLocksMeta, _record: &Record) {
        prefetch_for_write(NonNull::from(meta).cast(), size_of::<TwoLocksMeta>());
        meta.waiting.prefetch_next();
    }

    unsafe fn issue((): &mut (), meta: &TwoLocksMeta, record: &Record) -> bool {
        let mode = record.mode();
        if mode == Mode::Write {
            meta.begin(mode);
            return true;
        }
        let joins = mode.shares() && meta.mode.get() == mode as u8;
        if meta.generations.load(Ordering::Acquire) >= MIN_GENERATIONS_APART {
            meta.youngest.lock();
            let apart = meta.generations.load(Ordering::Acquire) >= MIN_GENERATIONS_APART;
            if apart {
                meta.wait(record, joins);
            }
            meta.youngest.unlock(0);
            if apart {
                return false;
            }
        }
        meta.lock_both();
        let granted = meta.issue_among_few(record, joins);
        meta.unlock_both();
        granted
    }

    unsafe fn release((): &(), (): &mut (), meta: &TwoLocksMeta, _record: &Record) -> Released {
        meta.oldest.lock();
        let left = meta.members.get() - 1;
        meta.members.set(left);
        if left > 0 {
            meta.oldest.unlock(0);
            return Released::default();
        }
        let apart = meta.generations.load(Ordering::Acquire) >= MIN_GENERATIONS_APART;
        if !apart {
            meta.youngest.lock();
        }
        // The number shrinks only here, with `oldest` locked.
        let only_one_waits = !apart && meta.generations.load(Ordering::Relaxed) == 2;
        let (granted, members) = meta.waiting.advance(only_one_waits);
        meta.members.set(members);
        let last = granted.is_none() && meta.retired.get();
        meta.generations.fetch_sub(1, Ordering::AcqRel);
        if !apart {
            meta.youngest.unlock(0);
        }
        meta.oldest.unlock(0);
        Released { granted, last }
    }

    unsafe fn retire(meta: &TwoLocksMeta) -> bool {
        meta.lock_both();
        meta.retired.set(true);
        let idle = meta.generations.load(Ordering::Relaxed) == 0;
        meta.unlock_both();
        idle
    }
}
