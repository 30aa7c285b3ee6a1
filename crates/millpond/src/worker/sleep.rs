//! How idle workers sleep, and how others wake them.
//!
//! A seat's state says which calls may wake it. `sleepers` counts the seats that are ASLEEP or
//! about to be.
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
//! A sleeper whose spinning found nothing takes these steps:
//!
//! - S1. It counts itself in `sleepers`, by a SeqCst read-modify-write.
//! - S2. It sets its state to ASLEEP.
//! - S3. It issues a SeqCst fence.
//! - S4. It looks for work once more. If there is work, it swaps its state for AWAKE. If the state
//!   was still ASLEEP, it also uncounts itself.
//! - S5. If there is no work, it blocks until its state is no longer ASLEEP, and swaps it for
//!   AWAKE. If that swap shows CHOSEN, the worker *owes* a look for work. A worker that watches for
//!   unannounced work (`stack::thief::search`) blocks for a limited time only, and then continues
//!   at S4.
//! - S6. The worker owes the look until it takes a task. Instead it may turn to something else: its
//!   inbox, or the end of its own wait. Then it looks for work after that decision and before it
//!   begins. If there is work, it continues as a publisher at P2.
//!
//! A publisher of work for any worker:
//!
//! - P1. makes the work visible (before it calls `work_arrived`);
//! - P2. issues a SeqCst fence;
//! - P3. loads `sleepers`, and is done if the count is 0;
//! - P4. looks for a seat that is ASLEEP, and makes it CHOSEN by a compare-and-swap. Without such a
//!   seat, it is done;
//! - P5. uncounts the seat, and unblocks its thread.
//!
//! A publisher saves the fence if P1 is a SeqCst read-modify-write. It also saves it if a SeqCst
//! load shows that another thread has made the work visible. Then it loads `sleepers` with SeqCst,
//! and continues with P2 only if the count is not 0. If the count is 0, S1 comes later in the
//! single order of these operations, and so does S3. Therefore S4 sees the work.
//!
//! A caller has something for one seat. C1 and C2 are like P1 and P2. C3: if that seat is ASLEEP,
//! the caller makes it CALLED and continues with P5. Otherwise the caller is done.
//!
//! A thread waits only for a call if another thread works in its place (`worker::spares`). Its
//! state is AWAY instead of ASLEEP. It is not counted, and no publisher chooses it. S2 to S5 and C1
//! to C3 hold for it with that state.
//!
//! Why no wake-up is lost, case by case:
//!
//! - **Publishing against going to sleep.** The two fences have an order. If S3 is first, P3 and P4
//!   see the sleeper. If P2 is first, S4 sees the work. The same holds for C3.
//! - **Counted, not yet ASLEEP.** P3 sees 1, and P4 finds no seat. Then P4 did not see S2, so P2 is
//!   before S3, and S4 sees the work. S1 is before S2 so that the count is never below the number
//!   of ASLEEP seats, nor below 0.
//! - **Two publishers, one sleeper.** The compare-and-swap of P4 chooses a seat once. The second
//!   publisher continues with the next ASLEEP seat. If there is none, all chosen seats are awake or
//!   waking, and look for work before they sleep again. Their next S2 is after the state that P4
//!   saw, so their next S4 sees the work.
//! - **Chosen while it finds work itself.** The swap of S4 shows CHOSEN. The sleeper already has
//!   something to do, and it may have been chosen for other work. It passes the wake-up on, as a
//!   publisher from P2 on. (If the swap shows CALLED, the reason is in its inbox, and it is awake.)
//! - **Called after it was chosen.** The inbox may keep the seat busy. A call that finds CHOSEN
//!   takes the choice back (CHOSEN becomes CALLED) and passes the wake-up on. S5 then shows CALLED,
//!   and the worker owes nothing. A call after S5 finds AWAKE and does nothing. Then the worker
//!   owes a look, and looks when it turns to its inbox (S6). A look right after waking does not
//!   suffice, because the message may arrive after it. Unless another worker has taken the work
//!   that the seat was chosen for, the look of S6 sees it. The compare-and-swap of P4 and the swap
//!   of S5 make it visible.
//! - **It takes a task that it was not chosen for.** The publisher of that task chose another seat,
//!   or saw no seat ASLEEP. A seat that falls asleep later sees the remaining work in S4. If one
//!   wake-up announces several tasks, a thief that steals one and sees more passes it on
//!   (`Worker::steal`).
//! - **Woken before it blocks.** P5 comes between S4 and S5. The waker changes the state first and
//!   takes the seat's lock after that. The sleeper reads the state under that lock before it
//!   blocks. Either it reads the change, or P5 sees that it is blocked and notifies it.
//!
//! Only a seat's sleeper and its wakers take the seat's lock. If no worker sleeps, a publisher pays
//! for the fence and for one load, whose cache line all workers then share.

use std::time::Duration;

use crossbeam_utils::CachePadded;

