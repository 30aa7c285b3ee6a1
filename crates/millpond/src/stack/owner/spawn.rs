//! Spawning into a frame (DDS §2, the abstract machine): allocate a closure, push what it accesses,
//! push what it captures, commit.

use crate::copy_out::copy_out;
use crate::depend::Mode;
use crate::depend::tracker::Of;
use crate::handle::access::{Accesses, ArgsOf, In};
use crate::handle::datum::Storage;
use crate::handle::{Datum, Version};
use crate::memory::{Block, LINE};
use crate::record::{Id, What};
use crate::runtime::join::{Join, Spawned, must_count};
use crate::runtime::outcome::Outcome;
use crate::runtime::scope::Scope;
use crate::runtime::spawn::Options;
use crate::runtime::spawn::body::{Body, Code, ParentCode, payload, write_body};
use crate::runtime::spawn::issue::{Orders, Plan, Prepared};
use crate::stack::StackEngine;
use crate::stack::in_order::InOrder;
use crate::stack::layout::frames::Frames;
use crate::stack::layout::{out_of_line, push};
use crate::stack::thief::request::Request;
use crate::task::{Role, Shape, TaskRef, VTable, flag};
use crate::worker::Worker;
use crate::worker::scope_state::ScopeState;
use std::ptr::NonNull;

/// A closure with more bytes gets its own block.
pub(in crate::stack) const LARGE: usize = 16 << 10;

/// The accesses of a task that a stack holds. The stack's order is their order.
pub(crate) struct InFrame<'a, const IN_PLACE: bool>(pub(crate) &'a Frames);

impl<const IN_PLACE: bool> Orders<StackEngine> for InFrame<'_, IN_PLACE> {
    type Tracker = Of<InOrder>;
    const PREFETCHES: bool = false;
    const FLAGS: u8 = if IN_PLACE { flag::IN_PLACE } else { 0 };

    #[inline(always)]
    fn tracker(&self, _worker: &Worker<StackEngine>) -> Of<InOrder> {
        Of::default()
    }

    /// If the task is in place: at the top of the stack, where the spawn has made room.
    #[inline(always)]
    fn alloc(&self, worker: &Worker<StackEngine>, size: usize) -> Block {
        if IN_PLACE {
            Block { start: self.0.top_at(), tag: size.next_multiple_of(LINE) as u32 }
        } else {
            worker.alloc(size)
        }
    }

    /// The scope does not count tasks that its stack holds.
    #[inline(always)]
    fn count(&self, scope_state: &ScopeState) -> u64 {
        let order = scope_state.next_order();
        scope_state.count_run_inline();
        order
    }

    /// In place: the owner reaches a `write` only when everything before it has ended.
    #[inline(always)]
    fn storage(&self, _worker: &Worker<StackEngine>, datum: &Datum) -> Storage {
        if datum.version().meta().of::<InOrder>().is_in_use() { Storage::Shared } else { Storage::Own(None) }
    }

    #[inline(always)]
    fn ordered(&self, _worker: &Worker<StackEngine>, mode: Mode) -> Mode {
        if mode == Mode::Commutative { Mode::Inout } else { mode }
    }

    #[inline(always)]
    fn enter(&self, version: &Version) {
        self.0.note(version.meta().of::<InOrder>());
    }
}

