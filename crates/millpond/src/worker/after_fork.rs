//! The caller contexts for the child of a fork, on a runtime that was built before.
//!
//! The runtime's pool may hold tasks that the parent runs, and a thread of the parent may hold any
//! of its locks. So the child uses only parts that never change. Each caller gets a caller context
//! made in the child, and kept for the next caller.

use std::sync::Arc;

use crate::depend;
use crate::handle::{claim, storage, version};
use crate::names;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::process::{self, Take};
use crate::worker::engine::WorkerEngine;
use crate::worker::seats::Shared;

/// The locks of the crate's statics.
pub(crate) static LOCKS: &[Take] =
    &[claim::take_lock, version::take_lock, storage::take_locks, depend::take_locks, names::take_lock];

/// The caller contexts of one process. Its first caller makes them; the next fork abandons them.
pub(crate) struct AfterFork<E: WorkerEngine>(AtomicPtr<CallerContexts<E>>);

struct CallerContexts<E: WorkerEngine> {
    generation: u32,
    vacant: Mutex<Vec<Arc<Shared<E>>>>,
}

impl<E: WorkerEngine> Default for AfterFork<E> {
    fn default() -> Self {
        AfterFork(AtomicPtr::default())
    }
}

impl<E: WorkerEngine> AfterFork<E> {
    /// A caller context of this process.
    pub(crate) fn take(&self, of: &Shared<E>) -> Arc<Shared<E>> {
        let vacant = { self.caller_contexts().vacant.lock().pop() };
        vacant.unwrap_or_else(|| of.context_after_fork())
    }

    /// Returns a caller context. It belongs to this process, unless the process has forked in the
    /// scope's closure.
    pub(crate) fn give_back(&self, caller_context: &Arc<Shared<E>>) {
        if caller_context.is_forked() {
            // Its threads are not in this process.
            return std::mem::forget(Arc::clone(caller_context));
        }
        self.caller_contexts().vacant.lock().push(Arc::clone(caller_context));
    }

    fn caller_contexts(&self) -> &CallerContexts<E> {
        let generation = process::generation();
        let mut seen = self.0.load(Ordering::Acquire);
        loop {
            // SAFETY: leaked below.
            let contexts = unsafe { seen.as_ref() };
            if let Some(contexts) = contexts.filter(|contexts| contexts.generation == generation) {
                return contexts;
            }
            // Leaked: it stays until the process ends.
            let new = Box::into_raw(Box::new(CallerContexts { generation, vacant: Mutex::new(Vec::new()) }));
            match self.0.compare_exchange(seen, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => seen = new,
                Err(other) => {
                    // SAFETY: made above, and not published.
                    drop(unsafe { Box::from_raw(new) });
                    seen = other;
                }
            }
        }
    }
}
