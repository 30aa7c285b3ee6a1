//! The shared part of a runtime's workers, and which thread uses which worker context.
//!
//! A *seat* is the index of a worker context. The seats, in this order:
//!
//! | seat | used by |
//! |---|---|
//! | 0 | the caller of a scope, which works while it waits |
//! | one per worker thread | the worker threads |
//! | one | the thread that works in a caller's place while only sessions have work |
//! | [`CALLER_SEATS`] | further callers at the same time |
//! | one per spare thread | spare threads (`worker::spares`) |
//! | the last | threads without a seat, one at a time: sessions and external tasks spawn through it |
//!
//! # A caller never waits for a seat
//!
//! A caller that waited for a seat could wait for itself: a thread that calls one runtime from
//! within another takes a new seat. If all seats are taken, the caller gets a *caller context*: a
//! pool and a memory manager of the same engine. It has a seat for the caller, seats for spare
//! threads and an inject seat. The tasks of its scope run only on the caller's thread and on those
//! spare threads. They cannot reach another context. A release puts a task into the pool of the
//! releasing worker. Only the scope's own bodies and external tasks release its tasks. The runtime
//! keeps caller contexts for later callers, and frees them with the seats.
//!
//! A thread works for the innermost runtime that it has entered. It cannot use its seat of an outer
//! runtime. That worker is in the middle of a body, on a stack below that of the inner runtime. So
//! before the thread enters the inner runtime, the outer worker offers the tasks that only it can
//! find.
//!
//! In the child of a fork, every caller gets a caller context of that process (`after_fork`).
//!
//! # The inject lock
//!
//! A thread that holds it never waits. The only user code under it is the `==` of reducers. While
//! such code runs, the thread counts as no worker, so a fork runs its halves one after the other.
//! The thread cannot open a scope (`enter`), take another inject lock (`visit`) or take a seat
//! (`sit`). An attempt panics, the runtime catches the panic, and the reducers count as unequal.
//! The same rules hold for sinks (`record::delivery`), because a worker calls them in the middle of
//! its work.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::Weak;

use super::watched::{self, Watch};
use crate::depend::tracker::Tracker;
use crate::memory::Memory;
use crate::pool::{Counts, Leave, Pool};
use crate::record::Recorder;
use crate::record::live::Live;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, Mutex, process, unique_number};
use crate::worker::after_fork::{AfterFork, LOCKS};
use crate::worker::config::Config;
use crate::worker::current::{self, Enter, Visit, visits, visits_any, worker_of, worker_within};
use crate::worker::engine::store::TaskStore;
use crate::worker::engine::{Choices, WorkerEngine};
use crate::worker::grain::Kinds;
use crate::worker::overflow;
use crate::worker::parker::{Parkers, WaitPlace};
use crate::worker::sleep::Sleep;
use crate::worker::spares::{self, Spares, Taker};
use crate::worker::threads;
use crate::worker::{Worker, WorkerCounts};

/// How many callers of scopes have seats at the same time, beyond the first. Further callers get
/// caller contexts.
const CALLER_SEATS: usize = 4;

pub struct Shared<E: WorkerEngine> {
    /// A reference to itself, for [`keep`](Shared::keep).
    this: Weak<Shared<E>>,
    pub(crate) config: Config,
    choices: Choices<E>,
    // Declared before the pool and the memory manager, because workers own local parts of both.
    workers: Box<[Worker<E>]>,
    pub(crate) pool: E::Pool,
    pub(crate) memory: E::Memory,
    /// The scheme's part of the runtime.
    pub(crate) scheme: <E::Tracker as Tracker>::Shared,
    pub(crate) sleep: Arc<Sleep>,
    pub(crate) spares: Spares,
    /// The task store's part of the runtime.
    pub(crate) tasks: <E::Tasks as TaskStore<E>>::Shared,
    pub(crate) kinds: Kinds,
    /// Where threads without a seat wait.
    pub(crate) parkers: Parkers,
    pub(crate) recorder: Recorder,
    /// The account of unfinished tasks, if there is one.
    live: Option<std::sync::Arc<Live>>,
    /// The id of this runtime, or of the runtime that this is a caller context of.
    runtime_id: u64,
    shut_down: AtomicBool,
    /// The process in which it was built (`sync::process`).
    generation: u32,
    after_fork: AfterFork<E>,
    caller_seats: Mutex<CallerSeats<E>>,
    inject_lock: Mutex<()>,
}

