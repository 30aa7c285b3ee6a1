//! Stack jobs: tasks in which a worker continues with a stack, or runs a closure that it stole from
//! one. A stolen parent gets an empty stack.

use std::alloc::Layout;
use std::panic::Location;
use std::ptr::NonNull;

use super::request::{Batch, Request};
use super::theft;
use crate::clock;
use crate::pool::Leave;
use crate::stack::StackEngine;
use crate::stack::layout::frames::Frames;
use crate::stack::layout::out_of_line;
use crate::stack::owner::run::Stopped;
use crate::task::{NewTask, Role, Shape, TaskRef, VTable};
use crate::worker::Worker;
use crate::worker::complete::{BodyStarted, refusal, settle};
use crate::worker::scope_state::ScopeState;
use crate::worker::wait::Waiter;

static STACK_JOB: VTable = VTable {
    role: Role::StackJob,
    compact: None,
    run: |_, _| unreachable!("a stack job is no body"),
    discard: |_| unreachable!("a stack job captures nothing"),
    fail: |_, _, _| unreachable!("a stack job has no join"),
    drop_result: |_| unreachable!("a stack job has no join"),
};

/// The payload of a stack job.
#[derive(Clone, Copy, Debug)]
struct StackJob {
    frames: NonNull<Frames>,
    /// What was stolen from the stack. If it is `None`, the worker continues with the stack.
    stolen: Option<Batch>,
}

fn make(worker: &Worker<StackEngine>, stack_job: StackJob, scope_state: NonNull<ScopeState>) -> TaskRef {
    let shape = Shape { extras: false, accesses: 0, nest: false };
    let block = worker.alloc(shape.block_size(Layout::new::<StackJob>()));
    let place = Location::caller();
    let new = NewTask {
        vtable: &STACK_JOB,
        scope: scope_state.into(),
        order: 0,
        place,
        priority: 0,
        extras: None,
        accesses: 0,
    };
    // SAFETY: the block is fresh and has room.
    let task = unsafe { TaskRef::create(block, new) };
    // SAFETY: as above.
    unsafe { task.payload::<StackJob>().write(stack_job) };
    task
}

/// A job that continues with a stack without an owner. Only the worker of this job takes the stack.
pub(in crate::stack) fn go_on(worker: &Worker<StackEngine>, frames: &Frames, scope_state: &ScopeState) -> TaskRef {
    make(worker, StackJob { frames: frames.into(), stolen: None }, scope_state.into())
}

/// A job that runs stolen closures.
pub(in crate::stack) fn stolen(worker: &Worker<StackEngine>, frames: NonNull<Frames>, batch: Batch) -> TaskRef {
    make(worker, StackJob { frames, stolen: Some(batch) }, batch.first.header().scope_state())
}

impl Worker<StackEngine> {
    /// Runs a stack job, and the stacks that it leads to.
    pub(crate) fn run_stack_job(&self, task: TaskRef) -> Option<TaskRef> {
        // SAFETY: `make` wrote the payload.
        let stack_job = unsafe { task.payload::<StackJob>().read() };
        self.free(task);
        // The job may take long.
        self.leave_tasks(Leave::Body);
        // SAFETY: stacks live as long as the runtime.
        let frames = unsafe { stack_job.frames.as_ref() };
        let mut next = match stack_job.stolen {
            None => Some(frames),
            Some(batch) => self.run_batch(frames, batch),
        };
        while let Some(frames) = next {
            frames.enter();
            next = self.go_on_with(frames);
        }
        None
    }

    /// Runs a parent on its own stack. No frame holds the parent: it is pending, or a session's.
    pub(crate) fn run_parent_apart(&self, task: TaskRef) {
        let own = self.take_stack();
        self.named(task, || self.run_parent_body(task, own));
        // The next tasks belong to another scope.
        self.flush_all();
        let leads_to = self.go_on_with(own);
        debug_assert!(leads_to.is_none(), "it is not a stolen closure");
    }

    /// Runs a stack until it is empty, or until another worker must continue with it. Returns the
    /// stack that this worker must continue with, if there is one.
    fn go_on_with<'a>(&'a self, frames: &'a Frames) -> Option<&'a Frames> {
        loop {
            match self.run_stack(frames, true) {
                Stopped::Drained => {
                    let waiter = frames.frame().waiter.replace(std::ptr::null_mut());
                    frames.leave();
                    Waiter::wake_at(waiter);
                    return None;
                }
                Stopped::AtTheft(stolen) => {
                    if theft::wait_for(frames, stolen, std::ptr::null()) {
                        return None;
                    }
                    frames.enter();
                }
                Stopped::Complete => return self.complete_stack(frames),
                Stopped::AtParent => unreachable!("parents run"),
            }
        }
    }

