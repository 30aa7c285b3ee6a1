//! `join(a, b)`: plain fork-join, without declared data.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::panic::Location;
use std::ptr::NonNull;

use crate::engine::Engine;
use crate::error::Error;
use crate::panics::{PanicPayload, catch};
use crate::pool::{Leave, Pool};
use crate::record::log::Log;
use crate::record::{Cause, Id};
use crate::task::{Role, TaskRef, VTable};
use crate::worker::current;
use crate::worker::forks::{Forks, Head, Offer, Place};
use crate::worker::wait::{Seat, Waiter};
use crate::worker::{Awaited, Worker};

/// What code that does not know the engine asks of a worker.
#[derive(Debug)]
pub(crate) struct ForkOps {
    pub(crate) seat: unsafe fn(*const ()) -> NonNull<Seat>,
    pub(crate) offer: unsafe fn(*const (), NonNull<Head>, Option<Place>),
    pub(crate) is_hungry: unsafe fn(*const ()) -> bool,
    pub(crate) take_back: unsafe fn(*const (), TaskRef) -> bool,
    pub(crate) free: unsafe fn(*const (), TaskRef),
    pub(crate) wait: unsafe fn(*const (), &Waiter, Awaited),
    pub(crate) step_back: unsafe fn(*const ()),
    pub(crate) log: unsafe fn(*const ()) -> NonNull<Log>,
}

