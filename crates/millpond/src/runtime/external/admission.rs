//! The admission of a scope: it counts external tasks and lets them in.
//!
//! Each seat has its own counts and needs no read-modify-write: one thread holds a seat at a time.
//! The sums are exact when the scope is quiet (`worker::count`, step 7) and no outside thread is
//! letting a task in. Such a thread counts the task first in the scope, then here. So an owner that
//! sees the second count also sees the first.

use std::alloc::Layout;
use std::pin::pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

use super::future::{FutureCode, Turn, Turned};
use crate::handle::access::Root;
use crate::pool::Put;
use crate::runtime::engine::Engine;
use crate::runtime::external::tasks::{Pending, Precondition, WaitError};
use crate::runtime::spawn::Options;
use crate::runtime::spawn::body::{Body, Code, payload, write_body};
use crate::task::{NewTask, Role, Shape, TaskRef, VTable, flag};
use crate::worker::current::worker_of;
use crate::worker::external::Admission;
use crate::worker::forks::CallSite;
use crate::worker::scope_state::ScopeState;
use crate::worker::seats::Shared;

/// Operations of a runtime, for code that does not know the engine. The first argument is the
/// runtime's `Shared`.
#[derive(Debug)]
struct Ops {
    let_in: unsafe fn(NonNull<()>, TaskRef),
    leave: unsafe fn(NonNull<()>, NonNull<ScopeState>),
    make: unsafe fn(NonNull<()>, &Admission, &'static VTable, Layout, Options) -> TaskRef,
    start: unsafe fn(NonNull<()>, TaskRef),
    wait: unsafe fn(NonNull<()>, &Admission, CallSite, Poller<'_>) -> Result<(), WaitError>,
}

/// Polls a future as this task, if there is one.
type Poller<'p> = &'p mut dyn FnMut(Option<TaskRef>) -> Turned;

impl Admission {
    /// The admission of a scope of this runtime.
    pub(in crate::runtime) fn of<E: Engine>(shared: &Shared<E>, scope_state: NonNull<ScopeState>) -> Self {
        let ops = NonNull::from(Ops::of::<E>()).cast();
        Admission::new(shared.seats(), scope_state, NonNull::from(shared).cast(), ops)
    }

    /// The operations of its runtime.
    fn ops(&self) -> &'static Ops {
        // SAFETY: `of` stored a reference to a constant.
        unsafe { self.ops.cast().as_ref() }
    }

    /// Sends a task to the workers: all its preconditions are satisfied. Takes no reference,
    /// because the task may end its scope before this returns.
    ///
    /// # Safety
    ///
    /// This admission held the task.
    pub(in crate::runtime) unsafe fn let_in(this: NonNull<Admission>, task: TaskRef) {
        // SAFETY: the scope does not end before the task.
        let admission = unsafe { this.as_ref() };
        let (ops, shared) = (admission.ops(), admission.shared);
        // SAFETY: the runtime lives as long as the scope.
        unsafe { (ops.let_in)(shared, task) }
    }

    /// Subtracts one count that keeps the scope outstanding, from any thread. Takes no reference,
    /// because the admission may be gone before this returns.
    ///
    /// # Safety
    ///
    /// [`ScopeState::count_hidden_spawn`] added the count.
    pub(in crate::runtime) unsafe fn leave(this: NonNull<Admission>) {
        // SAFETY: the admission's scope is outstanding as long as it has this count.
        let admission = unsafe { this.as_ref() };
        let (ops, shared, scope_state) = (admission.ops(), admission.shared, admission.scope_state);
        // SAFETY: as above; and the runtime lives as long as the scope.
        unsafe { (ops.leave)(shared, scope_state) }
    }

    /// Makes a task without its payload: held, with one precondition. Its bytes are not counted. A
    /// held task takes no room in the window, because tasks spawned later may meet its
    /// preconditions.
    pub(in crate::runtime) fn make(&self, vtable: &'static VTable, payload: Layout, mut options: Options) -> TaskRef {
        options.bytes = 0;
        // SAFETY: the owner of the admission keeps the scope from ending.
        unsafe { (self.ops().make)(self.shared, self, vtable, payload, options) }
    }

    /// Makes a task of code and closure.
    ///
    /// # Safety
    ///
    /// The table belongs to such a closure, which lives as long as the scope's tasks.
    pub(in crate::runtime) unsafe fn make_body<F>(&self, vtable: &'static VTable, f: F, options: Options) -> Pending {
        let payload = payload::<(), F, ()>();
        let task = self.make(vtable, payload, options);
        // SAFETY: the task has room for this payload.
        unsafe { write_body::<(), F>(task.payload_at(payload.align()), Body { shape: (), f }) };
        Pending::of(task)
    }

    /// Makes a leaf.
    ///
    /// # Safety
    ///
    /// The closure lives as long as the scope's tasks.
    pub(in crate::runtime) unsafe fn leaf<F: FnOnce(()) + Send>(&self, options: Options, f: F) -> Pending {
        // SAFETY: passed on.
        unsafe { self.make_body(Code::<'_, Root, (), F, (), ()>::LEAF, f, options) }
    }

    /// Runs a future as a task.
    ///
    /// # Safety
    ///
    /// The future lives as long as the scope's tasks.
    pub(in crate::runtime) unsafe fn future<F: Future<Output = ()> + Send>(&self, options: Options, future: F) {
        let task = self.make_future(options, future);
        // SAFETY: just made.
        unsafe { (self.ops().start)(self.shared, task) }
    }

    /// Makes a task of a future.
    ///
    /// # Safety
    ///
    /// The future lives as long as the scope's tasks.
    pub(in crate::runtime) unsafe fn pending_future<F: Future<Output = ()> + Send>(
        &self,
        options: Options,
        future: F,
    ) -> Pending {
        Pending::of(self.make_future(options, future))
    }

    fn make_future<F: Future<Output = ()> + Send>(&self, options: Options, future: F) -> TaskRef {
        let task = self.make(FutureCode::<F>::TABLE, Layout::new::<F>(), options);
        // SAFETY: the block has room for it.
        unsafe { task.payload::<F>().write(future) };
        task
    }

    /// Polls a future in the middle of a leaf. The leaf's stack is suspended while the future
    /// waits.
    pub(in crate::runtime) fn wait_in_place<F: Future>(
        &self,
        place: CallSite,
        future: F,
    ) -> Result<F::Output, WaitError> {
        let (mut future, mut output) = (pin!(future), None);
        let mut poll = |task: Option<TaskRef>| {
            let (polled, alarmed) = match task {
                Some(task) => Turn::<Precondition>::poll(task, future.as_mut()),
                None => (future.as_mut().poll(&mut Context::from_waker(Waker::noop())), false),
            };
            match polled {
                Poll::Ready(ready) => {
                    output = Some(ready);
                    Turned::Ready
                }
                Poll::Pending if alarmed => Turned::Waits,
                Poll::Pending => Turned::Lost,
            }
        };
        // SAFETY: the owner of the admission keeps the scope from ending.
        unsafe { (self.ops().wait)(self.shared, self, place, &mut poll) }?;
        Ok(output.expect("the future was ready"))
    }
}

impl Ops {
    const fn of<E: Engine>() -> &'static Ops {
        &Ops { let_in: let_in::<E>, leave: leave::<E>, make: make::<E>, start: start::<E>, wait: wait::<E> }
    }
}

/// # Safety
///
/// `shared` is a `Shared<E>`, and lives as long as the scope.
unsafe fn the<'a, E: Engine>(shared: NonNull<()>) -> &'a Shared<E> {
    // SAFETY: as the caller promises.
    unsafe { shared.cast().as_ref() }
}

/// # Safety
///
/// As for `the` and `Admission::let_in`.
unsafe fn let_in<E: Engine>(shared: NonNull<()>, task: TaskRef) {
    // SAFETY: passed on.
    let shared = unsafe { the::<E>(shared) };
    // The task may end its scope before this thread has left.
    let _kept = shared.keep();
    shared.visit(|worker| {
        worker.count_let_in(task);
        if task.header().has(flag::RECORDED) {
            worker.log.met(task);
        }
        worker.ready(task, Put::Spawned);
    });
}

/// # Safety
///
/// As for `the`. The scope has the count that is subtracted here.
unsafe fn leave<E: Engine>(shared: NonNull<()>, scope_state: NonNull<ScopeState>) {
    // SAFETY: passed on.
    let shared = unsafe { the::<E>(shared) };
    // The subtraction may end the scope, and its owner may continue while this thread still wakes
    // it.
    let _kept = shared.keep();
    // SAFETY: passed on. It is a root scope, so no other thread completes it.
    let _complete = unsafe { scope_state.as_ref() }.finish(1);
}

/// # Safety
///
/// As for `the`. The scope exists.
unsafe fn make<E: Engine>(
    shared: NonNull<()>,
    admission: &Admission,
    vtable: &'static VTable,
    payload: Layout,
    options: Options,
) -> TaskRef {
    // SAFETY: as the caller promises.
    let scope_state = unsafe { admission.scope_state.as_ref() };
    // SAFETY: passed on.
    unsafe { the::<E>(shared) }.visit(|worker| {
        let order = admission.count_made(worker.seat());
        let recorded = scope_state.record() != 0;
        let id = if recorded { worker.log.next_id() } else { 0 };
        let extras = match (recorded, options.is_plain()) {
            (true, _) => Some(options.recorded(id)),
            (false, true) => None,
            (false, false) => Some(options.extras()),
        };
        let shape = Shape { extras: extras.is_some(), accesses: 0, nest: vtable.role == Role::Nest };
        let block = worker.alloc(shape.block_size(payload));
        let (place, priority) = (options.place, options.priority);
        let new = NewTask { vtable, scope: admission.scope_state.into(), order, place, priority, extras, accesses: 0 };
        // SAFETY: the block is fresh and has the size of these parts.
        let task = unsafe { TaskRef::create(block, new) };
        if recorded {
            worker.log.spawned(task, scope_state.record());
        }
        task.header().only_one_unmet();
        task
    })
}

/// # Safety
///
/// As for `the`. The task is a future that was just made.
unsafe fn start<E: Engine>(shared: NonNull<()>, task: TaskRef) {
    // SAFETY: passed on.
    match worker_of(unsafe { the::<E>(shared) }) {
        Some(worker) => worker.poll_here(task),
        // SAFETY: passed on; the task was held until now.
        None => unsafe { let_in::<E>(shared, task) },
    }
}

/// # Safety
///
/// As for `the`. The scope exists.
unsafe fn wait<E: Engine>(
    shared: NonNull<()>,
    admission: &Admission,
    place: CallSite,
    poll: Poller<'_>,
) -> Result<(), WaitError> {
    // SAFETY: passed on.
    let worker = worker_of(unsafe { the::<E>(shared) });
    worker.expect("a task of the same scope waits for the future").poll_in_place(admission, place, poll)
}
