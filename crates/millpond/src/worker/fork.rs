//! `join(a, b)`: plain fork-join, without declared data.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::panic::Location;
use std::ptr::NonNull;

use crate::error::Error;
use crate::panics::{PanicPayload, catch};
use crate::pool::{Leave, Pool};
use crate::record::log::Log;
use crate::record::{Cause, Id};
use crate::task::{Role, TaskRef, VTable};
use crate::worker::current;
use crate::worker::engine::WorkerEngine;
use crate::worker::forks::{CallSite, Forks, Head, Offer, Others};
use crate::worker::wait::{Mailbox, Waiter};
use crate::worker::{Awaited, Worker};

/// The operations of a worker that code without its engine type uses.
#[derive(Debug)]
pub(crate) struct ForkOps {
    pub(crate) mailbox: unsafe fn(*const ()) -> NonNull<Mailbox>,
    pub(crate) offer: unsafe fn(*const (), NonNull<Head>, Option<CallSite>),
    pub(crate) is_hungry: unsafe fn(*const ()) -> bool,
    pub(crate) others: unsafe fn(*const ()) -> Others,
    pub(crate) take_back: unsafe fn(*const (), TaskRef) -> bool,
    pub(crate) free: unsafe fn(*const (), TaskRef),
    pub(crate) wait: unsafe fn(*const (), &Waiter, Awaited),
    pub(crate) step_back: unsafe fn(*const ()),
    pub(crate) log: unsafe fn(*const ()) -> NonNull<Log>,
}

impl ForkOps {
    pub(crate) const fn of<E: WorkerEngine>() -> &'static ForkOps {
        &ForkOps {
            mailbox: mailbox::<E>,
            offer: offer::<E>,
            is_hungry: is_hungry::<E>,
            others: others::<E>,
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
unsafe fn the<'a, E: WorkerEngine>(worker: *const ()) -> &'a Worker<E> {
    // SAFETY: as the caller promises.
    unsafe { &*worker.cast() }
}

/// # Safety
///
/// As `the`.
unsafe fn mailbox<E: WorkerEngine>(worker: *const ()) -> NonNull<Mailbox> {
    // SAFETY: passed on.
    NonNull::from(unsafe { the::<E>(worker) }.mailbox())
}

/// # Safety
///
/// As `the`, and as `Worker::offer`.
unsafe fn offer<E: WorkerEngine>(worker: *const (), fork: NonNull<Head>, recorded_at: Option<CallSite>) {
    // SAFETY: passed on.
    let worker = unsafe { the::<E>(worker) };
    // SAFETY: passed on.
    unsafe { worker.offer(fork, recorded_at) };
}

/// # Safety
///
/// As `the`.
unsafe fn is_hungry<E: WorkerEngine>(worker: *const ()) -> bool {
    // SAFETY: passed on.
    let shared = unsafe { the::<E>(worker) }.shared();
    shared.pool.is_hungry() && !shared.is_forked()
}

/// # Safety
///
/// As `the`.
unsafe fn others<E: WorkerEngine>(worker: *const ()) -> Others {
    // SAFETY: passed on.
    if !unsafe { is_hungry::<E>(worker) } {
        return Others::Busy;
    }
    // SAFETY: passed on.
    let sleepers = unsafe { the::<E>(worker) }.shared().sleep.sleepers();
    if sleepers == 0 { Others::Looking } else { Others::Asleep }
}

/// # Safety
///
/// As `the`.
unsafe fn take_back<E: WorkerEngine>(worker: *const (), task: TaskRef) -> bool {
    // SAFETY: passed on.
    unsafe { the::<E>(worker) }.take_fork_back(task)
}

/// # Safety
///
/// As `the`. The task is an offer that has ended.
unsafe fn free<E: WorkerEngine>(worker: *const (), task: TaskRef) {
    // SAFETY: passed on.
    unsafe { the::<E>(worker) }.free(task);
}

/// # Safety
///
/// As `the`.
unsafe fn wait<E: WorkerEngine>(worker: *const (), waiter: &Waiter, awaited: Awaited) {
    // SAFETY: passed on.
    unsafe { the::<E>(worker) }.wait_apart(waiter, awaited);
}

/// # Safety
///
/// As `the`.
unsafe fn step_back<E: WorkerEngine>(worker: *const ()) {
    // SAFETY: passed on.
    let worker = unsafe { the::<E>(worker) };
    // In the child process of a fork, no thread would find the tasks that it leaves.
    if !worker.shared().is_forked() {
        worker.step_back(Leave::Seat);
    }
}

/// # Safety
///
/// As `the`.
unsafe fn log<E: WorkerEngine>(worker: *const ()) -> NonNull<Log> {
    // SAFETY: passed on.
    NonNull::from(&unsafe { the::<E>(worker) }.log)
}

/// The half of a join that other workers may take. It is on its caller's stack. No flag says
/// whether body and result exist: the body exists until its thread takes it, and the result once
/// the offer's waiter is woken.
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
    /// The body exists, and no other thread looks at it. This moves it out.
    #[inline(always)]
    unsafe fn take_body(&self) -> F {
        // SAFETY: as the caller promises.
        unsafe { self.body.get().cast::<F>().read() }
    }

    /// Runs the half that a worker has taken from the pool.
    ///
    /// # Safety
    ///
    /// `task` is the offer of a `Fork<F, R>` whose owner waits for it. It was handed to this
    /// thread.
    unsafe fn run(task: TaskRef, _worker: *const ()) -> Result<(), Error> {
        // SAFETY: an offer stays until its waiter is woken.
        let offer = unsafe { Offer::of(task) };
        // SAFETY: the head is the first field, and its owner waits for this task.
        let fork = unsafe { offer.fork().cast::<Self>().as_ref() };
        // SAFETY: the owner put the body there before it made the offer, and only this thread was
        // handed the offer.
        let body = unsafe { fork.take_body() };
        let joiner = current::forks().expect("a worker runs it");
        // SAFETY: this thread's worker lives as long as its runtime.
        let result = catch(|| body(Joiner::of(unsafe { joiner.as_ref() })));
        if task.record_id() != 0 {
            current::log(|log| log.ended(task.record_id(), result.is_ok(), 0));
        }
        // SAFETY: the owner looks only after its waiter is woken.
        unsafe { fork.result.get().write(MaybeUninit::new(result)) };
        Waiter::wake_at(std::ptr::from_ref(offer.waiter()).cast_mut());
        Ok(())
    }
}

/// Runs both closures, in parallel if another worker is free, and returns both results.
///
/// Use it for divide-and-conquer without declared data. Called from a task or a scope's closure, it
/// uses that runtime's workers. Called from elsewhere, it runs one closure after the other.
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
/// If a closure panics. If `a` panics, `b` runs to its end first if another worker has taken it.
/// Otherwise it does not run. Do not rely on either. If both panic, the panic is that of `a`.
// Not inlined, so that the compiler inlines the recursive closure here, up to the test that ends
// the recursion. Then a leaf costs no call.
#[inline(never)]
#[track_caller]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_at(a, b, Location::caller())
}

