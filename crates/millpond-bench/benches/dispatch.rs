//! The cost of calls through function tables: each scheme on its static engine and on the catalogue
//! engine, in turns. Both have the default pool and memory manager. All tasks go through the pool,
//! on one worker, so that nothing else differs.
//!
//! ```sh
//! cargo bench --profile max -p millpond-bench --bench dispatch
//! ```
//!
//! For tools that count instructions: `ENGINE=static` or `ENGINE=catalogue` runs one engine,
//! `SCHEME=list` one scheme, and `RUNS=1` sets the number of runs.
#![forbid(unsafe_code)]

use millpond::catalogue::{AnyRuntime, Names, SCHEMES};
use millpond::{
    Builder, Catalogue, DefaultMemory, DefaultPool, Engine, Handle, Inline, Parts, Runtime, Spawn, StackEngine,
};
use millpond_bench::with_scheme;
use std::time::Instant;

/// Tasks per run.
const TASKS: u64 = 20_000;
/// The number of data: enough that a task seldom waits for the previous one.
const DATA: usize = 64;
/// Runs of each engine. Many short ones, so that some are undisturbed.
const RUNS: usize = 101;

/// Nanoseconds per task of a run. Each task changes one datum and reads another.
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

/// The runtime of a scheme on the catalogue engine.
fn by_table(scheme: &'static str) -> Runtime<Catalogue> {
    match AnyRuntime::build(builder(), Names { scheme, ..Names::default() }).expect("a runtime") {
        AnyRuntime::Catalogue(rt) => rt,
        // By name the default scheme gets the default engine. So the catalogue engine is built
        // explicitly, from the same parts.
        _ => builder().build_with().expect("a runtime"),
    }
}

/// The minimum times of both engines.
fn compare<E: Engine>(scheme: &'static str, runs: usize, engine: Option<&str>) -> (f64, f64) {
    let (direct, by_table) = (builder().build_with::<E>().expect("a runtime"), by_table(scheme));
    let wanted = |name| engine.is_none_or(|engine| engine == name);
    let mut least = (f64::INFINITY, f64::INFINITY);
    for _ in 0..runs {
        if wanted("static") {
            least.0 = least.0.min(run(&direct));
        }
        if wanted("catalogue") {
            least.1 = least.1.min(run(&by_table));
        }
    }
    least
}

fn main() {
    let engine = std::env::var("ENGINE").ok();
    let runs = std::env::var("RUNS").map_or(RUNS, |runs| runs.parse().expect("RUNS is a number"));
    let only = std::env::var("SCHEME").ok();
    println!("{:20} {:>10} {:>12} {:>10}", "scheme", "static ns", "catalogue ns", "dispatch");
    let schemes = SCHEMES.iter().map(|row| row.name).filter(|name| *name != StackEngine::NAME);
    for name in schemes.filter(|name| only.as_deref().is_none_or(|only| only == *name)) {
        let (direct, by_table) =
            with_scheme!(name, D => compare::<Parts<DefaultMemory, DefaultPool, D>>(name, runs, engine.as_deref()))
                .expect("a scheme of the catalogue");
        println!("{name:20} {direct:10.1} {by_table:12.1} {:10.1}", by_table - direct);
    }
}
