//! Spare threads: they work in the place of threads that wait inside a body.
//!
//! A body waits on its own thread, which runs nothing meanwhile but what the body waits for, so that user code may keep a
//! lock, a borrow or a thread-local over a wait. When there is nothing of that kind to run, the thread *lends its slot*: a
//! spare thread works instead. The slot comes back when the wait is over. The waiting thread goes on at once; a spare
//! thread that is one too many rests after the task that it runs.
//!
//! ```text
//!   spare:    REST ── called by a lender (2) ──▶ UP ── one too many (4) ──▶ REST
//!
//!   surplus = spare threads that are UP − slots that are lent,  never negative
//! ```
//!
//! 1. **Lend, with a surplus**: take 1 from it, by a compare-and-swap. A spare thread that is UP keeps that slot: it works,
//!    or sleeps as a worker does that finds nothing.
//! 2. **Lend, without**: under the lock, take a spare that rests, or one that was never started, and mark it UP; call it.
//!    If there is none, the lender keeps its slot and suspends the body on a fiber. A thread that the system refuses to start is
//!    asked for again after a while.
//! 3. **Take back**: add 1 to the surplus, and ring the spares that are UP, so that they look at 4 after their task.
//! 4. **Rest**: a spare that keeps no suspended body takes 1 from the surplus under the lock, if there is any, marks itself
//!    as resting, and passes on what it holds for others. It sleeps AWAY (`sleep`) until it is UP again.
//!
//! * A lender that finds neither a surplus nor a resting spare has not missed one: 4 takes from the surplus and adds to those
//!   that rest under the lock, which 2 takes; 2 looks at the surplus once more under it.
//! * A spare that sleeps as a worker stays UP beside a surplus. The next lender uses it without a call (1). If work is
//!   announced to it meanwhile, it runs one task, and rests then (4): one thread more than there are slots, for one task.
//! * A thread that has parked bodies on fibers runs nothing else if it can lend: it is the only one that can resume them, and they
//!   may hold locks.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use crate::sync::Mutex;
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::sync::atomic::{AtomicBool, AtomicUsize};

#[cfg(all(test, loom))]
mod loom_tests;

/// Spare threads for each worker.
pub(crate) const PER_WORKER: usize = 4;

/// For so long no thread is asked for after the system has refused one: each refusal costs some system calls.
const AFTER_REFUSAL: Duration = Duration::from_millis(100);

/// The spare threads of a runtime, by their seats, which follow one another.
#[derive(Debug)]
pub(crate) struct Spares {
    surplus: CachePadded<AtomicUsize>,
    first_seat: usize,
    /// Which are UP, in the order of the seats.
    up: Box<[AtomicBool]>,
    rack: Mutex<Rack>,
}

#[derive(Debug, Default)]
struct Rack {
    resting: Vec<usize>,
    /// How many were asked for, those with the lowest seats.
    started: usize,
    /// Which of them the system has refused, and when it did so last.
    refused: Vec<usize>,
    refused_at: Option<Instant>,
    threads: Vec<JoinHandle<()>>,
}

/// Who takes a slot that is lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taker {
    /// One that is up.
    Somebody,
    /// One that rests, at this seat, and is to be called.
    Call(usize),
    /// One that is to be started, at this seat.
    Start(usize),
    Nobody,
}

impl Spares {
    pub(crate) fn new(first_seat: usize, number: usize) -> Self {
        let up = (0..number).map(|_| AtomicBool::new(false)).collect();
        let rack = Mutex::new(Rack::default());
        Spares { surplus: CachePadded::new(AtomicUsize::new(0)), first_seat, up, rack }
    }

    /// Whether a seat is a spare thread's.
    pub(crate) fn has(&self, seat: usize) -> bool {
        (self.first_seat..self.first_seat + self.up.len()).contains(&seat)
    }

    /// Whether there are none, since no thread but the caller works here: in the child of a fork (`runtime::after_fork`).
    pub(crate) fn are_none(&self) -> bool {
        self.up.is_empty()
    }

