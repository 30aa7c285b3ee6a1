//! The bound on the storage of renamed versions (TG §3.3, footnote 2), and the shares that count
//! towards it.
//!
//! Protocol:
//!
//! 1. The issuer of a `write` takes a share before it makes a version. A compare-and-swap succeeds
//!    only if the sum stays within the bound. If it fails, the write goes in place. The issuer
//!    neither waits for a share nor tries again.
//! 2. The share is in the version's block. The thread that frees the block drops the share once,
//!    and so returns the bytes.
//!
//! The count publishes no data: the scheme decides when a version may be freed. So all operations
//! are relaxed. A taker that does not yet see returned bytes goes in place without need. The count
//! that it sees is never too low, because every version in use was counted in the same word.

use std::sync::Arc;

use crate::sync::atomic::{AtomicU64, Ordering};

/// The bound of one runtime.
#[derive(Debug)]
pub(crate) struct Bound {
    most: u64,
    held: AtomicU64,
}

/// The bytes that one version holds. The drop returns them.
#[derive(Debug)]
pub(crate) struct Share {
    bytes: u64,
    of: Arc<Bound>,
}

impl Bound {
    pub(crate) fn new(most: u64) -> Self {
        Bound { most, held: AtomicU64::new(0) }
    }

    /// Takes a share of `bytes`, if the bound leaves room.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Option<Share> {
        let bytes = bytes as u64;
        let fits = |held: u64| held.checked_add(bytes).filter(|sum| *sum <= self.most);
        self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
        Some(Share { bytes, of: Arc::clone(self) })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.of.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn shares_stay_within_the_bound() {
        let bound = Arc::new(Bound::new(100));
        let (one, other) = (bound.take(40), bound.take(60));
        assert!(one.is_some() && other.is_some());
        assert!(bound.take(1).is_none() && bound.take(0).is_some());
        drop(one);
        assert!(bound.take(41).is_none() && bound.take(40).is_some());
    }

    #[test]
    fn a_sum_beyond_all_numbers_does_not_fit() {
        let bound = Arc::new(Bound::new(u64::MAX));
        let _one = bound.take(2);
        assert!(bound.take(usize::MAX).is_none());
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::thread;

    use super::*;

    /// Two threads take and return shares. All shares held at once fit, and all of them are
    /// returned.
    #[test]
    fn loom_shares_stay_within_the_bound() {
        loom::model(|| {
            let bound = Arc::new(Bound::new(3));
            let uses = Arc::new(loom::sync::atomic::AtomicU64::new(0));
            let turns = |bound: Arc<Bound>, uses: Arc<loom::sync::atomic::AtomicU64>| {
                for _ in 0..2 {
                    let Some(share) = bound.take(2) else { continue };
                    assert_eq!(uses.fetch_add(1, Ordering::Relaxed), 0, "two shares of 2 are more than 3");
                    uses.fetch_sub(1, Ordering::Relaxed);
                    drop(share);
                }
            };
            let other = {
                let (bound, uses) = (Arc::clone(&bound), Arc::clone(&uses));
                thread::spawn(move || turns(bound, uses))
            };
            turns(Arc::clone(&bound), uses);
            other.join().unwrap();
            assert_eq!(bound.held.load(Ordering::Relaxed), 0);
            assert!(bound.take(3).is_some());
        });
    }
}
