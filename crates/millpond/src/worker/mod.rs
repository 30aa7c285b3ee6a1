//! A worker: it takes tasks, runs them, and handles their completion.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::collections::VecDeque;
use std::panic::Location;
use std::ptr::NonNull;
use std::rc::Rc;

use crossbeam_utils::CachePadded;

use crate::depend::tracker::Tracker;
use crate::handle::Version;
use crate::memory::{Block, Memory};
use crate::pool::{Leave, Pool, Put};
use crate::record::log::Log;
use crate::record::{Recorder, What};
use crate::sync::Arc;
use crate::sync::atomic::{AtomicU64, Ordering, fence};
use crate::task::{Role, TaskRef, flag};
use crate::worker::config::Config;
use crate::worker::engine::WorkerEngine;
use crate::worker::engine::store::TaskStore;
use crate::worker::fork::ForkOps;
use crate::worker::scope_state::ScopeState;
use crate::worker::seats::Shared;

pub(crate) mod after_fork;
mod aside;
pub(crate) mod cancel;
mod carrier;
pub(crate) mod complete;
pub(crate) mod config;
mod count;
pub(crate) mod current;
pub(crate) mod engine;
mod exclude;
pub(crate) mod external;
pub(crate) mod fiber;
pub(crate) mod fork;
pub(crate) mod forks;
pub(crate) mod grain;
#[cfg(all(test, millpond_counted))]
mod lines_tests;
pub(crate) mod loops;
pub(crate) mod nest_frame;
pub(crate) mod overflow;
pub(crate) mod parker;
pub(crate) mod pin;
mod run;
mod scarce;
pub(crate) mod scope_state;
pub(crate) mod seats;
pub(crate) mod slack;
pub(crate) mod sleep;
pub(crate) mod spares;
pub(crate) mod stack_head;
mod stay;
pub(crate) mod threads;
pub(crate) mod turns;
pub(crate) mod wait;
pub(crate) mod waiting;
pub(crate) mod watch;
pub(crate) mod watched;

use current::CurrentWorker;
use fiber::Fibers;
use forks::{CallSite, Forks, Head, Offer};
use grain::Grains;
use sleep::Sleep;
pub(crate) use stay::Awaited;
use wait::{Mailbox, Waiter};

/// The local parts of pool, memory manager and scheme that a worker keeps.
pub(crate) type Locals<E> = (
    <<E as WorkerEngine>::Pool as Pool>::Local,
    <<E as WorkerEngine>::Memory as Memory>::Local,
    <<E as WorkerEngine>::Tracker as Tracker>::Local,
);

/// The state of one worker. Only the worker's thread touches it, except `mailbox` and `counters`.
pub struct Worker<E: WorkerEngine> {
    mailbox: Mailbox,
    counters: CachePadded<Counters>,
    /// The `Shared` of its runtime. Untyped, because a debug build describes all types that fields
    /// lead to in each unit of the user's program.
    shared: Cell<Option<NonNull<()>>>,
    pool: UnsafeCell<<E::Pool as Pool>::Local>,
    memory: UnsafeCell<<E::Memory as Memory>::Local>,
    scheme: UnsafeCell<<E::Tracker as Tracker>::Local>,
    fibers: Fibers,
    forks: Rc<Forks>,
    /// Waiters from the seat's inbox, to be resumed in this order.
    resumable: RefCell<VecDeque<NonNull<Waiter>>>,
    /// Completions of one scope that are not yet subtracted from its count.
    tally: Cell<(Option<NonNull<ScopeState>>, u64)>,
    /// What suspended bodies wait for, as far as it is known.
    awaited: RefCell<Vec<(NonNull<Waiter>, Awaited)>>,
    /// A task that a suspended body waits for, for the carrier to run.
    wanted: Cell<Option<TaskRef>>,
    /// How many more tasks the loop may run before it returns to the carrier.
    budget: Cell<i32>,
    /// How many tasks this thread has run while bodies on it waited, since its last search for the
    /// oldest task.
    run_in_waits: Cell<u32>,
    /// How often this worker has searched for an old task.
    looks: Cell<usize>,
    /// Whether this is a spare thread that was called, and has run nothing since.
    is_called: Cell<bool>,
    /// `turn`: the initial value of the budget. `ran`: how many tasks have run, over all budgets,
    /// since its last search for an old one.
    turn: Cell<i32>,
    ran: Cell<u32>,
    /// While the caller of a scope waits, the scope that the loop is restricted to.
    only: Cell<Option<run::Only>>,
    /// Whether this worker was woken for work and has not taken any since (`sleep`, S6).
    owes: Cell<bool>,
    pub(crate) grains: Grains,
    /// The task store's part of a seat.
    pub(crate) tasks: <E::Tasks as TaskStore<E>>::Local,
    /// Versions that the current spawn has retired.
    pub(crate) retired: RefCell<Vec<Retired>>,
    pub(crate) log: Log,
}

