//! Measures alternately: in each repetition every runtime runs once, so that other load affects
//! all.

use crate::graph::{Case, Graph};
use crate::progress::Progress;
use crate::row::Row;
use crate::runtimes::{CEILING, Peer, Runtime, SERIAL};
use crate::work::Outcome;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The maximum time of a program's run of empty tasks, in seconds. A slower program gets a smaller
/// graph.
const MAX_RUN_SECONDS: f64 = 0.2;
/// The fraction of a graph run to estimate the time of the whole.
const PROBE: f64 = 1.0 / 32.0;
/// The number of these runs. The fastest counts.
const PROBES: u32 = 3;

/// The started runtimes, by name and workers.
#[derive(Default)]
pub struct Started(HashMap<(&'static str, usize), Box<dyn Peer>>);

impl Started {
    /// Runs a case. Starts the runtime if it does not run yet.
    pub fn run(&mut self, runtime: &'static str, workers: usize, case: &Case) -> Result<Outcome, String> {
        let peer = match self.0.entry((runtime, workers)) {
            Entry::Occupied(peer) => peer.into_mut(),
            Entry::Vacant(place) => {
                let known = Runtime::find(runtime).ok_or("no such runtime")?;
                place.insert(known.start(workers)?)
            }
        };
        peer.run(case)
    }

    /// The correct sum of a case.
    pub fn want(&mut self, case: &Case) -> Result<u64, String> {
        self.run(SERIAL, 1, case).map(|outcome| outcome.sum)
    }

    /// The correct sum of a row's runs.
    fn want_of(&mut self, row: &Row) -> Result<u64, String> {
        // The ceiling ignores dependences, so its bodies get other values. Its sum is their number.
        if row.runtime == CEILING { Ok(row.case.graph.tasks()) } else { self.want(&row.case) }
    }

    /// The graph, or a smaller one if the runtime is a too slow program, which then has run before.
    pub fn fitting(&mut self, runtime: &'static str, workers: usize, graph: Graph) -> Result<Graph, String> {
        let probe = graph.scaled(PROBE);
        let mut time = f64::INFINITY;
        // The minimum excludes one-time costs, such as waking threads.
        for _ in 0..PROBES {
            time = time.min(self.run(runtime, workers, &Case::empty(probe))?.time.as_secs_f64());
            if time > MAX_RUN_SECONDS {
                break;
            }
        }
        let expected = time / probe.tasks().max(1) as f64 * graph.tasks() as f64;
        let is_program = Runtime::find(runtime).is_some_and(Runtime::is_program);
        Ok(if !is_program || expected <= MAX_RUN_SECONDS { graph } else { graph.scaled(MAX_RUN_SECONDS / expected) })
    }
}

/// Runs the rows alternately. A failed row records the error, and is not run again.
pub fn by_turns(started: &mut Started, rows: &mut [Row], reps: usize, progress: &Progress) -> Result<(), String> {
    let wants: Vec<u64> = rows.iter().map(|row| started.want_of(row)).collect::<Result<_, _>>()?;
    let points = rows.len();
    for rep in 0..reps {
        // Each repetition starts with another row, so that no row always follows the same one.
        for turn in 0..points {
            let at = (rep + turn) % points;
            let row = &mut rows[at];
            if row.failure.is_some() {
                continue;
            }
            progress.say(|| format!("{} ({}): {} of {reps}", row.name(), row.suite, rep + 1));
            match started.run(row.runtime, row.workers, &row.case) {
                Ok(outcome) => row.take(outcome, wants[at]),
                Err(why) => row.failure = Some(why),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_fails_is_not_asked_again_and_the_others_go_on() {
        struct Failing(u64);
        impl Peer for Failing {
            fn run(&mut self, _: &Case) -> Result<Outcome, String> {
                self.0 += 1;
                Err(format!("failure {}", self.0))
            }
        }
        let mut started = Started::default();
        started.0.insert(("starpu", 1), Box::new(Failing(0)));
        let case = Case::empty(Graph::Flat { tasks: 10 });
        let row = |runtime| Row::new("empty", "flat", runtime, 1, case);
        let mut rows = [row("starpu"), row("millpond")];
        by_turns(&mut started, &mut rows, 3, &Progress::new()).expect("the serial loop runs");
        assert_eq!(rows[0].failure.as_deref(), Some("failure 1"));
        assert_eq!((rows[1].runs.len(), rows[1].verified), (3, true));
    }
}
