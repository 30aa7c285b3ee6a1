//! State that most scopes never need: failures, watchers, admission, reductions, a token. It is
//! made at the first need.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock, Weak};
use std::task::Waker;

use super::ScopeState;
use super::failures::Failures;
use super::of_session::Ends;
use crate::error::Error;
use crate::handle::reduction::Reduction;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::worker::cancel::CancelToken;
use crate::worker::external::{Admission, HandleState};
use crate::worker::watch::{Tell, Watchers};

/// The wakers of futures that wait for closures of the scope's stack, by their closure's place in
/// reference order.
pub(crate) type ClosureWakers = Mutex<BTreeMap<u64, Waker>>;

/// State that most scopes never need.
#[derive(Default)]
pub(super) struct Cold {
    pub(super) failures: Mutex<Failures>,
    /// Whether the first failure cancels the scope.
    pub(super) fails_fast: AtomicBool,
    watchers: Watchers,
    closures: ClosureWakers,
    token: Mutex<Option<CancelToken>>,
    admission: OnceLock<Admission>,
    scope_handle: OnceLock<Arc<HandleState>>,
    /// The open reductions. Only the owner uses this field and the next one.
    reductions: RefCell<Vec<NonNull<Reduction>>>,
    bytes_spawned: Cell<u64>,
    bytes_finished: AtomicU64,
    /// The failure of the body itself.
    own_failure: OnceCell<Error>,
    /// How to notify the owner that the scope is quiet (`worker::count`, step 7).
    pub(super) quiet: Mutex<Option<Tell>>,
    /// For a session: notified of room, after a caller has waited for it.
    pub(super) session: OnceLock<Weak<dyn Ends>>,
    /// For a session: notified of the end.
    pub(super) end: Mutex<Option<Arc<dyn Ends>>>,
}

impl ScopeState {
    pub(super) fn cold(&self) -> &Cold {
        let mut cold = self.cold.load(Ordering::Acquire);
        if cold.is_null() {
            let new = Box::into_raw(Box::<Cold>::default()).cast();
            let put = self.cold.compare_exchange(cold, new, Ordering::AcqRel, Ordering::Acquire);
            cold = match put {
                Ok(_) => new,
                Err(other) => {
                    // SAFETY: made above, and not published.
                    drop(unsafe { Box::from_raw(new.cast::<Cold>()) });
                    other
                }
            };
        }
        // SAFETY: once set, it stays until the scope state is dropped.
        unsafe { &*cold.cast() }
    }

    pub(super) fn cold_if_any(&self) -> Option<&Cold> {
        // SAFETY: as above.
        unsafe { self.cold.load(Ordering::Acquire).cast::<Cold>().as_ref() }
    }

    /// Whether the scope has none of this state, such as a failure.
    #[inline(always)]
    pub(crate) fn is_usual(&self) -> bool {
        self.cold_if_any().is_none()
    }

    /// Sets the failure of the body itself, which fails at most once.
    pub(crate) fn set_own_failure(&self, error: Error) {
        let _is_the_first = self.cold().own_failure.set(error);
        self.stop_scopes();
    }

    /// The failure of the body itself: the values it declared to write are then poisoned.
    pub(crate) fn own_failure(&self) -> Option<&Error> {
        self.cold_if_any()?.own_failure.get()
    }

    /// The watchers of tasks. A watcher is added here before the task's state is set to watched.
    pub(crate) fn watchers(&self) -> &Watchers {
        &self.cold().watchers
    }

    /// Futures that wait for closures in the scope's stack.
    pub(crate) fn closure_wakers(&self) -> &ClosureWakers {
        &self.cold().closures
    }

    /// The token that cancels this scope.
    pub(crate) fn cancel_token(&self) -> CancelToken {
        let mut token = self.cold().token.lock();
        // SAFETY: the counter outlives the scopes that refer to it.
        token.get_or_insert_with(|| CancelToken::new(unsafe { self.cancels.as_ref() })).clone()
    }

    pub(super) fn is_cancelled_itself(&self) -> bool {
        self.cold_if_any().is_some_and(|cold| cold.token.lock().as_ref().is_some_and(CancelToken::is_cancelled))
    }

    /// The admission; opened if it was not.
    pub(crate) fn open_admission(&self, open: impl FnOnce() -> Admission) -> &Admission {
        self.cold().admission.get_or_init(open)
    }

    /// The admission, if it was opened.
    pub(crate) fn admission(&self) -> Option<&Admission> {
        self.cold_if_any()?.admission.get()
    }

    /// The scope handle; made if there is none.
    pub(crate) fn open_scope_handle(&self, open: impl FnOnce() -> Arc<HandleState>) -> &Arc<HandleState> {
        self.cold().scope_handle.get_or_init(open)
    }

    /// The scope handle, if there is one.
    pub(crate) fn scope_handle(&self) -> Option<&Arc<HandleState>> {
        self.cold_if_any()?.scope_handle.get()
    }

    pub(crate) fn add_bytes(&self, bytes: usize) {
        let spawned = &self.cold().bytes_spawned;
        spawned.set(spawned.get() + bytes as u64);
    }

    pub(crate) fn sub_bytes(&self, bytes: usize) {
        self.cold().bytes_finished.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// The bytes that outstanding tasks declared to hold.
    pub(crate) fn bytes(&self) -> u64 {
        let held = |cold: &Cold| cold.bytes_spawned.get().saturating_sub(cold.bytes_finished.load(Ordering::Relaxed));
        self.cold_if_any().map_or(0, held)
    }

    /// Asks to notify the owner, which has lent its count, when the scope is quiet next. Returns
    /// whether it is quiet now.
    pub(crate) fn watch_for_quiet(&self, tell: Tell) -> bool {
        *self.cold().quiet.lock() = Some(tell);
        self.shared_count().watch_for_quiet()
    }

    /// Cancels `watch_for_quiet`. Returns whether the scope is quiet; `None` if a thread notifies,
    /// or has notified, the owner.
    pub(crate) fn unwatch_quiet(&self) -> Option<bool> {
        let quiet = self.shared_count().unwatch_quiet();
        if quiet.is_some() {
            self.cold().quiet.lock().take();
        }
        quiet
    }

    /// Adds an open reduction. It is combined when the scope ends, at the latest.
    pub(crate) fn add_reduction(&self, reduction: NonNull<Reduction>) {
        self.cold().reductions.borrow_mut().push(reduction);
        self.plain.set(false);
    }

    /// Forgets an open reduction.
    pub(crate) fn remove_reduction(&self, reduction: NonNull<Reduction>) {
        let mut open = self.cold().reductions.borrow_mut();
        if let Some(at) = open.iter().rposition(|&other| other == reduction) {
            open.swap_remove(at);
        }
        drop(open);
        self.note_plain();
    }

    /// One of the open reductions.
    pub(crate) fn any_reduction(&self) -> Option<NonNull<Reduction>> {
        self.cold_if_any()?.reductions.borrow().last().copied()
    }
}

impl Drop for ScopeState {
    fn drop(&mut self) {
        let cold = self.cold.load(Ordering::Acquire);
        if !cold.is_null() {
            // SAFETY: made by `cold` and owned by the scope state, which is not used again.
            drop(unsafe { Box::from_raw(cold.cast::<Cold>()) });
        }
    }
}
