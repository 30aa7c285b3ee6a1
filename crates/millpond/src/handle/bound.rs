//! The bound on the storage of renamed versions (TG §3.3, footnote 2), and what counts towards it.
//!
//! Protocol:
//!
//! 1. The issuer of a `write` takes a share before it makes a version: a compare-and-swap that only succeeds if the sum
//!    stays within the bound. If it does not, the write goes in place; it neither waits for a share nor comes back.
//! 2. The share lies in the version's block. Who frees the block, on whatever thread, drops it there, once, and so gives
//!    the bytes back.
//!
//! The count hands nothing over: that a version is free to go is the scheme's word. So all of it is relaxed, and a taker
//! that does not see yet what was given back goes in place where it need not have. What it sees is never too little:
//! every version that is in use was counted by the very word that it compares.

use std::sync::Arc;

use crate::sync::atomic::{AtomicU64, Ordering};

/// Of one runtime.
#[derive(Debug)]
pub(crate) struct Bound {
    most: u64,
    held: AtomicU64,
}

/// What one version holds; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    bytes: u64,
    of: Arc<Bound>,
}

impl Bound {
    pub(crate) fn new(most: u64) -> Self {
        Bound { most, held: AtomicU64::new(0) }
    }

    /// A share of so many bytes, if there are as many left.
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

    /// Two threads take and give back: whatever is held at once fits, and all of it comes back.
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
