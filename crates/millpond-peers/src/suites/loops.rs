//! Parallel loops: how many items of which length are worth a second thread, and what a loop costs
//! that is not. Each run repeats its loop, so that short ones can be measured.

use super::{Named, Request, Suite};
use crate::graph::{Case, Graph};
use crate::row::{Row, by_turn, median_loop_ns};
use crate::runtimes::{MILLPOND, SERIAL};
use crate::turns::{Started, by_turns};
use serde_json::json;

/// A run takes about this long, or one loop.
const RUN_NS: u64 = 4_000_000;
/// The maximum number of loops in a run.
const MAX_TIMES: u64 = 40_000;
/// Loops longer than `RUN_NS` have fewer runs, which together take about this long.
const ROW_NS: u64 = 1_000_000_000;
const MIN_REPS: usize = 3;

/// The bar. From `LONG_NS` of work on, the best of the others takes at least this part of
/// millpond's time. Below, millpond takes at most `EXTRA_NS` longer than the serial loop.
const LONG_NS: f64 = 1_000.0;
const MIN_RATIO: f64 = 0.9;
const EXTRA_NS: f64 = 50.0;

macro_rules! shapes {
    ($($items:literal x $ns:literal $name:literal,)*) => {
        [$(($name, shape($items, $ns)),)*]
    };
}

/// All loops of at most a second.
pub const SHAPES: [Named; 34] = shapes! {
    1 x 1 "1 x 1 ns", 1 x 10 "1 x 10 ns", 1 x 100 "1 x 100 ns", 1 x 1_000 "1 x 1 us", 1 x 10_000 "1 x 10 us",
    10 x 1 "10 x 1 ns", 10 x 10 "10 x 10 ns", 10 x 100 "10 x 100 ns", 10 x 1_000 "10 x 1 us",
    10 x 10_000 "10 x 10 us",
    100 x 1 "100 x 1 ns", 100 x 10 "100 x 10 ns", 100 x 100 "100 x 100 ns", 100 x 1_000 "100 x 1 us",
    100 x 10_000 "100 x 10 us",
    1_000 x 1 "1e3 x 1 ns", 1_000 x 10 "1e3 x 10 ns", 1_000 x 100 "1e3 x 100 ns", 1_000 x 1_000 "1e3 x 1 us",
    1_000 x 10_000 "1e3 x 10 us",
    10_000 x 1 "1e4 x 1 ns", 10_000 x 10 "1e4 x 10 ns", 10_000 x 100 "1e4 x 100 ns", 10_000 x 1_000 "1e4 x 1 us",
    10_000 x 10_000 "1e4 x 10 us",
    100_000 x 1 "1e5 x 1 ns", 100_000 x 10 "1e5 x 10 ns", 100_000 x 100 "1e5 x 100 ns",
    100_000 x 1_000 "1e5 x 1 us", 100_000 x 10_000 "1e5 x 10 us",
    1_000_000 x 1 "1e6 x 1 ns", 1_000_000 x 10 "1e6 x 10 ns", 1_000_000 x 100 "1e6 x 100 ns",
    1_000_000 x 1_000 "1e6 x 1 us",
};

const fn shape(items: u64, ns: u64) -> Graph {
    let times = RUN_NS / (items * ns);
    let times = if times == 0 {
        1
    } else if times > MAX_TIMES {
        MAX_TIMES
    } else {
        times
    };
    Graph::Loop { items, ns, times }
}

pub fn measure(suite: &Suite, request: &Request, started: &mut Started) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (shape, graph) in request.shapes(suite) {
        let Graph::Loop { items, ns, .. } = graph else { continue };
        let reps = request.reps.min(MIN_REPS.max((ROW_NS / (items * ns)) as usize));
        let case = Case { steps: request.steps(ns), ..Case::empty(graph) };
        for &workers in request.workers(suite) {
            let mut some = request.rows(suite, shape, workers, case);
            some.retain(|row| row.runtime != SERIAL);
            some.insert(0, Row::new(suite.name, shape, SERIAL, 1, case));
            by_turns(started, &mut some, reps, &request.progress)?;
            judge(&mut some);
            // Each row names its comparison.
            some.iter_mut().for_each(|row| row.extra.push(("of_workers", json!(workers))));
            rows.extend(some);
        }
    }
    Ok(rows)
}

