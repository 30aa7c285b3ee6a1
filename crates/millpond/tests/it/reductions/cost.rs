//! The cost of a member of a reduction:

use std::mem;
use std::time::Instant;

use crate::common::builder;
use millpond::{Append, Handle, Inline, Reducer, Runtime, Spawn, Sum};

/// Adds tiles element by element. On request, it sets a part to the identity again.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Add<const ABSORBS: bool>;

impl<const ABSORBS: bool> Reducer<Vec<f64>> for Add<ABSORBS> {
    const LARGE: bool = true;

    fn identity(&self, like: &Vec<f64>) -> Vec<f64> {
        vec![0.0; like.len()]
    }
    fn combine(&self, into: &mut Vec<f64>, part: Vec<f64>) {
        into.iter_mut().zip(part).for_each(|(into, part)| *into += part);
    }
    fn absorb(&self, into: &mut Vec<f64>, part: &mut Vec<f64>) -> bool {
        if ABSORBS {
            into.iter_mut().zip(part).for_each(|(into, part)| *into += mem::take(part));
        }
        ABSORBS
    }
}

/// The median of several runs.
fn measure(name: &str, tasks: usize, run: impl Fn(usize)) {
    let once = |_| {
        let start = Instant::now();
        run(tasks);
        start.elapsed().as_nanos() as f64 / tasks as f64
    };
    let mut all: Vec<f64> = (0..11).map(once).collect();
    all.sort_unstable_by(f64::total_cmp);
    println!("  {name:24} {:7.0} ns a task", all[5]);
}

#[test]
#[ignore = "a measurement"]
fn cost() {
    let cases = |workers| [(workers, false), (workers, true)];
    for (workers, deterministic) in [1, 2].into_iter().flat_map(cases) {
        println!("{workers} workers, deterministic: {deterministic}");
        let rt = builder(workers).deterministic(deterministic).inline(Inline::Never).build().unwrap();
        measure("sum", 300_000, |tasks| {
            let sum = Handle::new(0.0);
            rt.scope(|s| (0..tasks).for_each(|n| drop(s.spawn(sum.reduce(Sum), move |sum| *sum += n as f64)))).unwrap();
        });
        measure("append", 20_000, |tasks| {
            let list = Handle::new(Vec::new());
            rt.scope(|s| (0..tasks).for_each(|n| drop(s.spawn(list.reduce(Append), move |list| list.push(n)))))
                .unwrap();
        });
        measure("tile of 32 KB", 4000, |tasks| tiles(&rt, Add::<false>, tasks));
        measure("same, with `absorb`", 4000, |tasks| tiles(&rt, Add::<true>, tasks));
    }
}

fn tiles(rt: &Runtime, add: impl Reducer<Vec<f64>>, tasks: usize) {
    let tile = Handle::new(vec![0.0; 4096]);
    let body = |part: &mut Vec<f64>| part.iter_mut().for_each(|x| *x += 1.0);
    rt.scope(|s| (0..tasks).for_each(|_| drop(s.spawn(tile.reduce(add), body)))).unwrap();
}