// SAFETY: only the thread that holds the seat touches what is not synchronized (see above). The
// seat changes its thread only under a lock (`worker::seats`).
unsafe impl<E: WorkerEngine> Sync for Worker<E> {}
// SAFETY: as above.
unsafe impl<E: WorkerEngine> Send for Worker<E> {}

#[derive(Debug, Default)]
struct Counters {
    tasks: AtomicU64,
    steals: AtomicU64,
}

/// A version that a prepare retired while no task used it, and the place in reference order of the
/// task that writes the new one.
pub(crate) type Retired = (NonNull<Version>, u64);

/// The work of one worker since the runtime was built; see
/// [`Runtime::counts`](crate::Runtime::counts).
///
/// ```
/// use millpond::{Runtime, Spawn, WorkerCounts};
///
/// let rt = Runtime::builder().workers(1).build()?;
/// let four = rt.scope(|s| s.wait(s.nest((), |s, ()| s.wait(s.spawn((), |()| 4)))))???;
/// // A parent's body counts as its children's do; alone, a worker steals nothing.
/// assert_eq!((four, rt.counts()), (4, vec![WorkerCounts { tasks: 2, steals: 0 }]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerCounts {
    /// How many task bodies it ran.
    pub tasks: u64,
    /// How often it took tasks from another worker. It takes several at a time if there are many.
    pub steals: u64,
}

impl WorkerCounts {
    pub(crate) fn add(&mut self, other: WorkerCounts) {
        self.tasks += other.tasks;
        self.steals += other.steals;
    }
}

impl<E: WorkerEngine> Worker<E> {
    pub(crate) fn new(
        index: usize,
        sleep: Arc<Sleep>,
        config: &Config,
        recorder: &Recorder,
        (pool, memory, scheme): Locals<E>,
    ) -> Self {
        let forks = Rc::new(Forks::new());
        let number = (index < config.workers && !config.caller_context).then_some(index as u32);
        Worker {
            mailbox: Mailbox::new(index, sleep),
            counters: CachePadded::default(),
            shared: Cell::new(None),
            pool: UnsafeCell::new(pool),
            memory: UnsafeCell::new(memory),
            scheme: UnsafeCell::new(scheme),
            fibers: Fibers::new(config.stack_size),
            resumable: RefCell::default(),
            tally: Cell::new((None, 0)),
            awaited: RefCell::default(),
            wanted: Cell::new(None),
            budget: Cell::new(0),
            turn: Cell::new(0),
            ran: Cell::new(0),
            run_in_waits: Cell::new(0),
            looks: Cell::new(0),
            is_called: Cell::new(true),
            only: Cell::new(None),
            owes: Cell::new(false),
            grains: Grains::default(),
            tasks: E::Tasks::local(index),
            retired: RefCell::default(),
            log: Log::new(recorder, number, forks.clone()),
            forks,
        }
    }

    /// Tells the worker which runtime it belongs to, once, before it runs.
    pub(crate) fn attach(&self, shared: NonNull<Shared<E>>) {
        self.shared.set(Some(shared.cast()));
        let workers = self.shared().config.workers;
        self.forks.attach(CurrentWorker { worker: self.erased(), ops: ForkOps::of::<E>() }, workers);
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Shared<E> {
        let shared = self.shared.get().expect("attached when the runtime was built");
        // SAFETY: the shared part owns its workers.
        unsafe { shared.cast::<Shared<E>>().as_ref() }
    }

    /// The index of this worker context.
    pub(crate) fn seat(&self) -> usize {
        self.mailbox.index()
    }

    pub(crate) fn mailbox(&self) -> &Mailbox {
        &self.mailbox
    }

    pub(crate) fn counts(&self) -> WorkerCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        WorkerCounts { tasks: read(&self.counters.tasks), steals: read(&self.counters.steals) }
    }

    /// Counts without a read-modify-write: only this worker writes.
    #[inline]
    fn bump(counter: &AtomicU64) -> u64 {
        let more = counter.load(Ordering::Relaxed) + 1;
        counter.store(more, Ordering::Relaxed);
        more
    }