/// Like [`join`], for a call at `place`.
#[inline(always)]
pub(crate) fn join_at<A, B, RA, RB>(a: A, b: B, place: CallSite) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    match current::forks() {
        // SAFETY: this thread's worker lives as long as its runtime.
        Some(forks) => Joiner::of(unsafe { forks.as_ref() }).fork(|_| a(), |_| b(), place),
        None => one_after_the_other(a, b),
    }
}

#[cold]
#[inline(never)]
fn one_after_the_other<RA, RB>(a: impl FnOnce() -> RA, b: impl FnOnce() -> RB) -> (RA, RB) {
    (a(), b())
}

/// A handle to the current worker, for many joins. Unlike the function [`join`], it does not
/// determine each time which worker the thread is.
///
/// [`Joiner::with`] passes a reference to its closure. Each closure of a [`join`](Joiner::join)
/// gets the joiner of the worker that runs it. A joiner stays on its thread.
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
// The pointer makes it neither `Send` nor `Sync`.
pub struct Joiner(Forks, [*const (); 0]);

const _: () = assert!(size_of::<Joiner>() == size_of::<Forks>());

impl Joiner {
    #[inline(always)]
    pub(crate) fn of(forks: &Forks) -> &Joiner {
        let forks: *const Forks = forks;
        // SAFETY: a joiner consists of forks alone. This reference keeps them borrowed, and stays
        // on this thread.
        unsafe { &*(forks as *const Joiner) }
    }

    /// The forks of the worker.
    #[inline(always)]
    pub(crate) fn forks(&self) -> &Forks {
        &self.0
    }

    /// Calls `f` with the joiner of this thread's worker. It also works outside of all tasks and
    /// scopes: there, the two halves of each join run one after the other.
    ///
    /// # Panics
    ///
    /// If `f` panics.
    pub fn with<R>(f: impl FnOnce(&Joiner) -> R) -> R {
        match current::forks() {
            // SAFETY: this thread's worker lives as long as its runtime, and the reference no
            // longer than this call.
            Some(forks) => f(Joiner::of(unsafe { forks.as_ref() })),
            None => f(Joiner::of(&Forks::unowned())),
        }
    }