    /// Completes an empty stack, of a root scope or of a finished parent. Returns the stack that
    /// this worker must continue with, if there is one.
    fn complete_stack<'a>(&'a self, frames: &'a Frames) -> Option<&'a Frames> {
        let scope_state = frames.frame().scope_state;
        // SAFETY: the scope is not closed yet.
        let Some(parent) = unsafe { scope_state.as_ref() }.task() else {
            self.close_stack(frames);
            // SAFETY: the scope waits for this call.
            let _none: bool = unsafe { scope_state.as_ref() }.finish(1);
            return None;
        };
        let origin = frames.origin.take();
        frames.end_uses();
        frames.close();
        frames.free_orphans();
        self.shared().tasks.put_back(frames.into());
        let (result, poison, started) = self.hand_back(parent);
        let Some((victim, closure)) = origin else {
            let finished = self.conclude(parent, result, poison, started);
            if finished.is_some() {
                self.complete_parents(finished);
            }
            return None;
        };
        self.settle_stolen(parent, result, poison, started);
        if closure.header().is_compact() {
            self.free(parent);
        }
        // SAFETY: stacks live as long as the runtime.
        self.end_theft(unsafe { victim.as_ref() }, closure)
    }

    /// Runs stolen closures of `victim`, up to the end of the batch. Returns the stack that this
    /// worker must continue with, if there is one.
    pub(in crate::stack) fn run_batch<'a>(&'a self, victim: &'a Frames, batch: Batch) -> Option<&'a Frames> {
        let mut closure = batch.first;
        loop {
            if !victim.is_here() {
                self.count_steal();
            }
            let next = self.run_stolen(victim, closure);
            let Some(rest) = batch.rest else { return next };
            // If this worker continues with the stack, it reaches the others as the owner. If a
            // body waits for this worker, the others may take too long.
            if next.is_some() || self.has_mail() {
                self.end_batch(victim, rest);
                return next;
            }
            if victim.is_here() && !victim.owner_lock().is_clear() {
                // The owner runs the batch. Each of its closures is a step.
                self.meet(victim, Request::ahead);
            }
            closure = victim.batches.begin_next(rest)?;
        }
    }

    fn end_batch(&self, victim: &Frames, batch: u64) {
        if victim.batches.end(batch) {
            self.note_untouched(victim);
        }
    }

    /// Reserved closures are untouched again.
    pub(in crate::stack) fn note_untouched(&self, frames: &Frames) {
        frames.count_change();
        self.pass_look_on();
    }

    /// Runs a stolen closure of `victim`. It runs a copy of a compact task, and any other
    /// task in place. Returns the stack that this worker must continue with, if there is one.
    fn run_stolen<'a>(&'a self, victim: &'a Frames, stolen: TaskRef) -> Option<&'a Frames> {
        let began = clock::ticks();
        let is_copied = stolen.header().is_compact();
        let task = if is_copied { stolen.expand(|size| self.alloc(size)) } else { out_of_line::itself(stolen) };
        let refused = refusal(task);
        if refused.is_none() && task.header().role() == Role::Nest {
            let own = self.take_stack();
            own.origin.set(Some((victim.into(), stolen)));
            self.named(task, || self.run_parent_body(task, own));
            return self.go_on_with(own);
        }
        let result =
            refused.map_or_else(|| self.named(task, || self.run_one(task)), |error| Err(self.refused(task, error)));
        self.settle_stolen(task, result, true, BodyStarted::No);
        if is_copied {
            self.free(task);
        }
        self.tasks.thief.has_run(victim, clock::ticks().saturating_sub(began));
        self.end_theft(victim, stolen)
    }

    /// Ends a theft, whose closure is done. Returns the stack that this worker must continue with,
    /// if there is one.
    fn end_theft<'a>(&self, victim: &'a Frames, stolen: TaskRef) -> Option<&'a Frames> {
        let next = theft::end(victim, stolen);
        if next.is_none() {
            self.pass_look_on();
        }
        next
    }

    /// Settles a finished stolen task: its results are in place (DDS Fig. 3).
    fn settle_stolen(&self, task: TaskRef, result: Result<(), crate::Error>, poison: bool, started: BodyStarted) {
        // SAFETY: the scope outlives its tasks.
        let scope_state = unsafe { task.header().scope_state().as_ref() };
        if let Err(error) = settle(task, result, poison) {
            self.report(task, scope_state, error, started);
        }
        scope_state.count_theft();
    }
}
