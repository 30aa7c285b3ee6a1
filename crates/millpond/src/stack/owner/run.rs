//! Running a stack: its closures one after the other, in reference order, without a check of their
//! dependences (DDS §3). When a closure runs, all results before it are there.

use crate::sync::atomic::AtomicUsize;
use crate::sync::atomic::Ordering::Acquire;
use std::ops::ControlFlow::{self, Break, Continue};
use std::ptr::NonNull;

use super::spawn::frames_of;
use crate::error::Error;
use crate::record::What;
use crate::stack::StackEngine;
use crate::stack::layout::frames::{Frames, closure};
use crate::stack::layout::{link, out_of_line};
use crate::stack::owner::waiters;
use crate::stack::thief::request::Request;
use crate::stack::thief::theft::{self, State};
use crate::task::{GUARD, Role, TaskRef, flag};
use crate::worker::Worker;
use crate::worker::complete::{BodyStarted, may_start, refusal, settle};
use crate::worker::nest_frame::NestFrame;
use crate::worker::scope_state::ScopeState;

/// Why a stack stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// The closures of a live body have run.
    Drained,
    /// The stack is empty except for its oldest frame, whose body has finished.
    Complete,
    /// A parent comes next, and must not run on this thread's stack.
    AtParent,
    /// The next closure was stolen, and is not finished.
    AtTheft(TaskRef),
}

/// The outcome of a step: the place of the next closure, or why the stack stops.
type Next = ControlFlow<Stopped, *mut u8>;

/// The closure that the owner has taken.
#[derive(Clone, Copy)]
struct Taken {
    this: TaskRef,
    /// The place of the next closure. It is computed before this one runs.
    behind: *mut u8,
    /// Neither a thief nor a waiter had marked the closure when it was taken.
    is_untouched: bool,
}

impl Taken {
    /// The closure has ended. If it was marked, some waiter may wait for it.
    #[inline(always)]
    fn end(&self) {
        if !self.is_untouched {
            waiters::end(self.this);
        }
    }
}

impl Worker<StackEngine> {
    /// Runs the closures of a stack in order, until one of the conditions of [`Stopped`] holds.
    /// Runs parents only if `parents`: the caller has a thread's stack for them.
    pub(crate) fn run_stack(&self, frames: &Frames, parents: bool) -> Stopped {
        self.in_stack(NonNull::from(frames).cast(), || self.run_closures(frames, parents))
    }

    /// A separate function, so that its caller's data take no registers here.
    #[inline(never)]
    fn run_closures(&self, frames: &Frames, parents: bool) -> Stopped {
        let mut at = frames.cursor().0;
        // SAFETY: a scope exists as long as its frame.
        let cancels = unsafe { frames.frame().scope_state.as_ref() }.cancels();
        loop {
            let next = if at == frames.top() {
                self.end_frame(frames, at)
            } else {
                self.run_next(frames, at, parents, cancels)
            };
            match next {
                Continue(next) => at = next,
                Break(stopped) => return stopped,
            }
        }
    }

    /// The closures of the youngest frame have ended; `at` is behind the last one. If the body has
    /// finished, closes the frame and ends its parent.
    #[inline(always)]
    fn end_frame(&self, frames: &Frames, at: *mut u8) -> Next {
        frames.set_cursor(at);
        let frame = frames.frame();
        if frame.live.get() {
            return Break(Stopped::Drained);
        }
        if frame.before.is_null() {
            return Break(Stopped::Complete);
        }
        if !frames.owner_lock().is_clear() {
            self.meet(frames, Request::ahead);
        }
        // SAFETY: a frame's scope exists until the frame is closed, and its parent longer.
        let parent = unsafe { frame.scope_state.as_ref() }.task().expect("only the oldest frame is no parent's");
        frames.end_uses();
        let is_compact = parent.header().is_compact();
        if is_compact {
            self.end_parent_here(parent, frames);
        } else {
            frames.close();
            self.end_parent(parent);
        }
        let ended = closure(frames.cursor().0);
        if ended.header().theft().load(Acquire) != GUARD {
            waiters::end(ended);
        }
        let behind = frames.cursor().0.wrapping_add(ended.header().stride());
        if !is_compact {
            self.pass_behind(frames, behind, parent);
        }
        Continue(behind)
    }

    /// Takes the closure at `at`, and runs it.
    #[inline(always)]
    fn run_next(&self, frames: &Frames, at: *mut u8, parents: bool, cancels: &AtomicUsize) -> Next {
        frames.take(at);
        if !frames.owner_lock().is_clear() {
            self.meet(frames, Request::ahead);
        }
        let this = closure(at);
        let behind = at.wrapping_add(this.header().stride());
        let is_untouched = this.header().theft().load(Acquire) == GUARD;
        // All closures of a stack are below one root scope.
        let may_run = || cancels.load(Acquire) == 0;
        if !is_untouched {
            if theft::state(this) != State::Untouched {
                return self.meet_theft(frames, this, behind);
            }
        } else if this.header().is_compact_leaf() {
            if may_run() {
                self.count_body();
                // SAFETY: it comes next, and no other thread runs it.
                if let Err(error) = unsafe { this.run_compact(self.erased()) } {
                    self.end_expanded(this, error);
                }
                return Continue(behind);
            }
        } else if parents && this.header().is_compact() && may_run() && self.run_parent_here(this, frames) {
            return Continue(frames.cursor().0);
        }
        self.run_checked(frames, Taken { this, behind, is_untouched }, parents)
    }

