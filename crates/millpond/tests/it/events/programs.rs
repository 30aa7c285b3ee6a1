//! Programs whose bodies start, wait, fail and end in every possible way.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use millpond::{Handle, In, Prod, Runtime, Scope, Spawn, Sum, for_each, join};

use crate::common::{builder, join_all, must_not_run};

/// Opens scopes and sessions on a runtime. Leaves none open.
pub struct Program {
    pub name: &'static str,
    /// The number of scopes that it opens outside all bodies.
    pub roots: usize,
    pub run: fn(&Runtime),
}

macro_rules! programs {
    ($($roots:literal $run:ident,)*) => {
        pub const PROGRAMS: &[Program] = &[$(Program { name: stringify!($run), roots: $roots, run: $run },)*];
    };
}

programs! {
    1 tasks_that_panic,
    2 closures_that_panic,
    1 versions_without_a_writer,
    1 handles_named_twice,
    1 handles_of_another_scope,
    1 cancelled_tasks,
    1 preconditions,
    1 reductions,
    1 turns,
    1 waits,
    1 futures,
    1 scopes_in_bodies,
    1 forks,
    1 scopes_in_forks,
    1 loops,
    0 sessions,
    1 sessions_in_bodies,
    6 callers,
    1 scopes_of_another_runtime,
    1 there_and_back_again,
    2 panics_out_of_another_runtime,
    1 sessions_of_another_runtime,
    1 an_outer_scope_in_an_inner_one,
    1 an_outer_scope_in_one_of_another_runtime,
}

/// Fails quietly: a panic without the message of the hook.
fn fail() -> ! {
    resume_unwind(Box::new("quiet"))
}

fn fail_if(bad: bool) {
    if bad {
        fail();
    }
}

/// Runs code that may panic.
fn attempt<R>(f: impl FnOnce() -> R) {
    drop(catch_unwind(AssertUnwindSafe(f)));
}

fn tasks_that_panic(rt: &Runtime) {
    let (a, b) = (Handle::new(0), Handle::new(0));
    let failed = rt.scope(|s| {
        for i in 0..20 {
            s.spawn(a.inout(), move |_| fail_if(i == 7));
            s.nest(b.inout(), move |s, b| {
                s.spawn(b.inout(), |b| *b += 1);
                fail_if(i == 9);
                s.spawn(b.read(), |_| ());
            });
            s.spawn((a.read(), b.read()), |_| ());
            if i == 15 {
                s.spawn((a.write(), b.write()), |(a, b)| {
                    a.set(1);
                    b.set(2);
                });
            }
        }
    });
    failed.unwrap_err();
}

fn closures_that_panic(rt: &Runtime) {
    let a = Handle::new(0);
    attempt(|| {
        rt.scope(|s| {
            s.spawn(a.reduce(Sum), |part| *part += 1);
            s.nest((), |s, ()| drop(s.spawn((), |()| ())));
            fail()
        })
    });
    let inner = || {
        rt.scope(|s| {
            s.spawn((), |()| fail());
            fail()
        })
    };
    rt.scope(|s| drop(s.spawn((), |()| attempt(inner)))).unwrap();
}

fn versions_without_a_writer(rt: &Runtime) {
    let (a, b) = (Handle::new(0), Handle::<u32>::unset());
    let failed = rt.scope(|s| {
        s.spawn(a.write(), |_unset| ());
        s.spawn(a.read(), |_| must_not_run());
        s.nest((b.read(), a.inout()), |_, _| must_not_run());
        s.spawn(a.write(), |a| a.set(1));
    });
    failed.unwrap_err();
}

fn handles_named_twice(rt: &Runtime) {
    let (a, b) = (Handle::new(0), Handle::new(0));
    let failed = rt.scope(|s| {
        for _ in 0..3 {
            s.spawn((a.read(), a.inout()), |_| must_not_run());
            s.spawn((b.commutative(), b.commutative(), a.inout()), |_| must_not_run());
            s.nest((a.write(), a.write()), |_, _| must_not_run());
            s.spawn((a.reduce(Sum), a.reduce(Sum)), |_| must_not_run());
            s.spawn((a.reduce(Sum), a.reduce(Prod), b.inout()), |_| must_not_run());
            s.spawn(a.write(), |a| a.set(1));
        }
    });
    failed.unwrap_err();
}

