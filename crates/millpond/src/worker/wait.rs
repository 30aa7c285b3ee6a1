//! Waiters: how a suspended body, or the caller of a scope, is told to continue.
//!
//! A waiter belongs to one seat. Only that seat's worker resumes it. Any thread may wake it, once.
//! Other threads reach the worker through its *mailbox*.
//!
//! ```text
//!              park (owner)
//!   RUNNING ───────────────▶ PARKED
//!      │ wake                  │ wake: pushed to the inbox
//!      ▼                       ▼
//!   WOKEN                   WOKEN ───▶ delivered: the seat's worker has popped it, and resumes its fiber
//!
//!              park (owner, abroad)
//!   RUNNING ───────────────▶ ABROAD ── wake ──▶ WOKEN ── the waker has left the mailbox ──▶ THROUGH
//! ```
//!
//! 1. While the owner still runs (perhaps descendants on its own stack), a wake only sets the
//!    state.
//! 2. `park` is a compare-and-swap from RUNNING. If it fails, the owner was woken and continues at
//!    once.
//! 3. A wake that finds PARKED pushes the waiter to the inbox, then rings the bell. The owner's
//!    thread may not have left the fiber yet. This does no harm: only that thread empties the
//!    inbox, after it has left the fiber.
//! 4. A parked owner continues only after its seat's worker has taken the waiter from the inbox.
//!    WOKEN alone does not suffice, because the waker still writes to the waiter until its push.
//! 5. After its push, a waker touches only the mailbox. The mailbox lives as long as its runtime,
//!    and so does a waker that works for the same runtime. The waker of a future may be any thread;
//!    it wakes under a lock that the owner takes before it continues (`runtime::external::waker`).
//! 6. A worker that waits for another runtime's tasks is *abroad*. Its own runtime may end as soon
//!    as the worker continues, and the waker would then find no mailbox. So that waker records in
//!    the waiter, as its very last step, that it has left the mailbox. The resumed owner does not
//!    continue before. It was resumed in the middle of the waker's push, so it waits for a few
//!    instructions of a running thread. After a wake before `park` there was no push, so the owner
//!    waits for nothing.
//! 7. The bell is a hint that saves the worker a check of the inbox. A waker sets it after each
//!    push. The worker clears it before each taking of the inbox. A waker that pushes after a
//!    taking has read what that taking left (both operations are acquire and release). So its ring
//!    comes after the clearing, and remains set.

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
    /// Whether it waits for a runtime other than its seat's runtime.
    abroad: bool,
    /// Whether it waits for something outside the runtime.
    outside: bool,
    mailbox: NonNull<Mailbox>,
    /// The waker owns this until the push. After the push, the seat's worker owns it.
    next: Guarded<*mut Waiter>,
    /// The `Fiber` that holds the owner's stack (untyped, like `Worker::shared`).
    fiber: Guarded<Option<NonNull<()>>>,
    /// Only the seat's worker reads and writes this.
    delivered: Guarded<bool>,
}

/// Where other threads reach one worker.
#[derive(Debug)]
pub(crate) struct Mailbox {
    inbox: AtomicPtr<Waiter>,
    /// Set when the worker should interrupt its work, for example for its inbox.
    bell: AtomicBool,
    index: usize,
    sleep: Arc<Sleep>,
}

impl Mailbox {
    pub(crate) fn new(index: usize, sleep: Arc<Sleep>) -> Self {
        Mailbox { inbox: AtomicPtr::default(), bell: AtomicBool::new(false), index, sleep }
    }

    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Whether the worker should interrupt its work.
    #[inline]
    pub(crate) fn is_rung(&self) -> bool {
        self.bell.load(Ordering::Relaxed)
    }

    /// Whether a waiter in the inbox is to be resumed.
    pub(crate) fn has_mail(&self) -> bool {
        !self.inbox.load(Ordering::Acquire).is_null()
    }

    /// Asks the worker to interrupt its work, if it works.
    pub(crate) fn ring(&self) {
        self.bell.store(true, Ordering::Release);
    }