/// Where callers may work.
struct CallerSeats<E: WorkerEngine> {
    /// The free seats.
    seats: Vec<usize>,
    /// The caller contexts that no caller uses.
    vacant: Vec<std::sync::Arc<Shared<E>>>,
    /// All caller contexts.
    caller_contexts: Vec<std::sync::Arc<Shared<E>>>,
}

/// The seats of a runtime, without the inject seat.
struct Seats {
    /// All seats of workers and callers are below this one.
    callers_until: usize,
    /// The seats that callers may take, the last one first.
    free: Vec<usize>,
    /// How many seats are for spare threads.
    spares: usize,
}

impl<E: WorkerEngine> Shared<E> {
    pub(crate) fn new(config: Config, choices: Choices<E>) -> std::sync::Arc<Self> {
        E::Tasks::prepare();
        process::watch(&LOCKS);
        overflow::watch();
        let caller_seats = config.workers + 1..config.workers + 1 + CALLER_SEATS;
        let spares = spares::PER_WORKER * config.workers;
        let seats = Seats { callers_until: caller_seats.end, free: caller_seats.rev().chain([0]).collect(), spares };
        let recorder = config.recorder.clone().unwrap_or_default();
        let live = config.dumps.then(std::sync::Arc::default);
        Self::with_seats(config, choices, seats, unique_number(), recorder, live)
    }

    /// A caller context for further callers, one at a time.
    fn caller_context(&self) -> std::sync::Arc<Self> {
        let (recorder, live) = (self.recorder.clone(), self.live.clone());
        self.caller_context_with(spares::PER_WORKER, self.config.watch.clone(), recorder, live)
    }

    /// Like `caller_context`, for the child of a fork: without other threads, and without the
    /// parent's recorder and watchdog. A thread of the parent may have held their locks, and sinks
    /// write to files of the parent.
    pub(crate) fn context_after_fork(&self) -> std::sync::Arc<Self> {
        self.caller_context_with(0, None, Recorder::default(), None)
    }

    fn caller_context_with(
        &self,
        spares: usize,
        watch: Option<std::sync::Arc<Watch>>,
        recorder: Recorder,
        live: Option<std::sync::Arc<Live>>,
    ) -> std::sync::Arc<Self> {
        let inline = self.config.inline.alone();
        let config = Config { workers: 1, pin: false, caller_context: true, inline, watch, ..self.config.clone() };
        let seats = Seats { callers_until: 1, free: Vec::new(), spares };
        Self::with_seats(config, self.choices.clone(), seats, self.runtime_id, recorder, live)
    }

    /// Makes the shared part: first the seats of workers and callers, then those of spare threads,
    /// then the inject seat.
    fn with_seats(
        config: Config,
        choices: Choices<E>,
        Seats { callers_until, free, spares }: Seats,
        runtime_id: u64,
        recorder: Recorder,
        live: Option<std::sync::Arc<Live>>,
    ) -> std::sync::Arc<Self> {
        let tracker = choices.tracker;
        let seats = callers_until + spares + 1;
        let spares = Spares::new(callers_until, spares);
        let (pool, pool_locals) = E::Pool::with(seats, &choices.pool);
        let sleep = Arc::new(Sleep::new(seats, config.idle.under(&pool)));
        let (memory, memory_locals) = E::Memory::with(seats, &choices.memory);
        let mut workers = Vec::with_capacity(seats);
        for (pool_local, memory_local) in pool_locals.into_iter().zip(memory_locals) {
            let locals = (pool_local, memory_local, tracker.local());
            workers.push(Worker::new(workers.len(), Arc::clone(&sleep), &config, &recorder, locals));
        }
        let workers = workers.into_boxed_slice();
        if let Some(live) = &live {
            for worker in &workers {
                live.expect(worker.log.track());
            }
        }
        let caller_seats = Mutex::new(CallerSeats { seats: free, vacant: Vec::new(), caller_contexts: Vec::new() });
        let shut_down = AtomicBool::new(false);
        let (kinds, parkers, inject_lock) = (Kinds::new(config.workers), Parkers::default(), Mutex::default());
        let this = std::sync::Arc::new_cyclic(|this| Shared {
            this: this.clone(),
            config,
            choices,
            workers,
            pool,
            memory,
            scheme: tracker.shared(),
            sleep,
            spares,
            tasks: Default::default(),
            kinds,
            parkers,
            recorder,
            live,
            runtime_id,
            shut_down,
            generation: process::generation(),
            after_fork: AfterFork::default(),
            caller_seats,
            inject_lock,
        });
        for worker in &this.workers {
            worker.attach(NonNull::from(&*this));
        }
        this
    }

