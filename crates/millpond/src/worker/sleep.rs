//! How idle workers sleep, and how they are woken.
//!
//! A seat's state says who may wake it; `sleepers` counts the seats that are ASLEEP or about to be.
//!
//! ```text
//!              sleeper registers              work_arrived               wake
//!     AWAKE ----------------------> ASLEEP -----------------> CHOSEN ------------> CALLED
//!       ^                             | |                       |                     ^
//!       |      found work itself      | |        wake           |                     |
//!       |<----------------------------+ +---------------------- | --------------------+
//!       |      sleeper saw that it was woken: it owes a look    |      ... nothing    |
//!       +<------------------------------------------------------+---------------------+
//! ```
//!
//! The sleeper, with nothing found after its spinning:
//!
//! - S1. counts itself in `sleepers`, by a SeqCst read-modify-write;
//! - S2. sets its state to ASLEEP;
//! - S3. SeqCst fence;
//! - S4. looks for work once more. If there is some, it swaps its state for AWAKE, and uncounts itself if that was
//!   still ASLEEP;
//! - S5. else blocks until its state is no longer ASLEEP, and swaps it for AWAKE. If that shows CHOSEN, it *owes* a
//!   look for work. If it watches for what nobody announces (`stack::thief::search`), it goes back to S4 after a time.
//! - S6. Its worker owes until it takes a task. If it turns to something else (what lies in its inbox, or that for
//!   which it waited has come to pass), it looks whether there is work, after it has decided so and before it begins;
//!   if there is, it goes on as a publisher from P2 on.
//!
//! A publisher, with work that anybody may take:
//!
//! - P1. makes the work visible (before it calls);
//! - P2. SeqCst fence;
//! - P3. loads `sleepers`; done if it is 0;
//! - P4. looks for a seat that is ASLEEP and makes it CHOSEN by a compare-and-swap; done if there is none;
//! - P5. uncounts it, and unblocks its thread.
//!
//! Where P1 is a SeqCst read-modify-write, or finds by a SeqCst load that another one has made the work visible, a fence is
//! saved: the publisher loads `sleepers`, SeqCst, and goes on with P2 only if that is not 0. If it is 0, S1 comes later in
//! the one order of these operations, and so does S3: S4 sees the work.
//!
//! A caller, with something for one seat: C1 and C2 as P1 and P2; C3. makes that seat CALLED if it is ASLEEP, and goes
//! on as P5; done if it is not.
//!
//! A thread that waits for a call alone, since another one works in its place (`worker::spares`), is AWAY instead of ASLEEP:
//! it is not counted, and no publisher chooses it. For it S2 to S5 and C1 to C3 hold with that state.
//!
//! Why no wake-up is lost, and what makes it awkward:
//!
//! - **Publishing against going to sleep.** The two fences have an order. If S3 is first, P3 and P4 see the sleeper; if
//!   P2 is first, S4 sees the work. The same holds for C3.
//! - **Counted, not yet ASLEEP.** P3 sees 1 and P4 finds nobody. Then P4 did not see S2, so P2 is before S3: S4 sees
//!   the work. S1 is before S2 so that the count is never below the number of ASLEEP seats, nor below 0.
//! - **Two publishers, one sleeper.** The compare-and-swap of P4 chooses a seat once. The second publisher goes on to
//!   the next ASLEEP seat. If there is none, the chosen seats, which are all awake or waking, look for work before they
//!   sleep again: their next S2 is after the state that P4 saw, so their next S4 sees the work.
//! - **Chosen while it finds work itself.** The swap of S4 shows CHOSEN: the sleeper has something
//!   to do already, and the work it was chosen for may be something else. It passes the wake-up on, as a publisher from
//!   P2 on. (If it shows CALLED, what it was called for is in its inbox, and it is awake.)
//! - **Called after it was chosen.** The seat may be kept busy by its inbox. A call that finds CHOSEN takes the choice
//!   back (CHOSEN becomes CALLED) and passes the wake-up on; S5 shows CALLED, and nothing is owed. A call that comes
//!   after S5 finds AWAKE and does nothing; but the worker owes, and looks when it turns to its inbox (S6). A look on
//!   waking would not do: the message may come right after it. The look sees the work that the seat was chosen for, by
//!   the compare-and-swap of P4 and the swap of S5, unless somebody has taken it.
//! - **It takes a task that it was not chosen for.** The publisher of that one chose another seat, or saw none ASLEEP;
//!   and a seat that falls asleep later sees in S4 what was left. Where one wake-up was given for several tasks, who
//!   steals one and sees more passes the wake-up on (`Worker::steal`).
//! - **Woken before it blocks.** P5 comes between S4 and S5. The state is changed first and read under the seat's lock
//!   before blocking; P5 takes that lock after the change. Either the sleeper reads the change, or P5 sees that it is
//!   blocked and notifies it.
//!
//! Nobody takes a seat's lock but its sleeper and those who wake it. With no sleeper a publisher pays the fence and a
//! load of a line that is then shared by all.

