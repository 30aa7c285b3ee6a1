//! Spare threads: they work in place of threads that wait inside a body.
//!
//! A body waits on its own thread. Meanwhile that thread runs only what the body waits for, because
//! user code may keep a lock, a borrow or a thread-local across a wait (`stay`). If it finds no
//! such task, the thread *lends its seat*: a spare thread works in its place, at the spare's own
//! seat. When the wait is over, the thread takes its seat back and continues at once. If there is
//! then one spare too many, a spare rests after its task.
//!
//! ```text
//!   spare:    REST ── called by a lender (2) ──▶ UP ── one too many (4) ──▶ REST
//!
//!   surplus = spare threads that are UP − seats that are lent,  never negative
//! ```
//!
//! 1. **Lend, with a surplus**: the lender takes 1 from the surplus, by a compare-and-swap. A spare
//!    that is UP now counts for this seat, and does not rest. It works, or sleeps like a worker
//!    that finds nothing.
//! 2. **Lend, without a surplus**: under the lock, the lender marks a spare UP that rests or was
//!    never started. Then it calls or starts that spare. If there is none, the lender keeps its
//!    seat; `stay` (step 4) says when it suspends its body instead. If the system refuses a thread,
//!    no lender asks for one for 100 ms (`AFTER_REFUSAL`).
//! 3. **Take back**: the lender adds 1 to the surplus, and rings the spares that are UP. They check
//!    step 4 after their task.
//! 4. **Rest**: a spare without suspended bodies takes 1 from the surplus under the lock, if there
//!    is any, and marks itself as resting. It gives away what it holds for others, and sleeps AWAY
//!    (`sleep`) until it is UP again.
//!
//! * A lender that finds neither a surplus nor a resting spare has not missed one. Step 4 takes
//!   from the surplus and adds to the resting spares under the lock. Step 2 takes the same lock,
//!   and checks the surplus once more under it.
//! * While there is a surplus, a spare that sleeps like a worker stays UP. The next lender uses it
//!   without a call (1). If it is woken for work before, it runs one task and then rests (4).
//!   During that task, one thread too many works.
//! * A thread with suspended bodies runs nothing else if it can lend its seat. Only this thread can
//!   resume those bodies, and they may hold locks.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use crate::sync::Mutex;
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::sync::atomic::{AtomicBool, AtomicUsize};

#[cfg(all(test, loom))]
mod loom_tests;

/// The number of spare threads for each worker.
pub(crate) const PER_WORKER: usize = 4;

/// After the system has refused a thread, none is requested for this long. Each refusal costs
/// several system calls.
const AFTER_REFUSAL: Duration = Duration::from_millis(100);

/// The spare threads of a runtime. Their seats are consecutive.
#[derive(Debug)]
pub(crate) struct Spares {
    surplus: CachePadded<AtomicUsize>,
    first_seat: usize,
    /// Which spares are UP, in the order of their seats.
    up: Box<[AtomicBool]>,
    rack: Mutex<Rack>,
}

#[derive(Debug, Default)]
struct Rack {
    resting: Vec<usize>,
    /// How many spares were requested so far: those with the lowest seats.
    started: usize,
    /// Which of these the system has refused, and when the last refusal was.
    refused: Vec<usize>,
    refused_at: Option<Instant>,
    threads: Vec<JoinHandle<()>>,
}

/// Which spare works in place of a lender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taker {
    /// A spare that is already UP.
    Running,
    /// A spare that rests at this seat. The lender must call it.
    Call(usize),
    /// A spare that the lender must start at this seat.
    Start(usize),
    None,
}

impl Spares {
    pub(crate) fn new(first_seat: usize, number: usize) -> Self {
        let up = (0..number).map(|_| AtomicBool::new(false)).collect();
        let rack = Mutex::new(Rack::default());
        Spares { surplus: CachePadded::new(AtomicUsize::new(0)), first_seat, up, rack }
    }

    /// Whether the seat belongs to a spare thread.
    pub(crate) fn has(&self, seat: usize) -> bool {
        (self.first_seat..self.first_seat + self.up.len()).contains(&seat)
    }

    /// Whether there are no spares, because only the calling thread works here: in the child of a
    /// fork (`worker::after_fork`).
    pub(crate) fn are_none(&self) -> bool {
        self.up.is_empty()
    }

    /// Steps 1 and 2.
    pub(crate) fn lend(&self) -> Taker {
        if self.take_surplus() {
            return Taker::Running;
        }
        let mut rack = self.rack.lock();
        if self.take_surplus() {
            return Taker::Running;
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
            None => Taker::None,
        }
    }

    /// Records whether the thread for the seat of the last `Taker::Start` was started.
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

    /// Step 3 without the rings. Returns the seats to ring.
    pub(crate) fn take_back(&self) -> impl Iterator<Item = usize> {
        self.surplus.fetch_add(1, AcqRel);
        let up = self.up.iter().enumerate().filter(|(_, up)| up.load(Relaxed));
        up.map(|(nth, _)| self.first_seat + nth)
    }

    /// Whether more spares are UP than seats are lent.
    pub(crate) fn has_surplus(&self) -> bool {
        self.surplus.load(Relaxed) > 0
    }

    /// Step 4. Returns whether the spare at this seat rests from now on.
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

    /// Whether the seat belongs to a spare that must not work.
    pub(crate) fn rests(&self, seat: usize) -> bool {
        self.has(seat) && !self.is_up(seat)
    }

    /// Whether the spare at this seat must work.
    pub(crate) fn is_up(&self, seat: usize) -> bool {
        self.up[seat - self.first_seat].load(Acquire)
    }

    /// Takes the threads, when the runtime ends.
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
    /// Returns the index of a spare thread to start, below `most`, if there is one.
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
        assert_eq!((spares.lend(), spares.is_up(3)), (Taker::None, false));
        std::thread::sleep(AFTER_REFUSAL);
        assert_eq!((spares.lend(), spares.is_up(3)), (Taker::Start(3), true));
        spares.note_started(3, Some(std::thread::spawn(|| ())));
        assert_eq!(spares.lend(), Taker::None);
        spares.threads().into_iter().for_each(|thread| thread.join().unwrap());
    }
}
