//! Wakers of bodies waiting for a future.

use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use crate::sync::Mutex;
use crate::worker::Worker;
use crate::worker::engine::WorkerEngine;
use crate::worker::wait::Waiter;

/// Wakes one body, any number of times, from any thread, as long as a waker exists.
#[derive(Debug)]
pub(crate) struct BodyWaker(Mutex<Watch>);

#[derive(Debug)]
struct Watch {
    /// The body was woken while it did not wait.
    woken: bool,
    waiter: Option<NonNull<Waiter>>,
}

// SAFETY: the waiter is only reached under the lock, and its body takes it out before it continues.
unsafe impl Send for Watch {}

impl BodyWaker {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(BodyWaker(Mutex::new(Watch { woken: false, waiter: None })))
    }

    /// The body waits by `wait`. Returns false if it was woken since its last wait.
    pub(crate) fn wait_at(&self, waiter: &Waiter, wait: impl FnOnce(&Waiter)) -> bool {
        let watches = self.watch(waiter);
        if watches {
            wait(waiter);
            self.unwatch();
        }
        watches
    }

    /// The body is about to wait. Returns false if it was woken since its last wait.
    fn watch(&self, waiter: &Waiter) -> bool {
        let mut watch = self.0.lock();
        if std::mem::take(&mut watch.woken) {
            return false;
        }
        watch.waiter = Some(waiter.into());
        true
    }

    /// The body continues. A waker that found the waiter uses its seat under the lock, so it has
    /// finished by then.
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

/// Wakes a thread that is not a worker.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls a future until it is ready. Between polls it calls `wait`, which returns when the waker
/// was used, or at any time.
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

impl<E: WorkerEngine> Worker<E> {
    /// Polls a future for a body, which waits by `wait` between polls. Panics if the body must not
    /// wait (`worker::scarce`).
    pub(crate) fn block_on<F: Future>(&self, future: F, wait: impl Fn(&Waiter)) -> F::Output {
        if self.shared().is_forked() {
            // A forked child does not use the runtime.
            return poll_until_ready(future, &Arc::new(Unpark(thread::current())).into(), thread::park);
        }
        let body = BodyWaker::new();
        poll_until_ready(future, &Arc::clone(&body).into(), || {
            if let Some(kind) = self.refuses_wait() {
                panic!("the body {kind}");
            }
            if !body.wait_at(&Waiter::outside(self.mailbox()), &wait) {
                self.let_others_run();
            }
        })
    }
}
