//! `join(a, b)`: plain fork-join, without declared data.

use std::cell::Cell;
use std::panic::Location;
use std::ptr::NonNull;

use super::engine::Engine;
use crate::caught::{Caught, catch};
use crate::error::Error;
use crate::pool::Put;
use crate::record::log::Log;
use crate::record::{Cause, Id};
use crate::task::{Header, Role, TaskRef, VTable};
use crate::worker::Worker;
use crate::worker::current::{self, CurrentWorker};
use crate::worker::wait::{Seat, Waiter};

/// What code that does not know the engine asks of a worker.
#[derive(Debug)]
pub(crate) struct ForkOps {
    pub(crate) seat: unsafe fn(*const ()) -> NonNull<Seat>,
    push: unsafe fn(*const (), TaskRef),
    take_back: unsafe fn(*const (), TaskRef) -> bool,
    pub(crate) wait: unsafe fn(*const (), &Waiter),
    pub(crate) step_back: unsafe fn(*const ()),
    pub(crate) log: unsafe fn(*const ()) -> NonNull<Log>,
}

impl ForkOps {
    pub(crate) const fn of<E: Engine>() -> &'static ForkOps {
        &ForkOps {
            seat: seat::<E>,
            push: push::<E>,
            take_back: take_back::<E>,
            wait: wait::<E>,
            step_back: step_back::<E>,
            log: log::<E>,
        }
    }
}

/// # Safety
///
/// `worker` is a `Worker<E>` whose seat this thread holds.
unsafe fn the<'a, E: Engine>(worker: *const ()) -> &'a Worker<E> {
    // SAFETY: as the caller promises.
    unsafe { &*worker.cast() }
}

/// # Safety
///
/// As `the`.
unsafe fn seat<E: Engine>(worker: *const ()) -> NonNull<Seat> {
    // SAFETY: passed on.
    NonNull::from(unsafe { the::<E>(worker) }.seat())
}

/// # Safety
///
/// As `the`; the task stays until it has run or was taken back.
unsafe fn push<E: Engine>(worker: *const (), task: TaskRef) {
    // SAFETY: passed on.
    let worker = unsafe { the::<E>(worker) };
    if worker.log.body() != 0 {
        // SAFETY: the number's cell is the second field of a `Fork`.
        unsafe { task.set_record_id(worker.log.next_id()) };
        worker.log.forked(task);
    }
    worker.put(task, Put::Spawned);
}

/// # Safety
///
/// As `the`.
unsafe fn take_back<E: Engine>(worker: *const (), task: TaskRef) -> bool {
    // SAFETY: passed on.
    unsafe { the::<E>(worker) }.take_fork_back(task)
}

/// # Safety
///
/// As `the`.
unsafe fn wait<E: Engine>(worker: *const (), waiter: &Waiter) {
    // SAFETY: passed on.
    unsafe { the::<E>(worker) }.wait_apart(waiter);
}

/// # Safety
///
/// As `the`.
unsafe fn step_back<E: Engine>(worker: *const ()) {
    // SAFETY: passed on.
    unsafe { the::<E>(worker) }.step_back();
}

/// # Safety
///
/// As `the`.
unsafe fn log<E: Engine>(worker: *const ()) -> NonNull<Log> {
    // SAFETY: passed on.
    NonNull::from(&unsafe { the::<E>(worker) }.log)
}

/// The half that others may take: a task on its caller's stack.
#[repr(C)]
struct Fork<F, R> {
    header: Header,
    /// Its number in a recording: at this place, for `TaskRef::record_id`.
    id: Cell<Id>,
    waiter: Waiter,
    body: Cell<Option<F>>,
    result: Cell<Option<Result<R, Caught>>>,
}

