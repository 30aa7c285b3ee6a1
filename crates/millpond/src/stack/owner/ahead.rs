//! What an owner runs while its next closure is stolen: ready leaves behind that closure.
//!
//! The owner is its own thief. It scans its youngest frame, takes a batch of ready leaves, and runs
//! it as any thief does (`thief::theft`, `thief::batches`). No thread waits for such a leaf,
//! because only the owner could. The leaves are tasks of the body that waits on this thread, or of
//! a finished body. So the thread may run them (`worker::stay`).
//!
//! If the owner left the stack instead, another thread would have to take its place. In a root
//! scope that spawns many tasks, that would happen all the time.

use crate::clock;
use crate::stack::StackEngine;
use crate::stack::layout::frames::Frames;
use crate::stack::thief::request::Request;
use crate::stack::thief::scan::REST;
use crate::worker::Worker;

impl Worker<StackEngine> {
    /// Runs some ready leaves of the youngest frame. Returns false if there are none nearby, or if
    /// a scan has found none a short time ago. If `takes_reserved`, it also takes one that a thief
    /// has reserved, but not begun.
    #[cold]
    pub(super) fn runs_ahead(&self, frames: &Frames, takes_reserved: bool) -> bool {
        if !frames.owner_lock().is_clear() {
            // A thief that asks comes first. While the owner is alone, it would get nothing.
            self.meet(frames, Request::ahead);
        }
        let began = clock::ticks();
        if began < frames.ahead_after.get() {
            return false;
        }
        let request = Request::by_owner(self.closures_per_theft(), takes_reserved);
        let Some(batch) = frames.owner_lock().alone(|| self.scan(frames, request)) else {
            let now = clock::ticks();
            frames.ahead_after.set(now + REST * now.saturating_sub(began));
            return false;
        };
        let next = self.on_top(|| self.run_batch(frames, batch));
        debug_assert!(next.is_none(), "only the owner could wait for it");
        true
    }
}
