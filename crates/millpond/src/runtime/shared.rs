//! What all workers of a runtime share, and who sits where.
//!
//! Seat 0 is for the caller of a scope, who works while it waits; the seats after it are the worker threads'. Further
//! callers at the same time take spare seats. The last seat is nobody's: threads that have none (sessions, doors)
//! spawn through it, one at a time.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;

use super::config::Config;
use super::engine::Engine;
use crate::memory::Memory;
use crate::pool::Pool;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, Condvar, Mutex};
use crate::worker::current::{Enter, Visit, visits, worker_of};
use crate::worker::grain::Kinds;
use crate::worker::sleep::Sleep;
use crate::worker::{Worker, WorkerCounts};

/// Callers of scopes beyond the first that may work at the same time; more wait for a seat.
const SPARE: usize = 4;

pub(crate) struct Shared<E: Engine> {
    pub(crate) config: Config,
    // Before the pool and the memory manager: workers own local parts of both.
    workers: Box<[Worker<E>]>,
    pub(crate) pool: E::Pool,
    pub(crate) memory: E::Memory,
    pub(crate) sleep: Arc<Sleep>,
    pub(crate) kinds: Kinds,
    shut_down: AtomicBool,
    /// The free guest seats.
    guests: Mutex<Vec<usize>>,
    seat_is_free: Condvar,
    front: Mutex<()>,
}

impl<E: Engine> Shared<E> {
    pub(crate) fn new(config: Config) -> std::sync::Arc<Self> {
        // The caller's, the threads' (one more for sessions), the spare ones, the front.
        let seats = 1 + config.workers + SPARE + 1;
        let sleep = Arc::new(Sleep::new(seats, config.idle));
        let (pool, pool_locals) = E::Pool::new(seats);
        let (memory, memory_locals) = E::Memory::new(seats);
        let locals = pool_locals.into_iter().zip(memory_locals).enumerate();
        let workers = locals.map(|(i, (p, m))| Worker::new(i, Arc::clone(&sleep), &config, p, m)).collect();
        let spare = (config.workers + 1..config.workers + 1 + SPARE).rev();
        let guests = Mutex::new(spare.chain([0]).collect());
        let shut_down = AtomicBool::new(false);
        let (kinds, front, seat_is_free) = (Kinds::new(), Mutex::new(()), Condvar::default());
        let this = Shared { config, workers, pool, memory, sleep, kinds, shut_down, guests, seat_is_free, front };
        let this = std::sync::Arc::new(this);
        this.workers.iter().for_each(|worker| worker.attach(NonNull::from(&*this)));
        this
    }

    pub(crate) fn worker(&self, seat: usize) -> &Worker<E> {
        &self.workers[seat]
    }

    pub(crate) fn counts(&self) -> Vec<WorkerCounts> {
        self.workers[..self.config.workers].iter().map(Worker::counts).collect()
    }

    pub(crate) fn is_shut_down(&self) -> bool {
        self.shut_down.load(Ordering::Acquire)
    }

    pub(crate) fn shut_down(&self) {
        self.shut_down.store(true, Ordering::Release);
        self.sleep.wake_all();
    }

    /// Runs `f` as a worker: as the one that this thread is, else on a guest's seat.
    pub(crate) fn enter<R>(&self, f: impl FnOnce(&Worker<E>) -> R) -> R {
        if let Some(worker) = worker_of(self) {
            return f(worker);
        }
        let guest = Guest { shared: self, seat: self.take_seat() };
        let worker = self.worker(guest.seat);
        let _entered = Enter::new(worker);
        let _pinned = super::pin::guest(self, guest.seat);
        // Caught, so that the seat is left in order, by a thread that does not unwind meanwhile.
        let result = catch_unwind(AssertUnwindSafe(|| f(worker)));
        worker.leave_seat();
        result.unwrap_or_else(|payload| resume_unwind(payload))
    }

    /// Runs `f`, which spawns but does not run tasks, as the worker that this thread is, else on the front seat.
    pub(crate) fn visit<R>(&self, f: impl FnOnce(&Worker<E>) -> R) -> R {
        if let Some(worker) = worker_of(self) {
            return f(worker);
        }
        if visits(self) {
            return f(self.front());
        }
        let _guard = self.front.lock();
        let _visit = Visit::new(self);
        let result = catch_unwind(AssertUnwindSafe(|| f(self.front())));
        self.front().leave_tasks();
        result.unwrap_or_else(|payload| resume_unwind(payload))
    }

    /// The seat through which threads spawn that have none.
    fn front(&self) -> &Worker<E> {
        &self.workers[self.workers.len() - 1]
    }

    fn take_seat(&self) -> usize {
        let mut free = self.guests.lock();
        loop {
            if let Some(seat) = free.pop() {
                return seat;
            }
            free = self.seat_is_free.wait(free);
        }
    }

    fn give_seat(&self, seat: usize) {
        self.guests.lock().push(seat);
        self.seat_is_free.notify_one();
    }
}

/// A guest's seat, given back on drop.
struct Guest<'a, E: Engine> {
    shared: &'a Shared<E>,
    seat: usize,
}

impl<E: Engine> Drop for Guest<'_, E> {
    fn drop(&mut self) {
        self.shared.give_seat(self.seat);
    }
}