impl<F: FnOnce() -> R, R> Fork<F, R> {
    const TABLE: &'static VTable = &VTable {
        role: Role::Fork,
        run: Self::run,
        discard: |_| unreachable!("a fork is always run"),
        fail: |_, _, _| unreachable!("a fork has no join"),
        drop_result: |_| unreachable!("a fork has no join"),
    };

    /// # Safety
    ///
    /// `task` is the header of a `Fork<F, R>` that waits for this.
    unsafe fn run(task: TaskRef, _worker: *const ()) -> Result<(), Error> {
        // SAFETY: the header is the first field.
        let fork = unsafe { task.0.cast::<Self>().as_ref() };
        let body = fork.body.take().expect("a fork runs once");
        let result = catch(body);
        if task.record_id() != 0 {
            current::log(|log| log.ended(task.record_id(), result.is_ok(), 0));
        }
        fork.result.set(Some(result));
        Waiter::wake_at((&raw const fork.waiter).cast_mut());
        Ok(())
    }
}

/// Runs both closures, at once if another worker is free, and returns both results.
///
/// For divide-and-conquer without declared data. Called from a task or a scope's closure it uses that runtime's
/// workers; elsewhere it calls one after the other.
///
/// ```
/// fn sum(numbers: &[u64]) -> u64 {
///     if numbers.len() <= 1000 {
///         return numbers.iter().sum();
///     }
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let (left, right) = millpond::join(|| sum(left), || sum(right));
///     left + right
/// }
///
/// let numbers: Vec<u64> = (0..100_000).collect();
/// let rt = millpond::Runtime::builder().workers(2).build()?;
/// assert_eq!(rt.scope(|_| sum(&numbers))?, 4_999_950_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
///
/// If a closure panics. If it is `a`, then `b` runs to its end before, or not at all: that depends on whether a worker
/// has got hold of it, so nothing should rely on `b` in that case. If both panic, the panic is that of `a`.
#[track_caller]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    match current::any() {
        Some(worker) => join_on(worker, a, b, Location::caller()),
        None => (a(), b()),
    }
}

/// Runs a half that was taken back, and tells the recording.
#[cold]
fn run_recorded<R>(id: Id, body: impl FnOnce() -> R) -> R {
    let mut before = 0;
    current::log(|log| before = log.started(id));
    let result = catch(body);
    current::log(|log| {
        log.ended(id, result.is_ok(), before);
        log.joined(id);
    });
    result.unwrap_or_else(|caught| caught.resume())
}

fn join_on<A, B, RA, RB>(worker: CurrentWorker, a: A, b: B, place: &'static Location<'static>) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB,
{
    let CurrentWorker { worker, ops } = worker;
    // SAFETY: this thread is that worker; so below.
    let seat = unsafe { (ops.seat)(worker) };
    let fork = Fork {
        header: Header::on_stack(Fork::<B, RB>::TABLE, NonNull::dangling(), place),
        // SAFETY: a worker's seat lives as long as its runtime.
        waiter: Waiter::new(unsafe { seat.as_ref() }),
        id: Cell::new(0),
        body: Cell::new(Some(b)),
        result: Cell::new(None),
    };
    let task = TaskRef(NonNull::from(&fork).cast());
    // SAFETY: the fork stays on this stack until it was taken back or its waiter woken.
    unsafe { (ops.push)(worker, task) };
    let left = catch(a);
    // SAFETY: as above.
    if unsafe { (ops.take_back)(worker, task) } {
        if left.is_err() && task.record_id() != 0 {
            current::log(|log| log.refused(task.record_id(), false));
        }
        let left = left.unwrap_or_else(|caught| caught.resume());
        let body = fork.body.take().expect("taken back before it ran");
        return (left, if task.record_id() == 0 { body() } else { run_recorded(task.record_id(), body) });
    }
    // SAFETY: as above.
    let wait = || unsafe { (ops.wait)(worker, &fork.waiter) };
    match task.record_id() {
        0 => wait(),
        id => current::log(|log| log.waits(log.body(), Cause::Join, id, wait)),
    }
    let right = fork.result.take().expect("set before the waiter was woken");
    match (left, right) {
        (Ok(left), Ok(right)) => (left, right),
        (Err(caught), _) | (_, Err(caught)) => caught.resume(),
    }
}