    /// Whether a search of a worker might find a task.
    pub(crate) fn has_work(&self) -> bool {
        self.has_tasks() || E::Tasks::may_have_work(self)
    }

    /// Whether there is a task that any worker may take at once.
    pub(crate) fn has_tasks(&self) -> bool {
        self.pool.has_work() || self.choices.tracker.has_ready(&self.scheme)
    }

    /// The handle to the scheme.
    #[inline]
    pub(crate) fn tracker(&self) -> E::Tracker {
        self.choices.tracker
    }

    /// The id of this runtime, or of the runtime that this is a caller context of.
    pub(crate) fn runtime_id(&self) -> u64 {
        self.runtime_id
    }

    /// The parts that this runtime uses, of those that its type allows.
    #[cfg(feature = "catalogue")]
    pub(crate) fn choices(&self) -> &Choices<E> {
        &self.choices
    }

    /// The account of unfinished tasks, if the builder has asked for it.
    pub(crate) fn live(&self) -> Option<&std::sync::Arc<Live>> {
        self.live.as_ref()
    }

    /// How many seats there are.
    pub(crate) fn seats(&self) -> usize {
        self.workers.len()
    }

    pub(crate) fn worker(&self, seat: usize) -> &Worker<E> {
        &self.workers[seat]
    }

    /// One entry per worker. The first one counts all callers, and the thread that works in their
    /// place.
    pub(crate) fn counts(&self) -> Vec<WorkerCounts> {
        let (workers, caller_seats) = self.workers.split_at(self.config.workers);
        let mut counts: Vec<_> = workers.iter().map(Worker::counts).collect();
        for caller_seat in caller_seats {
            counts[0].add(caller_seat.counts());
        }
        // In the child of a fork, a thread of the parent may have left the lock taken.
        let caller_seats = if self.is_forked() { self.caller_seats.try_lock() } else { Some(self.caller_seats.lock()) };
        if let Some(caller_seats) = caller_seats {
            for caller_context in &caller_seats.caller_contexts {
                counts[0].add(caller_context.counts()[0]);
            }
        }
        counts
    }

    /// What the pool has counted, here and in caller contexts.
    pub(crate) fn pool_counts(&self) -> Counts {
        let mut counts = Counts { wake_ups: self.sleep.wake_ups(), ..self.pool.counts() };
        // As in `counts`.
        let caller_seats = if self.is_forked() { self.caller_seats.try_lock() } else { Some(self.caller_seats.lock()) };
        if let Some(caller_seats) = caller_seats {
            caller_seats.caller_contexts.iter().for_each(|context| counts.add(context.pool_counts()));
        }
        counts
    }

    /// Whether the process has forked since this was built, and this is the child. The runtime's
    /// threads do not exist in the child.
    #[inline]
    pub(crate) fn is_forked(&self) -> bool {
        self.generation != process::generation()
    }

