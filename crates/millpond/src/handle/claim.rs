//! The registry of live scopes, so that a handle never serves two of them at once. Readers outside
//! of scopes exclude scopes, too: see `datum::lend`.
//!
//! A handle stores the scope that claimed it. Another scope may take over the claim only if the
//! owner cannot be issuing at this moment. There are two such cases. In the first, the owner has
//! ended. In the second, the owner is an enclosing scope on the same thread that runs no inline
//! leaf: no scheme knows the accesses of such a leaf.
//!
//! The registry is global, because handles move between runtimes. A scope reads it only when a
//! claim changes hands.

use std::cell::Cell;
use std::sync::Arc;

use crate::sync::global::atomic::{AtomicU32, Ordering};
use crate::sync::global::{Mutex, MutexGuard};
use crate::sync::unique_number;

static ALIVE: Mutex<Alive> = Mutex::new(Alive { next: 1, scopes: Vec::new() });

/// Takes the lock for a fork.
pub(crate) fn take_lock() -> Box<dyn std::any::Any> {
    Box::new(ALIVE.lock())
}

struct Alive {
    next: u64,
    scopes: Vec<Scope>,
}

/// A root scope.
struct Scope {
    id: u64,
    /// The thread of its closure. `None` for a session, which may move between threads.
    thread: Option<u64>,
    inline: Inline,
}

/// The number of this thread. Unlike [`std::thread::current`], it counts no references and cannot
/// panic. So a caller that holds the lock cannot unwind here.
#[inline]
fn this_thread() -> u64 {
    thread_local!(static NUMBER: Cell<u64> = const { Cell::new(0) });
    let mut number = NUMBER.get();
    if number == 0 {
        number = unique_number() + 1;
        NUMBER.set(number);
    }
    number
}

/// The number of inline leaves (run at their spawn) in one root scope. Only the scope's thread
/// touches this count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inline(Arc<AtomicU32>);

impl Inline {
    /// A leaf's body begins. Until its [`end`](Inline::end), no other scope may take over the
    /// scope's claims.
    #[inline(always)]
    pub(crate) fn begin(&self) {
        self.0.store(self.0.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// A leaf's body has ended. Other bodies of this thread may have begun and ended in between, in
    /// any order.
    #[inline(always)]
    pub(crate) fn end(&self) {
        self.0.store(self.0.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }
}

/// A root scope's entry in the registry.
#[derive(Debug)]
pub(crate) struct Claimant {
    id: u64,
    inline: Inline,
}

impl Claimant {
    /// Registers a scope whose closure runs on this thread, or a session if not `bound`.
    pub(crate) fn enter(bound: bool) -> Self {
        let mut alive = ALIVE.lock();
        let id = alive.next;
        alive.next += 1;
        let inline = Inline::default();
        let thread = bound.then(this_thread);
        alive.scopes.push(Scope { id, thread, inline: inline.clone() });
        Claimant { id, inline }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The count of leaves that run at their spawn.
    pub(crate) fn inline(&self) -> &Inline {
        &self.inline
    }

    /// Removes the scope, which issues no more.
    pub(crate) fn leave(&self) {
        ALIVE.lock().scopes.retain(|scope| scope.id != self.id);
    }
}

impl Drop for Claimant {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Whether a scope on this thread may take over a claim of scope `owner`, if the datum is idle.
pub(crate) fn is_free_to_take(owner: u64) -> bool {
    registry().is_free_to_take(owner)
}

/// The registry, locked.
pub(super) struct Registry(MutexGuard<'static, Alive>);

/// Takes the registry's lock.
pub(super) fn registry() -> Registry {
    Registry(ALIVE.lock())
}

impl Registry {
    /// As the function of this name.
    pub(super) fn is_free_to_take(&self, owner: u64) -> bool {
        let owner = self.0.scopes.iter().find(|scope| scope.id == owner);
        owner.is_none_or(|scope| scope.thread == Some(this_thread()) && scope.inline.0.load(Ordering::Relaxed) == 0)
    }
}

/// Whether this thread runs an inline leaf in some root scope. Takes O(root scopes).
pub(crate) fn runs_inline_here() -> bool {
    let here = Some(this_thread());
    ALIVE.lock().scopes.iter().any(|scope| scope.thread == here && scope.inline.0.load(Ordering::Relaxed) != 0)
}

/// The claim number of every nested scope; no root scope gets it. The types confine a nested
/// scope's handles to that scope.
pub(crate) const NESTED: u64 = 1 << 63;
