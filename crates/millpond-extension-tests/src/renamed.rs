//! A pool under another name.

use std::marker::PhantomData;

use millpond::depend::TaskRef;
use millpond::pool::{Counts, Leave, Pool, Put};

/// The name of a pool, as a type.
pub trait Name: Send + Sync + 'static {
    /// The name.
    const NAME: &'static str;
}

/// The pool `P` under the name of `N`.
#[derive(Debug)]
pub struct Renamed<P, N>(P, PhantomData<fn() -> N>);

// SAFETY: each call goes to the other pool, which keeps the promise.
unsafe impl<P: Pool, N: Name> Pool for Renamed<P, N> {
    type Local = P::Local;
    type Choice = P::Choice;

    const NAME: &'static str = N::NAME;
    const HONOURS_PRIORITY: bool = P::HONOURS_PRIORITY;

    fn with(seats: usize, choice: &P::Choice) -> (Self, Vec<P::Local>) {
        let (pool, locals) = P::with(seats, choice);
        (Renamed(pool, PhantomData), locals)
    }

    fn put(&self, local: &mut P::Local, task: TaskRef, why: Put) -> bool {
        self.0.put(local, task, why)
    }

    fn take(&self, local: &mut P::Local) -> Option<TaskRef> {
        self.0.take(local)
    }

    fn take_if(&self, local: &mut P::Local, wanted: impl Fn(TaskRef) -> bool) -> (Option<TaskRef>, bool) {
        self.0.take_if(local, wanted)
    }

    fn steal(&self, local: &mut P::Local) -> Option<TaskRef> {
        self.0.steal(local)
    }

    fn take_oldest(&self, seat: usize) -> Option<TaskRef> {
        self.0.take_oldest(seat)
    }

    fn put_first(&self, local: &mut P::Local, task: TaskRef) -> bool {
        self.0.put_first(local, task)
    }

    fn expose(&self, local: &mut P::Local) -> bool {
        self.0.expose(local)
    }

    fn next(&self, local: &P::Local) -> Option<TaskRef> {
        self.0.next(local)
    }

    fn leave(&self, local: &mut P::Local, leave: Leave) -> bool {
        self.0.leave(local, leave)
    }

    fn hungry(&self, searching: bool) {
        self.0.hungry(searching);
    }

    fn is_hungry(&self) -> bool {
        self.0.is_hungry()
    }

    fn has_work(&self) -> bool {
        self.0.has_work()
    }

    fn balances(&self) -> bool {
        self.0.balances()
    }

    fn waits_busily(&self) -> bool {
        self.0.waits_busily()
    }

    fn sleeps_at_once(&self) -> bool {
        self.0.sleeps_at_once()
    }

    fn counts(&self) -> Counts {
        self.0.counts()
    }
}