use crate::pool::Pool;
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use crate::sync::atomic::{AtomicUsize, fence};
use crate::sync::{Condvar, Mutex, fence_of_models, global, process};
use spin::spin;

#[cfg(all(test, loom))]
mod loom_tests;
mod spin;
#[cfg(all(test, not(loom)))]
mod tests;

/// What a worker does when it finds no task. This affects how soon a task starts, never the result.
///
/// ```
/// use millpond::{Idle, Runtime, Spawn};
///
/// // This runtime uses no processor time between its scopes.
/// let rt = Runtime::builder().workers(2).idle(Idle::Sleep).build()?;
/// assert_eq!(rt.scope(|s| s.wait(s.spawn((), |()| 42)))??, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Idle {
    /// The worker searches for tasks without a break, and never sleeps. The next task starts
    /// soonest. It costs one core for each worker as long as the runtime lives. (A thread that
    /// waits within a body sleeps after a while, and another thread works in its place.)
    Busy,
    /// The worker searches for tasks for about 50 µs, then sleeps. Tasks that follow each other
    /// closely find it awake. An idle runtime uses no processor time.
    Hybrid,
    /// The worker sleeps at once. Use it on machines that also do other work. Each wake-up costs
    /// the spawner about 10 µs.
    Sleep,
    /// The pool chooses. The default pool chooses [`Hybrid`](Idle::Hybrid). The pools of
    /// [TP](crate#sources) choose [`Sleep`](Idle::Sleep), because the paper's idle threads wait for
    /// a condition variable (§4.1). `dq10` chooses [`Busy`](Idle::Busy).
    #[default]
    ByPool,
}

impl Idle {
    /// What the workers of a pool do. A pool whose puts wake no worker needs awake workers.
    pub(crate) fn under(self, pool: &impl Pool) -> Idle {
        match self {
            _ if pool.waits_busily() => Idle::Busy,
            Idle::ByPool if pool.sleeps_at_once() => Idle::Sleep,
            Idle::ByPool => Idle::Hybrid,
            chosen => chosen,
        }
    }
}

const AWAKE: usize = 0;
const ASLEEP: usize = 1;
const CHOSEN: usize = 2;
const CALLED: usize = 3;
/// Like ASLEEP, but the thread waits for a call only, not for work.
const AWAY: usize = 4;

/// The sleep protocol of one runtime.
#[derive(Debug)]
pub(crate) struct Sleep {
    idle: Idle,
    /// The number of seats that are ASLEEP or about to be.
    sleepers: CachePadded<AtomicUsize>,
    slots: Box<[CachePadded<SleepSlot>]>,
    /// How many sleepers P4 has chosen. Models do not see it.
    wake_ups: global::atomic::AtomicU64,
    /// The fork generation of the process in which the seats have threads.
    generation: u32,
}

/// The sleep of one seat.
#[derive(Debug)]
struct SleepSlot {
    state: AtomicUsize,
    /// Whether the seat's thread is blocked.
    blocked: Mutex<bool>,
    unblock: Condvar,
}

impl Sleep {
    pub(crate) fn new(seats: usize, idle: Idle) -> Sleep {
        let slots = (0..seats).map(|_| CachePadded::new(SleepSlot::new())).collect();
        let (sleepers, wake_ups) = (CachePadded::new(AtomicUsize::new(0)), global::atomic::AtomicU64::new(0));
        Sleep { idle, sleepers, slots, wake_ups, generation: process::generation() }
    }

    /// Call this after work has become visible to all workers. Wakes one sleeping worker, if there
    /// is one.
    #[inline]
    pub(crate) fn work_arrived(&self) {
        fence(SeqCst);
        if self.sleepers.load(Relaxed) != 0 {
            self.wake_one();
        }
    }

