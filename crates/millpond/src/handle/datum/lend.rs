//! The owner of a datum: a scope, or readers outside of scopes
//! ([`Handle::get`](crate::Handle::get)).
//!
//! One word says it (`Datum::claim`): 0 for no owner, the number of a scope, or `LENT` plus the
//! number of readers.
//!
//! 1. A reader loads the word. If it has readers, the reader adds itself by a compare-exchange.
//! 2. Otherwise the reader takes the lock of the registry of scopes, and loads the word again. If
//!    the word now has readers, step 1 follows. If the owner is a scope that may issue, the datum
//!    is busy.
//! 3. The reader replaces the owner by `LENT` without readers, by a compare-exchange. From now on
//!    scopes refuse the word (step 6), and other readers wait for the lock. So this thread is the
//!    issuer of the datum.
//! 4. It asks the scheme whether the datum is idle. If so, it stores `LENT` with one reader.
//!    Otherwise it restores the owner: a scope on this thread, or in the parent of a fork.
//! 5. After releasing the lock, the first reader makes the scheme forget past accesses. It is still
//!    the issuer: its own count keeps scopes away, and other readers read only the version and the
//!    value. So a scope on this thread that had the datum before must claim it again.
//! 6. A scope takes the word by a compare-exchange from the owner that it has checked. If the word
//!    is lent, the scope refuses.
//! 7. A leaving reader subtracts itself. The last one stores 0.
//!
//! Interleavings:
//!
//! - *A scope takes the word between steps 2 and 3.* The compare-exchange fails, and the reader
//!   starts over. It then finds a scope on another thread, or one that has already ended.
//! - *The last reader leaves between the load and the compare-exchange of step 1.* The
//!   compare-exchange fails.
//! - *A scope writes after the last reader.* It loads the 0 of step 7 with acquire, so all reads
//!   happened before. Each subtraction is a read-modify-write, so this holds for all readers.
//! - *A reader reads after a scope's tasks.* The registry's lock orders the end of the scope before
//!   step 2 of the first reader. The other readers load the first one's store with acquire.
//! - *The process forks between steps 3 and 4.* This cannot happen, because the forking thread
//!   holds the lock. So no process keeps `LENT` without readers.

use super::Datum;
use crate::error::Kind;
use crate::handle::claim;
use crate::sync::atomic::{AtomicU64, Ordering};

#[cfg(all(test, loom))]
mod loom_tests;

/// In the word of a datum whose owners are readers. The bits below count them. No scope has a
/// number with this bit.
const LENT: u64 = 1 << 62;

fn is_lent(word: u64) -> bool {
    word & LENT != 0
}

/// Takes the word for a scope, from no owner or from one that may lose it. Returns the old owner.
#[inline(always)]
pub(super) fn take(word: &AtomicU64, scope: u64, may_lose: impl FnOnce(u64) -> bool) -> Option<u64> {
    let owner = word.load(Ordering::Acquire);
    if owner != 0 && (is_lent(owner) || !may_lose(owner)) {
        return None;
    }
    word.compare_exchange(owner, scope, Ordering::AcqRel, Ordering::Relaxed).ok()
}

/// A reader that was let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    First,
    Further,
}

/// Adds a reader: steps 1 to 4. `lock` takes the registry's lock, under which `may_lose` says
/// whether a scope may lose the word.
fn enter<L>(
    word: &AtomicU64,
    lock: impl Fn() -> L,
    may_lose: impl Fn(&L, u64) -> bool,
    is_idle: impl Fn() -> bool,
) -> Option<Reader> {
    loop {
        if add(word) {
            return Some(Reader::Further);
        }
        let registry = lock();
        let owner = word.load(Ordering::Acquire);
        if is_lent(owner) {
            continue;
        }
        if owner != 0 && !may_lose(&registry, owner) {
            return None;
        }
        if word.compare_exchange(owner, LENT, Ordering::AcqRel, Ordering::Acquire).is_err() {
            continue;
        }
        let idle = is_idle();
        word.store(if idle { LENT + 1 } else { owner }, Ordering::Release);
        return idle.then_some(Reader::First);
    }
}

/// Adds a reader to those that the word has. Returns false if it has none.
fn add(word: &AtomicU64) -> bool {
    let has_readers = |word| is_lent(word) && word != LENT;
    let one_more = |word| has_readers(word).then_some(word + 1);
    word.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).is_ok()
}

/// Subtracts a reader: step 7.
fn leave(word: &AtomicU64) {
    let one_less = |word| Some(if word == LENT + 1 { 0 } else { word - 1 });
    let _always = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less);
}

impl Datum {
    /// Adds a reader outside of scopes. Until it leaves, no scope issues on the datum, and none of
    /// its accesses is outstanding. Returns false if the datum is busy.
    pub(in crate::handle) fn lend(&self) -> bool {
        let may_lose = claim::Registry::is_free_to_take;
        let reader = enter(&self.claim, claim::registry, may_lose, || self.is_idle());
        if reader == Some(Reader::First) {
            self.forget_accesses();
        }
        reader.is_some()
    }

    /// A reader leaves.
    pub(in crate::handle) fn end_lend(&self) {
        leave(&self.claim);
    }

    /// Removes readers that were forgotten. The caller has the handle alone, so none is left.
    pub(in crate::handle) fn forget_lends(&self) {
        if is_lent(self.claim.load(Ordering::Acquire)) {
            self.claim.store(0, Ordering::Release);
        }
    }

    /// Why a scope did not get the claim, for its access `arg`.
    #[cold]
    pub(crate) fn refusal(&self, arg: usize) -> Kind {
        if is_lent(self.claim.load(Ordering::Acquire)) { Kind::Lent { arg } } else { Kind::Busy { arg } }
    }
}
