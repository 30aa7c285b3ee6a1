//! Which worker this thread is.

use std::cell::Cell;

use super::Worker;
use crate::record::log::Log;
use crate::runtime::engine::Engine;
use crate::runtime::fork::ForkOps;
use crate::runtime::shared::Shared;

/// The worker of the innermost runtime that this thread works for.
#[derive(Clone, Copy)]
struct Current {
    /// Which runtime it is, annexes included.
    house: u64,
    /// The shared part that the worker is of, as an identity.
    shared: *const (),
    worker: Option<CurrentWorker>,
}

/// A worker whose engine is not known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CurrentWorker {
    pub(crate) worker: *const (),
    pub(crate) ops: &'static ForkOps,
}

impl Current {
    const NOBODY: Current = Current { house: 0, shared: std::ptr::null(), worker: None };

    fn of<E: Engine>(worker: &Worker<E>) -> Self {
        let (house, shared) = (worker.shared().house(), std::ptr::from_ref(worker.shared()).cast());
        let worker = CurrentWorker { worker: worker.erased(), ops: ForkOps::of::<E>() };
        Current { house, shared, worker: Some(worker) }
    }
}

thread_local! {
    static CURRENT: Cell<Current> = const { Cell::new(Current::NOBODY) };
}

/// The worker that this thread is, if it is one of any runtime.
#[inline]
pub(crate) fn any() -> Option<CurrentWorker> {
    CURRENT.get().worker
}

/// What follows may keep this thread, whatever worker it is: that worker keeps nothing from the others.
pub(crate) fn step_back() {
    if let Some(current) = any() {
        // SAFETY: this thread is that worker.
        unsafe { (current.ops.step_back)(current.worker) };
    }
}

/// Tells the log of the worker that this thread is, if it is one.
#[cold]
pub(crate) fn log(tell: impl FnOnce(&Log)) {
    with_log(|log| _ = log.map(tell));
}

/// Runs `f` with the log of the worker that this thread is, if it is one.
pub(crate) fn with_log<R>(f: impl FnOnce(Option<&Log>) -> R) -> R {
    // SAFETY: this thread is that worker.
    let log = any().map(|current| unsafe { (current.ops.log)(current.worker) });
    // SAFETY: a worker lives as long as its runtime, whose thread this is.
    f(log.as_ref().map(|log| unsafe { log.as_ref() }))
}

/// Runs `f` with the log of whoever runs on this thread, to tell of a wait: the body that waits may be the closure of a
/// scope on another runtime, with the same recorder, and what it waits in a scope further out, of the worker of log `own`.
#[cold]
pub(crate) fn with_log_of_body<R>(own: &Log, f: impl FnOnce(&Log) -> R) -> R {
    with_log(|here| f(here.filter(|here| here.is_with(own)).unwrap_or(own)))
}

/// Whether this thread is a worker of runtime `house`, or of an annex of it.
pub(crate) fn is_of(house: u64) -> bool {
    let current = CURRENT.get();
    current.worker.is_some() && current.house == house
}

/// The worker of `shared` that this thread is, if it is one; not one of its annexes.
pub(crate) fn worker_of<E: Engine>(shared: &Shared<E>) -> Option<&Worker<E>> {
    let same = std::ptr::eq(CURRENT.get().shared, std::ptr::from_ref(shared).cast());
    if same { worker_within(shared) } else { None }
}

/// The worker of runtime `shared`, or of an annex of it, that this thread is, if it is one.
pub(crate) fn worker_within<E: Engine>(shared: &Shared<E>) -> Option<&Worker<E>> {
    let Current { house, worker, .. } = CURRENT.get();
    // SAFETY: the worker belongs to that very runtime, whose annexes are of its engine too: so it has its type. The
    // runtime keeps its workers, in annexes as well, as long as it lives.
    worker.filter(|_| house == shared.house()).map(|current| unsafe { &*current.worker.cast() })
}

thread_local! {
    static VISITED: Cell<*const ()> = const { Cell::new(std::ptr::null()) };
}

/// Whether this thread holds the front seat of runtime `shared`: then a visit within a visit (of a value's drop, say)
/// must not ask for it again.
pub(crate) fn visits<E: Engine>(shared: &Shared<E>) -> bool {
    std::ptr::eq(VISITED.get(), std::ptr::from_ref(shared).cast())
}

/// Whether this thread holds the front seat of any runtime.
pub(crate) fn visits_any() -> bool {
    !VISITED.get().is_null()
}

/// Notes that this thread holds a front seat until the guard is dropped.
pub(crate) struct Visit(*const ());

impl Visit {
    pub(crate) fn new<E: Engine>(shared: &Shared<E>) -> Self {
        Visit(VISITED.replace(std::ptr::from_ref(shared).cast()))
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        VISITED.set(self.0);
    }
}

/// What the thread-locals above say on one stack: a fiber takes it along when it is parked, since what is entered on it
/// is left on it.
#[derive(Clone, Copy)]
pub(crate) struct OnStack(Current, *const ());

impl OnStack {
    /// What holds at the bottom of a fiber of this worker. Not what holds where its carrier happens to be: that may be
    /// left before the fiber is.
    pub(crate) fn bottom<E: Engine>(worker: &Worker<E>) -> Self {
        OnStack(Current::of(worker), std::ptr::null())
    }

    pub(crate) fn save() -> Self {
        OnStack(CURRENT.get(), VISITED.get())
    }

    pub(crate) fn restore(self) {
        CURRENT.set(self.0);
        VISITED.set(self.1);
    }
}

/// Makes this thread a worker until the guard is dropped.
pub(crate) struct Enter(Current);

impl Enter {
    pub(crate) fn new<E: Engine>(worker: &Worker<E>) -> Self {
        Enter(CURRENT.replace(Current::of(worker)))
    }

    /// Makes this thread no worker until the guard is dropped.
    pub(crate) fn nobody() -> Self {
        Enter(CURRENT.replace(Current::NOBODY))
    }
}

impl Drop for Enter {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}
