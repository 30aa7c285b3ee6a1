//! Waiters: how a suspended body, or the caller of a scope, is told to go on.
//!
//! A waiter belongs to one seat, whose worker alone resumes it; anybody may wake it, once.
//!
//! ```text
//!              park (owner)
//!   RUNNING ───────────────▶ PARKED
//!      │ wake                  │ wake: pushed to the seat's inbox
//!      ▼                       ▼
//!   WOKEN                   WOKEN ───▶ delivered: the seat's worker has popped it, and resumes its fiber
//!
//!              park (owner, abroad)
//!   RUNNING ───────────────▶ ABROAD ── wake ──▶ WOKEN ── the waker has left the seat ──▶ THROUGH
//! ```
//!
//! 1. While the owner still runs (it may run descendants on its own stack), a wake only sets the state.
//! 2. `park` is a compare-and-swap from RUNNING; if it fails the owner was woken and goes on at once.
//! 3. A wake that finds PARKED pushes the waiter to the inbox, then rings the seat. The owner's thread may not have
//!    left the fiber yet; that does no harm, since only that same thread empties the inbox, after it has left.
//! 4. Once parked, the owner goes on only when its seat's worker has taken it from the inbox, not when the state says
//!    WOKEN: between the two the waker still writes to the waiter.
//! 5. After its push a wake touches only the seat. That lives as long as its runtime, and so does a waker that works
//!    for the same one. A future's waker may be any thread: it wakes under a lock that the owner takes before it goes
//!    on (`runtime::external::waker`).
//! 6. A worker that waits for another runtime's tasks is *abroad*: its own runtime may end as soon as it goes on, and
//!    the waker would find no seat to ring. So that waker says when it is through with the seat, in the waiter, as its
//!    very last step; and the owner, resumed, does not go on before. It was resumed in the middle of the waker's push,
//!    so it waits for a few instructions of a thread that runs. An owner that was woken before it parked waits for
//!    nothing: there was no push.
//! 7. The bell is a hint that saves the worker a look at the inbox. It is set after each push and cleared before each
//!    taking. Whoever pushes after a taking has read what that left (both are acquire and release), so its ring
//!    comes after the clearing and stays.

use std::ptr::{self, NonNull};

use super::fiber::Fiber;
use super::sleep::Sleep;
use super::turns;
use crate::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use crate::sync::{Arc, Guarded, yield_thread};

#[cfg(all(test, loom))]
mod loom_tests;

const RUNNING: u32 = 0;
const PARKED: u32 = 1;
const WOKEN: u32 = 2;
const ABROAD: u32 = 3;
const THROUGH: u32 = 4;

/// See the [module](self).
#[derive(Debug)]
pub struct Waiter {
    state: AtomicU32,
    /// Whether it waits for another runtime than its seat's.
    abroad: bool,
    /// Whether it waits for something outside the runtime.
    outside: bool,
    seat: NonNull<Seat>,
    /// The waker's until the push, then the seat's worker's.
    next: Guarded<*mut Waiter>,
    /// A `Fiber` (untyped, as `Worker::shared`).
    fiber: Guarded<Option<NonNull<()>>>,
    /// Set and looked at by the seat's worker only.
    delivered: Guarded<bool>,
}

/// Where others reach one worker.
#[derive(Debug)]
pub(crate) struct Seat {
    inbox: AtomicPtr<Waiter>,
    /// Rung when the worker should leave its work for a moment: the inbox has something.
    bell: AtomicBool,
    index: usize,
    sleep: Arc<Sleep>,
}

impl Seat {
    pub(crate) fn new(index: usize, sleep: Arc<Sleep>) -> Self {
        Seat { inbox: AtomicPtr::default(), bell: AtomicBool::new(false), index, sleep }
    }

    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Whether the worker should leave its work for a moment.
    #[inline]
    pub(crate) fn is_rung(&self) -> bool {
        self.bell.load(Ordering::Relaxed)
    }

    /// Whether somebody waits to be resumed.
    pub(crate) fn has_mail(&self) -> bool {
        !self.inbox.load(Ordering::Acquire).is_null()
    }

    /// Lets the worker leave its work for a moment, if it works.
    pub(crate) fn ring(&self) {
        self.bell.store(true, Ordering::Release);
    }

    fn push(&self, waiter: NonNull<Waiter>) {
        let mut top = self.inbox.load(Ordering::Relaxed);
        loop {
            // SAFETY: a woken waiter stays until it was popped here, and only this push has it.
            unsafe { waiter.as_ref() }.next.set(top);
            let put = self.inbox.compare_exchange_weak(top, waiter.as_ptr(), Ordering::AcqRel, Ordering::Relaxed);
            match put {
                Ok(_) => break,
                Err(now) => top = now,
            }
        }
        self.bell.store(true, Ordering::Release);
        self.sleep.wake(self.index);
    }

