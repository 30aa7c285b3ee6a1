//! Values that actors exchange, and signals that futures of tasks wait for.

use std::future::poll_fn;
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use super::ledger::forget;
use super::program::Fire;
use crate::common::Mutex;

/// A slot for values, with turns.
pub struct Slot<T>(Mutex<At<T>>);

struct At<T> {
    turn: usize,
    value: Option<T>,
    waiting: Vec<Waker>,
}

impl<T> Slot<T> {
    pub fn new() -> Self {
        Slot(Mutex::new(At { turn: 0, value: None, waiting: Vec::new() }))
    }

    pub fn leave(&self, value: T) {
        let waiting = {
            let mut at = self.0.lock();
            at.turn += 1;
            at.value = Some(value);
            std::mem::take(&mut at.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Takes the value of this turn. Turns count from 1.
    pub async fn take(&self, turn: usize) -> T {
        poll_fn(|context| {
            let mut at = self.0.lock();
            if at.turn == turn
                && let Some(value) = at.value.take()
            {
                return Poll::Ready(value);
            }
            at.waiting.push(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Clones the value, in any turn.
    pub async fn share(&self) -> T
    where
        T: Clone,
    {
        poll_fn(|context| {
            let mut at = self.0.lock();
            if let Some(value) = &at.value {
                return Poll::Ready(value.clone());
            }
            at.waiting.push(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Ends the use of a clone, which was a turn.
    pub fn end_turn(&self) {
        let waiting = {
            let mut at = self.0.lock();
            at.turn += 1;
            std::mem::take(&mut at.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// The remaining value.
    pub fn rest(&self) -> Option<T> {
        self.0.lock().value.take()
    }
}

/// A signal that hands fire and tasks wait for.
pub struct Signal {
    state: Mutex<State>,
    /// A waiter checks again after it has left its waker, so it may continue while a hand wakes it.
    twice: bool,
}

#[derive(Default)]
struct State {
    fired: bool,
    lost: bool,
    waiting: Vec<Waker>,
}

impl Signal {
    pub fn new(twice: bool) -> Self {
        Signal { state: Mutex::default(), twice }
    }

    pub async fn wait(&self) {
        poll_fn(|context| {
            let mut state = self.state.lock();
            if state.fired {
                return Poll::Ready(());
            }
            if !state.lost {
                state.waiting.push(context.waker().clone());
            }
            drop(state);
            if self.twice {
                thread::yield_now();
                if self.state.lock().fired {
                    return Poll::Ready(());
                }
            }
            Poll::Pending
        })
        .await;
    }

    /// Fires. Returns the wakers that are called again when everything has ended.
    pub fn fire(&self, how: Fire) -> Vec<Waker> {
        let set = |fired, lost| {
            let mut state = self.state.lock();
            (state.fired, state.lost) = (fired, lost);
            std::mem::take(&mut state.waiting)
        };
        match how {
            Fire::Once => set(true, false).into_iter().for_each(Waker::wake),
            Fire::Early => {
                let waiting = self.state.lock().waiting.clone();
                waiting.iter().for_each(Waker::wake_by_ref);
                thread::yield_now();
                set(true, false).into_iter().for_each(Waker::wake);
            }
            Fire::Twice => {
                let waiting = set(true, false);
                waiting.iter().for_each(Waker::wake_by_ref);
                thread::yield_now();
                waiting.into_iter().for_each(Waker::wake);
            }
            Fire::Late => {
                let waiting = set(true, false);
                waiting.iter().for_each(Waker::wake_by_ref);
                return waiting;
            }
            Fire::Forgetting => {
                let waiting = set(true, false);
                waiting.iter().for_each(Waker::wake_by_ref);
                waiting.into_iter().for_each(forget);
            }
            Fire::Lost => drop(set(false, true)),
        }
        Vec::new()
    }
}

/// Polls a future once, and drops it. Its waker remains. Returns the output if it was ready.
pub async fn once<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// Polls a future this often, with wakers that do nothing. Returns the output if it was ready.
pub fn poll_times<F: Future + ?Sized>(mut future: Pin<&mut F>, times: usize, panics: bool) -> Option<F::Output> {
    for _ in 0..times {
        // A new waker each time, so that the previous one is dropped.
        let waker = Waker::from(Arc::new(None { panics }));
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(output);
        }
    }
    None
}

/// The target of a waker that remains.
struct None {
    panics: bool,
}

impl Wake for None {
    fn wake(self: Arc<Self>) {
        if self.panics {
            resume_unwind(Box::new("expected: a waker"));
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on a thread that is no worker.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let (mut future, waker) = (pin!(future), Waker::from(Arc::new(Unpark(thread::current()))));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park();
    }
}

/// How a thread waits: in the closure of a scope, or outside all scopes.
pub trait Waits {
    fn until(&self, future: Pin<&mut dyn Future<Output = ()>>);
}

pub struct Outside;

impl Waits for Outside {
    fn until(&self, future: Pin<&mut dyn Future<Output = ()>>) {
        block_on(future);
    }
}

pub fn wait_for<F: Future>(at: &dyn Waits, future: F) -> F::Output {
    let mut output = None;
    at.until(pin!(async { output = Some(future.await) }));
    output.expect("the future was waited for")
}
