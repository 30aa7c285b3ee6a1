//! User code that runs in the middle of a spawn: comparisons of reducers, and drops of overwritten
//! values.

use std::cell::Cell;
use std::hint;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::common::{Mutex, builder, forever, join_all, limit, silence_expected_panics, sized};
use millpond::{Handle, Inline, Kind, Reducer, Runtime, Session, Spawn};

/// Adds. Calls a function whenever it is compared.
#[derive(Clone, Copy)]
struct Adds(fn());

impl PartialEq for Adds {
    fn eq(&self, _: &Adds) -> bool {
        (self.0)();
        true
    }
}

impl Eq for Adds {}

impl Reducer<u64> for Adds {
    fn identity(&self, _: &u64) -> u64 {
        0
    }

    fn combine(&self, into: &mut u64, part: u64) {
        *into += part;
    }
}

thread_local! {
    /// What the comparison of two reducers inspects, and what it found.
    static INSPECTED: Cell<Option<(&'static Runtime, &'static Handle<u64>)>> = const { Cell::new(None) };
    static FOUND: Cell<Option<Kind>> = const { Cell::new(None) };
}

/// Opens a scope.
fn inspect() {
    if let Some((rt, handle)) = INSPECTED.get() {
        let result = rt.scope(|s| drop(s.spawn(handle.inout(), |value| *value += 1)));
        FOUND.set(result.err().map(|error| error.kind().clone()));
    }
}

#[test]
fn a_comparison_cannot_take_a_handle_from_the_spawn_that_it_is_part_of() {
    limit(60, "curious reducers", || {
        for (workers, inline) in [(1, Inline::Never), (2, Inline::Never), (2, Inline::Auto)] {
            let rt = forever(builder(workers).inline(inline).build().unwrap());
            let (inspected, sum) = (forever(Handle::new(1)), forever(Handle::new(0)));
            rt.scope(|s| {
                s.spawn(sum.reduce(Adds(inspect)), |part| *part += 1);
                INSPECTED.set(Some((rt, inspected)));
                s.spawn((inspected.inout(), sum.reduce(Adds(inspect))), |(value, part)| {
                    *value += 10;
                    *part += 1;
                });
                INSPECTED.set(None);
            })
            .unwrap();
            assert_eq!(FOUND.take(), Some(Kind::Busy { arg: 0 }));
            let both = rt.try_scope(|s| {
                let join = s.spawn((inspected.read(), sum.read()), |(value, sum)| (*value, *sum));
                s.wait(join)
            });
            assert_eq!(both.unwrap(), (11, 2));
        }
    });
}

thread_local! {
    static ADDS_TO: Cell<Option<(&'static Session, &'static Handle<u64>)>> = const { Cell::new(None) };
}

/// Spawns on the handle that is reduced.
fn meddle() {
    if let Some((session, handle)) = ADDS_TO.get() {
        session.spawn(handle.inout(), |value| *value += 1000);
    }
}

#[test]
fn a_comparison_cannot_use_the_session_that_it_is_part_of() {
    limit(60, "meddling reducers", || {
        for workers in [1, 2] {
            let rt = forever(builder(workers).build().unwrap());
            let (session, sum) = (forever(rt.session()), forever(Handle::new(0)));
            ADDS_TO.set(Some((session, sum)));
            for _ in 0..100 {
                drop(session.spawn(sum.reduce(Adds(meddle)), |part| *part += 1));
            }
            ADDS_TO.set(None);
            let total = session.spawn(sum.read(), |sum| *sum);
            assert_eq!(session.wait(total).unwrap(), 100);
        }
    });
}

thread_local! {
    /// Another runtime, and a session of the runtime on which the test spawns.
    static ASKS: Cell<Option<(&'static Runtime, &'static Mutex<Session>)>> = const { Cell::new(None) };
}

/// Lets a task spawn on a session.
fn ask() {
    if let Some((other, session)) = ASKS.get() {
        let spawn = || drop(session.lock().spawn((), |()| ()));
        other.scope(|s| drop(s.spawn((), move |()| spawn()))).unwrap();
    }
}

#[test]
fn a_comparison_cannot_wait_for_tasks_in_the_spawn_of_a_session() {
    limit(60, "asking reducers", || {
        let [rt, other] = [(); 2].map(|()| forever(builder(2).inline(Inline::Never).build().unwrap()));
        let (session, sum) = (rt.session(), Handle::new(0));
        ASKS.set(Some((other, forever(Mutex::new(rt.session())))));
        for _ in 0..100 {
            drop(session.spawn(sum.reduce(Adds(ask)), |part| *part += 1));
        }
        ASKS.set(None);
        let total = session.spawn(sum.read(), |sum| *sum);
        assert_eq!(session.wait(total).unwrap(), 100);
    });
}