    fn push(&self, waiter: NonNull<Waiter>) {
        let mut top = self.inbox.load(Ordering::Relaxed);
        loop {
            // SAFETY: a woken waiter remains valid until the worker pops it here, and only this
            // push has it.
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

    /// For a mailbox without a worker, on which one thread waits. Sleeps until its parked waiter is
    /// delivered.
    pub(crate) fn sleep_until_delivered(&self, waiter: &Waiter) {
        loop {
            self.take_mail(Waiter::deliver);
            if waiter.is_delivered() {
                return;
            }
            // Without a pool there is no work to find.
            self.sleep.wait(self.index, &|| self.has_mail());
        }
    }

    /// Takes all waiters that are to be resumed. Only the seat's worker may call this.
    pub(crate) fn take_mail(&self, mut each: impl FnMut(&Waiter)) {
        // A ring that came after its waiter was taken is still set.
        if !self.is_rung() && !self.has_mail() {
            return;
        }
        self.bell.store(false, Ordering::Relaxed);
        let mut top = self.inbox.swap(ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: a waiter in the inbox remains valid until its owner continues, later, on this
        // thread.
        while let Some(waiter) = unsafe { top.as_ref() } {
            top = waiter.next.get();
            each(waiter);
        }
    }
}

impl Waiter {
    /// Returns a waiter on the worker of `mailbox`, for an event in the worker's own runtime.
    pub(crate) fn new(mailbox: &Mailbox) -> Self {
        Waiter::at(mailbox, false, false)
    }

    /// Like `new`, for an event in another runtime. See `return_home`.
    pub(crate) fn abroad(mailbox: &Mailbox) -> Self {
        Waiter::at(mailbox, true, false)
    }

    /// Like `new`, for an event outside the runtime: a future.
    pub(crate) fn outside(mailbox: &Mailbox) -> Self {
        Waiter::at(mailbox, false, true)
    }

    fn at(mailbox: &Mailbox, abroad: bool, outside: bool) -> Self {
        let state = AtomicU32::new(RUNNING);
        Waiter {
            state,
            abroad,
            outside,
            mailbox: mailbox.into(),
            next: Guarded::new(ptr::null_mut()),
            fiber: Guarded::new(None),
            delivered: Guarded::new(false),
        }
    }

    /// Wakes the waiter. The caller must not use the waiter afterwards.
    pub(crate) fn wake_at(waiter: *mut Waiter) {
        let waiter = NonNull::new(waiter).expect("there is a waiter");
        // SAFETY: a waiter is woken once, and remains valid until then.
        let this = unsafe { waiter.as_ref() };
        let mailbox = this.mailbox;
        match this.state.swap(WOKEN, Ordering::AcqRel) {
            // SAFETY: the mailbox lives as long as the runtime. This thread works for that runtime,
            // or keeps the owner from continuing (5).
            PARKED => unsafe { mailbox.as_ref() }.push(waiter),
            ABROAD => {
                // SAFETY: the mailbox's runtime lives until the owner continues, and the owner
                // waits for the store below.
                unsafe { mailbox.as_ref() }.push(waiter);
                this.state.store(THROUGH, Ordering::Release);
            }
            _ => {}
        }
    }

    /// Whether it waits for something outside the runtime.
    pub(crate) fn is_outside(&self) -> bool {
        self.outside
    }

    /// An owner abroad calls this before it continues. It waits until the waker has left the
    /// mailbox.
    pub(crate) fn return_home(&self) {
        while self.is_delivered() && self.state.load(Ordering::Acquire) != THROUGH {
            yield_thread();
        }
    }

    /// Whether the waiter was woken. Only the owner may call this, and only before `park`: after
    /// it, the waker may still have to push the waiter (4).
    pub(crate) fn is_woken(&self) -> bool {
        self.state.load(Ordering::Acquire) == WOKEN
    }

    /// Marks the waiter as taken from the inbox. An owner parked on the thread's own stack may then
    /// continue.
    pub(crate) fn deliver(&self) {
        self.delivered.set(true);
    }

    /// Whether the parked owner may continue.
    pub(crate) fn is_delivered(&self) -> bool {
        self.delivered.get()
    }

    /// The owner calls this when it is about to leave its stack. Returns false if it was woken and
    /// must not leave.
    pub(crate) fn park(&self) -> bool {
        turns::park();
        let parked = if self.abroad { ABROAD } else { PARKED };
        self.state.compare_exchange(RUNNING, parked, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Tells the model that the waiter's memory is reused from here on.
    #[cfg(all(test, loom))]
    pub(crate) fn end(&self) {
        self.next.set(ptr::null_mut());
        // SAFETY: if another thread writes the state without an order between the two accesses,
        // loom fails the model.
        unsafe { self.state.unsync_load() };
    }

    /// Stores the fiber that holds the owner's stack while the owner waits.
    pub(crate) fn keep(&self, fiber: NonNull<Fiber>) {
        self.fiber.set(Some(fiber.cast()));
    }

    /// Whether a fiber is stored.
    pub(crate) fn has_fiber(&self) -> bool {
        self.fiber.get().is_some()
    }

    /// Takes the stored fiber. `None` if the owner waits on the thread's own stack.
    pub(crate) fn take_fiber(&self) -> Option<NonNull<Fiber>> {
        self.fiber.take().map(NonNull::cast)
    }
}