/// Compares the rows of one loop with the best of the others, and records whether millpond's is
/// within the bar.
///
/// Runs are compared turn by turn, and the median counts. Other load on the processor can slow a
/// loop of short items by a factor of 1.7, for a few turns. All runs of a turn are slowed alike.
fn judge(rows: &mut [Row]) {
    let find = |name: &str| rows.iter().find(|row| row.runtime == name);
    let Some((serial, ours)) = find(SERIAL).zip(find(MILLPOND)) else { return };
    let others = rows.iter().filter(|row| row.runtime != MILLPOND);
    let ratios = others.filter_map(|row| by_turn(row, ours, |other, ours| other / ours));
    let best = ratios.fold(f64::INFINITY, f64::min);
    let Some(extra_ns) = by_turn(serial, ours, |serial, ours| ours - serial) else { return };
    let is_long = median_loop_ns(serial).is_some_and(|ns| ns >= LONG_NS);
    let is_within = if is_long { best >= MIN_RATIO } else { extra_ns <= EXTRA_NS };
    for row in rows {
        if let Some(ns) = median_loop_ns(row) {
            row.extra.push(("loop_ns", json!(ns)));
            row.extra.push(("best_of_others_over_millpond", json!(best)));
            row.extra.push(("extra_ns", json!(extra_ns)));
            row.extra.push(("within_bar", json!(is_within)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::Outcome;
    use std::time::Duration;

    /// Judges a loop whose turns took these times.
    fn within_by_turns(serial: &[u64], millpond: &[u64], rayon: &[u64]) -> bool {
        let row = |runtime, turns: &[u64]| {
            let mut row =
                Row::new("loops", "10 x 1 ns", runtime, 1, Case::empty(Graph::Loop { items: 10, ns: 1, times: 1 }));
            for ns in turns {
                row.take(Outcome { time: Duration::from_nanos(*ns), sum: 0, ran: Vec::new() }, 0);
            }
            row
        };
        let mut rows = [row(SERIAL, serial), row(MILLPOND, millpond), row("rayon", rayon)];
        judge(&mut rows);
        let field = rows[1].extra.iter().find(|(name, _)| *name == "within_bar").expect("judged");
        field.1.as_bool().expect("a truth value")
    }

    #[test]
    fn the_bar_is_an_amount_for_short_loops_and_a_ratio_for_long_ones() {
        assert!(within(100, 150, 20) && !within(100, 151, 20));
        assert!(within(10_000, 6_000, 5_500) && !within(10_000, 6_000, 5_300));
        assert!(within(10_000, 11_000, 20_000) && !within(10_000, 11_200, 20_000));
    }

    fn within(serial: u64, millpond: u64, rayon: u64) -> bool {
        within_by_turns(&[serial], &[millpond], &[rayon])
    }

    #[test]
    fn load_that_slows_whole_turns_changes_nothing() {
        // The medians are 1500, 2600, 2500: a ratio of 0.58.
        let serial = [1500, 2500, 1500, 2500, 1499];
        assert!(within_by_turns(&serial, &[1600, 2600, 1600, 2600, 2600], &[2500; 5]));
        assert!(!within_by_turns(&serial, &[1700, 2900, 1700, 2900, 1700], &[2500; 5]));
    }

    #[test]
    fn every_shape_is_named_after_its_loop() {
        for (name, graph) in SHAPES {
            let Graph::Loop { items, ns, times } = graph else { panic!("{name}") };
            let (count, length) = name.split_once(" x ").expect("two parts");
            assert_eq!(count.parse::<f64>().expect("a number"), items as f64, "{name}");
            let (number, unit) = length.split_once(' ').expect("a unit");
            let unit = if unit == "us" { 1000 } else { 1 };
            assert_eq!(number.parse::<u64>().expect("a number") * unit, ns, "{name}");
            assert!(times >= 1 && items * ns <= 1_000_000_000, "{name}");
        }
    }
}
