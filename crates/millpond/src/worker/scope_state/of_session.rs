//! The additional state of a session's scope: no thread waits for its end, and several may wait for
//! room (`worker::count`, steps 8 and 9).

use std::sync::{Arc, Weak};

use super::ScopeState;
use crate::worker::count::Subtracted;

/// A session, for the thread that completes one of its tasks.
pub(crate) trait Ends: Send + Sync {
    /// There may be room: notifies all waiters for room.
    fn tell_of_room(&self);

    /// All tasks are complete, and no more will follow.
    fn end(&self);
}

impl ScopeState {
    /// Like `finish`, for a session. The scope may be gone afterwards.
    pub(super) fn finish_in_session(&self, count: u64) -> bool {
        let mut kept = None;
        let keep = || kept = kept.take().or_else(|| self.cold().session.get().and_then(Weak::upgrade));
        let Subtracted { complete, wake, .. } = self.shared_count().subtract(count, || false, keep);
        // Only the completer ends the session, so it still exists.
        let ended = if complete { self.take_end() } else { None };
        if let (Some(_), Some(session)) = (wake, kept) {
            session.tell_of_room();
        }
        if let Some(session) = ended {
            session.end();
        }
        complete
    }

    /// Asks to notify the waiters when at most `limit` tasks are outstanding (`worker::count`,
    /// step 8). The session knows the waiters. `seen` tasks were outstanding before the last check.
    /// Returns false if fewer are by now. Only for the owner.
    pub(crate) fn ask_for_room(&self, session: impl FnOnce() -> Weak<dyn Ends>, seen: u64, limit: u64) -> bool {
        self.cold().session.get_or_init(session);
        self.count.ask_for_room(self.shared_count(), seen, limit)
    }

    /// Closes the scope. Keeps `session` until the scope is complete, then notifies it. Returns
    /// true if the scope is complete already: then no other thread notifies it. Only for the owner.
    pub(crate) fn close_session(&self, session: impl FnOnce() -> Arc<dyn Ends>) -> bool {
        if self.outstanding() > 0 {
            *self.cold().end.lock() = Some(session());
        }
        if !self.close(None) {
            return false;
        }
        drop(self.take_end());
        true
    }

    fn take_end(&self) -> Option<Arc<dyn Ends>> {
        self.cold_if_any()?.end.lock().take()
    }
}
