//! Paths on the dataflow stack: the cost of an unstolen task, by its accesses, and of a recursion
//! (DDS Theorem 1).

use crate::{Bench, FIB, Path, TASKS, change, count, fib};
use millpond::StackEngine;
use millpond::internals::SpawnOptions;
use millpond::{Access, Inout, Spawn, Write};
use std::panic::Location;
use std::sync::atomic::AtomicU64;

/// The depth of nested parents.
const DEPTH: u64 = 100;

/// The graphs whose tasks are in frames. The tasks of the last two are calls.
pub static PATHS: [Path<StackEngine>; 6] = [
    Path { name: "shared_2", tasks: TASKS, data: 2, changes: TASKS, run: shared_2 },
    Path { name: "shared_4", tasks: TASKS, data: 4, changes: TASKS, run: shared_4 },
    Path { name: "shared_8", tasks: TASKS, data: 8, changes: TASKS, run: shared_8 },
    Path { name: "level", tasks: 2 * TASKS, data: 1, changes: TASKS, run: level },
    Path { name: "call", tasks: 3 * fib(FIB + 1) - 2, data: 0, changes: 0, run: call },
    Path { name: "inline_subtree", tasks: 3 * fib(FIB + 1) - 2, data: 0, changes: 0, run: inline_subtree },
];

/// Tasks that may all change the same data, and change one datum. The difference between two of
/// these paths is the cost of further accesses.
macro_rules! shared {
    ($name:ident, $($k:literal)*) => {
        fn $name(bench: &Bench<StackEngine>) -> Result<(), millpond::Error> {
            let steps = bench.steps;
            bench.runtime.scope(|s| {
                for _ in 0..TASKS {
                    s.spawn(($(bench.data[$k].inout(),)*), move |all| change(all.0, steps));
                }
            })
        }
    };
}

shared!(shared_2, 0 1);
shared!(shared_4, 0 1 2 3);
shared!(shared_8, 0 1 2 3 4 5 6 7);

/// Nested parents, each with one leaf.
fn level(bench: &Bench<StackEngine>) -> Result<(), millpond::Error> {
    let datum = &bench.data[0];
    bench.runtime.scope(|s| (0..TASKS / DEPTH).for_each(|_| descend(s, DEPTH, datum.inout())))
}

fn descend<'s, S: Spawn<'s>>(s: &S, levels: u64, datum: Access<'_, u64, Inout, S::Brand>) {
    s.nest(datum, move |s, datum| {
        s.spawn(datum.inout(), |datum| change(datum, 0));
        if levels > 1 {
            descend(s, levels - 1, datum.inout());
        }
    });
}

/// Called parents, and sums of data created by them.
fn call(bench: &Bench<StackEngine>) -> Result<(), millpond::Error> {
    let result = millpond::Handle::unset();
    bench.runtime.scope(|s| called(s, FIB, &bench.count, result.write()))?;
    assert_eq!(result.into_inner()?, fib(FIB));
    Ok(())
}

fn called<'s, S: Spawn<'s>>(s: &S, n: u64, bodies: &'s AtomicU64, r: Access<'_, u64, Write, S::Brand>) {
    s.nest(r, move |s, r| {
        count(bodies, 0);
        if n < 2 {
            s.set(&r, n);
            return;
        }
        let (a, b) = (s.unset(), s.unset());
        called(s, n - 1, bodies, a.write());
        called(s, n - 2, bodies, b.write());
        s.spawn((a.read(), b.read(), r.write()), move |(a, b, r)| {
            count(bodies, 0);
            r.set(a + b);
        });
    });
}

/// The same with portable tasks. The deepest are leaves, and all are calls: an inline subtree.
fn inline_subtree(bench: &Bench<StackEngine>) -> Result<(), millpond::Error> {
    let result = millpond::Handle::unset();
    bench.runtime.scope(|s| portable(s, FIB, &bench.count, result.write()))?;
    assert_eq!(result.into_inner()?, fib(FIB));
    Ok(())
}

fn portable<'s, S: Spawn<'s>>(s: &S, n: u64, bodies: &'s AtomicU64, r: Access<'_, u64, Write, S::Brand>) {
    let options = SpawnOptions::portable(Location::caller());
    if n < 2 {
        s.spawn_with(options, r, move |r| {
            count(bodies, 0);
            r.set(n);
        });
        return;
    }
    s.nest_with(options, r, move |s, r| {
        count(bodies, 0);
        let (a, b) = (s.unset(), s.unset());
        portable(s, n - 1, bodies, a.write());
        portable(s, n - 2, bodies, b.write());
        s.spawn_with(options, (a.read(), b.read(), r.write()), move |(a, b, r)| {
            count(bodies, 0);
            r.set(a + b);
        });
    });
}
