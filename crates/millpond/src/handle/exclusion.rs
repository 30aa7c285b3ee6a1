//! Mutual exclusion of commutative accesses. A task takes it before its body, so no stack waits for
//! it.
//!
//! Each version has one word: 0 is free, 1 is held. Any other value is held with a stack of waiting
//! records, linked by `Record::link`.
//!
//! 1. `acquire` on 0: compare-and-swap to 1. On any other value: push the record. The pusher does
//!    not touch the record afterwards.
//! 2. `release` on 1: compare-and-swap to 0. On a stack: pop the newest record and hand it the
//!    exclusion. The word still says "held".
//! 3. Only the holder pops. So the record that the holder saw on top cannot be popped and pushed
//!    again in between (no ABA).
//! 4. A task takes its exclusions in ascending order of address. A waiting task holds only
//!    exclusions of lower addresses. So the holder of the highest address with waiters never waits,
//!    and every wait ends.
//!
//! Push and pop are release and acquire operations: the writes of the last holder happen before the
//! body of the next holder.

use std::ptr::NonNull;

use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::task::Record;

#[cfg(all(test, loom))]
mod loom_tests;

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Exclusion(AtomicPtr<Record>);

/// The word of an exclusion held without waiters. No record has this address.
fn held() -> *mut Record {
    std::ptr::without_provenance_mut(1)
}

impl Exclusion {
    /// Takes the exclusion for `record`, or queues the record: a later release hands it the
    /// exclusion.
    pub(crate) fn acquire(&self, record: &Record) -> bool {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            let (new, free) = if seen.is_null() {
                (held(), true)
            } else {
                record.set_link(seen.cast());
                (std::ptr::from_ref(record).cast_mut(), false)
            };
            match self.0.compare_exchange_weak(seen, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return free,
                Err(now) => seen = now,
            }
        }
    }

    /// Takes the exclusion if it is free.
    pub(crate) fn try_acquire(&self) -> bool {
        let free = std::ptr::null_mut();
        self.0.compare_exchange(free, held(), Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Releases the exclusion, or hands it to the returned record.
    pub(crate) fn release(&self) -> Option<NonNull<Record>> {
        let mut seen = self.0.load(Ordering::Acquire);
        loop {
            let new = match NonNull::new(seen) {
                Some(top) if seen != held() => {
                    // SAFETY: a waiting record stays valid until it gets the exclusion. Only the
                    // holder, which is the caller, hands it over.
                    unsafe { top.as_ref() }.link().cast()
                }
                _ => std::ptr::null_mut(),
            };
            match self.0.compare_exchange_weak(seen, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return NonNull::new(seen).filter(|_| seen != held()),
                Err(now) => seen = now,
            }
        }
    }
}
