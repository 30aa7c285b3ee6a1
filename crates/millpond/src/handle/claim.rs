//! Which scopes are alive, so that a handle never serves two of them at once.
//!
//! A handle remembers the scope that claimed it. Another scope may take the claim over only if its owner cannot be
//! issuing at this moment: it has ended, or it runs further out on the very same thread (a scope opened inside the
//! closure of another) and runs no leaf at its spawn, whose accesses no scheme knows. The registry is global since
//! handles travel between runtimes; it is asked only when a claim changes hands.

use std::cell::Cell;
use std::sync::Arc;

use crate::sync::global::Mutex;
use crate::sync::global::atomic::{AtomicU32, Ordering};
use crate::sync::unique_number;

static ALIVE: Mutex<Alive> = Mutex::new(Alive { next: 1, scopes: Vec::new() });

/// Takes the lock, for a fork.
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
    /// That of its closure; `None` for a session, which may move.
    thread: Option<u64>,
    inline: Inline,
}

/// The number of this thread. Unlike [`std::thread::current`] it counts no references, and cannot panic: so what asks for it under
/// the lock has nothing to unwind.
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

/// How many leaves run at their spawn in one root scope; a count that only the scope's thread touches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inline(Arc<AtomicU32>);

impl Inline {
    /// Runs a leaf's body, during which nobody may take the scope's claims over.
    #[inline(always)]
    pub(crate) fn run<R>(&self, body: impl FnOnce() -> R) -> R {
        let before = self.0.load(Ordering::Relaxed);
        self.0.store(before + 1, Ordering::Relaxed);
        let result = body();
        // Not `before`: other bodies of the thread may have run in between, and have ended in any order.
        self.0.store(self.0.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
        result
    }
}

/// A root scope's entry in the registry.
#[derive(Debug)]
pub(crate) struct Claimant {
    id: u64,
    inline: Inline,
}

impl Claimant {
    /// Enters a scope whose closure runs on this thread, or (not `bound`) a session.
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

    /// The scope issues no more.
    pub(crate) fn leave(&self) {
        ALIVE.lock().scopes.retain(|scope| scope.id != self.id);
    }
}

impl Drop for Claimant {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Whether a claim of scope `owner` may be taken over by a scope on this thread, if the datum is idle.
pub(crate) fn is_free_to_take(owner: u64) -> bool {
    let alive = ALIVE.lock();
    let owner = alive.scopes.iter().find(|scope| scope.id == owner);
    owner.is_none_or(|scope| scope.thread == Some(this_thread()) && scope.inline.0.load(Ordering::Relaxed) == 0)
}

/// Whether this thread runs a leaf at its spawn in some root scope. Takes O(root scopes).
pub(crate) fn runs_inline_here() -> bool {
    let here = Some(this_thread());
    ALIVE.lock().scopes.iter().any(|scope| scope.thread == here && scope.inline.0.load(Ordering::Relaxed) != 0)
}

/// The number of every nested scope, beyond the series: its handles are its own by their type.
pub(crate) const NESTED: u64 = u64::MAX;