impl ForkOps {
    pub(crate) const fn of<E: Engine>() -> &'static ForkOps {
        &ForkOps {
            seat: seat::<E>,
            offer: offer::<E>,
            is_hungry: is_hungry::<E>,
            take_back: take_back::<E>,
            free: free::<E>,
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
/// As `the`, and `Worker::offer`.
unsafe fn offer<E: Engine>(worker: *const (), fork: NonNull<Head>, recorded_at: Option<Place>) {
    // SAFETY: passed on.
    let worker = unsafe { the::<E>(worker) };
    // SAFETY: passed on.
    unsafe { worker.offer(fork, recorded_at) };
}

/// # Safety
///
/// As `the`.
unsafe fn is_hungry<E: Engine>(worker: *const ()) -> bool {
    // SAFETY: passed on.
    let shared = unsafe { the::<E>(worker) }.shared();
    shared.pool.is_hungry() && !shared.is_forked()
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
/// As `the`; the task is an offer that has come to an end.
unsafe fn free<E: Engine>(worker: *const (), task: TaskRef) {
    // SAFETY: passed on.
    unsafe { the::<E>(worker) }.free(task);
}

/// # Safety
///
/// As `the`.
unsafe fn wait<E: Engine>(worker: *const (), waiter: &Waiter, awaited: Awaited) {
    // SAFETY: passed on.
    unsafe { the::<E>(worker) }.wait_apart(waiter, awaited);
}

/// # Safety
///
/// As `the`.
unsafe fn step_back<E: Engine>(worker: *const ()) {
    // SAFETY: passed on.
    let worker = unsafe { the::<E>(worker) };
    // In the child of a fork nobody would find what it leaves.
    if !worker.shared().is_forked() {
        worker.step_back(Leave::Seat);
    }
}

/// # Safety
///
/// As `the`.
unsafe fn log<E: Engine>(worker: *const ()) -> NonNull<Log> {
    // SAFETY: passed on.
    NonNull::from(&unsafe { the::<E>(worker) }.log)
}

/// The half that others may take, on its caller's stack. Whether body or result are there is known from the course of
/// things: the body until whoever runs it has taken it, the result when the waiter of the offer was woken.
#[repr(C)]
struct Fork<F, R> {
    head: Head,
    body: UnsafeCell<MaybeUninit<F>>,
    result: UnsafeCell<MaybeUninit<Result<R, PanicPayload>>>,
}

impl<F: FnOnce(&Joiner) -> R, R> Fork<F, R> {
    const TABLE: &'static VTable = &VTable {
        role: Role::Fork,
        compact: None,
        run: Self::run,
        discard: |_| unreachable!("a fork is always run"),
        fail: |_, _, _| unreachable!("a fork has no join"),
        drop_result: |_| unreachable!("a fork has no join"),
    };

    #[inline(always)]
    fn new(body: F) -> Self {
        Fork {
            head: Head::new(Self::TABLE),
            body: UnsafeCell::new(MaybeUninit::new(body)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// # Safety
    ///
    /// The body is there and nobody else looks at it. It is moved out.
    #[inline(always)]
    unsafe fn take_body(&self) -> F {
        // SAFETY: as the caller promises.
        unsafe { self.body.get().cast::<F>().read() }
    }

    /// Runs the half that a worker has taken from the pool.
    ///
    /// # Safety
    ///
    /// `task` is the offer of a `Fork<F, R>` that waits for this, and was handed to this thread.
    unsafe fn run(task: TaskRef, _worker: *const ()) -> Result<(), Error> {
        // SAFETY: an offer stays until its waiter is woken.
        let offer = unsafe { Offer::of(task) };
        // SAFETY: the head is the first field, and its owner waits for this.
        let fork = unsafe { offer.fork().cast::<Self>().as_ref() };
        // SAFETY: the owner has put it there before the offer, which this thread alone was handed.
        let body = unsafe { fork.take_body() };
        let joiner = current::forks().expect("a worker runs it");
        // SAFETY: this thread's worker lives as long as its runtime.
        let result = catch(|| body(Joiner::of(unsafe { joiner.as_ref() })));
        if task.record_id() != 0 {
            current::log(|log| log.ended(task.record_id(), result.is_ok(), 0));
        }
        // SAFETY: the owner looks only after its waiter was woken.
        unsafe { fork.result.get().write(MaybeUninit::new(result)) };
        Waiter::wake_at(std::ptr::from_ref(offer.waiter()).cast_mut());
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
// Called, not inlined: then the compiler puts what recurs into it, up to the test that ends the recursion, and a leaf
// costs no call.
#[inline(never)]
#[track_caller]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    match current::forks() {
        // SAFETY: this thread's worker lives as long as its runtime.
        Some(forks) => Joiner::of(unsafe { forks.as_ref() }).fork(|_| a(), |_| b(), Location::caller()),
        None => one_after_the_other(a, b),
    }
}

#[cold]
#[inline(never)]
fn one_after_the_other<RA, RB>(a: impl FnOnce() -> RA, b: impl FnOnce() -> RB) -> (RA, RB) {
    (a(), b())
}

/// The worker at hand, for many joins: as [`join`], it saves looking up which worker the thread is.
///
/// A reference to one is handed to the closure of [`Joiner::with`], and each closure of a [`join`](Joiner::join) gets
/// that of the worker that runs it. It stays on its thread.
///
/// ```
/// use millpond::{Joiner, Runtime};
///
/// fn fib(joiner: &Joiner, n: u64) -> u64 {
///     if n < 2 {
///         return n;
///     }
///     let (a, b) = joiner.join(|joiner| fib(joiner, n - 1), |joiner| fib(joiner, n - 2));
///     a + b
/// }
///
/// let rt = Runtime::builder().workers(2).build()?;
/// assert_eq!(rt.scope(|_| Joiner::with(|joiner| fib(joiner, 20)))?, 6765);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[repr(C)]
// The pointer keeps it from other threads.
pub struct Joiner(Forks, [*const (); 0]);

const _: () = assert!(size_of::<Joiner>() == size_of::<Forks>());

impl Joiner {
    #[inline(always)]
    fn of(forks: &Forks) -> &Joiner {
        let forks: *const Forks = forks;
        // SAFETY: it is nothing but forks, which this reference keeps borrowed, and stays on this thread.
        unsafe { &*(forks as *const Joiner) }
    }

    /// Calls `f` with the worker that this thread is. OutOfLine (in no task, and no scope's closure) too: then the
    /// halves of each join run one after the other.
    ///
    /// # Panics
    ///
    /// If `f` panics.
    pub fn with<R>(f: impl FnOnce(&Joiner) -> R) -> R {
        match current::forks() {
            // SAFETY: this thread's worker lives as long as its runtime, and the reference no longer than this call.
            Some(forks) => f(Joiner::of(unsafe { forks.as_ref() })),
            None => f(Joiner::of(&Forks::of_nobody())),
        }
    }

    /// Runs both closures, at once if another worker is free, and returns both results, as the function [`join`].
    ///
    /// Costs about two function calls if nobody is free.
    ///
    /// In the closure of a scope that was opened meanwhile on another runtime, it runs one after the other: this worker
    /// is not the one that works there.
    ///
    /// ```
    /// use millpond::{Joiner, Runtime};
    ///
    /// fn largest(joiner: &Joiner, numbers: &[u64]) -> u64 {
    ///     if numbers.len() <= 1000 {
    ///         return numbers.iter().copied().max().unwrap_or(0);
    ///     }
    ///     let (left, right) = numbers.split_at(numbers.len() / 2);
    ///     let (left, right) = joiner.join(|joiner| largest(joiner, left), |joiner| largest(joiner, right));
    ///     left.max(right)
    /// }
    ///
    /// let numbers: Vec<u64> = (0..100_000).collect();
    /// let rt = Runtime::builder().workers(2).build()?;
    /// assert_eq!(rt.scope(|_| Joiner::with(|joiner| largest(joiner, &numbers)))?, 99_999);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// As [`join`].
    // As the function.
    #[inline(never)]
    #[track_caller]
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&Joiner) -> RA + Send,
        B: FnOnce(&Joiner) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.fork(a, b, Location::caller())
    }

    #[inline(always)]
    fn fork<A, B, RA, RB>(&self, a: A, b: B, place: Place) -> (RA, RB)
    where
        A: FnOnce(&Joiner) -> RA,
        B: FnOnce(&Joiner) -> RB,
    {
        let fork = Fork::new(b);
        // SAFETY: this function ends only after the fork was popped and, if it was offered, taken back or waited for:
        // nothing unwinds in between. A joiner stays on its worker's thread.
        unsafe { self.0.push(NonNull::from(&fork).cast(), place) };
        let left = match catch(|| a(self)) {
            Ok(left) => left,
            Err(caught) => self.fail(&fork, caught),
        };
        if self.0.pop(&fork.head) {
            // SAFETY: it was private, so the body is there.
            return (left, unsafe { fork.take_body() }(self));
        }
        (left, self.join_offered(&fork))
    }

    /// The first half has panicked.
    #[cold]
    #[inline(never)]
    fn fail<F: FnOnce(&Joiner) -> R, R>(&self, fork: &Fork<F, R>, caught: PanicPayload) -> ! {
        if self.0.pop(&fork.head) {
            // SAFETY: it was private, so the body is there.
            let _unused = unsafe { fork.take_body() };
            caught.resume()
        }
        match self.settle(fork) {
            Settled::Back(body, id) => {
                if id != 0 {
                    current::log(|log| log.refused(id, false));
                }
                let _unused = body;
                caught.resume()
            }
            Settled::Ran(result) => {
                let _unused = result;
                caught.resume()
            }
        }
    }

    /// The result of a fork that was offered.
    #[cold]
    #[inline(never)]
    fn join_offered<F: FnOnce(&Joiner) -> R, R>(&self, fork: &Fork<F, R>) -> R {
        match self.settle(fork) {
            Settled::Back(body, 0) => body(self),
            Settled::Back(body, id) => run_recorded(id, || body(self)),
            Settled::Ran(result) => result.unwrap_or_else(|caught| caught.resume()),
        }
    }

    /// Takes a fork back that was offered, or waits until it has run.
    fn settle<F: FnOnce(&Joiner) -> R, R>(&self, fork: &Fork<F, R>) -> Settled<F, R> {
        let current::CurrentWorker { worker, ops } = self.0.worker();
        // SAFETY: it was offered, and is freed below.
        let offer = unsafe { fork.head.offer() };
        let task = Offer::task(offer);
        let id = task.record_id();
        // SAFETY: this thread is that worker; so below.
        let settled = if unsafe { (ops.take_back)(worker, task) } {
            // SAFETY: taken back before it ran.
            Settled::Back(unsafe { fork.take_body() }, id)
        } else {
            // SAFETY: the offer is there until it is freed.
            let waiter = unsafe { offer.as_ref() }.waiter();
            // SAFETY: as above.
            let wait = || unsafe { (ops.wait)(worker, waiter, Awaited::Task(task)) };
            match id {
                0 => wait(),
                id => current::log(|log| log.waits(log.body(), Cause::Join, id, wait)),
            }
            // SAFETY: written before the waiter was woken.
            Settled::Ran(unsafe { fork.result.get().cast::<Result<R, PanicPayload>>().read() })
        };
        // SAFETY: as above; the task was taken back, or has run and its waiter was delivered.
        unsafe { (ops.free)(worker, task) };
        settled
    }
}

/// What became of a fork that was offered.
enum Settled<F, R> {
    /// Its body was not run; its number in a recording.
    Back(F, Id),
    Ran(Result<R, PanicPayload>),
}

impl std::fmt::Debug for Joiner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Joiner").finish_non_exhaustive()
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
