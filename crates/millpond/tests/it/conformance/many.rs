//! Very many outstanding tasks, and tasks with many accesses.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use millpond::catalogue::Names;
use millpond::{Builder, Engine, Handle, Inline, Runtime, Spawn};

use super::latch::{Latch, Opens};
use super::on_every_row;
use crate::common::{builder, deep, sized};

/// The only scheme whose releases scan a generation (TG §4.1).
const LOOKS_THROUGH: &str = "graph";

/// The number of outstanding tasks. A task takes about 150 bytes.
fn outstanding() -> usize {
    sized(10_000, deep(200_000, 1_000_000))
}

/// A runtime without a window.
fn unbounded() -> Builder {
    builder(2).window(usize::MAX >> 16)
}

/// One task is held until a pending task opens the latch, after all reads are spawned. A writer
/// follows the reads.
fn readers<E: Engine>(rt: &Runtime<E>, names: Names<'_>) {
    let count = if names.scheme == LOOKS_THROUGH { outstanding().min(10_000) } else { outstanding() };
    let (value, latch, ran) = (Handle::new(1), Latch::default(), AtomicUsize::new(0));
    rt.scope(|s| {
        let _opens = Opens(&latch);
        let pending = s.external().pending(|| latch.open());
        let last = pending.hold();
        drop(pending);
        s.nest(value.inout(), |s, mut value| {
            s.block_on(latch.opened());
            *s.wait_on(&mut value).unwrap() += 1;
        });
        for _ in 0..count {
            s.spawn(value.read(), |value| _ = ran.fetch_add(*value, Relaxed));
        }
        s.spawn(value.inout(), |value| *value += ran.load(Relaxed));
        assert_eq!(ran.load(Relaxed), 0);
        last.satisfy();
    })
    .unwrap();
    assert_eq!(value.into_inner().unwrap(), 2 + 2 * count);
}

#[test]
fn outstanding_reads_of_one_datum() {
    on_every_row!(120, "reads of one datum", unbounded(), rt, names => readers(rt, names));
}

/// Many tasks on 500 data. They wait for one task that accesses all of these data.
fn chains<E: Engine>(rt: &Runtime<E>) {
    let chains = 500;
    let count = outstanding() / chains * chains;
    let data: Vec<_> = (0..chains).map(|_| Handle::new(0)).collect();
    let latch = Latch::default();
    rt.scope(|s| {
        let _opens = Opens(&latch);
        let all: Vec<_> = data.iter().map(Handle::inout).collect();
        s.nest(all, |s, _all| s.block_on(latch.opened()));
        for i in 0..count {
            let place = i / chains;
            // The order matters: each task checks its position.
            s.spawn(data[i % chains].inout(), move |value| {
                *value = if *value == place { place + 1 } else { usize::MAX }
            });
        }
    })
    .unwrap();
    assert!(data.into_iter().all(|value| value.into_inner().unwrap() == count / chains));
}

#[test]
fn outstanding_chains() {
    on_every_row!(120, "chains", unbounded(), rt => chains(rt));
}

/// Consecutive generations of many tasks. A graph may need every edge between them.
fn generations<E: Engine>(rt: &Runtime<E>) {
    let (count, rounds) = (sized(200, 500), 4);
    let (value, latch) = (Handle::new(0), Latch::default());
    let [reads, shares] = [(); 2].map(|()| AtomicUsize::new(0));
    rt.scope(|s| {
        let _opens = Opens(&latch);
        s.nest(value.inout(), |s, _value| s.block_on(latch.opened()));
        for round in 0..rounds {
            let (reads, shares) = (&reads, &shares);
            for _ in 0..count {
                s.spawn(value.read(), move |_| {
                    assert_eq!(shares.load(Relaxed), round * count);
                    reads.fetch_add(1, Relaxed);
                });
            }
            for _ in 0..count {
                s.spawn(value.concurrent(), move |_| {
                    assert_eq!(reads.load(Relaxed), (round + 1) * count);
                    shares.fetch_add(1, Relaxed);
                });
            }
        }
    })
    .unwrap();
    assert_eq!(shares.into_inner(), rounds * count);
}

#[test]
fn neighbouring_generations_of_many() {
    on_every_row!(60, "neighbouring generations", unbounded(), rt => generations(rt));
}

/// The body of a task with 1 to 20 accesses: adds what it reads to what it changes.
fn mix(reads: &[u64], changed: &mut u64) {
    *changed = reads.iter().fold(changed.wrapping_mul(3) + 1, |sum, read| sum.wrapping_add(*read));
}

/// The data of task `i`. It changes the first and every fourth one, and reads the others.
fn places(i: usize, data: usize) -> impl Iterator<Item = (usize, bool)> {
    (0..1 + i % 20).map(move |k| ((i * 7 + k) % data, k % 4 == 0))
}

fn many_accesses<E: Engine>(rt: &Runtime<E>) {
    let (tasks, data) = (sized(1_000, deep(10_000, 40_000)), 23);
    let handles: Vec<_> = (0..data as u64).map(Handle::new).collect();
    rt.scope(|s| {
        for i in 0..tasks {
            let (changed, read): (Vec<_>, Vec<_>) = places(i, data).partition(|place| place.1);
            let read: Vec<_> = read.into_iter().map(|place| handles[place.0].read()).collect();
            let changed: Vec<_> = changed.into_iter().map(|place| handles[place.0].inout()).collect();
            s.spawn((read, changed), |(read, changed)| {
                let read: Vec<_> = read.into_iter().copied().collect();
                changed.into_iter().for_each(|changed| mix(&read, changed));
            });
        }
    })
    .unwrap();
    let mut serial: Vec<_> = (0..data as u64).collect();
    for i in 0..tasks {
        let read: Vec<_> = places(i, data).filter(|place| !place.1).map(|place| serial[place.0]).collect();
        places(i, data).filter(|place| place.1).for_each(|place| mix(&read, &mut serial[place.0]));
    }
    let values: Vec<_> = handles.into_iter().map(|handle| handle.into_inner().unwrap()).collect();
    assert_eq!(values, serial);
}

#[test]
fn tasks_of_up_to_twenty_accesses() {
    for workers in [1, 2, 8] {
        for inline in [Inline::Never, Inline::Always] {
            on_every_row!(60, "many accesses", builder(workers).inline(inline), rt => many_accesses(rt));
        }
    }
}