    /// Like `work_arrived`, for a publisher whose last step was a SeqCst read-modify-write, or a
    /// SeqCst load, of the work.
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
        // The lowest seat comes first: if there is little work, the same few workers stay warm.
        if let Some(slot) = self.slots.iter().find(|slot| slot.leave(ASLEEP, CHOSEN)) {
            self.wake_ups.fetch_add(1, Relaxed);
            self.unblock(slot);
        }
    }

    /// Call this after something has arrived for this seat alone. Wakes the seat if it sleeps.
    #[inline]
    pub(crate) fn wake(&self, seat: usize) {
        fence(SeqCst);
        if self.slots[seat].state.load(Relaxed) != AWAKE {
            self.call(&self.slots[seat]);
        }
    }

    #[cold]
    #[inline(never)]
    fn call(&self, slot: &SleepSlot) {
        if self.is_forked() {
            return;
        }
        if slot.leave(ASLEEP, CALLED) {
            self.unblock(slot);
        } else if slot.leave(AWAY, CALLED) {
            slot.unblock();
        } else if slot.leave(CHOSEN, CALLED) {
            self.work_arrived();
        }
    }

    /// Whether this process is the child of a fork. No thread sleeps in it, and a thread of the
    /// parent may have held a seat's lock.
    fn is_forked(&self) -> bool {
        process::generation() != self.generation
    }

    /// Wakes all sleepers, for something that the `found` of each of them sees.
    pub(crate) fn wake_all(&self) {
        (0..self.slots.len()).for_each(|seat| self.wake(seat));
    }

    /// P5. The caller has just changed the seat's state from ASLEEP.
    fn unblock(&self, slot: &SleepSlot) {
        self.sleepers.fetch_sub(1, Relaxed);
        slot.unblock();
    }

    /// The worker on `seat` calls this when it has found nothing. Returns when `found` returns
    /// true, or when the seat is woken. `found` must see everything that the seat is woken for, and
    /// must not panic.
    ///
    /// Returns true if the worker owes a look for work (S6).
    pub(crate) fn wait(&self, seat: usize, found: &dyn Fn() -> bool) -> bool {
        self.wait_watching(seat, found, &|| None)
    }

    /// Like `wait`, but the worker blocks at most for the time that `watch` returns, and then looks
    /// again. It calls `watch` after each look that found nothing. Use it for unannounced work.
    pub(crate) fn wait_watching(
        &self,
        seat: usize,
        found: &dyn Fn() -> bool,
        watch: &dyn Fn() -> Option<Duration>,
    ) -> bool {
        if spin(self.idle, found) {
            return false;
        }
        let slot = &*self.slots[seat];
        self.sleepers.fetch_add(1, SeqCst);
        slot.state.store(ASLEEP, Release);
        fence(SeqCst);
        loop {
            if found() {
                self.stay_awake(slot);
                return false;
            }
            if slot.block(watch()) {
                break;
            }
        }
        // This must be a swap: a call may have come after the choice that ended the sleep. The swap
        // makes what the call announces visible.
        slot.state.swap(AWAKE, AcqRel) == CHOSEN
    }

    /// Like `wait`, for a thread that does not look for work. Returns when `found` returns true,
    /// when the seat is called, or after `at_most`.
    pub(crate) fn wait_for_call(&self, seat: usize, found: impl FnOnce() -> bool, at_most: Option<Duration>) {
        let slot = &*self.slots[seat];
        slot.state.store(AWAY, Release);
        fence(SeqCst);
        if !found() {
            slot.block(at_most);
        }
        slot.state.swap(AWAKE, AcqRel);
    }

    /// Looks for a while, like a worker before it sleeps. Returns whether `found` has returned
    /// true. The time is limited even where workers never sleep, because this thread waits and must
    /// lend its seat.
    pub(crate) fn look(&self, found: &dyn Fn() -> bool) -> bool {
        let idle = if self.idle == Idle::Busy { Idle::Hybrid } else { self.idle };
        spin(idle, found)
    }

    /// S4, after the sleeper has found work.
    fn stay_awake(&self, slot: &SleepSlot) {
        match slot.state.swap(AWAKE, AcqRel) {
            ASLEEP => _ = self.sleepers.fetch_sub(1, Relaxed),
            CHOSEN => self.work_arrived(),
            _ => {}
        }
    }

    /// Tells the model that the memory is reused from here on.
    #[cfg(all(test, loom))]
    pub(crate) fn end(&mut self) {
        self.sleepers.with_mut(|_| ());
        for slot in &mut self.slots {
            slot.state.with_mut(|_| ());
        }
    }

    /// Returns a seat that is AWAY and `wanted`, searched from seat `turn` on. The seat may change
    /// its state at any time.
    pub(crate) fn next_away(&self, turn: usize, wanted: impl Fn(usize) -> bool) -> Option<usize> {
        let seats = self.slots.len();
        let away = |&seat: &usize| self.slots[seat].state.load(Relaxed) == AWAY && wanted(seat);
        (0..seats).map(|nth| (turn + nth) % seats).find(away)
    }

    /// How many sleeping workers were woken for work.
    pub(crate) fn wake_ups(&self) -> u64 {
        self.wake_ups.load(Relaxed)
    }

    /// How many workers sleep or are about to sleep.
    pub(crate) fn sleepers(&self) -> usize {
        self.sleepers.load(Relaxed)
    }
}

impl SleepSlot {
    fn new() -> SleepSlot {
        SleepSlot { state: AtomicUsize::new(AWAKE), blocked: Mutex::new(false), unblock: Condvar::default() }
    }

    /// Changes the state from `from` to `to`. Returns whether this call changed it.
    fn leave(&self, from: usize, to: usize) -> bool {
        self.state.load(Relaxed) == from && self.state.compare_exchange(from, to, AcqRel, Relaxed).is_ok()
    }

    /// Blocks until the state is neither ASLEEP nor AWAY. Returns false if `at_most` has passed
    /// first.
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

    /// Makes `block` see that the state has changed.
    fn unblock(&self) {
        let blocked = *self.blocked.lock();
        if blocked {
            self.unblock.notify_one();
        }
    }
}