    /// Where there is no worker, but one thread that waits: sleeps until its parked waiter was woken.
    pub(crate) fn sleep_until_delivered(&self, waiter: &Waiter) {
        loop {
            self.take_mail(Waiter::deliver);
            if waiter.is_delivered() {
                return;
            }
            // Without a pool there is no work to look for.
            self.sleep.wait(self.index, || self.has_mail());
        }
    }

    /// Takes everybody who waits to be resumed. Only for the seat's worker.
    pub(crate) fn take_mail(&self, mut each: impl FnMut(&Waiter)) {
        // A ring that came after its waiter was taken is still on.
        if !self.is_rung() && !self.has_mail() {
            return;
        }
        self.bell.store(false, Ordering::Relaxed);
        let mut top = self.inbox.swap(ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: a waiter in the inbox stays until its owner goes on, on this thread, later.
        while let Some(waiter) = unsafe { top.as_ref() } {
            top = waiter.next.get();
            each(waiter);
        }
    }
}

impl Waiter {
    /// A waiter on the worker of `seat`, for something that happens in its own runtime.
    pub(crate) fn new(seat: &Seat) -> Self {
        Waiter::at(seat, false, false)
    }

    /// As `new`, for something that happens in another runtime; see `return_home`.
    pub(crate) fn abroad(seat: &Seat) -> Self {
        Waiter::at(seat, true, false)
    }

    /// As `new`, for something outside the runtime: a future.
    pub(crate) fn outside(seat: &Seat) -> Self {
        Waiter::at(seat, false, true)
    }

    fn at(seat: &Seat, abroad: bool, outside: bool) -> Self {
        let state = AtomicU32::new(RUNNING);
        Waiter {
            state,
            abroad,
            outside,
            seat: seat.into(),
            next: Guarded::new(ptr::null_mut()),
            fiber: Guarded::new(None),
            delivered: Guarded::new(false),
        }
    }

    /// Wakes the waiter, which is gone for the caller afterwards.
    pub(crate) fn wake_at(waiter: *mut Waiter) {
        let waiter = NonNull::new(waiter).expect("somebody waits");
        // SAFETY: a waiter is woken once and stays until then.
        let this = unsafe { waiter.as_ref() };
        let seat = this.seat;
        match this.state.swap(WOKEN, Ordering::AcqRel) {
            // SAFETY: the seat lives as long as the runtime; this thread works for it, or keeps the owner from going on
            // (5).
            PARKED => unsafe { seat.as_ref() }.push(waiter),
            ABROAD => {
                // SAFETY: the seat's runtime lives until the owner goes on, which waits for the line below.
                unsafe { seat.as_ref() }.push(waiter);
                this.state.store(THROUGH, Ordering::Release);
            }
            _ => {}
        }
    }

    /// Whether it waits for something outside the runtime.
    pub(crate) fn is_outside(&self) -> bool {
        self.outside
    }

    /// Called by an owner abroad before it goes on: lets the waker leave the seat.
    pub(crate) fn return_home(&self) {
        while self.is_delivered() && self.state.load(Ordering::Acquire) != THROUGH {
            yield_thread();
        }
    }

    /// Whether the waiter was woken. Only for its owner, and only before `park`: afterwards the waker may still have
    /// to push the waiter, so the owner may go on only when it was taken from the inbox.
    pub(crate) fn is_woken(&self) -> bool {
        self.state.load(Ordering::Acquire) == WOKEN
    }

    /// The owner, parked on the thread's own stack, may go on: the waiter was taken from the inbox.
    pub(crate) fn deliver(&self) {
        self.delivered.set(true);
    }

    /// Whether the parked owner may go on.
    pub(crate) fn is_delivered(&self) -> bool {
        self.delivered.get()
    }

    /// The owner is about to leave its stack; false if it was woken, and must not.
    pub(crate) fn park(&self) -> bool {
        turns::park();
        let parked = if self.abroad { ABROAD } else { PARKED };
        self.state.compare_exchange(RUNNING, parked, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// A model's sign that the waiter's memory is used for something else.
    #[cfg(all(test, loom))]
    pub(crate) fn end(&self) {
        self.next.set(ptr::null_mut());
        // SAFETY: loom fails the model if somebody else writes the state without an order between the two.
        unsafe { self.state.unsync_load() };
    }

    /// Where the owner's stack is kept meanwhile.
    pub(crate) fn keep(&self, fiber: NonNull<Fiber>) {
        self.fiber.set(Some(fiber.cast()));
    }

    /// Whether the owner's stack is kept.
    pub(crate) fn has_fiber(&self) -> bool {
        self.fiber.get().is_some()
    }

    /// The owner's stack; `None` if that is the thread's own.
    pub(crate) fn take_fiber(&self) -> Option<NonNull<Fiber>> {
        self.fiber.take().map(NonNull::cast)
    }
}
