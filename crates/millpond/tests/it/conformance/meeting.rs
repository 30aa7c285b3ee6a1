//! All that one release makes ready is found by all workers: as many tasks as there are workers wait for each other.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use millpond::{Engine, Handle, Inline, Runtime, Spawn, Sum};

use super::gate::{Gate, Opens};
use super::on_every_row;
use crate::common::{builder, deep, sized};

/// A body that takes so long is a long one, however fast the others come.
const LONG: Duration = Duration::from_micros(100);

/// What the tasks that meet have in common with the one that is held.
#[derive(Clone, Copy)]
enum Behind {
    OneDatum,
    /// One each.
    Data,
    /// One each, and one that all read.
    Both,
    /// One that has parts, which they add to.
    Parts,
}

fn meet<E: Engine>(rt: &Runtime<E>, behind: Behind) {
    let (gate, all) = (Gate::default(), Barrier::new(rt.workers()));
    let shared = Handle::new(0);
    let own: Vec<_> = (0..rt.workers()).map(Handle::new).collect();
    rt.scope(|s| {
        let _opens = Opens(&gate);
        let mine: Vec<_> = own.iter().map(Handle::inout).collect();
        s.nest((shared.inout(), mine), |s, _held| s.block_on(gate.opened()));
        for own in &own {
            let all = &all;
            // One type for all, since each spawn is compiled once a scheme.
            let (reads, owns, parts) = match behind {
                Behind::OneDatum => (Some(shared.read()), None, None),
                Behind::Data => (None, Some(own.inout()), None),
                Behind::Both => (Some(shared.read()), Some(own.inout()), None),
                Behind::Parts => (None, None, Some(shared.reduce(Sum))),
            };
            let accesses = (Vec::from_iter(reads), Vec::from_iter(owns), Vec::from_iter(parts));
            s.spawn(accesses, move |(_, _, parts)| {
                all.wait();
                // So long that workers leave all others to be found before they begin with one: what waits for others by
                // means of its own needs that.
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
                // One worker has them all, and others find none (TP section 3.3).
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
