//! A scope with its tasks in a stack: it opens its stack, waits for its tasks, and ends.

use std::ptr::NonNull;

use super::room;
use super::run::Stopped;
use super::spawn::frames_of;
use crate::depend::tracker::SchemeOps;
use crate::record::Cause;
use crate::stack::StackEngine;
use crate::stack::in_order::InOrder;
use crate::stack::layout::frames::{Frame, Frames};
use crate::stack::thief::resume;
use crate::stack::thief::theft;
use crate::task::TaskRef;
use crate::worker::current::with_log_of_body;
use crate::worker::nest_frame::NestFrame;
use crate::worker::scope_state::ScopeState;
use crate::worker::wait::Waiter;
use crate::worker::{Awaited, Worker};

impl Worker<StackEngine> {
    /// A root scope begins: its tasks go into its own stack.
    pub(crate) fn open_stack(&self, scope_state: &ScopeState) {
        let frames = self.take_stack();
        scope_state.set_frames(Some(frames.into()));
        frames.open(scope_state);
    }

    /// An empty stack, which this worker owns.
    pub(in crate::stack) fn take_stack(&self) -> &Frames {
        // SAFETY: stacks live as long as the runtime.
        let frames = unsafe { self.shared().tasks.take().as_ref() };
        frames.set_window(room::window(&self.shared().config));
        frames.end_rest();
        frames
    }

    /// A parent's body begins: its tasks go into a frame of the stack that runs it.
    pub(crate) fn open_frame<'a>(&self, task: TaskRef) -> &'a NestFrame {
        let frames = self.tasks.opens_in.take().expect("a stack runs parents");
        // SAFETY: the task runs, on this worker.
        let nest = unsafe { NestFrame::open(task, self.seat(), SchemeOps::of::<InOrder>()) };
        nest.scope_state().set_frames(Some(frames));
        // SAFETY: stacks live as long as the runtime.
        unsafe { frames.as_ref() }.open(nest.scope_state());
        nest
    }

    /// Runs all tasks that the scope has spawned, and waits for those that other workers run. The
    /// scope's body calls this.
    pub(crate) fn finish_frame(&self, scope_state: &ScopeState) {
        // SAFETY: the scope is open.
        let Some(frames) = (unsafe { frames_of(scope_state) }) else { return };
        // A portable parent need not wait, but it may.
        frames.promote();
        let frame = frames.frame();
        debug_assert!(frame.scope_state == NonNull::from(scope_state), "a live body's frame is the youngest");
        self.finish(frames, frame, scope_state);
    }

    /// Like `finish_frame`, where `frame` is the scope's. There may be frames of finished bodies
    /// above it.
    pub(in crate::stack) fn finish(&self, frames: &Frames, frame: &Frame, scope_state: &ScopeState) {
        debug_assert!(frame.live.get() && frame.scope_state == NonNull::from(scope_state), "its body waits");
        self.log.waits_for_others(|| self.drain(frames, frame, scope_state));
        frames.rewind();
    }

    /// Like `finish_frame`, for a waiting body. `cause` and `on`, a number in a recording, say for
    /// what it waits. It waits for all tasks spawned before, whether they conflict or not, because
    /// the stack knows no other order.
    pub(crate) fn finish_frame_for(&self, scope_state: &ScopeState, cause: Cause, on: u64) {
        waits_for(self, scope_state, cause, on, || self.finish_frame(scope_state));
    }

    fn drain(&self, frames: &Frames, frame: &Frame, scope_state: &ScopeState) {
        self.forks().offer_all();
        loop {
            match self.run_stack(frames, self.has_stack_for_parents()) {
                Stopped::Drained | Stopped::Complete => return,
                Stopped::AtTheft(stolen) => {
                    let waiter = Waiter::new(self.mailbox());
                    if theft::wait_for(frames, stolen, &waiter) {
                        self.wait_apart(&waiter, Awaited::Below(scope_state.into()));
                    }
                    frames.enter();
                }
                // The parent needs its own thread's stack.
                Stopped::AtParent => {
                    let waiter = Waiter::new(self.mailbox());
                    frame.waiter.set((&raw const waiter).cast_mut());
                    frames.leave();
                    self.tasks.stack_jobs.borrow_mut().push_back(resume::go_on(self, frames, scope_state));
                    self.wait_apart(&waiter, Awaited::Below(scope_state.into()));
                    return frames.enter();
                }
            }
        }
    }

    /// The body of a root scope has finished: any idle worker runs the tasks that are left.
    pub(crate) fn end_stack(&self, scope_state: &ScopeState) {
        // SAFETY: the scope is open.
        let Some(frames) = (unsafe { frames_of(scope_state) }) else { return };
        let frame = frames.frame();
        frame.live.set(false);
        if frames.cursor().0 == frames.top() {
            return self.close_stack(frames);
        }
        // It is outstanding until the stack is closed.
        scope_state.count_hidden_spawn();
        frames.leave();
        self.tasks.stack_jobs.borrow_mut().push_back(resume::go_on(self, frames, scope_state));
    }

    /// A root scope's stack is empty: it frees what it kept for the scope's end, and another scope
    /// may use it.
    pub(in crate::stack) fn close_stack(&self, frames: &Frames) {
        frames.end_uses();
        frames.free_orphans();
        // SAFETY: the scope is not closed before this.
        unsafe { frames.frame().scope_state.as_ref() }.set_frames(None);
        frames.close();
        self.shared().tasks.put_back(NonNull::from(frames));
    }

    /// Polls a future for a scope's body.
    ///
    /// Between polls it runs the leaves that come next, up to the first other closure, and ready
    /// leaves behind a stolen one. Then it leaves the stack. Any ready tasks may be stolen, perhaps
    /// by this worker, so the body can continue as soon as it is woken.
    pub(crate) fn block_on_in_frame<F: Future>(&self, scope_state: &ScopeState, future: F) -> F::Output {
        self.block_on(future, |waiter| {
            // SAFETY: the scope is open.
            let Some(frames) = (unsafe { frames_of(scope_state) }) else { return self.wait(waiter, scope_state) };
            frames.promote();
            waits_for(self, scope_state, Cause::Others, 0, || self.run_leaves(frames));
            frames.leave();
            self.wait(waiter, scope_state);
            frames.enter();
        })
    }

    /// Whether parents may run on this thread's stack.
    fn has_stack_for_parents(&self) -> bool {
        self.stack_left_for_bodies()
    }
}

/// The scope's body waits by calling `wait`. `cause` says for what.
pub(in crate::stack) fn waits_for(
    worker: &Worker<StackEngine>,
    scope_state: &ScopeState,
    cause: Cause,
    on: u64,
    wait: impl FnOnce(),
) {
    match scope_state.record() {
        0 => wait(),
        _ => with_log_of_body(&worker.log, |log| log.waits_for(cause, on, |_| wait())),
    }
}
