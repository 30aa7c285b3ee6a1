//! Each body runs exactly once, on every pool, with few workers and with many.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use millpond::catalogue::{AnyRuntime, Names, POOLS, SCHEMES};
use millpond::{Inline, Spawn, on_runtime};

use crate::common::{builder, limit, tasks};

/// The time limit in seconds for a run of 10^7 tasks. The pool may be slow, with more workers than
/// cores, on a busy machine.
const LIMIT: u64 = 300;

/// Task `n` spawns `2n + 1` and `2n + 2`.
fn node<'s, S: Spawn<'s>>(s: &S, n: usize, seen: &'s [AtomicU8]) {
    let ran = move || seen[n].fetch_add(1, Relaxed);
    if 2 * n + 1 >= seen.len() {
        s.spawn((), move |()| _ = ran());
        return;
    }
    s.nest((), move |s, ()| {
        ran();
        (2 * n + 1..=2 * n + 2).filter(|child| *child < seen.len()).for_each(|child| node(s, child, seen));
    });
}

#[test]
fn on_every_pool_with_few_workers_and_many() {
    for row in POOLS {
        for workers in [1, 2, 3, 8] {
            // Tasks that could run at their spawn go through the pool, too.
            let builder = builder(workers).inline(Inline::Never);
            // Takes the first scheme, not the default one. The default may be the stack, which
            // takes no pool.
            let names = Names { scheme: SCHEMES[0].name, pool: row.name, ..Names::default() };
            let any = AnyRuntime::build(builder, names).expect("a runtime");
            let seen: Box<[AtomicU8]> = (0..tasks()).map(|_| AtomicU8::new(0)).collect();
            let run = format!("each body once on {}, {workers} workers", row.name);
            limit(LIMIT, run.clone(), || on_runtime!(&any, rt => rt.scope(|s| node(s, 0, &seen)))).expect("no failure");
            assert_eq!(seen.iter().position(|times| times.load(Relaxed) != 1), None, "{run}");
        }
    }
}
