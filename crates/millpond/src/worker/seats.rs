//! What all workers of a runtime share, and who sits where.
//!
//! Seat 0 is for the caller of a scope, who works while it waits; the seats after it are the worker threads', and one
//! more is for the thread that works in a caller's place when sessions have none. Further callers at the same time take
//! guests' seats. Behind those are the seats of spare threads (`worker::spares`). The last seat, the front, is nobody's: threads that have none (sessions, doors) spawn through it, one
//! at a time.
//!
//! # No caller waits for a seat
//!
//! It might wait for itself (a thread that calls one runtime from within another, over and over, is a new caller each
//! time) or for others that wait for it. Who finds all seats taken works in an *annex*: a pool and a memory
//! manager of the same engine with a seat for it, those of spare threads and a front, where its tasks run on its thread and theirs. They can go
//! nowhere else: a task is put where what made it ready was put, and that was a task of the same root scope, its
//! body, or a door of it. Annexes are kept for later callers, and live as long as the runtime, as seats must.
//!
//! A thread goes by the innermost runtime that it works for. The seat that it may hold further out is no use: its
//! worker is in the middle of a body on a stack that cannot be put aside from on top of another runtime's. So before
//! the thread leaves it, that worker lets go of the tasks that only it could find.
//!
//! In the child of a fork every caller works in an annex of that process (`after_fork`).
//!
//! # The front's lock
//!
//! Who holds it waits for nobody. The user's code that runs meanwhile is the `==` of reducers. While it runs the thread
//! is no worker, so that a fork in it runs one half after the other; it opens no scope (`enter`), takes no other front
//! (`visit`), and sits down nowhere (`sit`). What it tries panics, which is caught: the reducers count as unequal. Sinks
//! (`record::delivery`) are held off in the same way, since they are called in the middle of a worker's work.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::Weak;

use crate::depend::tracker::Tracker;
use crate::engine::store::TaskStore;
use crate::engine::{Choices, Engine};
use crate::memory::Memory;
use crate::pool::{Leave, Pool};
use crate::record::Recorder;
use crate::record::live::Live;
use crate::runtime::after_fork::{AfterFork, LOCKS};
use crate::runtime::config::Config;
use crate::runtime::watchdog::{self, Watch};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, Mutex, fork, unique_number};
use crate::worker::current::{self, Enter, Visit, visits, visits_any, worker_of, worker_within};
use crate::worker::grain::Kinds;
use crate::worker::overflow;
use crate::worker::parker::{Benches, Place};
use crate::worker::sleep::{Idle, Sleep};
use crate::worker::spares::{self, Spares, Taker};
use crate::worker::threads;
use crate::worker::{Worker, WorkerCounts};

/// Callers of scopes beyond the first that have seats at the same time; more work in annexes.
const GUESTS: usize = 4;

pub struct Shared<E: Engine> {
    /// Itself, for [`keep`](Shared::keep).
    this: Weak<Shared<E>>,
    pub(crate) config: Config,
    choices: Choices<E>,
    // Before the pool and the memory manager: workers own local parts of both.
    workers: Box<[Worker<E>]>,
    pub(crate) pool: E::Pool,
    pub(crate) memory: E::Memory,
    /// What the scheme keeps.
    pub(crate) scheme: <E::Tracker as Tracker>::Shared,
    pub(crate) sleep: Arc<Sleep>,
    pub(crate) spares: Spares,
    /// What is kept for the tasks of scopes.
    pub(crate) tasks: <E::Tasks as TaskStore<E>>::Shared,
    pub(crate) kinds: Kinds,
    /// Where threads wait that are no workers.
    pub(crate) benches: Benches,
    pub(crate) recorder: Recorder,
    /// The account of unfinished tasks, if there is one.
    live: Option<std::sync::Arc<Live>>,
    /// Which runtime this is, or is an annex of.
    house: u64,
    shut_down: AtomicBool,
    /// In which process it was built (`sync::fork`).
    generation: u32,
    after_fork: AfterFork<E>,
    guests: Mutex<Guests<E>>,
    front: Mutex<()>,
}

