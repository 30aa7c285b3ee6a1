//! The cost of items and steps with one worker, in nanoseconds.
//!
//! `cargo bench --profile max -p millpond-cnc --bench cost [-- TEXT]` runs the rows whose name has
//! that text. The rounds alternate between rows; the result is the median of each row.

use std::time::Instant;

use millpond::Runtime;
use millpond_cnc::{Blocked, Graph, Preconditions, Settings, Table, graph_with};

/// Items or steps per round.
const N: u64 = 200_000;
/// Items that fit into a cache.
const FEW: u64 = 10_000;
/// Steps that wait, per round. Each may have a stack.
const WAITING_STEPS: u64 = 20_000;
const ROUNDS: usize = 15;

struct Row {
    name: &'static str,
    settings: Settings,
    measure: fn(&Graph<'_, '_, '_>) -> f64,
}

fn main() {
    let rt = Runtime::builder().workers(1).build().expect("a runtime");
    let default = Settings::default();
    let sharded = Settings { table: Table::Sharded, ..default };
    let split = Settings { table: Table::SplitOrdered, ..default };
    let strict = Settings { preconditions: Preconditions::Strict, ..default };
    let check = |settings| Settings { check_gets: true, ..settings };
    let eager = |blocked| Settings { preconditions: Preconditions::Eager, blocked, ..default };
    let rows = [
        Row { name: "put and get, dense", settings: default, measure: |g| put_and_get::<N>(g, true) },
        Row { name: "put and get, open tables", settings: default, measure: |g| put_and_get::<N>(g, false) },
        Row { name: "put and get, sharded tables", settings: sharded, measure: |g| put_and_get::<N>(g, false) },
        Row { name: "put and get, split-ordered list", settings: split, measure: |g| put_and_get::<N>(g, false) },
        Row { name: "few: put and get, dense", settings: default, measure: |g| put_and_get::<FEW>(g, true) },
        Row { name: "few: put and get, open tables", settings: default, measure: |g| put_and_get::<FEW>(g, false) },
        Row { name: "few: put and get, sharded tables", settings: sharded, measure: |g| put_and_get::<FEW>(g, false) },
        Row { name: "few: put and get, split-ordered", settings: split, measure: |g| put_and_get::<FEW>(g, false) },
        Row { name: "step, 1 precondition, flexible", settings: default, measure: step },
        Row { name: "step, 1 precondition, strict", settings: strict, measure: step },
        Row { name: "step, 1 precondition, strict, checked", settings: check(strict), measure: step },
        Row { name: "step, no precondition, resume", settings: eager(Blocked::Resume), measure: step },
        Row { name: "step, no precondition, fiber", settings: eager(Blocked::Fiber), measure: step },
        Row { name: "step, no precondition, replay", settings: eager(Blocked::Replay), measure: step },
        Row { name: "step, no precondition, replay, checked", settings: check(eager(Blocked::Replay)), measure: step },
        Row { name: "step that waits, flexible", settings: default, measure: late },
        Row { name: "step that waits, strict", settings: strict, measure: late },
        Row { name: "step that waits, strict, checked", settings: check(strict), measure: late },
        Row { name: "step that waits, resume", settings: eager(Blocked::Resume), measure: late },
        Row { name: "step that waits, fiber", settings: eager(Blocked::Fiber), measure: late },
        Row { name: "step that waits, replay", settings: eager(Blocked::Replay), measure: late },
    ];
    let only = std::env::args().nth(1).filter(|arg| !arg.starts_with('-')).unwrap_or_default();
    let rows: Vec<_> = rows.into_iter().filter(|row| row.name.contains(&only)).collect();
    let mut times = vec![Vec::new(); rows.len()];
    for _ in 0..ROUNDS {
        for (row, times) in rows.iter().zip(&mut times) {
            times.push(graph_with(&rt, row.settings, row.measure).expect("a graph"));
        }
    }
    for (row, times) in rows.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        println!("{:<40} {:>7.1}   least {:>7.1}", row.name, times[ROUNDS / 2], times[0]);
    }
}

fn nanoseconds(start: Instant, n: u64) -> f64 {
    start.elapsed().as_nanos() as f64 / n as f64
}

/// A step puts items and gets them again.
fn put_and_get<const N: u64>(g: &Graph<'_, '_, '_>, dense: bool) -> f64 {
    let items = if dense { g.dense_items::<u64, u64>("item", N) } else { g.items("item") };
    let (time, tags) = (g.items::<(), f64>("time"), g.tags("once"));
    tags.prescribes(g.steps::<()>("all").execute(move |()| async move {
        let start = Instant::now();
        for key in 0..N {
            items.put(key, key);
        }
        let mut sum = 0;
        for key in 0..N {
            sum += *items.get(key).await;
        }
        assert_eq!(sum, N * (N - 1) / 2);
        time.put((), nanoseconds(start, N));
    }));
    tags.put(());
    *g.get(time, ()).expect("the time")
}

/// Steps that get an item which is there, and put one.
fn step(g: &Graph<'_, '_, '_>) -> f64 {
    let (given, items) = (g.dense_items::<u64, u64>("given", N), g.dense_items::<u64, u64>("item", N));
    let tags = g.tags("steps");
    let steps = g.steps::<u64>("step").preconditions(move |&n, need| need.wait_on(given, n));
    tags.prescribes(steps.execute(move |n| async move { items.put(n, *given.get(n).await) }));
    (0..N).for_each(|n| given.put(n, n));
    let start = Instant::now();
    tags.put_all(0..N);
    g.wait().expect("all run");
    nanoseconds(start, N)
}

/// Each step gets what the previous one puts. The newest step runs first, so all but one wait.
fn late(g: &Graph<'_, '_, '_>) -> f64 {
    let items = g.dense_items::<u64, u64>("item", WAITING_STEPS + 1);
    let tags = g.tags("steps");
    let steps = g.steps::<u64>("step").preconditions(move |&n, need| need.wait_on(items, n));
    tags.prescribes(steps.execute(move |n| async move { items.put(n + 1, *items.get(n).await) }));
    let start = Instant::now();
    tags.put_all(0..WAITING_STEPS);
    items.put(0, 1);
    g.wait().expect("all run");
    nanoseconds(start, WAITING_STEPS)
}