fn handles_of_another_scope(rt: &Runtime) {
    let (a, b) = (Handle::new(0), Handle::new(0));
    let intrude = || {
        rt.scope(|s| {
            s.spawn(a.inout(), |_| must_not_run());
            s.nest((b.read(), a.write()), |_, _| must_not_run());
            s.set(&a, 1);
        })
    };
    rt.scope(|s| drop(s.spawn(a.inout(), |_| drop(intrude().unwrap_err())))).unwrap();
}

fn cancelled_tasks(rt: &Runtime) {
    let [a, b, c] = [(); 3].map(|()| Handle::new(0));
    let cancelled = rt.scope(|s| {
        for i in 0..20 {
            let token = s.cancel_token();
            s.spawn(a.inout(), move |_| {
                if i == 5 {
                    token.cancel();
                }
            });
            s.nest(b.inout(), |s, b| drop(s.spawn(b.inout(), |b| *b += 1)));
            s.spawn(c.commutative(), |c| *c += 1);
            s.spawn((c.reduce(Sum), a.read()), |_| ());
        }
    });
    cancelled.unwrap_err();
}

/// Satisfies the last precondition in the scope's closure, in a task or on another thread, or drops
/// it.
fn preconditions(rt: &Runtime) {
    let failed = rt.scope(|s| {
        for i in 0..12 {
            let parent = |s: &Scope<'_, '_, In<'_>>| drop(s.spawn((), |()| ()));
            let pending = if i % 3 == 0 { s.external().pending_nest(parent) } else { s.external().pending(|| ()) };
            let (first, second) = (pending.hold(), pending.hold());
            drop(pending);
            first.satisfy();
            match i % 4 {
                0 => second.satisfy(),
                1 => drop(s.spawn((), move |()| second.satisfy())),
                2 => drop(s.spawn((), move |()| drop(second))),
                _ => thread::scope(|threads| join_all(vec![threads.spawn(|| second.satisfy())])),
            }
        }
    });
    failed.unwrap_err();
}

fn reductions(rt: &Runtime) {
    let (a, b) = (Handle::new(0), Handle::new(0));
    let failed = rt.scope(|s| {
        for i in 0..10 {
            s.spawn((a.reduce(Sum), b.reduce(Sum)), |(a, b)| {
                *a += 1;
                *b += 1;
            });
            s.nest(a.reduce(Sum), |s, a| drop(s.spawn(a.inout(), |a| *a += 1)));
            match i {
                3 => drop(s.spawn(a.read(), |_| ())),
                5 => s.set(&b, 0),
                7 => drop(s.spawn(a.reduce(Sum), |_| fail())),
                _ => {}
            }
        }
    });
    failed.unwrap_err();
}

fn turns(rt: &Runtime) {
    let [a, b, c] = [(); 3].map(|()| Handle::new(0));
    let done = rt.scope(|s| {
        for _ in 0..10 {
            s.spawn((a.commutative(), b.commutative()), |(a, b)| *a += *b);
            s.spawn((c.commutative(), b.commutative(), a.commutative()), |(c, b, a)| *c += *a + *b);
            s.nest((b.commutative(), c.commutative()), |s, (b, _)| drop(s.spawn(b.inout(), |b| *b += 1)));
            s.spawn(b.commutative(), |b| *b += 1);
        }
    });
    done.unwrap();
}