/// Where callers may work.
struct Guests<E: Engine> {
    /// The free seats.
    seats: Vec<usize>,
    /// The annexes that nobody works in.
    vacant: Vec<std::sync::Arc<Shared<E>>>,
    /// All annexes.
    annexes: Vec<std::sync::Arc<Shared<E>>>,
}

/// The seats that a runtime has besides the front.
struct Seats {
    /// Those of workers and callers are below this one.
    callers_until: usize,
    /// Those that callers may have, the last one first.
    free: Vec<usize>,
    /// How many are for spare threads.
    spares: usize,
}

impl<E: Engine> Shared<E> {
    pub(crate) fn new(config: Config, choices: Choices<E>) -> std::sync::Arc<Self> {
        E::Tasks::prepare();
        fork::watch(LOCKS);
        overflow::watch();
        let guests = config.workers + 1..config.workers + 1 + GUESTS;
        let spares = spares::PER_WORKER * config.workers;
        let seats = Seats { callers_until: guests.end, free: guests.rev().chain([0]).collect(), spares };
        let recorder = config.recorder.clone().unwrap_or_default();
        let live = config.dumps.then(std::sync::Arc::default);
        Self::with_seats(config, choices, seats, unique_number(), recorder, live)
    }

    /// A place of their own for further callers, one at a time.
    fn annex(&self) -> std::sync::Arc<Self> {
        let (recorder, live) = (self.recorder.clone(), self.live.clone());
        self.annex_with(spares::PER_WORKER, self.config.watch.clone(), recorder, live)
    }

    /// As `annex`, in the child of a fork: without other threads, and without the recorder and the watchdog of the parent. Those
    /// have locks that a thread of the parent may have held, and sinks that write to what the parent has opened.
    pub(crate) fn annex_after_fork(&self) -> std::sync::Arc<Self> {
        self.annex_with(0, None, Recorder::default(), None)
    }

    fn annex_with(
        &self,
        spares: usize,
        watch: Option<std::sync::Arc<Watch>>,
        recorder: Recorder,
        live: Option<std::sync::Arc<Live>>,
    ) -> std::sync::Arc<Self> {
        let inline = self.config.inline.alone();
        let config = Config { workers: 1, pin: false, annex: true, inline, watch, ..self.config.clone() };
        let seats = Seats { callers_until: 1, free: Vec::new(), spares };
        Self::with_seats(config, self.choices.clone(), seats, self.house, recorder, live)
    }