    /// Steps 1 and 2.
    pub(crate) fn lend(&self) -> Taker {
        if self.take_surplus() {
            return Taker::Somebody;
        }
        let mut rack = self.rack.lock();
        if self.take_surplus() {
            return Taker::Somebody;
        }
        if let Some(seat) = rack.resting.pop() {
            self.up[seat - self.first_seat].store(true, Release);
            return Taker::Call(seat);
        }
        match rack.next_start(self.up.len()) {
            Some(nth) => {
                self.up[nth].store(true, Release);
                Taker::Start(self.first_seat + nth)
            }
            None => Taker::Nobody,
        }
    }

    /// The thread for the seat that `lend` has named last was started, or could not be.
    pub(crate) fn note_started(&self, seat: usize, thread: Option<JoinHandle<()>>) {
        let mut rack = self.rack.lock();
        match thread {
            Some(thread) => rack.threads.push(thread),
            None => {
                self.up[seat - self.first_seat].store(false, Relaxed);
                rack.refused.push(seat - self.first_seat);
                rack.refused_at = Some(Instant::now());
            }
        }
    }

    /// Step 3, but for the rings: the seats to ring.
    pub(crate) fn take_back(&self) -> impl Iterator<Item = usize> {
        self.surplus.fetch_add(1, AcqRel);
        let up = self.up.iter().enumerate().filter(|(_, up)| up.load(Relaxed));
        up.map(|(nth, _)| self.first_seat + nth)
    }

    /// Whether there are more than are wanted.
    pub(crate) fn has_surplus(&self) -> bool {
        self.surplus.load(Relaxed) > 0
    }

    /// Step 4: whether the spare at this seat rests from now on.
    pub(crate) fn rest(&self, seat: usize) -> bool {
        if !self.has_surplus() {
            return false;
        }
        let mut rack = self.rack.lock();
        if !self.take_surplus() {
            return false;
        }
        self.up[seat - self.first_seat].store(false, Relaxed);
        rack.resting.push(seat);
        true
    }

    /// Whether a seat is that of a spare which is not to work.
    pub(crate) fn rests(&self, seat: usize) -> bool {
        self.has(seat) && !self.is_up(seat)
    }

    /// Whether the spare at this seat is to work.
    pub(crate) fn is_up(&self, seat: usize) -> bool {
        self.up[seat - self.first_seat].load(Acquire)
    }

    /// The threads, when the runtime ends.
    pub(crate) fn threads(&self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut self.rack.lock().threads)
    }

    fn take_surplus(&self) -> bool {
        let mut surplus = self.surplus.load(Relaxed);
        while surplus > 0 {
            match self.surplus.compare_exchange_weak(surplus, surplus - 1, AcqRel, Relaxed) {
                Ok(_) => return true,
                Err(now) => surplus = now,
            }
        }
        false
    }
}

impl Rack {
    /// The number of a spare thread that is to be started, if there is one, of so many.
    fn next_start(&mut self, most: usize) -> Option<usize> {
        if self.refused_at.is_some_and(|at| at.elapsed() < AFTER_REFUSAL) {
            return None;
        }
        if let Some(nth) = self.refused.pop() {
            return Some(nth);
        }
        let next = self.started;
        (next < most).then(|| {
            self.started += 1;
            next
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_the_system_has_refused_is_asked_for_again_after_a_while() {
        let spares = Spares::new(3, 1);
        assert_eq!(spares.lend(), Taker::Start(3));
        spares.note_started(3, None);
        assert_eq!((spares.lend(), spares.is_up(3)), (Taker::Nobody, false));
        std::thread::sleep(AFTER_REFUSAL);
        assert_eq!((spares.lend(), spares.is_up(3)), (Taker::Start(3), true));
        spares.note_started(3, Some(std::thread::spawn(|| ())));
        assert_eq!(spares.lend(), Taker::Nobody);
        spares.threads().into_iter().for_each(|thread| thread.join().unwrap());
    }
}