    /// Counts a running body. Returns its number among the bodies of this worker.
    #[inline]
    pub(crate) fn count_body(&self) -> u64 {
        Self::bump(&self.counters.tasks)
    }

    /// Counts a steal from another worker.
    pub(crate) fn count_steal(&self) {
        Self::bump(&self.counters.steals);
    }

    #[inline]
    #[expect(clippy::mut_from_ref, reason = "the cell's rule: this thread only, never across a call out")]
    fn pool_local(&self) -> &mut <E::Pool as Pool>::Local {
        // SAFETY: only this worker's thread calls this, and no method of a pool calls back into the
        // worker. The test of `take_if` only looks at the task and its scope.
        unsafe { &mut *self.pool.get() }
    }

    #[inline]
    #[expect(clippy::mut_from_ref, reason = "the cell's rule: this thread only, never across a call out")]
    fn memory_local(&self) -> &mut <E::Memory as Memory>::Local {
        // SAFETY: only this worker's thread calls this, and no method of a memory manager calls
        // back into the worker.
        unsafe { &mut *self.memory.get() }
    }

    #[inline]
    #[expect(clippy::mut_from_ref, reason = "the cell's rule: this thread only, never across a call out")]
    pub(crate) fn scheme_local(&self) -> &mut <E::Tracker as Tracker>::Local {
        // SAFETY: only this worker's thread calls this, and no method of a scheme calls back into
        // the worker.
        unsafe { &mut *self.scheme.get() }
    }

    /// The handle to the scheme.
    #[inline(always)]
    pub(crate) fn tracker(&self) -> E::Tracker {
        // A handle without size is the same everywhere, so it need not come from the shared part.
        if const { size_of::<E::Tracker>() == 0 } { E::Tracker::default() } else { self.shared().tracker() }
    }

    /// The scheme's part of the runtime.
    #[inline]
    pub(crate) fn scheme_shared(&self) -> &<E::Tracker as Tracker>::Shared {
        if const { size_of::<<E::Tracker as Tracker>::Shared>() != 0 } {
            return &self.shared().scheme;
        }
        // Most schemes keep nothing, so they need not read the shared part.
        // SAFETY: the pointer is aligned, and the type has no size. The shared part has a value of
        // it, which cannot be told from this one.
        unsafe { NonNull::dangling().as_ref() }
    }

    #[inline]
    pub(crate) fn alloc(&self, size: usize) -> Block {
        self.shared().memory.alloc(self.memory_local(), size)
    }

    /// Gives back a task's block.
    #[inline]
    pub(crate) fn free(&self, task: TaskRef) {
        // SAFETY: a block is freed once: by the worker that completes the task, or when its join is
        // dropped, whichever comes last. It came from this manager: tasks and joins stay with the
        // workers that share one (`worker::seats`).
        unsafe { self.shared().memory.free(self.memory_local(), task.block()) }
    }

    /// Puts a ready task into the pool.
    #[inline]
    pub(crate) fn put(&self, task: TaskRef, why: Put) {
        if self.shared().pool.put(self.pool_local(), task, why) {
            self.shared().sleep.work_arrived();
        }
    }

    /// Puts a task where the next worker that takes a task takes this one.
    pub(super) fn put_first(&self, task: TaskRef) {
        if self.shared().pool.put_first(self.pool_local(), task) {
            self.shared().sleep.work_arrived();
        }
    }

    /// Makes all tasks and forks that this worker has put visible to others.
    pub(crate) fn leave_tasks(&self, leave: Leave) {
        self.forks.offer_all();
        self.leave_stack_jobs();
        if self.shared().pool.leave(self.pool_local(), leave) {
            self.shared().sleep.work_arrived();
        }
    }

    /// Puts stack jobs where others find them.
    pub(super) fn leave_stack_jobs(&self) {
        while let Some(stack_job) = E::Tasks::next_stack_job(self) {
            self.put(stack_job, Put::Spawned);
        }
    }

    /// Called when a body continues, or another runtime runs, for an unknown time. Hands all that
    /// this worker has put, stolen or collected to others.
    pub(crate) fn step_back(&self, leave: Leave) {
        self.flush_all();
        self.leave_tasks(leave);
    }

    /// Makes what this worker has put visible to others, unless they can see some of it already.
    #[inline]
    pub(crate) fn expose(&self) {
        if self.shared().pool.expose(self.pool_local()) {
            self.shared().sleep.work_arrived();
        }
    }

