//! What an owner runs while its next closure is stolen: ready leaves behind that closure.
//!
//! The owner is its own thief. It scans its youngest frame, marks ready leaves as stolen, runs them
//! and ends them, as any thief does (`thief::theft`). No thread waits for such a closure, because
//! only the owner could. The leaves are tasks of the body that waits on this thread, or of a
//! finished body. So the thread may run them (`worker::stay`).
//!
//! If the owner left the stack instead, another thread would have to take its place. In a root
//! scope that spawns many tasks, that would happen all the time.

use crate::stack::StackEngine;
use crate::stack::layout::frames::Frames;
use crate::stack::thief::scan::{self, StolenTasks};
use crate::worker::Worker;

impl Worker<StackEngine> {
    /// Runs some ready leaves of the youngest frame. Returns false if there are none.
    #[cold]
    pub(super) fn runs_ahead(&self, frames: &Frames) -> bool {
        let most = self.tasks.thief.batch();
        let config = &self.shared().config;
        let found =
            frames.owner_lock().alone(|| scan::steal(frames, config.steal_from, StolenTasks::by_owner(most)));
        let Some(StolenTasks { found, .. }) = found else { return false };
        self.on_top(|| {
            for leaf in found {
                let next = self.run_stolen(frames, leaf);
                debug_assert!(next.is_none(), "only the owner could wait for it");
            }
        });
        true
    }
}
