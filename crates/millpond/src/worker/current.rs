//! Which worker the current thread is.

use std::cell::Cell;
use std::ptr::NonNull;

use super::Worker;
use super::forks::{CallSite, Forks, Head, Others};
use crate::record::log::Log;
use crate::worker::engine::WorkerEngine;
use crate::worker::fork::ForkOps;
use crate::worker::seats::Shared;

/// The worker of the innermost runtime that this thread works for.
#[derive(Clone, Copy)]
struct Current {
    /// The runtime's id. Its caller contexts have the same.
    runtime_id: u64,
    /// The worker's shared part, used only to compare.
    shared: *const (),
    /// The worker's forks; `None` if the thread is no worker.
    forks: Option<NonNull<Forks>>,
    /// The worker's seat.
    seat: usize,
}

/// A worker whose engine type is erased.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CurrentWorker {
    pub(crate) worker: *const (),
    pub(crate) ops: &'static ForkOps,
}

impl CurrentWorker {
    /// Puts a fork on this thread's stack into the pool.
    pub(crate) fn offer(self, fork: NonNull<Head>, recorded_at: Option<CallSite>) {
        // SAFETY: this thread is that worker, whose stack of forks has just given the fork up,
        // once.
        unsafe { (self.ops.offer)(self.worker, fork, recorded_at) }
    }

    /// Whether some worker is idle.
    pub(crate) fn is_hungry(self) -> bool {
        // SAFETY: this thread is that worker.
        unsafe { (self.ops.is_hungry)(self.worker) }
    }

    /// The state of the other workers.
    pub(crate) fn others(self) -> Others {
        // SAFETY: this thread is that worker.
        unsafe { (self.ops.others)(self.worker) }
    }
}

impl Current {
    const NONE: Current = Current { runtime_id: 0, shared: std::ptr::null(), forks: None, seat: 0 };

    fn of<E: WorkerEngine>(worker: &Worker<E>) -> Self {
        let (runtime_id, shared) = (worker.shared().runtime_id(), std::ptr::from_ref(worker.shared()).cast());
        Current { runtime_id, shared, forks: Some(NonNull::from(worker.forks())), seat: worker.seat() }
    }

    fn with_forks<R>(&self, f: impl FnOnce(&Forks) -> R) -> Option<R> {
        // SAFETY: a worker's forks live as long as its runtime, for which this thread works.
        self.forks.map(|forks| f(unsafe { forks.as_ref() }))
    }

    fn worker(&self) -> Option<CurrentWorker> {
        self.with_forks(Forks::worker)
    }
}

thread_local! {
    static CURRENT: Cell<Current> = const { Cell::new(Current::NONE) };
}

/// This thread's worker, of any runtime; `None` if there is none.
#[inline]
pub(crate) fn any() -> Option<CurrentWorker> {
    CURRENT.get().worker()
}

/// The private forks of this thread's worker, if there is one. They live as long as its runtime.
#[inline]
pub(crate) fn forks() -> Option<NonNull<Forks>> {
    CURRENT.get().forks
}

/// The seat of this thread's worker; 0 if there is none.
#[inline]
pub(crate) fn seat() -> usize {
    CURRENT.get().seat
}

/// Called before a step that may keep this thread for long. If the thread is a worker, it then
/// holds nothing back from the others.
pub(crate) fn step_back() {
    if let Some(current) = any() {
        // SAFETY: this thread is that worker.
        unsafe { (current.ops.step_back)(current.worker) };
    }
}

/// Calls `tell` with the log of this thread's worker, if there is one.
#[cold]
pub(crate) fn log(tell: impl FnOnce(&Log)) {
    with_log(|log| _ = log.map(tell));
}

/// Runs `f` with the log of this thread's worker, if there is one.
pub(crate) fn with_log<R>(f: impl FnOnce(Option<&Log>) -> R) -> R {
    // SAFETY: this thread is that worker.
    let log = any().map(|current| unsafe { (current.ops.log)(current.worker) });
    // SAFETY: a worker lives as long as its runtime, for which this thread works.
    f(log.as_ref().map(|log| unsafe { log.as_ref() }))
}

/// Runs `f` with the log of this thread's worker, to record a wait. The waiting body may be the
/// closure of a scope on another runtime with the same recorder. It then waits in an outer scope,
/// of the worker with log `own`.
#[cold]
pub(crate) fn with_log_of_body<R>(own: &Log, f: impl FnOnce(&Log) -> R) -> R {
    with_log(|here| f(here.filter(|here| here.is_with(own)).unwrap_or(own)))
}

/// Whether this thread is a worker of runtime `runtime_id`, or of one of its caller contexts.
pub(crate) fn is_of(runtime_id: u64) -> bool {
    let current = CURRENT.get();
    current.forks.is_some() && current.runtime_id == runtime_id
}

/// This thread's worker of `shared`, if there is one. Workers of its caller contexts do not count.
pub(crate) fn worker_of<E: WorkerEngine>(shared: &Shared<E>) -> Option<&Worker<E>> {
    let same = std::ptr::eq(CURRENT.get().shared, std::ptr::from_ref(shared).cast());
    if same { worker_within(shared) } else { None }
}