    /// With seats for workers and callers, behind them those of spare threads, and the front last.
    fn with_seats(
        config: Config,
        choices: Choices<E>,
        Seats { callers_until, free, spares }: Seats,
        house: u64,
        recorder: Recorder,
        live: Option<std::sync::Arc<Live>>,
    ) -> std::sync::Arc<Self> {
        let tracker = choices.tracker;
        let seats = callers_until + spares + 1;
        let spares = Spares::new(callers_until, spares);
        let (pool, pool_locals) = E::Pool::with(seats, &choices.pool);
        let idle = if pool.waits_busily() { Idle::Busy } else { config.idle };
        let sleep = Arc::new(Sleep::new(seats, idle));
        let (memory, memory_locals) = E::Memory::with(seats, &choices.memory);
        let locals = pool_locals.into_iter().zip(memory_locals).enumerate();
        let workers =
            locals.map(|(i, (p, m))| Worker::new(i, Arc::clone(&sleep), &config, &recorder, (p, m, tracker.local())));
        let workers: Box<[Worker<E>]> = workers.collect();
        if let Some(live) = &live {
            workers.iter().for_each(|worker| live.expect(worker.log.track()));
        }
        let guests = Mutex::new(Guests { seats: free, vacant: Vec::new(), annexes: Vec::new() });
        let shut_down = AtomicBool::new(false);
        let (kinds, benches, front) = (Kinds::new(), Benches::default(), Mutex::default());
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
            benches,
            recorder,
            live,
            house,
            shut_down,
            generation: fork::generation(),
            after_fork: AfterFork::default(),
            guests,
            front,
        });
        this.workers.iter().for_each(|worker| worker.attach(NonNull::from(&*this)));
        this
    }

    /// Whether a worker that looks might find a task.
    pub(crate) fn has_work(&self) -> bool {
        self.has_tasks() || E::Tasks::may_have_work(self)
    }

    /// Whether there is a task that anybody may take at once.
    pub(crate) fn has_tasks(&self) -> bool {
        self.pool.has_work() || self.choices.tracker.has_ready(&self.scheme)
    }

    /// How to reach the scheme.
    #[inline]
    pub(crate) fn tracker(&self) -> E::Tracker {
        self.choices.tracker
    }

    /// Which runtime this is, or is an annex of.
    pub(crate) fn house(&self) -> u64 {
        self.house
    }

    /// Which parts it has, of those that its type allows.
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

    /// One entry a worker; the first is that of all callers, and of who stands in for them.
    pub(crate) fn counts(&self) -> Vec<WorkerCounts> {
        let (workers, guests) = self.workers.split_at(self.config.workers);
        let mut counts: Vec<_> = workers.iter().map(Worker::counts).collect();
        guests.iter().for_each(|guest| counts[0].add(guest.counts()));
        // In the child of a fork some thread of the parent may have left it locked.
        let guests = if self.is_forked() { self.guests.try_lock() } else { Some(self.guests.lock()) };
        guests.iter().flat_map(|guests| &guests.annexes).for_each(|annex| counts[0].add(annex.counts()[0]));
        counts
    }

    /// Whether the process has forked since this was built, and is the child: its threads do not exist here.
    #[inline]
    pub(crate) fn is_forked(&self) -> bool {
        self.generation != fork::generation()
    }

    /// Bodies that have begun, and what was stolen, as far as this thread sees.
    pub(crate) fn bodies_begun(&self) -> u64 {
        self.workers.iter().map(Worker::counts).map(|counts| counts.tasks + counts.steals).sum()
    }

    /// The watchdog watches, if there is one, until what this returns is dropped.
    pub(crate) fn open_watched(&self) -> Option<watchdog::Open> {
        self.config.watch.as_ref().filter(|_| !self.is_forked()).map(Watch::open)
    }

    pub(crate) fn is_shut_down(&self) -> bool {
        self.shut_down.load(Ordering::Acquire)
    }

    /// Keeps it, whoever drops the runtime meanwhile: for a thread from outside that does what a scope may end by. Called
    /// before, while the scope keeps the runtime.
    pub(crate) fn keep(&self) -> std::sync::Arc<Self> {
        self.this.upgrade().expect("a scope is open, and its runtime is there as long as that")
    }

    pub(crate) fn shut_down(&self) {
        self.shut_down.store(true, Ordering::Release);
        self.sleep.wake_all();
        self.guests.lock().annexes.iter().for_each(|annex| annex.shut_down());
    }

    /// The spare threads that were started, here and in annexes.
    pub(crate) fn spare_threads(&self) -> Vec<std::thread::JoinHandle<()>> {
        let of_annexes: Vec<_> = self.guests.lock().annexes.iter().flat_map(|annex| annex.spares.threads()).collect();
        self.spares.threads().into_iter().chain(of_annexes).collect()
    }

    /// Lets a spare thread work in the place of this one, which waits; false if there is none.
    pub(crate) fn lend(&self) -> bool {
        if self.is_forked() {
            return false;
        }
        match self.spares.lend() {
            Taker::Somebody => true,
            Taker::Call(seat) => {
                self.sleep.wake(seat);
                true
            }
            Taker::Start(seat) => {
                // It keeps a stack from its start on.
                let has_room = threads::has_room_beside(self.config.stack_size);
                let thread = has_room.then(|| crate::runtime::start(&self.keep(), seat).ok()).flatten();
                let is_there = thread.is_some();
                self.spares.note_started(seat, thread);
                is_there
            }
            Taker::Nobody => false,
        }
    }

    /// Runs `f` as a worker: as the one that this thread is, else on a guest's seat, here or in an annex.
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
        // The user's code on a front seat is a comparison of reducers, which is caught. A task of the scope may need
        // the seat, and no other thread sees that this thread, waiting for that task, has it.
        assert!(
            !visits_any(),
            "neither a sink, nor the comparison of two reducers in a spawn on a session, can open a scope"
        );
        // In the child of a fork a worker's own pool may hold what the parent runs.
        if let Some(worker) = worker_within(self).filter(|worker| !worker.shared().is_forked()) {
            return f(worker);
        }
        current::step_back();
        overflow::prepare_thread();
        let guest = Guest::new(self);
        let worker = guest.worker();
        let mut run = || {
            let _entered = Enter::new(worker);
            // Caught, so that the seat is left in order, by a thread that does not unwind meanwhile.
            let result = catch_unwind(AssertUnwindSafe(|| f(worker)));
            if !worker.shared().is_forked() {
                worker.leave_seat();
            }
            result
        };
        // In a task of another runtime there is another log.
        let result = current::with_log(|outer| match outer {
            Some(log) => log.waits_elsewhere(&worker.log, run),
            None => run(),
        });
        result.unwrap_or_else(|payload| resume_unwind(payload));
    }

    /// Runs `f`, which spawns but does not run tasks, as the worker that this thread is, else on the front seat.
    pub(crate) fn visit<R>(&self, f: impl FnOnce(&Worker<E>) -> R) -> R {
        if let Some(worker) = worker_of(self) {
            return f(worker);
        }
        if visits(self) {
            return f(self.front());
        }
        // Two threads that hold a front each and ask for the other's would wait for ever.
        assert!(
            !visits_any(),
            "neither a sink, nor the comparison of two reducers in a spawn on another session, can use a session"
        );
        let _guard = self.front.lock();
        let _visit = Visit::new(self);
        let result = catch_unwind(AssertUnwindSafe(|| f(self.front())));
        self.front().leave_tasks(Leave::Seat);
        result.unwrap_or_else(|payload| resume_unwind(payload))
    }

    /// Runs `f` with a place for this thread to wait at, whether it is a worker or not.
    pub(crate) fn sit<R>(&self, f: impl FnOnce(&Place) -> R) -> R {
        assert!(
            !visits_any(),
            "neither a sink, nor the comparison of two reducers in a spawn on a session, can wait in one"
        );
        if self.is_forked() {
            return Benches::default().sit(self.house, f);
        }
        self.benches.sit(self.house, f)
    }

    /// Where lies what threads spawn that have no seat.
    pub(crate) fn front_seat(&self) -> usize {
        self.workers.len() - 1
    }

    /// The seat through which threads spawn that have none.
    fn front(&self) -> &Worker<E> {
        &self.workers[self.front_seat()]
    }
}

