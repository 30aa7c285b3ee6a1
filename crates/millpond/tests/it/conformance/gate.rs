//! Holding a body, without a worker.

use std::future;
use std::task::{Context, Poll, Waker};

use crate::common::Mutex;

/// What a body waits for until it is opened, once.
#[derive(Default)]
pub struct Gate(Mutex<(bool, Option<Waker>)>);

impl Gate {
    /// For `block_on`: one body passes.
    pub fn opened(&self) -> impl Future<Output = ()> + '_ {
        future::poll_fn(|context| self.poll(context))
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        let (open, waker) = &mut *self.0.lock();
        *waker = Some(context.waker().clone());
        if *open { Poll::Ready(()) } else { Poll::Pending }
    }

    pub fn open(&self) {
        let waker = {
            let (open, waker) = &mut *self.0.lock();
            *open = true;
            waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

/// A test that fails ends: opens when it is dropped.
pub struct Opens<'a>(pub &'a Gate);

impl Drop for Opens<'_> {
    fn drop(&mut self) {
        self.0.open();
    }
}
