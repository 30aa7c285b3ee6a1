//! Quiescence: the owner of a scope waits until none of its tasks is ready or running. Tasks held
//! by its admission may be left.
//!
//! For the notification, see `worker::count`, step 7. Meanwhile the owner's worker runs tasks. If
//! the owner waits for a future, it polls the future again once the scope is quiet. The last task
//! may have made the future ready after the first poll.

use std::future::poll_fn;
use std::pin::pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use crate::error::Kind;
use crate::runtime::external::scope_handle::Opening;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::yield_thread;
use crate::worker::engine::WorkerEngine;
use crate::worker::engine::store::TaskStore;
use crate::worker::scope_state::ScopeState;
use crate::worker::wait::Waiter;
use crate::worker::watch::Tell;
use crate::worker::{Awaited, Worker};

/// Receives the notification that the scope is quiet, once, and wakes a body.
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

/// A scope whose owner counts nothing itself until this is dropped. `told` is the requested
/// notification, if any.
struct Lent<'d> {
    scope_state: &'d ScopeState,
    told: Option<Arc<Told>>,
}

impl<'d> Lent<'d> {
    fn new(scope_state: &'d ScopeState) -> Self {
        scope_state.lend();
        Lent { scope_state, told: None }
    }

    /// Whether a notification was requested and has not arrived.
    fn waits(&self) -> bool {
        self.told.as_ref().is_some_and(|told| !told.done.load(Ordering::Acquire))
    }

    /// Whether the scope is quiet. If it is not, the body is woken when it is.
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
            // The notifying thread still uses the scope.
            while self.waits() {
                yield_thread();
            }
        }
        self.scope_state.reclaim();
    }
}

impl<E: WorkerEngine> Worker<E> {
    /// Waits until the scope is quiet and its admission holds nothing. Other threads satisfy the
    /// last preconditions.
    pub(super) fn wait_for_admission(&self, scope_state: &ScopeState) {
        let Some(admission) = scope_state.admission() else { return };
        let _lent = Lent::new(scope_state);
        loop {
            let waiter = Waiter::new(self.mailbox());
            // If it is quiet, the next notification comes after another thread has let a task in.
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

    /// Polls a future, for the body of a scope, until the future is ready or the scope is quiet.
    pub(super) fn quiesce_or<F: Future>(&self, scope_state: &ScopeState, future: F) -> Option<F::Output> {
        assert!(!self.shared().is_forked(), "the scope {}", Kind::Forked);
        let (mut future, mut lent) = (pin!(future), Lent::new(scope_state));
        let poll = poll_fn(|context| {
            loop {
                if let Poll::Ready(output) = future.as_mut().poll(context) {
                    return Poll::Ready(Some(output));
                }
                // Tasks that wait in a stack are not counted, and the future may spawn more.
                if E::Tasks::is_drained(scope_state) {
                    break;
                }
                E::Tasks::drain(self, scope_state);
            }
            if !lent.poll_quiet(context) {
                return Poll::Pending;
            }
            // The last task may have finished between the two steps and made the future ready: poll
            // again.
            Poll::Ready(match future.as_mut().poll(context) {
                Poll::Ready(output) => Some(output),
                Poll::Pending => None,
            })
        });
        // No task runs on top of the body, so a waiting leaf cannot delay the body
        // (`runtime::external::future`).
        self.block_on(poll, |waiter| self.wait_apart(waiter, Awaited::Others))
    }
}
