//! The sessions of a runtime that have not ended. The runtime's drop ends them.

use std::collections::HashMap;
use std::sync::Weak;

use super::core::{Core, How};
use crate::runtime::engine::Engine;
use crate::sync::Mutex;
use crate::worker::Awaited;
use crate::worker::seats::Shared;
use crate::worker::watch::Tell;

/// See the [module](self).
pub(crate) struct OpenSessions<E: Engine>(Mutex<Open<E>>);

struct Open<E: Engine> {
    /// By the number that handles know.
    sessions: HashMap<u64, Weak<Core<E>>>,
    /// The waiting drop of the runtime: it waits until no session is left.
    tell: Option<Tell>,
}

// SAFETY: any thread may use a core, and any thread may use a `Tell`, once.
unsafe impl<E: Engine> Send for Open<E> {}

impl<E: Engine> Default for OpenSessions<E> {
    fn default() -> Self {
        OpenSessions(Mutex::new(Open { sessions: HashMap::new(), tell: None }))
    }
}

impl<E: Engine> OpenSessions<E> {
    pub(super) fn add(&self, number: u64, core: Weak<Core<E>>) {
        self.0.lock().sessions.insert(number, core);
    }

    /// Removes a session that has ended. If it was the last, returns the waiter to notify.
    pub(super) fn remove(&self, number: u64) -> Option<Tell> {
        let mut open = self.0.lock();
        open.sessions.remove(&number);
        if open.sessions.is_empty() { open.tell.take() } else { None }
    }

    /// Cancels tasks that have not begun. No session is opened meanwhile or afterwards.
    pub(crate) fn cancel(&self) {
        let open: Vec<_> = self.0.lock().sessions.values().filter_map(Weak::upgrade).collect();
        open.iter().for_each(|core| core.close(How::WithRuntime));
    }

    /// Waits until all sessions have ended.
    pub(crate) fn wait(&self, shared: &Shared<E>) {
        shared.sit(|at| {
            let waiter = at.waiter();
            let mut open = self.0.lock();
            if !open.sessions.is_empty() {
                open.tell = Some(Tell::Waiter((&waiter).into()));
                drop(open);
                at.wait(&waiter, Awaited::Others);
            }
        });
    }
}
