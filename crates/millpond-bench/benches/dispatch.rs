//! What a call through a table of functions costs: each scheme on its static engine and on the catalogue engine, in turns.
//! All tasks go through the pool, on one worker, so that nothing else differs.
//!
//! ```sh
//! cargo bench --profile max -p millpond-bench --bench dispatch
//! ```
#![forbid(unsafe_code)]

use millpond::catalogue::{AnyRuntime, Names, SCHEMES};
use millpond::{Builder, DefaultMemory, DefaultPool, Engine, Handle, Inline, Parts, Runtime, Spawn, on_runtime};
use millpond_bench::with_scheme;
use std::time::Instant;

/// Tasks of a run.
const TASKS: u64 = 200_000;
/// Data, so that a task seldom waits for the one before it.
const DATA: usize = 64;
/// Runs of each engine.
const RUNS: usize = 9;

/// Nanoseconds per task of a run: each task changes one datum and reads another.
fn run<E: Engine>(rt: &Runtime<E>) -> f64 {
    let data: Vec<_> = (0..DATA).map(|_| Handle::new(0_u64)).collect();
    let started = Instant::now();
    rt.scope(|s| {
        for task in 0..TASKS as usize {
            let (one, other) = (&data[task % DATA], &data[(task + 7) % DATA]);
            s.spawn((one.inout(), other.read()), |(one, other)| *one += 1 + other / u64::MAX);
        }
    })
    .expect("no task fails");
    let nanoseconds = started.elapsed().as_secs_f64() * 1e9 / TASKS as f64;
    let sum: u64 = data.into_iter().map(|datum| datum.into_inner().expect("no task fails")).sum();
    assert_eq!(sum, TASKS);
    nanoseconds
}

fn builder() -> Builder {
    Runtime::builder().workers(1).inline(Inline::Never)
}

fn median(runs: &mut [f64]) -> f64 {
    runs.sort_by(f64::total_cmp);
    runs[runs.len() / 2]
}

/// The medians of both engines.
fn compare<E: Engine>(table: &AnyRuntime) -> (f64, f64) {
    let direct: Runtime<E> = builder().build_with().expect("a runtime");
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        ones.push(run(&direct));
        others.push(on_runtime!(table, rt => run(rt)));
    }
    (median(&mut ones), median(&mut others))
}

fn main() {
    println!("{:20} {:>10} {:>10} {:>10}", "scheme", "static ns", "table ns", "dispatch");
    for row in SCHEMES.iter().filter(|row| row.name != "stack") {
        // Another memory manager than the default one would be needed to have the default scheme on the catalogue engine.
        let memory = if row.name == Names::default().scheme { "cgbkob" } else { "default" };
        let table =
            AnyRuntime::build(builder(), Names { scheme: row.name, memory, ..Names::default() }).expect("a runtime");
        let (direct, by_table) = with_scheme!(row.name, D => compare::<Parts<DefaultMemory, DefaultPool, D>>(&table))
            .expect("a scheme of the catalogue");
        println!("{:20} {direct:10.1} {by_table:10.1} {:10.1}", row.name, by_table - direct);
    }
}
