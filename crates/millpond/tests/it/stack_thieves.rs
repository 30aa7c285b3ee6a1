//! How thieves of a dataflow stack choose victims, and how much they take (`Builder::theft`).

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{OnStack, builder, limit};
use millpond::stack::Theft;
use millpond::{Access, Handle, Inout, Spawn, WorkerCounts, Write};

const BOTH: [Theft; 2] = [Theft::Chains, Theft::Paper];

fn runtime(workers: usize, theft: Theft) -> OnStack {
    builder(workers).theft(theft).build_with().expect("the choices are in range")
}

/// What all workers have done.
fn totals(rt: &OnStack) -> WorkerCounts {
    let add = |sum: WorkerCounts, one: WorkerCounts| WorkerCounts {
        tasks: sum.tasks + one.tasks,
        steals: sum.steals + one.steals,
        thefts: sum.thefts + one.thefts,
    };
    rt.counts().into_iter().fold(WorkerCounts::default(), add)
}

/// Takes a few microseconds, so it is worth a theft.
fn work() {
    let until = Instant::now() + Duration::from_micros(3);
    while Instant::now() < until {}
}

const LEAVES: usize = 200;

/// Spawns leaves, and stays in the closure of the scope until all have run. So the only thief runs
/// every leaf. `waits` says for each leaf whether it waits for the one before it.
fn one_thief_runs_all(theft: Theft, waits: impl Fn(usize) -> bool) -> WorkerCounts {
    let (rt, ran, step) = (runtime(2, theft), AtomicUsize::new(0), Handle::new(0));
    rt.scope(|s| {
        for nth in 0..LEAVES {
            let end = || {
                work();
                ran.fetch_add(1, Relaxed);
            };
            if waits(nth) {
                s.spawn(step.inout(), move |step| {
                    *step += 1;
                    end();
                });
            } else {
                s.spawn((), move |()| end());
            }
        }
        while ran.load(Relaxed) < LEAVES {
            thread::yield_now();
        }
    })
    .unwrap();
    assert_eq!(step.into_inner().unwrap(), (0..LEAVES).filter(|&nth| waits(nth)).count());
    totals(&rt)
}

#[test]
fn a_thief_of_the_paper_takes_one_closure_per_theft() {
    limit(60, "leaves that one thief runs", || {
        let programs: [(&str, fn(usize) -> bool); 3] =
            [("independent", |_| false), ("a chain", |_| true), ("both", |nth| nth.is_multiple_of(3))];
        for (program, waits) in programs {
            let stolen = LEAVES as u64;
            let paper = one_thief_runs_all(Theft::Paper, waits);
            assert_eq!((paper.tasks, paper.steals, paper.thefts), (stolen, stolen, stolen), "{program}");
            let chains = one_thief_runs_all(Theft::Chains, waits);
            assert_eq!((chains.tasks, chains.steals), (stolen, stolen), "{program}");
            // About 30 of them last for 100 µs. On a busy machine they may seem longer.
            assert!(chains.thefts < stolen, "{program}: {chains:?}");
        }
    });
}

/// Counts down through parents. Each has a leaf that waits for the whole parent below it, and some
/// that wait for nothing.
fn descend<'s, S: Spawn<'s>>(s: &S, levels: usize, ran: &'s AtomicUsize, x: Access<'_, usize, Inout, S::Brand>) {
    s.nest(x, move |s, x| {
        for _ in 0..3 {
            s.spawn((), move |()| _ = ran.fetch_add(1, Relaxed));
        }
        if levels > 0 {
            descend(s, levels - 1, ran, x.inout());
        }
        s.spawn(x.inout(), |x| *x += 1);
    });
}

fn fib<'s, S: Spawn<'s>>(s: &S, n: u64, r: Access<'_, u64, Write, S::Brand>) {
    s.nest(r, move |s, r| {
        if n < 2 {
            s.set(&r, n);
        } else {
            let (a, b) = (s.unset(), s.unset());
            fib(s, n - 1, a.write());
            fib(s, n - 2, b.write());
            s.spawn((a.read(), b.read(), r.write()), |(a, b, r)| r.set(a + b));
        }
    });
}

/// Every stack can be a victim, also those of stolen parents.
#[test]
fn recursions_give_the_serial_result() {
    limit(60, "recursions with both kinds of thieves", || {
        for theft in BOTH {
            for workers in [1, 2, 3, 8] {
                let rt = runtime(workers, theft);
                for _ in 0..20 {
                    let (x, y, ran) = (Handle::unset(), Handle::new(0), AtomicUsize::new(0));
                    rt.scope(|s| {
                        fib(s, 15, x.write());
                        descend(s, 50, &ran, y.inout());
                    })
                    .unwrap();
                    let found = (x.into_inner().unwrap(), y.into_inner().unwrap(), ran.into_inner());
                    assert_eq!(found, (610, 51, 153), "{theft:?}, {workers} workers");
                }
            }
        }
    });
}

/// Opens scopes within each other. Each has a stack of its own.
fn scopes(rt: &OnStack, levels: usize) {
    rt.scope(|_| {
        if levels > 1 {
            scopes(rt, levels - 1)
        }
    })
    .unwrap();
}

/// There are more stacks than a thief draws at once, and all but one are empty. The thief finds
/// that one, although it never goes through them in turn.
#[test]
fn a_thief_finds_the_only_stack_with_work() {
    limit(60, "a stack among many empty ones", || {
        let rt = runtime(2, Theft::Paper);
        scopes(&rt, 40);
        for _ in 0..20 {
            let ran = AtomicUsize::new(0);
            rt.scope(|s| {
                s.spawn((), |()| _ = ran.fetch_add(1, Relaxed));
                while ran.load(Relaxed) == 0 {
                    thread::yield_now();
                }
            })
            .unwrap();
        }
        assert_eq!(totals(&rt).thefts, 20);
    });
}