    /// Runs a closure that no thief has, and that needs more checks than most.
    #[inline(always)]
    fn run_checked(&self, frames: &Frames, taken: Taken, parents: bool) -> Next {
        let this = taken.this;
        match this.header().role() {
            Role::Leaf if this.header().is_compact() => self.end_expanded(this, None),
            Role::Leaf => {
                self.run_in_order(this);
                self.pass(this);
            }
            Role::ChunkLink => return Continue(link::target(this)),
            _ => return self.run_apart(frames, taken, parents),
        }
        taken.end();
        Continue(taken.behind)
    }

    /// Runs a parent, or an out-of-line task.
    #[inline(always)]
    fn run_apart(&self, frames: &Frames, taken: Taken, parents: bool) -> Next {
        let this = taken.this;
        let task = if !this.header().is_compact() {
            out_of_line::itself(this)
        } else if parents {
            this.expand(|size| self.alloc(size))
        } else {
            this
        };
        if task.header().role() != Role::Nest {
            self.run_in_order(task);
        } else if !parents {
            frames.set_cursor(this.0.as_ptr().cast());
            return Break(Stopped::AtParent);
        } else if self.begin_parent(task, frames) {
            return Continue(frames.cursor().0);
        }
        taken.end();
        self.pass_behind(frames, taken.behind, task);
        Continue(taken.behind)
    }

    /// The next closure was stolen. Passes it if its thief has ended it: `behind` is the place of
    /// the closure after it. Otherwise runs others or waits for a moment, and then it may come next
    /// again.
    #[cold]
    #[inline(never)]
    fn meet_theft(&self, frames: &Frames, this: TaskRef, behind: *mut u8) -> Next {
        match theft::state(this) {
            State::Untouched | State::Reserved => {
                // All before it has ended, so it is ready.
                _ = frames.batches.take_back(this);
                self.note_untouched(frames);
                return Continue(this.0.as_ptr().cast());
            }
            State::Stolen => {
                let runs_ahead = |takes_reserved| self.runs_ahead(frames, takes_reserved);
                let is_shared = self.shared().config.workers > 1;
                return if is_shared && (runs_ahead(false) || self.ends_soon(this) || runs_ahead(true)) {
                    Continue(this.0.as_ptr().cast())
                } else {
                    Break(Stopped::AtTheft(this))
                };
            }
            State::Done => {}
        }
        // SAFETY: the scope outlives its tasks.
        unsafe { this.header().scope_state().as_ref() }.uncount_theft();
        if theft::pass(this) && !this.header().is_compact() {
            self.pass_behind(frames, behind, out_of_line::itself(this));
        }
        Continue(behind)
    }

    /// Waits for a moment at a stolen closure. Returns whether it is done.
    fn ends_soon(&self, stolen: TaskRef) -> bool {
        if self.log.is_on() {
            self.log.note(What::AtTheft);
        }
        theft::ends_soon(stolen)
    }

    /// Passes a finished task, as soon as no thief scans it any more. `next` is the closure after
    /// it.
    #[inline(always)]
    fn pass_behind(&self, frames: &Frames, next: *mut u8, task: TaskRef) {
        if !is_in_place(task) {
            frames.set_cursor(next);
            if !frames.owner_lock().is_clear() {
                self.meet(frames, Request::ahead);
            }
        }
        self.pass(task);
    }

    /// Runs a leaf or a combine task, and ends it.
    #[inline(always)]
    fn run_in_order(&self, task: TaskRef) {
        if !may_start(task)
            && let Some(error) = refusal(task)
        {
            return self.refuse_in_order(task, error);
        }
        let result = self.run_one(task);
        let slow = flag::WRITE | flag::REDUCE | flag::EXTRAS | flag::COUNTED;
        if result.is_ok() && !task.header().has(slow) && task.header().role() == Role::Leaf && is_in_place(task) {
            return;
        }
        self.end_in_order(task, result, true, BodyStarted::No);
    }

    /// Runs the body of a leaf or a combine task.
    #[inline(always)]
    pub(in crate::stack) fn run_one(&self, task: TaskRef) -> Result<(), Error> {
        if task.header().role() == Role::Leaf {
            self.count_body();
        }
        if task.header().has(flag::REDUCE) {
            task.clear_links();
        }
        self.run_body(task)
    }

    #[cold]
    fn refuse_in_order(&self, task: TaskRef, error: Error) {
        let error = self.refused(task, error);
        self.end_in_order(task, Err(error), true, BodyStarted::No);
    }