impl<'s, 'env, B> Scope<'s, 'env, B, StackEngine> {
    #[inline(always)]
    pub(crate) fn spawn_in_frame<A, F, O, R>(
        &self,
        frames: &Frames,
        options: Options,
        accesses: A,
        body: F,
    ) -> Join<'s, B, O>
    where
        A: Accesses<'s, B>,
        O: Send + 's,
        R: Outcome<O>,
        F: for<'t> FnOnce(<A as ArgsOf<'t>>::Leaf) -> R + Send + 's,
    {
        self.commit(frames, Code::<'s, B, A, F, O, R>::LEAF_IN_FRAME, options, accesses, body)
    }

    #[inline(always)]
    pub(crate) fn nest_in_frame<A, F, O, R>(
        &self,
        frames: &Frames,
        options: Options,
        accesses: A,
        body: F,
    ) -> Join<'s, B, O>
    where
        A: Accesses<'s, B>,
        O: Send + 's,
        R: Outcome<O>,
        F: for<'t> FnOnce(&Scope<'s, 'env, In<'t>, StackEngine>, <A as ArgsOf<'t>>::Held) -> R + Send + 's,
    {
        self.commit(frames, ParentCode::<'s, 'env, StackEngine, B, A, F, O, R>::NEST_IN_FRAME, options, accesses, body)
    }

    /// Puts a task behind those that the body has spawned.
    #[inline(always)]
    fn commit<A, F, O>(
        &self,
        frames: &Frames,
        vtable: &'static VTable,
        options: Options,
        accesses: A,
        body: F,
    ) -> Join<'s, B, O>
    where
        A: Accesses<'s, B>,
        O: Send + 's,
    {
        let (worker, scope_state) = (self.worker(), self.scope_state());
        if const { must_count::<O>() } {
            let payload = payload::<A::Shape, F, O>();
            let plan = Plan { scope_state, options: &options, vtable, payload, may_run: false };
            let (spawned, closure) = self.commit_out_of_line::<A, F, O>(frames, plan, accesses, body);
            return Join::of_frame::<A::Shape, F, StackEngine>(spawned, closure, worker.into());
        }
        let (closure, record) = match push::plain::<B, A, F, O>(scope_state, frames, vtable, &options, accesses, body) {
            Ok(closure) => {
                if !frames.owner_lock().is_clear() {
                    worker.meet(frames, Request::first);
                }
                (closure, 0)
            }
            Err((accesses, body)) => {
                let (options, accesses, body) = (copy_out(options), copy_out(accesses), copy_out(body));
                self.commit_apart::<A, F, O>(frames, vtable, options, accesses, body)
            }
        };
        // Made here, so that the compiler sees that the drop has nothing to do.
        Join::in_frame(closure, record)
    }

    /// Like `commit`, for a task that returns nothing, but needs more than the short path or finds
    /// no room. Returns the closure, and the task's number in the recording.
    #[inline(never)]
    fn commit_apart<A, F, O>(
        &self,
        frames: &Frames,
        vtable: &'static VTable,
        options: Options,
        accesses: A,
        body: F,
    ) -> (TaskRef, Id)
    where
        A: Accesses<'s, B>,
        O: Send + 's,
    {
        let (worker, scope_state) = (self.worker(), self.scope_state());
        let payload = payload::<A::Shape, F, O>();
        let plan = Plan { scope_state, options: &options, vtable, payload, may_run: false };
        let (extras, nest) = (!options.is_plain() || scope_state.record() != 0, vtable.role == Role::Nest);
        let size = Shape { extras, accesses: accesses.count(), nest }.block_size(payload).next_multiple_of(LINE);
        if size > LARGE || scope_state.has_reductions() {
            let (spawned, closure) = self.commit_out_of_line::<A, F, O>(frames, plan, accesses, body);
            return (closure, spawned.record());
        }
        if !frames.has_room(size) || options.bytes != 0 {
            worker.make_room_in_frame(scope_state, frames, size, options.bytes);
        }
        let at = frames.top_at();
        let prepared = worker.prepare(InFrame::<true>(frames), plan, &accesses);
        // SAFETY: the task was prepared with a payload of these types.
        unsafe { write_body::<A::Shape, F>(prepared.room, Body { shape: prepared.shape, f: body }) };
        let closure = (prepared.task, prepared.task.record_id());
        frames.publish(at.as_ptr().wrapping_add(size));
        self.committed(frames);
        closure
    }

    /// Like `commit`, with a block outside the stack.
    #[inline(never)]
    fn commit_out_of_line<A, F, O>(&self, frames: &Frames, plan: Plan<'_>, accesses: A, body: F) -> (Spawned, TaskRef)
    where
        A: Accesses<'s, B>,
        O: Send + 's,
    {
        let worker = self.worker();
        let size = out_of_line::size(plan.vtable.role);
        if !frames.has_room(size) || plan.options.bytes != 0 {
            worker.make_room_in_frame(plan.scope_state, frames, size, plan.options.bytes);
        }
        let prepared = worker.prepare(InFrame::<false>(frames), plan, &accesses);
        let Prepared { task, shape, room, .. } = prepared;
        // SAFETY: the task was prepared with a payload of these types.
        unsafe { write_body::<A::Shape, F>(room, Body { shape, f: body }) };
        if must_count::<O>() {
            task.add_flags(flag::COUNTED);
        }
        let spawned = Spawned::new(task, must_count::<O>());
        let closure = worker.push_out_of_line(frames, task);
        self.committed(frames);
        (spawned, closure)
    }

    /// A task was spawned: tells the recording, and answers a thief or wakes a sleeper if the owner
    /// lock demands it.
    #[inline(always)]
    fn committed(&self, frames: &Frames) {
        if self.scope_state().record() != 0 {
            self.worker().log.note(What::Issued { body: self.scope_state().record() });
        }
        if !frames.owner_lock().is_clear() {
            self.worker().meet(frames, Request::first);
        }
    }
}

impl Worker<StackEngine> {
    /// Pushes the closure that represents an out-of-line task.
    pub(crate) fn push_out_of_line(&self, frames: &Frames, task: TaskRef) -> TaskRef {
        let size = out_of_line::size(task.header().role());
        if !frames.has_room(size) {
            frames.make_room(size);
        }
        let at = frames.top_at();
        // SAFETY: there is room, above everything in use.
        unsafe { out_of_line::write(at, task) };
        frames.publish(at.as_ptr().wrapping_add(size));
        TaskRef(at.cast())
    }

    /// Pushes a combine task behind the tasks of its reduction. The scope's stack orders its
    /// accesses.
    pub(crate) fn combine_in_frame(&self, frames: &Frames, task: TaskRef) {
        let version = task.records()[0].version();
        Orders::<StackEngine>::enter(&InFrame::<false>(frames), version);
        self.push_out_of_line(frames, task);
    }
}

impl ScopeState {
    /// The stack that holds the scope's tasks, if any.
    #[inline(always)]
    pub(crate) fn frames(&self) -> Option<NonNull<Frames>> {
        self.stack_head().map(NonNull::cast)
    }

    /// Sets or clears the stack that holds the scope's tasks.
    pub(crate) fn set_frames(&self, frames: Option<NonNull<Frames>>) {
        self.set_stack(frames.map(NonNull::cast));
    }
}

impl<B> Scope<'_, '_, B, StackEngine> {
    /// The stack that its tasks go into, if any.
    #[inline(always)]
    pub(crate) fn frames(&self) -> Option<&Frames> {
        // SAFETY: the scope is open.
        unsafe { frames_of(self.scope_state()) }
    }
}

/// The stack of a scope, if it has one.
///
/// # Safety
///
/// The scope is open.
#[inline(always)]
pub(crate) unsafe fn frames_of<'a>(scope_state: &ScopeState) -> Option<&'a Frames> {
    // SAFETY: a scope's stack stays until the scope ends.
    scope_state.frames().map(|frames| unsafe { frames.as_ref() })
}
