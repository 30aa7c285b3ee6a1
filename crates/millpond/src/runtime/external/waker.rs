//! Wakers of bodies that wait for a future.

use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use crate::engine::Engine;
use crate::sync::Mutex;
use crate::worker::Worker;
use crate::worker::wait::Waiter;

/// Wakes one body, again and again, from any thread, for as long as anybody keeps the waker.
#[derive(Debug)]
pub(crate) struct BodyWaker(Mutex<Watch>);

#[derive(Debug)]
struct Watch {
    /// It was woken while nobody waited.
    woken: bool,
    waiter: Option<NonNull<Waiter>>,
}

// SAFETY: the waiter is only reached under the lock, and its body takes it out before it goes on.
unsafe impl Send for Watch {}

impl BodyWaker {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(BodyWaker(Mutex::new(Watch { woken: false, waiter: None })))
    }

    /// The body waits by `wait`; false if it was woken since it last did.
    pub(crate) fn wait_at(&self, waiter: &Waiter, wait: impl FnOnce(&Waiter)) -> bool {
        let watches = self.watch(waiter);
        if watches {
            wait(waiter);
            self.unwatch();
        }
        watches
    }

    /// The body is about to wait; false if it was woken since it last did.
    fn watch(&self, waiter: &Waiter) -> bool {
        let mut watch = self.0.lock();
        if std::mem::take(&mut watch.woken) {
            return false;
        }
        watch.waiter = Some(waiter.into());
        true
    }

    /// The body goes on, and not before a waker that has found it is through with its seat: that is within the lock.
    fn unwatch(&self) {
        let mut watch = self.0.lock();
        watch.waiter = None;
        watch.woken = false;
    }
}

impl Wake for BodyWaker {
    fn wake(self: Arc<Self>) {
        let mut watch = self.0.lock();
        match watch.waiter.take() {
            Some(waiter) => Waiter::wake_at(waiter.as_ptr()),
            None => watch.woken = true,
        }
    }
}

/// Wakes a thread that is no worker.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls a future until it is ready. In between, `wait` returns when the waker was used, or at any time.
pub(crate) fn poll_until_ready<F: Future>(future: F, waker: &Waker, mut wait: impl FnMut()) -> F::Output {
    let mut future = std::pin::pin!(future);
    let mut context = Context::from_waker(waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        wait();
    }
}

impl<E: Engine> Worker<E> {
    /// Polls a future on behalf of a body, which waits by `wait` in between. Panics if it must not wait (`worker::scarce`).
    pub(crate) fn block_on<F: Future>(&self, future: F, wait: impl Fn(&Waiter)) -> F::Output {
        if self.shared().is_forked() {
            // The runtime is not used there.
            return poll_until_ready(future, &Arc::new(Unpark(thread::current())).into(), thread::park);
        }
        let body = BodyWaker::new();
        poll_until_ready(future, &Arc::clone(&body).into(), || {
            if let Some(kind) = self.refuses_wait() {
                panic!("the body {kind}");
            }
            if !body.wait_at(&Waiter::outside(self.seat()), &wait) {
                self.let_others_run();
            }
        })
    }
}