    /// Ends a compact leaf that has failed (`error`), or runs one that needs more checks than most.
    #[cold]
    #[inline(never)]
    pub(in crate::stack) fn end_expanded(&self, compact: TaskRef, error: Option<Error>) {
        let task = compact.expand(|size| self.alloc(size));
        match error {
            Some(error) => self.end_in_order(task, Err(error), true, BodyStarted::No),
            None => self.run_in_order(task),
        }
        self.pass(task);
    }

    /// Discards a task whose body must not run. Returns its error.
    #[cold]
    pub(in crate::stack) fn refused(&self, task: TaskRef, error: Error) -> Error {
        if task.header().has(flag::RECORDED) {
            self.log.refused(task.record_id(), task.header().role() == Role::Nest);
        }
        // SAFETY: the closure was not consumed, and will not run.
        unsafe { (task.header().vtable().discard)(task) };
        error
    }

    /// Runs a parent's body in a new frame of the stack, whose closures come next. If the body must
    /// not run, ends the parent and returns false.
    pub(in crate::stack) fn begin_parent(&self, task: TaskRef, frames: &Frames) -> bool {
        if let Some(error) = refusal(task) {
            self.refuse_in_order(task, error);
            return false;
        }
        self.run_parent_body(task, frames);
        true
    }

    /// Runs a parent's body in a new frame of a stack.
    pub(in crate::stack) fn run_parent_body(&self, task: TaskRef, frames: &Frames) {
        self.count_body();
        if task.header().has(flag::REDUCE) {
            task.clear_links();
        }
        self.tasks.opens_in.set(Some(NonNull::from(frames)));
        let result = self.run_body(task);
        let nest: NonNull<NestFrame> = task.nest_frame_at();
        // SAFETY: `run` has made the frame, and the task is not complete.
        let nest = unsafe { nest.as_ref() };
        if let Err(error) = result {
            nest.scope_state().set_own_failure(error);
        }
        self.combine_open(nest.scope_state());
        frames.frame().live.set(false);
    }

    /// A parent is complete.
    fn end_parent(&self, task: TaskRef) {
        let (result, poison, started) = self.hand_back(task);
        self.end_in_order(task, result, poison, started);
    }

    /// Hands back the versions of a parent's descendants. Returns its result, whether it poisons
    /// its versions, and whether it left a value.
    pub(in crate::stack) fn hand_back(&self, task: TaskRef) -> (Result<(), Error>, bool, BodyStarted) {
        let nest: NonNull<NestFrame> = task.nest_frame_at();
        // SAFETY: the parent's body has run, so the frame was made. It stays until the block is
        // freed.
        let this = unsafe { nest.as_ref() };
        // SAFETY: the scope is complete.
        let error = unsafe { this.hand_back() };
        let poison = this.scope_state().own_failure().is_some();
        if task.header().has(flag::RECORDED) {
            self.log.note(What::Completed { body: task.record_id() });
        }
        // SAFETY: the frame is not used any more.
        unsafe { nest.drop_in_place() };
        // A body that failed left no value.
        (error.map_or(Ok(()), Err), poison, if poison { BodyStarted::No } else { BodyStarted::Yes })
    }

    /// A task has ended, like everything before it.
    pub(in crate::stack) fn end_in_order(
        &self,
        task: TaskRef,
        result: Result<(), Error>,
        poison: bool,
        started: BodyStarted,
    ) {
        let role = task.header().role();
        let result = if role == Role::Combine {
            result.inspect_err(|error| self.poison_combined(task, error))
        } else {
            settle(task, result, poison)
        };
        if let Err(error) = result {
            // SAFETY: the scope outlives its tasks.
            self.report(task, unsafe { task.header().scope_state().as_ref() }, error, started);
        }
    }

    /// A stolen task is done, and is passed before the stack reaches it.
    #[cold]
    pub(crate) fn pass_theft(&self, closure: TaskRef) {
        let scope_state = closure.header().scope_state();
        // SAFETY: the scope's body calls this.
        let scope_state = unsafe { scope_state.as_ref() };
        // SAFETY: as above.
        let frames = unsafe { frames_of(scope_state) };
        if theft::pass(closure)
            && let Some(frames) = frames
        {
            // A scanning thief may read the task.
            frames.owner_lock().alone(|| self.pass(out_of_line::itself(closure)));
        }
    }

    /// The last step for a task: it wakes its join, and frees its block.
    fn pass(&self, task: TaskRef) {
        // SAFETY: the scope outlives its tasks.
        let scope: &ScopeState = unsafe { task.header().scope_state().as_ref() };
        if task.bytes() != 0 {
            scope.sub_bytes(task.bytes());
        }
        if task.header().role() == Role::Combine {
            self.end_reduction(task);
        }
        if !is_in_place(task) {
            self.retire_apart(task, scope);
        }
    }
}

/// Whether a task's block is in a frame.
#[inline(always)]
fn is_in_place(task: TaskRef) -> bool {
    task.header().has(flag::IN_PLACE)
}
