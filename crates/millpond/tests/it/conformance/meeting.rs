//! All workers find the tasks that one release makes ready: as many tasks as workers wait for each
//! other.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use millpond::{Engine, Handle, Inline, Runtime, Spawn, Sum};

use super::latch::{Latch, Opens};
use super::on_every_row;
use crate::common::{builder, deep, sized};

/// A body of this length counts as long, however short the other bodies are.
const LONG: Duration = Duration::from_micros(100);

/// The data that the meeting tasks share with the held task.
#[derive(Clone, Copy)]
enum Behind {
    OneDatum,
    /// One datum each.
    Data,
    /// A datum each, and one datum that all tasks read.
    Both,
    /// One datum that all tasks reduce into.
    Parts,
}

fn meet<E: Engine>(rt: &Runtime<E>, behind: Behind) {
    let (latch, all) = (Latch::default(), Barrier::new(rt.workers()));
    let shared = Handle::new(0);
    let own: Vec<_> = (0..rt.workers()).map(Handle::new).collect();
    rt.scope(|s| {
        let _opens = Opens(&latch);
        let mine: Vec<_> = own.iter().map(Handle::inout).collect();
        s.nest((shared.inout(), mine), |s, _held| s.block_on(latch.opened()));
        for own in &own {
            let all = &all;
            // One type for all tasks, since each spawn is compiled once per scheme.
            let (reads, owns, parts) = match behind {
                Behind::OneDatum => (Some(shared.read()), None, None),
                Behind::Data => (None, Some(own.inout()), None),
                Behind::Both => (Some(shared.read()), Some(own.inout()), None),
                Behind::Parts => (None, None, Some(shared.reduce(Sum))),
            };
            let accesses = (Vec::from_iter(reads), Vec::from_iter(owns), Vec::from_iter(parts));
            s.spawn(accesses, move |(_, _, parts)| {
                all.wait();
                // Long bodies, so that workers leave the other tasks in the pool before they start
                // one. Tasks that wait for others by their own means need that.
                let start = Instant::now();
                while start.elapsed() < LONG {}
                parts.into_iter().for_each(|part| *part += 1);
            });
        }
    })
    .unwrap();
    let parts = if let Behind::Parts = behind { rt.workers() } else { 0 };
    assert_eq!(shared.into_inner().unwrap(), parts);
}

#[test]
fn as_many_as_there_are_workers() {
    for workers in [1, 2, 4, 8] {
        for inline in [Inline::Auto, Inline::Never] {
            on_every_row!(60, "a meeting", builder(workers).inline(inline), rt, names => {
                // One worker has all tasks, and the others find none (TP §3.3).
                if ["dq1", "dq3"].contains(&names.pool) {
                    return;
                }
                for _ in 0..sized(2, deep(10, 40)) {
                    [Behind::OneDatum, Behind::Data, Behind::Both, Behind::Parts].into_iter().for_each(|behind| meet(rt, behind));
                }
            });
        }
    }
}