use std::time::Duration;

use crossbeam_utils::CachePadded;

use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use crate::sync::atomic::{AtomicUsize, fence};
use crate::sync::{Condvar, Mutex, fence_of_models, fork};
use spin::spin;

#[cfg(all(test, loom))]
mod loom_tests;
mod spin;
#[cfg(all(test, not(loom)))]
mod tests;

/// What a worker does that finds no task. It changes how soon a task starts, never the result.
///
/// ```
/// use millpond::{Idle, Runtime, Spawn};
///
/// // A runtime beside the program's main work: it takes no processor time between its scopes.
/// let rt = Runtime::builder().workers(2).idle(Idle::Sleep).build()?;
/// assert_eq!(rt.scope(|s| s.wait(s.spawn((), |()| 42)))??, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Idle {
    /// It keeps looking and never sleeps: the shortest way to the next task, at the price of a core for each worker
    /// as long as the runtime lives. (A thread that waits within a body sleeps after a while. Then another works in its place.)
    Busy,
    /// It looks for about 50 µs, then sleeps: tasks that follow each other closely find it awake, and an idle runtime
    /// uses no processor time.
    #[default]
    Hybrid,
    /// It sleeps at once: for machines that are shared with other work. Every wake-up costs its spawner some 10 µs.
    Sleep,
}

const AWAKE: usize = 0;
const ASLEEP: usize = 1;
const CHOSEN: usize = 2;
const CALLED: usize = 3;
/// As ASLEEP, but not for work.
const AWAY: usize = 4;

/// The sleep protocol of one runtime.
#[derive(Debug)]
pub(crate) struct Sleep {
    idle: Idle,
    /// Seats that are ASLEEP or about to be.
    sleepers: CachePadded<AtomicUsize>,
    seats: Box<[CachePadded<Seat>]>,
    /// In which process the seats have threads.
    generation: u32,
}

#[derive(Debug)]
struct Seat {
    state: AtomicUsize,
    /// Whether its thread is blocked.
    blocked: Mutex<bool>,
    unblock: Condvar,
}

impl Sleep {
    pub(crate) fn new(seats: usize, idle: Idle) -> Sleep {
        let seats = (0..seats).map(|_| CachePadded::new(Seat::new())).collect();
        Sleep { idle, sleepers: CachePadded::new(AtomicUsize::new(0)), seats, generation: fork::generation() }
    }

    /// Work has become visible to all: wakes one worker if one sleeps.
    #[inline]
    pub(crate) fn work_arrived(&self) {
        fence(SeqCst);
        if self.sleepers.load(Relaxed) != 0 {
            self.wake_one();
        }
    }

    /// As `work_arrived`, by a publisher whose last step was a SeqCst read-modify-write, or load, of the work.
    #[inline]
    pub(crate) fn work_arrived_in_order(&self) {
        fence_of_models();
        if self.sleepers.load(SeqCst) != 0 {
            self.work_arrived();
        }
    }

    #[cold]
    #[inline(never)]
    fn wake_one(&self) {
        if self.is_forked() {
            return;
        }
        // The lowest seat first, so that with little work the same few workers keep warm.
        if let Some(seat) = self.seats.iter().find(|seat| seat.leave(ASLEEP, CHOSEN)) {
            self.unblock(seat);
        }
    }

    /// Something has arrived that this seat alone can take: wakes it if it sleeps.
    #[inline]
    pub(crate) fn wake(&self, seat: usize) {
        fence(SeqCst);
        if self.seats[seat].state.load(Relaxed) != AWAKE {
            self.call(&self.seats[seat]);
        }
    }

    #[cold]
    #[inline(never)]
    fn call(&self, seat: &Seat) {
        if self.is_forked() {
            return;
        }
        if seat.leave(ASLEEP, CALLED) {
            self.unblock(seat);
        } else if seat.leave(AWAY, CALLED) {
            seat.unblock();
        } else if seat.leave(CHOSEN, CALLED) {
            self.work_arrived();
        }
    }

    /// Whether this is the child of a fork: no thread sleeps here, and one of the parent may have held a seat's lock.
    fn is_forked(&self) -> bool {
        fork::generation() != self.generation
    }

    /// Wakes all that sleep, for something that everybody's `found` sees.
    pub(crate) fn wake_all(&self) {
        (0..self.seats.len()).for_each(|seat| self.wake(seat));
    }