thread_local! {
    /// The session of this thread, its handle, and the last value that was written there.
    static CHAT: Cell<Option<(&'static Session, &'static Handle<Chatty>, usize)>> = const { Cell::new(None) };
}

static DROPPED: AtomicUsize = AtomicUsize::new(0);

/// The value that was read after a drop, and the expected one. A panic in a session that does not
/// end would not be reported.
static READ: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// A value that spawns on its own handle when the session's thread drops it.
struct Chatty(usize);

impl Drop for Chatty {
    fn drop(&mut self) {
        if let Some((session, handle, turn)) = CHAT.get() {
            DROPPED.fetch_add(1, SeqCst);
            drop(session.spawn(handle.read(), move |value| READ.lock().push((value.0, turn))));
        }
    }
}

#[test]
fn a_value_that_is_written_again_may_spawn_as_it_is_dropped() {
    limit(120, "chatty values", || {
        let rt = forever(builder(2).inline(Inline::Never).build().unwrap());
        let session = forever(rt.session());
        let handle = forever(Handle::new(Chatty(0)));
        // The spawner must run between the last use of a version and its release.
        let mut turn = 0;
        while DROPPED.load(SeqCst) < 20 {
            turn += 1;
            CHAT.set(Some((session, handle, turn)));
            drop(session.spawn(handle.write(), move |out| out.set(Chatty(turn))));
            CHAT.set(None);
            (0..turn % 512).for_each(|_| hint::spin_loop());
        }
        let last = session.spawn(handle.read(), |value| value.0);
        assert_eq!(session.wait(last).unwrap(), turn);
        while READ.lock().len() < DROPPED.load(SeqCst) {
            std::thread::yield_now();
        }
        assert!(READ.lock().iter().all(|(read, written)| read == written));
    });
}

/// Forks.
fn fork() {
    let busy = |turns| move || (0..turns).for_each(|_| hint::spin_loop());
    millpond::join(busy(2_000), busy(10_000));
}

/// No thread waits on an inject seat, even for a stolen fork.
#[test]
fn a_comparison_forks_in_the_spawn_of_a_session() {
    limit(60, "forks on a front seat", || {
        let (rt, away) = (builder(2).build().unwrap(), builder(3).inline(Inline::Never).build().unwrap());
        let feed = |session: Session| {
            let sum = Handle::new(0);
            (0..20).for_each(|_| drop(session.spawn(sum.reduce(Adds(fork)), |part| *part += 1)));
            session.wait(session.spawn(sum.read(), |sum| *sum)).unwrap()
        };
        let sums = away.scope(|s| {
            let sums: Vec<_> =
                (0..8).map(|_| rt.session()).map(|session| s.nest((), move |_, ()| feed(session))).collect();
            sums.into_iter().map(|sum| s.wait(sum).unwrap()).collect::<Vec<u64>>()
        });
        assert_eq!(sums.unwrap(), [20; 8]);
    });
}

thread_local! {
    static SPAWNS_ON: Cell<Option<&'static Session>> = const { Cell::new(None) };
}

fn spawn_elsewhere() {
    if let Some(session) = SPAWNS_ON.get() {
        (0..500).for_each(|_| hint::spin_loop());
        drop(session.spawn((), |()| ()));
    }
}

/// Two bodies of two runtimes spawn on a session of the other runtime. The comparison tries to
/// spawn on a session of its own runtime.
#[test]
fn a_comparison_cannot_use_another_session_in_the_spawn_of_one() {
    // The panics are expected, on two threads at the same time. Otherwise the harness would collect
    // them under a lock of std.
    silence_expected_panics();
    limit(60, "two fronts in two orders", || {
        let [one, two] = [(); 2].map(|()| forever(builder(2).inline(Inline::Never).build().unwrap()));
        let feed = |home: &'static Runtime, away: &'static Runtime| {
            for _ in 0..sized(20, 200) {
                let (abroad, own) = (away.session(), home.session());
                let scope = home.scope(|s| {
                    s.nest((), move |_, ()| {
                        let (own, sum) = (forever(own), Handle::new(0));
                        SPAWNS_ON.set(Some(own));
                        (0..50).for_each(|_| drop(abroad.spawn(sum.reduce(Adds(spawn_elsewhere)), |part| *part += 1)));
                        SPAWNS_ON.set(None);
                        abroad.close().wait().unwrap();
                        // The comparisons that panicked made their own reductions. Nothing is lost.
                        assert_eq!(sum.into_inner().unwrap(), 50);
                    });
                });
                scope.unwrap();
            }
        };
        std::thread::scope(|threads| {
            join_all([(one, two), (two, one)].map(|(home, away)| threads.spawn(move || feed(home, away))).into());
        });
    });
}