/// This thread's worker of runtime `shared`, or of one of its caller contexts, if there is one.
pub(crate) fn worker_within<E: WorkerEngine>(shared: &Shared<E>) -> Option<&Worker<E>> {
    let current = CURRENT.get();
    // SAFETY: the worker belongs to that runtime, whose caller contexts have the same engine, so it
    // has this type. The runtime keeps its workers, also those in caller contexts, as long as it
    // lives.
    current
        .worker()
        .filter(|_| current.runtime_id == shared.runtime_id())
        .map(|current| unsafe { &*current.worker.cast() })
}

thread_local! {
    static HOME: Cell<u64> = const { Cell::new(0) };
}

/// Notes that runtime `runtime_id` started this thread, which works for it until the thread ends.
pub(crate) fn set_home(runtime_id: u64) {
    HOME.set(runtime_id);
}

/// Whether runtime `runtime_id`, or one of its caller contexts, started this thread. The thread may
/// work for another runtime now.
pub(crate) fn is_home(runtime_id: u64) -> bool {
    HOME.get() == runtime_id
}

thread_local! {
    static VISITED: Cell<*const ()> = const { Cell::new(std::ptr::null()) };
}

/// Whether this thread holds the inject seat of runtime `shared`. If so, a nested visit (for
/// example by a value's drop) must not ask for the seat again.
pub(crate) fn visits<E: WorkerEngine>(shared: &Shared<E>) -> bool {
    std::ptr::eq(VISITED.get(), std::ptr::from_ref(shared).cast())
}

/// Whether this thread holds the inject seat of any runtime, or the lock of a session.
pub(crate) fn visits_any() -> bool {
    !VISITED.get().is_null()
}

/// Notes that this thread holds an inject seat, or the lock of a session, until the guard is
/// dropped.
pub(crate) struct Visit(*const ());

impl Visit {
    /// This thread holds the lock of this session. If it also holds an inject seat, that was noted
    /// before.
    #[inline]
    pub(crate) fn in_session(session: *const ()) -> Self {
        let before = VISITED.get();
        if before.is_null() {
            VISITED.set(session);
        }
        Visit(before)
    }

    pub(crate) fn new<E: WorkerEngine>(shared: &Shared<E>) -> Self {
        Visit(VISITED.replace(std::ptr::from_ref(shared).cast()))
    }

    /// The thread behaves as if it held an inject seat, of no runtime. A worker calls sinks in the
    /// middle of its work, so a sink can use no runtime.
    pub(crate) fn of_sinks() -> Self {
        static SINKS: u8 = 0;
        Visit(VISITED.replace((&raw const SINKS).cast()))
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        VISITED.set(self.0);
    }
}

thread_local! {
    static INSIDE: Cell<*const ()> = const { Cell::new(std::ptr::null()) };
}

/// Until this is dropped, the thread runs a task that came through a scope handle.
pub(crate) struct Inside(*const ());

impl Inside {
    pub(crate) fn enter(scope_handle: *const ()) -> Self {
        Inside(INSIDE.replace(scope_handle))
    }

    /// Whether the innermost such task came through this scope handle.
    pub(crate) fn is(scope_handle: *const ()) -> bool {
        std::ptr::eq(INSIDE.get(), scope_handle)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(self.0);
    }
}

thread_local! {
    static MARK: Cell<usize> = const { Cell::new(0) };
}

/// The word that [`replace_mark`] has set last on this stack; 0 if nothing was set.
#[inline]
pub fn mark() -> usize {
    MARK.get()
}

/// Sets a word of the stack on which this body runs. Returns the previous word, which the caller
/// sets again before it returns. While a body waits, its thread may run other bodies on other
/// stacks, and each finds its own word. `millpond-cnc` identifies its steps by it.
#[inline]
pub fn replace_mark(mark: usize) -> usize {
    MARK.replace(mark)
}

/// The values of the thread-locals above for one stack. A parked fiber takes them along, because
/// each stack leaves what it has entered.
#[derive(Clone, Copy)]
pub(crate) struct OnStack(Current, *const (), *const (), usize);

impl OnStack {
    /// The values at the bottom of a fiber of this worker. They do not come from the carrier's
    /// current state, which may end before the fiber.
    pub(crate) fn bottom<E: WorkerEngine>(worker: &Worker<E>) -> Self {
        OnStack(Current::of(worker), std::ptr::null(), std::ptr::null(), 0)
    }

    pub(crate) fn save() -> Self {
        OnStack(CURRENT.get(), VISITED.get(), INSIDE.get(), MARK.get())
    }

    pub(crate) fn restore(self) {
        CURRENT.set(self.0);
        VISITED.set(self.1);
        INSIDE.set(self.2);
        MARK.set(self.3);
    }
}

/// Makes this thread a worker until the guard is dropped. The forks of the previous worker stay
/// where they are.
pub(crate) struct Enter(Current);

impl Enter {
    pub(crate) fn new<E: WorkerEngine>(worker: &Worker<E>) -> Self {
        Self::replace(Current::of(worker))
    }

    /// Makes this thread no worker until the guard is dropped.
    pub(crate) fn none() -> Self {
        Self::replace(Current::NONE)
    }

    fn replace(now: Current) -> Self {
        let before = CURRENT.replace(now);
        before.with_forks(Forks::close);
        Enter(before)
    }
}

impl Drop for Enter {
    fn drop(&mut self) {
        CURRENT.set(self.0);
        self.0.with_forks(Forks::reopen);
    }
}