    /// How many bodies have begun, plus how many steals there were, as far as this thread sees.
    pub(crate) fn bodies_begun(&self) -> u64 {
        self.workers.iter().map(Worker::counts).map(|counts| counts.tasks + counts.steals).sum()
    }

    /// If there is a watchdog, it watches until the returned value is dropped.
    pub(crate) fn open_watched(&self) -> Option<watched::Open> {
        self.config.watch.as_ref().filter(|_| !self.is_forked()).map(Watch::open)
    }

    pub(crate) fn is_shut_down(&self) -> bool {
        self.shut_down.load(Ordering::Acquire)
    }

    /// Keeps the runtime alive, even if the user drops it meanwhile. A thread from outside calls
    /// this before a step that may end the scope, while the scope keeps the runtime.
    pub(crate) fn keep(&self) -> std::sync::Arc<Self> {
        self.this.upgrade().expect("a scope is open, and its runtime is there as long as that")
    }

    pub(crate) fn shut_down(&self) {
        self.shut_down.store(true, Ordering::Release);
        self.sleep.wake_all();
        for caller_context in &self.caller_seats.lock().caller_contexts {
            caller_context.shut_down();
        }
    }

    /// The spare threads that were started, here and in caller contexts.
    pub(crate) fn spare_threads(&self) -> Vec<std::thread::JoinHandle<()>> {
        let mut threads = self.spares.threads();
        for caller_context in &self.caller_seats.lock().caller_contexts {
            threads.extend(caller_context.spares.threads());
        }
        threads
    }

    /// Lets a spare thread work in place of this waiting one. Returns false if there is none.
    pub(crate) fn lend(&self) -> bool {
        if self.is_forked() {
            return false;
        }
        match self.spares.lend() {
            Taker::Running => true,
            Taker::Call(seat) => {
                self.sleep.wake(seat);
                true
            }
            Taker::Start(seat) => {
                // The new thread keeps a stack from its start.
                let has_room = threads::has_room_beside(self.config.stack_size);
                let thread = has_room.then(|| super::threads::start_worker(&self.keep(), seat).ok()).flatten();
                let is_there = thread.is_some();
                self.spares.note_started(seat, thread);
                is_there
            }
            Taker::None => false,
        }
    }

    /// Runs `f` as the worker of this thread. If it is no worker, it takes a seat for callers, of
    /// this runtime or of a caller context.
    pub(crate) fn enter<R>(&self, f: impl FnOnce(&Worker<E>) -> R) -> R {
        let (mut f, mut result) = (Some(f), None);
        E::enter_as_worker(self, &mut |worker| {
            if let Some(f) = f.take() {
                result = Some(f(worker));
            }
        });
        result.expect("it ran, and did not panic")
    }

    pub(crate) fn enter_here(&self, f: &mut dyn FnMut(&Worker<E>)) {
        // The only user code on an inject seat is a comparison of reducers, whose panic is caught.
        // If it waited in a scope, a task of that scope might need the seat. No other thread could
        // know that the waiting thread holds it.
        assert!(
            !visits_any(),
            "neither a sink, nor the comparison of two reducers in a spawn on a session, can open a scope"
        );
        // In the child of a fork, a worker's own pool may hold tasks that the parent runs.
        if let Some(worker) = worker_within(self).filter(|worker| !worker.shared().is_forked()) {
            return f(worker);
        }
        current::step_back();
        overflow::prepare_thread();
        let caller_seat = CallerSeat::new(self);
        let worker = caller_seat.worker();
        let mut run = || {
            let _entered = Enter::new(worker);
            // Catches a panic, so that the thread leaves its seat in order, and does not unwind
            // meanwhile.
            let result = catch_unwind(AssertUnwindSafe(|| f(worker)));
            if !worker.shared().is_forked() {
                worker.leave_seat();
            }
            result
        };
        // In a task of another runtime, the thread has another log.
        let result = current::with_log(|outer| match outer {
            Some(log) => log.waits_elsewhere(&worker.log, run),
            None => run(),
        });
        result.unwrap_or_else(|payload| resume_unwind(payload));
    }

