//! Quiescence: the owner of a scope waits until nothing of it is ready or running. What its admission hold may be left.
//!
//! How it is told: `runtime::count`, 7. Meanwhile its worker runs tasks. Who waits for a future looks at that again once it is
//! quiet: the last task may have made it ready after the first look.

use std::future::poll_fn;
use std::pin::pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use super::watch::Tell;
use crate::engine::Engine;
use crate::engine::store::TaskStore;
use crate::error::Kind;
use crate::runtime::external::scope_handle::Opening;
use crate::runtime::scope_state::ScopeState;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::yield_thread;
use crate::worker::wait::Waiter;
use crate::worker::{Awaited, Worker};

/// Told once that it is quiet; then it wakes a body.
struct Told {
    done: AtomicBool,
    body: Waker,
}

impl Wake for Told {
    fn wake(self: Arc<Self>) {
        self.done.store(true, Ordering::Release);
        self.body.wake_by_ref();
    }
}

/// A scope whose owner counts nothing itself, until this is dropped; and by whom it is to be told, if it has asked.
struct Lent<'d> {
    scope_state: &'d ScopeState,
    told: Option<Arc<Told>>,
}

impl<'d> Lent<'d> {
    fn new(scope_state: &'d ScopeState) -> Self {
        scope_state.lend();
        Lent { scope_state, told: None }
    }

    /// Whether it was asked for word that has not come.
    fn waits(&self) -> bool {
        self.told.as_ref().is_some_and(|told| !told.done.load(Ordering::Acquire))
    }

    /// Whether the scope is quiet; else the body is woken when it is.
    fn poll_quiet(&mut self, context: &Context<'_>) -> bool {
        if self.waits() {
            return false;
        }
        let told = Arc::new(Told { done: AtomicBool::new(false), body: context.waker().clone() });
        let quiet = self.scope_state.watch_for_quiet(Tell::Waker(Arc::clone(&told).into()));
        if quiet && self.scope_state.unwatch_quiet().is_some() {
            return true;
        }
        self.told = Some(told);
        false
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if self.waits() && self.scope_state.unwatch_quiet().is_none() {
            // Who tells still uses the scope.
            while self.waits() {
                yield_thread();
            }
        }
        self.scope_state.reclaim();
    }
}

impl<E: Engine> Worker<E> {
    /// Waits until the scope is quiet and its admission hold nothing: somebody outside meets the last preconditions.
    pub(super) fn wait_for_admission(&self, scope_state: &ScopeState) {
        let Some(admission) = scope_state.admission() else { return };
        let _lent = Lent::new(scope_state);
        loop {
            let waiter = Waiter::new(self.seat());
            // If it is quiet, the next time is after somebody has let a task in.
            let quiet = scope_state.watch_for_quiet(Tell::Waiter(NonNull::from(&waiter)));
            let scope_handle = scope_state.scope_handle().map(|scope_handle| scope_handle.lock());
            if quiet && admission.held() == 0 {
                match scope_state.unwatch_quiet() {
                    Some(true) => return scope_handle.into_iter().for_each(Opening::close),
                    Some(false) => continue,
                    None => {}
                }
            }
            drop(scope_handle);
            self.wait(&waiter, scope_state);
        }
    }

    /// Polls a future, on behalf of the body of a scope, until it is ready or the scope is quiet without that.
    pub(super) fn quiesce_or<F: Future>(&self, scope_state: &ScopeState, future: F) -> Option<F::Output> {
        assert!(!self.shared().is_forked(), "the scope {}", Kind::Forked);
        let (mut future, mut lent) = (pin!(future), Lent::new(scope_state));
        let poll = poll_fn(|context| {
            loop {
                if let Poll::Ready(output) = future.as_mut().poll(context) {
                    return Poll::Ready(Some(output));
                }
                // What waits in a stack is not counted; and the future may spawn more.
                if E::Tasks::is_drained(scope_state) {
                    break;
                }
                E::Tasks::drain(self, scope_state);
            }
            if !lent.poll_quiet(context) {
                return Poll::Pending;
            }
            // The last task may have ended between the two looks, and have made it ready: the second look tells.
            Poll::Ready(match future.as_mut().poll(context) {
                Poll::Ready(output) => Some(output),
                Poll::Pending => None,
            })
        });
        // Nothing runs on top of the body: it goes on when it can, whatever a leaf waits for (`runtime::external::future`).
        self.block_on(poll, |waiter| self.wait_apart(waiter, Awaited::Others))
    }
}
