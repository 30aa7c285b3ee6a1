//! A latch for bodies, which keeps no worker busy.

use std::future;
use std::task::{Context, Poll, Waker};

use crate::common::Mutex;

/// A body waits for this latch until a test opens it.
#[derive(Default)]
pub struct Latch(Mutex<(bool, Option<Waker>)>);

impl Latch {
    /// For `block_on`. One body may wait.
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

/// Opens the latch when it is dropped, so that a failing test ends.
pub struct Opens<'a>(pub &'a Latch);

impl Drop for Opens<'_> {
    fn drop(&mut self) {
        self.0.open();
    }
}