/// Waits for tasks, for data, and for room in a small window.
fn waits(rt: &Runtime) {
    let (a, b) = (Handle::new(0), Handle::new(0));
    let done = rt.scope(|s| {
        for _ in 0..10 {
            s.nest((a.inout(), b.inout()), |s, (mut a, mut b)| {
                fn child<'t>(s: &Scope<'_, '_, In<'t>>, mut a: Handle<u32, In<'t>>) -> u32 {
                    s.spawn(a.inout(), |a| *a += 1);
                    *s.wait_on(&mut a).unwrap()
                }
                let joins: Vec<_> = (0..4).map(|_| s.nest(a.inout(), child)).collect();
                s.spawn(b.reduce(Sum), |b| *b += 1);
                s.spawn(b.concurrent(), |_| ());
                joins.into_iter().for_each(|join| _ = s.wait(join).unwrap());
                s.wait_on(&mut b).unwrap();
                s.set(&b, 3);
                s.spawn(b.read(), |_| ());
                s.wait_on(&mut a).unwrap();
            });
        }
    });
    done.unwrap();
}

fn futures(rt: &Runtime) {
    let done = rt.scope(|s| {
        for _ in 0..10 {
            s.nest((), |s, ()| {
                let joins = (s.spawn((), |()| ()), s.nest((), |s, ()| drop(s.spawn((), |()| ()))));
                s.block_on(async {
                    joins.1.await.unwrap();
                    joins.0.await.unwrap();
                });
            });
        }
    });
    done.unwrap();
}

/// Scopes one after the other, and a wait for something that was spawned after them.
fn scopes_in_bodies(rt: &Runtime) {
    let inner = || rt.scope(|s| s.wait(s.spawn((), |()| ())).unwrap()).unwrap();
    let done = rt.scope(|s| {
        for _ in 0..5 {
            s.spawn((), |()| (inner(), inner()));
            s.nest((), |s, ()| {
                inner();
                s.wait(s.spawn((), |()| inner())).unwrap();
            });
            inner();
        }
    });
    done.unwrap();
}

fn forks(rt: &Runtime) {
    let done = rt.scope(|s| {
        for i in 0..20 {
            let half = move |here: usize| fail_if(i % 5 == here);
            let inner = move || join(|| half(1), || half(2));
            s.spawn((), move |()| attempt(|| join(|| (half(0), inner()), || half(3))));
        }
        join(|| (), || ());
    });
    done.unwrap();
}

fn scopes_in_forks(rt: &Runtime) {
    let leaves = || rt.scope(|s| (0..10).for_each(|_| drop(s.spawn((), |()| ())))).unwrap();
    let waits = || rt.scope(|s| s.wait(s.nest((), |s, ()| s.wait(s.spawn((), |()| ())).unwrap())).unwrap()).unwrap();
    rt.scope(|s| drop(s.spawn((), |()| join(leaves, waits)))).unwrap();
}

/// Long enough to be shared if another worker looks for work.
fn loops(rt: &Runtime) {
    let numbers = Handle::new(vec![0_u64; 200]);
    let long = |n: &mut u64| (0..500).for_each(|step| *n = std::hint::black_box(*n ^ step));
    let failed = rt.scope(|s| {
        for_each(&mut [1; 200], long);
        s.for_each(numbers.inout(), long);
        s.spawn(numbers.inout(), |numbers| {
            for_each(numbers, |n| for_each(0..4, |k| fail_if(*n == u64::MAX && k == 3)))
        });
        s.for_each(numbers.inout(), move |n| {
            long(n);
            fail_if(*n < u64::MAX);
        });
    });
    failed.unwrap_err();
}

fn sessions(rt: &Runtime) {
    let (session, mut a) = (rt.session(), Handle::new(0));
    for i in 0..10 {
        let leaf = session.spawn(a.inout(), move |_| fail_if(i == 4));
        let parent = session.nest(a.commutative(), |s, a| drop(s.spawn(a.inout(), |a| *a += 1)));
        session.spawn(a.reduce(Sum), |a| *a += 1);
        match i % 3 {
            0 => drop(session.wait(leaf)),
            1 => drop(session.block_on(parent)),
            _ => drop(session.wait_on(&mut a)),
        }
        session.set(&a, i);
    }
    session.close().wait().unwrap_err();
}

fn sessions_in_bodies(rt: &Runtime) {
    rt.scope(|s| (0..6).for_each(|_| drop(s.spawn((), |()| a_session(rt))))).unwrap();
}