    /// Runs both closures, in parallel if another worker is free, and returns both results, like
    /// the function [`join`].
    ///
    /// If every worker is busy, it costs about as much as two function calls.
    ///
    /// The closure of a scope may have been opened meanwhile on another runtime. Then the halves
    /// run one after the other, because this worker does not work for that runtime.
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
    // Not inlined, for the same reason as the function.
    #[inline(never)]
    #[track_caller]
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&Joiner) -> RA + Send,
        B: FnOnce(&Joiner) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.join_at(a, b, Location::caller())
    }

    /// Like [`join`](Joiner::join), for a call at `place`.
    #[inline(always)]
    pub(crate) fn join_at<A, B, RA, RB>(&self, a: A, b: B, place: CallSite) -> (RA, RB)
    where
        A: FnOnce(&Joiner) -> RA + Send,
        B: FnOnce(&Joiner) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.fork(a, b, place)
    }

    #[inline(always)]
    fn fork<A, B, RA, RB>(&self, a: A, b: B, place: CallSite) -> (RA, RB)
    where
        A: FnOnce(&Joiner) -> RA,
        B: FnOnce(&Joiner) -> RB,
    {
        let fork = Fork::new(b);
        // SAFETY: this function returns only after the fork was popped. If the fork was offered, it
        // was also taken back or waited for: nothing unwinds in between. A joiner stays on its
        // worker's thread.
        unsafe { self.0.push(NonNull::from(&fork).cast(), place) };
        let left = match catch(|| a(self)) {
            Ok(left) => left,
            Err(caught) => self.fail(&fork, caught),
        };
        if self.0.pop(&fork.head) {
            // SAFETY: the fork was private, so its body exists.
            return (left, unsafe { fork.take_body() }(self));
        }
        (left, self.join_offered(&fork))
    }

    /// Ends the join after the first half panicked.
    #[cold]
    #[inline(never)]
    fn fail<F: FnOnce(&Joiner) -> R, R>(&self, fork: &Fork<F, R>, caught: PanicPayload) -> ! {
        if self.0.pop(&fork.head) {
            // SAFETY: the fork was private, so its body exists.
            let _unused = unsafe { fork.take_body() };
            caught.resume()
        }
        match self.take_back_or_wait(fork) {
            OfferOutcome::TakenBack(body, id) => {
                if id != 0 {
                    current::log(|log| log.refused(id, false));
                }
                let _unused = body;
                caught.resume()
            }
            OfferOutcome::Ran(result) => {
                let _unused = result;
                caught.resume()
            }
        }
    }

    /// The result of a fork that was offered.
    #[cold]
    #[inline(never)]
    fn join_offered<F: FnOnce(&Joiner) -> R, R>(&self, fork: &Fork<F, R>) -> R {
        match self.take_back_or_wait(fork) {
            OfferOutcome::TakenBack(body, 0) => body(self),
            OfferOutcome::TakenBack(body, id) => run_recorded(id, || body(self)),
            OfferOutcome::Ran(result) => result.unwrap_or_else(|caught| caught.resume()),
        }
    }

    /// Takes back a fork that was offered, or waits until it has run.
    fn take_back_or_wait<F: FnOnce(&Joiner) -> R, R>(&self, fork: &Fork<F, R>) -> OfferOutcome<F, R> {
        let current::CurrentWorker { worker, ops } = self.0.worker();
        // SAFETY: the fork was offered, and the offer is freed below.
        let offer = unsafe { fork.head.offer() };
        let task = Offer::task(offer);
        let id = task.record_id();
        // SAFETY: this thread is that worker, here and below.
        let outcome = if unsafe { (ops.take_back)(worker, task) } {
            // SAFETY: the fork was taken back before it ran.
            OfferOutcome::TakenBack(unsafe { fork.take_body() }, id)
        } else {
            // SAFETY: the offer exists until it is freed.
            let waiter = unsafe { offer.as_ref() }.waiter();
            // SAFETY: as above.
            let wait = || unsafe { (ops.wait)(worker, waiter, Awaited::Task(task)) };
            match id {
                0 => wait(),
                id => current::log(|log| log.waits(log.body(), Cause::Join, id, wait)),
            }
            // SAFETY: the result was written before the waiter was woken.
            OfferOutcome::Ran(unsafe { fork.result.get().cast::<Result<R, PanicPayload>>().read() })
        };
        // SAFETY: as above. The task was taken back, or it has run and its waiter was delivered.
        unsafe { (ops.free)(worker, task) };
        outcome
    }
}

/// The fate of an offered fork.
enum OfferOutcome<F, R> {
    /// Its body did not run; with its number in a recording.
    TakenBack(F, Id),
    Ran(Result<R, PanicPayload>),
}

impl std::fmt::Debug for Joiner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Joiner").finish_non_exhaustive()
    }
}

/// Runs a half that was taken back, and records it.
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