    /// Runs `f` as the worker of this thread, or on the inject seat if it is none. `f` spawns
    /// tasks, but does not run them.
    pub(crate) fn visit<R>(&self, f: impl FnOnce(&Worker<E>) -> R) -> R {
        if let Some(worker) = worker_of(self) {
            return f(worker);
        }
        if visits(self) {
            return f(self.injector());
        }
        // Two threads that each hold an inject lock and ask for the other's would deadlock.
        assert!(
            !visits_any(),
            "neither a sink, nor the comparison of two reducers in a spawn on another session, can use a session"
        );
        let _guard = self.inject_lock.lock();
        let _visit = Visit::new(self);
        let result = catch_unwind(AssertUnwindSafe(|| f(self.injector())));
        self.injector().leave_tasks(Leave::Seat);
        result.unwrap_or_else(|payload| resume_unwind(payload))
    }

    /// Runs `f` with a place where this thread can wait, whether it is a worker or not.
    pub(crate) fn sit<R>(&self, f: impl FnOnce(&WaitPlace) -> R) -> R {
        assert!(
            !visits_any(),
            "neither a sink, nor the comparison of two reducers in a spawn on a session, can wait in one"
        );
        if self.is_forked() {
            return Parkers::default().sit(self.runtime_id, f);
        }
        self.parkers.sit(self.runtime_id, f)
    }

    /// The seat that holds the tasks spawned by threads without a seat.
    pub(crate) fn inject_seat(&self) -> usize {
        self.workers.len() - 1
    }

    /// The worker through which threads without a seat spawn.
    fn injector(&self) -> &Worker<E> {
        &self.workers[self.inject_seat()]
    }
}

impl<E: WorkerEngine> CallerSeats<E> {
    /// A free seat, or if there is none, a vacant caller context.
    fn take(&mut self) -> Option<SeatOrContext<E>> {
        self.seats.pop().map(SeatOrContext::Seat).or_else(|| self.vacant.pop().map(SeatOrContext::CallerContext))
    }
}

/// The seat or caller context of a caller. Its drop gives it back.
struct CallerSeat<'a, E: WorkerEngine> {
    shared: &'a Shared<E>,
    held: SeatOrContext<E>,
}

/// What a caller holds while it works.
enum SeatOrContext<E: WorkerEngine> {
    Seat(usize),
    CallerContext(std::sync::Arc<Shared<E>>),
    /// A caller context in the child of a fork.
    AfterFork(std::sync::Arc<Shared<E>>),
}

impl<'a, E: WorkerEngine> CallerSeat<'a, E> {
    fn new(shared: &'a Shared<E>) -> Self {
        if shared.is_forked() {
            return CallerSeat { shared, held: SeatOrContext::AfterFork(shared.after_fork.take(shared)) };
        }
        let free = { shared.caller_seats.lock().take() };
        let held = free.unwrap_or_else(|| {
            // Without the lock, because this makes a pool and a memory manager, perhaps of another
            // crate.
            let caller_context = shared.caller_context();
            shared.caller_seats.lock().caller_contexts.push(caller_context.clone());
            SeatOrContext::CallerContext(caller_context)
        });
        CallerSeat { shared, held }
    }

    fn worker(&self) -> &Worker<E> {
        match &self.held {
            SeatOrContext::Seat(seat) => self.shared.worker(*seat),
            SeatOrContext::CallerContext(caller_context) | SeatOrContext::AfterFork(caller_context) => {
                caller_context.worker(0)
            }
        }
    }
}

impl<E: WorkerEngine> Drop for CallerSeat<'_, E> {
    fn drop(&mut self) {
        match &self.held {
            SeatOrContext::AfterFork(caller_context) => self.shared.after_fork.give_back(caller_context),
            // The process forked within the closure.
            _ if self.shared.is_forked() => {}
            SeatOrContext::Seat(seat) => self.shared.caller_seats.lock().seats.push(*seat),
            SeatOrContext::CallerContext(caller_context) => {
                self.shared.caller_seats.lock().vacant.push(caller_context.clone())
            }
        }
    }
}