/// A session, used by the thread or body that calls this function.
fn a_session(rt: &Runtime) {
    let (session, mut a) = (rt.session(), Handle::new(0));
    let leaf = session.spawn(a.inout(), |a| *a += 1);
    let parent = session.nest(a.inout(), |s, a| drop(s.spawn(a.inout(), |a| *a += 1)));
    session.wait(leaf).unwrap();
    assert_eq!(*session.wait_on(&mut a).unwrap(), 2);
    session.block_on(parent).unwrap();
    // Its last event may come after the drop of a session.
    session.close().wait().unwrap();
}

/// The number of callers: more than there are seats.
fn callers(rt: &Runtime) {
    let call = || {
        let done = rt.scope(|s| {
            (0..20).for_each(|_| drop(s.nest((), |s, ()| s.wait(s.spawn((), |()| ())).unwrap())));
            join(|| (), || ());
        });
        done.unwrap();
    };
    thread::scope(|threads| join_all((0..6).map(|_| threads.spawn(call)).collect()));
}

/// Another runtime with the same recorder.
fn abroad(rt: &Runtime) -> Runtime {
    builder(rt.workers()).recorder(rt.recorder()).build().unwrap()
}

fn scopes_of_another_runtime(rt: &Runtime) {
    let (away, a) = (abroad(rt), Handle::new(0));
    let done = rt.scope(|s| {
        for _ in 0..10 {
            s.spawn(a.read(), |_| away.scope(|s| (0..5).for_each(|_| drop(s.spawn((), |()| ())))).unwrap());
            s.nest((), |s, ()| {
                away.scope(|t| t.wait(t.spawn((), |()| ())).unwrap()).unwrap();
                s.wait(s.spawn((), |()| ())).unwrap();
            });
        }
        away.scope(|_| ()).unwrap();
    });
    done.unwrap();
}

fn there_and_back_again(rt: &Runtime) {
    let away = abroad(rt);
    let back = || rt.scope(|s| s.wait(s.spawn((), |()| ())).unwrap()).unwrap();
    let there = || away.scope(|s| (0..3).for_each(|_| drop(s.nest((), |_, ()| back())))).unwrap();
    rt.scope(|s| (0..3).for_each(|_| drop(s.spawn((), |()| there())))).unwrap();
}

fn panics_out_of_another_runtime(rt: &Runtime) {
    let away = abroad(rt);
    let there = || {
        away.scope(|s| {
            s.spawn((), |()| fail());
            fail()
        })
    };
    rt.scope(|s| (0..3).for_each(|_| drop(s.spawn((), |()| attempt(there))))).unwrap();
    rt.scope(|s| drop(s.spawn((), |()| drop(there())))).unwrap_err();
}

fn sessions_of_another_runtime(rt: &Runtime) {
    let away = abroad(rt);
    rt.scope(|s| (0..6).for_each(|_| drop(s.spawn((), |()| a_session(&away))))).unwrap();
}

/// The closure of `inner`'s scope uses an enclosing scope of `rt`.
fn outer_scope_within(rt: &Runtime, inner: &Runtime) {
    let mut a = Handle::new(0);
    let done = rt.scope(|outer| {
        let done = inner.scope(|inner| {
            outer.wait(outer.spawn(a.inout(), |a| *a += 1)).unwrap();
            inner.wait(inner.spawn((), |()| ())).unwrap();
            outer.nest(a.inout(), |s, a| drop(s.spawn(a.inout(), |a| *a += 1)));
            outer.wait_on(&mut a).unwrap();
            (0..5).for_each(|_| drop(outer.spawn(a.inout(), |a| *a += 1)));
        });
        done.unwrap();
    });
    done.unwrap();
}

fn an_outer_scope_in_an_inner_one(rt: &Runtime) {
    outer_scope_within(rt, rt);
}

fn an_outer_scope_in_one_of_another_runtime(rt: &Runtime) {
    outer_scope_within(rt, &abroad(rt));
}