    /// P5: the caller has just taken the seat out of ASLEEP.
    fn unblock(&self, seat: &Seat) {
        self.sleepers.fetch_sub(1, Relaxed);
        seat.unblock();
    }

    /// Called by the worker on `seat` when it found nothing: returns when `found` says that there is something, or
    /// when the seat is woken. Whatever the seat is woken for, `found` must see. It must not panic.
    ///
    /// True if the worker owes a look for work (S6).
    pub(crate) fn wait(&self, seat: usize, found: impl FnMut() -> bool) -> bool {
        self.wait_watching(seat, found, || None)
    }

    /// As `wait`, by a worker that looks again after the time that `watch` says, asked after a look in vain: for what nobody
    /// announces.
    pub(crate) fn wait_watching(
        &self,
        seat: usize,
        mut found: impl FnMut() -> bool,
        mut watch: impl FnMut() -> Option<Duration>,
    ) -> bool {
        if spin(self.idle, &mut found) {
            return false;
        }
        let seat = &*self.seats[seat];
        self.sleepers.fetch_add(1, SeqCst);
        seat.state.store(ASLEEP, Release);
        fence(SeqCst);
        loop {
            if found() {
                self.stay_awake(seat);
                return false;
            }
            if seat.block(watch()) {
                break;
            }
        }
        // A swap, since a call may have come after the choice that ended the sleep: what it announces is visible.
        seat.state.swap(AWAKE, AcqRel) == CHOSEN
    }

    /// As `wait`, by a thread that does not look for work: returns when `found` says that there is something, when the seat
    /// is called, or after `at_most`.
    pub(crate) fn wait_for_call(&self, seat: usize, found: impl FnOnce() -> bool, at_most: Option<Duration>) {
        let seat = &*self.seats[seat];
        seat.state.store(AWAY, Release);
        fence(SeqCst);
        if !found() {
            seat.block(at_most);
        }
        seat.state.swap(AWAKE, AcqRel);
    }

    /// Looks for a while, as a worker does before it sleeps; whether `found` has said that there is something. Not for ever where
    /// workers never sleep: this thread waits, and must lend its slot.
    pub(crate) fn look(&self, mut found: impl FnMut() -> bool) -> bool {
        let idle = if self.idle == Idle::Busy { Idle::Hybrid } else { self.idle };
        spin(idle, &mut found)
    }

    /// S4 with work found.
    fn stay_awake(&self, seat: &Seat) {
        match seat.state.swap(AWAKE, AcqRel) {
            ASLEEP => _ = self.sleepers.fetch_sub(1, Relaxed),
            CHOSEN => self.work_arrived(),
            _ => {}
        }
    }

    /// A model's sign that the memory is used for something else.
    #[cfg(all(test, loom))]
    pub(crate) fn end(&mut self) {
        self.sleepers.with_mut(|_| ());
        for seat in &mut self.seats {
            seat.state.with_mut(|_| ());
        }
    }

    /// A seat whose thread waits for a call alone, perhaps, and that is `wanted`: by turns another one.
    pub(crate) fn next_away(&self, turn: usize, wanted: impl Fn(usize) -> bool) -> Option<usize> {
        let seats = self.seats.len();
        let away = |&seat: &usize| self.seats[seat].state.load(Relaxed) == AWAY && wanted(seat);
        (0..seats).map(|nth| (turn + nth) % seats).find(away)
    }

    /// How many workers sleep or are about to.
    pub(crate) fn sleepers(&self) -> usize {
        self.sleepers.load(Relaxed)
    }
}

impl Seat {
    fn new() -> Seat {
        Seat { state: AtomicUsize::new(AWAKE), blocked: Mutex::new(false), unblock: Condvar::default() }
    }

    /// Whether this call took the seat from one state to the other.
    fn leave(&self, from: usize, to: usize) -> bool {
        self.state.load(Relaxed) == from && self.state.compare_exchange(from, to, AcqRel, Relaxed).is_ok()
    }

    /// Returns once the state is neither ASLEEP nor AWAY; false if that is so after `at_most`.
    fn block(&self, at_most: Option<Duration>) -> bool {
        let mut blocked = self.blocked.lock();
        let mut woken = true;
        while woken && [ASLEEP, AWAY].contains(&self.state.load(Acquire)) {
            *blocked = true;
            (blocked, woken) = match at_most {
                None => (self.unblock.wait(blocked), true),
                Some(at_most) => self.unblock.wait_for(blocked, at_most),
            };
        }
        *blocked = false;
        woken
    }

    /// Lets `block` see that the state has changed.
    fn unblock(&self) {
        let blocked = *self.blocked.lock();
        if blocked {
            self.unblock.notify_one();
        }
    }
}
