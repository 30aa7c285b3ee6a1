//! No session starves. Tasks that spawn tasks forever, and futures that wake themselves, let all
//! other tasks run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use millpond::{Engine, ExternalTasks, Runtime, Session, Spawn, StackEngine};

use crate::common::{builder, limit, sized};

/// An empty leaf starts after at most this many tasks per worker.
const BOUND: u64 = 1000;

/// The shared state of the links of all chains.
#[derive(Debug, Default)]
struct Chains {
    ran: AtomicU64,
    end: AtomicBool,
}

impl Chains {
    /// Runs a link. Returns whether another one follows.
    fn go_on(&self) -> bool {
        self.ran.fetch_add(1, Relaxed);
        !self.end.load(Relaxed)
    }

    /// Runs a leaf of that session. Returns the number of links that have run between its spawn and
    /// its start.
    fn links_before_a_leaf<E: Engine>(self: &Arc<Self>, session: &Session<E>) -> u64 {
        let (before, chains) = (self.ran.load(Relaxed), self.clone());
        let started = session.spawn((), move |()| chains.ran.load(Relaxed));
        session.wait(started).expect("it does not fail") - before
    }

    fn end(&self) {
        self.end.store(true, Relaxed);
    }
}

type Shared<E> = Arc<Mutex<Session<E>>>;

/// A task that spawns its successor into the session.
fn link<E: Engine>(session: Shared<E>, chains: Arc<Chains>) {
    let into = session.clone();
    let spawner = into.lock().expect("no thread panics");
    drop(spawner.spawn((), move |()| {
        if chains.go_on() {
            link(session, chains);
        }
    }));
}

/// Each number of chains in one session, while another session spawns leaves.
fn leaves_start<E: Engine>(build: impl Fn(usize) -> Runtime<E>) {
    for workers in 1..=2 {
        for each in [1, 2, 8] {
            let (rt, chains) = (build(workers), Arc::new(Chains::default()));
            let (busy, other) = (Arc::new(Mutex::new(rt.session())), rt.session());
            (0..each * workers).for_each(|_| link(busy.clone(), chains.clone()));
            for _ in 0..sized(10, 100) {
                let waited = chains.links_before_a_leaf(&other);
                assert!(
                    waited <= BOUND * workers as u64,
                    "{workers} workers, {each} chains each: {waited} tasks before it"
                );
            }
            chains.end();
            while Arc::strong_count(&busy) > 1 {
                std::thread::yield_now();
            }
        }
    }
}

#[test]
fn a_leaf_starts_despite_chains() {
    limit(60, "chains", || leaves_start(|workers| builder(workers).build().expect("in range")));
}

#[test]
fn a_leaf_starts_despite_chains_on_the_stack() {
    limit(60, "chains", || leaves_start::<StackEngine>(|workers| builder(workers).build_with().expect("in range")));
}

/// A task of a scope that spawns its successor.
fn let_in<'s, E: Engine>(external: ExternalTasks<'s, E>, chains: &'s Chains) {
    drop(external.pending(move || {
        if chains.go_on() {
            let_in(external, chains);
        }
    }));
}

/// Scopes that do not end before a leaf of a session has run. Their callers, and bodies that wait,
/// run their tasks.
#[test]
fn a_leaf_starts_despite_scopes_that_do_not_end() {
    limit(60, "scopes", || {
        for workers in 1..=2 {
            for round in 0..sized(5, 50) {
                let (rt, chains) = (builder(workers).build().expect("in range"), Arc::new(Chains::default()));
                let (session, ends) = (rt.session(), chains.clone());
                rt.scope(|s| {
                    (0..8 * workers).for_each(|_| let_in(s.external(), &chains));
                    drop(session.spawn((), move |()| ends.end()));
                    if round % 2 == 0 {
                        s.quiesce();
                    }
                })
                .expect("nothing fails");
                assert!(chains.ran.load(Relaxed) > 0);
            }
        }
    });
}

#[test]
fn a_leaf_starts_despite_futures_that_wake_themselves() {
    limit(60, "futures", || {
        for workers in 1..=2 {
            let (rt, chains) = (builder(workers).build().expect("in range"), Arc::new(Chains::default()));
            let (session, ends) = (rt.session(), chains.clone());
            rt.scope(|s| {
                for _ in 0..8 * workers {
                    let (external, chains) = (s.external(), &chains);
                    let polled = std::future::poll_fn(move |context| match chains.go_on() {
                        true => {
                            context.waker().wake_by_ref();
                            Poll::Pending
                        }
                        false => Poll::Ready(()),
                    });
                    drop(external.pending_future(polled));
                }
                drop(session.spawn((), move |()| ends.end()));
            })
            .expect("nothing fails");
        }
    });
}