    /// Takes the task at the working end, if the test accepts it. If it returns `None`, others see
    /// what they saw before.
    pub(crate) fn take_if(&self, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        let (task, hidden) = self.shared().pool.take_if(self.pool_local(), wanted);
        if hidden && task.is_none() {
            self.leave_tasks(Leave::Body);
        }
        task
    }

    pub(crate) fn forks(&self) -> &Forks {
        &self.forks
    }

    /// Makes a task of a fork that only this worker knew, and lets all workers find it. If the fork
    /// is recorded, the task is put like any other.
    ///
    /// # Safety
    ///
    /// The fork was pushed onto this worker's stack of forks, is not private any more, and was not
    /// offered before. It keeps its address until the offer has ended.
    pub(crate) unsafe fn offer(&self, fork: NonNull<Head>, recorded_at: Option<CallSite>) {
        let block = self.alloc(Offer::SIZE);
        let place = recorded_at.unwrap_or(Location::caller());
        // SAFETY: as the caller promises. The block is new. A worker's seat and forks live as long
        // as its runtime.
        let task = unsafe { Offer::create(block, fork, &self.forks, &self.mailbox, place) };
        let pool = &self.shared().pool;
        if recorded_at.is_some() {
            // SAFETY: the cell of the number is the second field of an offer.
            unsafe { task.set_record_id(self.log.next_id()) };
            self.log.forked(task);
            return self.put(task, Put::Spawned);
        }
        let put = pool.put(self.pool_local(), task, Put::Spawned);
        if pool.leave(self.pool_local(), Leave::Body) || put {
            self.shared().sleep.work_arrived();
        }
    }

    /// Takes back a fork that is at the working end. While its second half runs, others see what
    /// they saw before.
    #[inline]
    pub(crate) fn take_fork_back(&self, fork: TaskRef) -> bool {
        let (task, hidden) = self.shared().pool.take_if(self.pool_local(), |top| top == fork);
        if hidden {
            self.leave_tasks(Leave::Body);
        }
        task.is_some()
    }

    #[inline]
    fn take(&self) -> Option<TaskRef> {
        E::Tasks::next_stack_job(self).or_else(|| self.shared().pool.take(self.pool_local()))
    }

    /// A task for a worker that has none left. If the scheme can search, the worker searches first,
    /// which costs less than a search of all other parts of the pool. Otherwise it steals.
    fn steal(&self) -> Option<TaskRef> {
        let found = self.search();
        if found.is_some() {
            return found;
        }
        let Some(task) = self.shared().pool.steal(self.pool_local()) else {
            return if E::Tasks::steal_stack_jobs(self) { self.take() } else { None };
        };
        self.count_steal();
        if self.log.is_on() {
            self.log.note(What::Stole);
        }
        self.pass_wake_up_on();
        Some(task)
    }

    /// A put or a release wakes one worker for a whole batch. A worker that finds more than it can
    /// take wakes the next.
    fn pass_wake_up_on(&self) {
        // A thief may have set a task aside for all (`pool::split`).
        fence(Ordering::SeqCst);
        if self.shared().sleep.sleepers() != 0 && self.shared().has_work() {
            self.shared().sleep.work_arrived();
        }
    }

    /// Under a scheme that searches for ready tasks, a ready task that no release has found (TG
    /// §4.4).
    #[inline]
    fn search(&self) -> Option<TaskRef> {
        if !self.tracker().searches() {
            return None;
        }
        loop {
            let task = self.tracker().find(self.scheme_shared())?;
            self.pass_wake_up_on();
            if task.header().has(flag::RECORDED) {
                self.log.found(task);
            }
            if let Some(task) = Self::begin(task) {
                return Some(task);
            }
        }
    }

    /// All preconditions of the task are met. It takes its exclusions and goes into the pool. If it
    /// is a waiter, it is woken.
    #[inline]
    pub(crate) fn ready(&self, task: TaskRef, why: Put) {
        if let Some(task) = Self::begin(task) {
            self.put(task, why);
        }
    }

    /// All preconditions of the task are met. Returns it, unless it still waits for an exclusion.
    /// If it is a waiter, it is woken.
    #[inline]
    fn begin(task: TaskRef) -> Option<TaskRef> {
        if task.header().role() == Role::Wait {
            Waiter::wake_at(waiting::waiter_of(task));
            return None;
        }
        exclude::acquire_all(task).then_some(task)
    }
}