impl<E: Engine> Guests<E> {
    /// A free seat, or else a vacant annex.
    fn take(&mut self) -> Option<Room<E>> {
        self.seats.pop().map(Room::Seat).or_else(|| self.vacant.pop().map(Room::Annex))
    }
}

/// A caller's place, given back on drop.
struct Guest<'a, E: Engine> {
    shared: &'a Shared<E>,
    room: Room<E>,
}

enum Room<E: Engine> {
    Seat(usize),
    Annex(std::sync::Arc<Shared<E>>),
    /// An annex of the child of a fork.
    AfterFork(std::sync::Arc<Shared<E>>),
}

impl<'a, E: Engine> Guest<'a, E> {
    fn new(shared: &'a Shared<E>) -> Self {
        if shared.is_forked() {
            return Guest { shared, room: Room::AfterFork(shared.after_fork.take(shared)) };
        }
        let free = { shared.guests.lock().take() };
        let room = free.unwrap_or_else(|| {
            // Without the lock: a pool and a memory manager of another crate are made here.
            let annex = shared.annex();
            shared.guests.lock().annexes.push(annex.clone());
            Room::Annex(annex)
        });
        Guest { shared, room }
    }

    fn worker(&self) -> &Worker<E> {
        match &self.room {
            Room::Seat(seat) => self.shared.worker(*seat),
            Room::Annex(annex) | Room::AfterFork(annex) => annex.worker(0),
        }
    }
}

impl<E: Engine> Drop for Guest<'_, E> {
    fn drop(&mut self) {
        match &self.room {
            Room::AfterFork(annex) => self.shared.after_fork.give_back(annex),
            // The fork was in the closure.
            _ if self.shared.is_forked() => {}
            Room::Seat(seat) => self.shared.guests.lock().seats.push(*seat),
            Room::Annex(annex) => self.shared.guests.lock().vacant.push(annex.clone()),
        }
    }
}
