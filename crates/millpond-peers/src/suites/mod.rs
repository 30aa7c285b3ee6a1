//! The suites: which graphs, with which bodies, on which runtimes.

mod bimodal;
mod bodies;
mod empty;
mod join;
mod loops;

use crate::graph::{Case, Graph};
use crate::progress::Progress;
use crate::row::{Row, compare};
use crate::runtimes::{CEILING, MILLPOND, RUNTIMES, Runtime, SERIAL};
use crate::turns::{Started, by_turns};

/// A graph's name in a suite, and its full size.
pub type Named = (&'static str, Graph);

/// A suite: an entry in the table of suites.
pub struct Suite {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its subject, in one line.
    pub summary: &'static str,
    /// Its graphs at full size.
    pub shapes: &'static [Named],
    /// The default numbers of workers.
    pub workers: &'static [usize],
    /// Takes the measurements.
    pub measure: fn(&Suite, &Request, &mut Started) -> Result<Vec<Row>, String>,
}

/// Every suite.
pub static SUITES: &[Suite] = &[
    Suite {
        name: "join",
        summary: "fork-join: Fibonacci without a cut-off; ns per spawn, that is, per join",
        shapes: &[("fib", Graph::Fib { n: 36 })],
        workers: &[1, 2],
        measure: join::measure,
    },
    Suite {
        name: "empty",
        summary: "empty tasks on ten graphs; ns per task",
        shapes: empty::SHAPES,
        workers: &[1, 2],
        measure: empty::measure,
    },
    Suite {
        name: "bodies",
        summary: "bodies of 0.2 to 20 µs on four graphs; efficiency, and METG(50 %)",
        shapes: bodies::SHAPES,
        workers: &[2],
        measure: bodies::measure,
    },
    Suite {
        name: "bimodal",
        summary: "one task in a thousand takes 1 ms, the others 0.2 µs; speed-up over the serial loop",
        shapes: &[("bimodal", Graph::Bimodal { tasks: 200_000 })],
        workers: &[2],
        measure: bimodal::measure,
    },
    Suite {
        name: "loops",
        summary: "parallel loops over 1 to 10^6 items of 1 ns to 10 µs; ns per loop, against the best of serial and rayon",
        shapes: &loops::SHAPES,
        workers: &[1, 2],
        measure: loops::measure,
    },
];

/// The user's request.
pub struct Request {
    /// The shapes by name; empty for all.
    pub shapes: Vec<String>,
    /// The runtimes by name; empty for all.
    pub runtimes: Vec<String>,
    /// The numbers of workers; empty for the suite's own.
    pub workers: Vec<usize>,
    /// The number of repetitions.
    pub reps: usize,
    /// The executed fraction of each graph.
    pub part: f64,
    /// Steps of a body per nanosecond.
    pub steps_per_ns: f64,
    /// Shows the progress.
    pub progress: Progress,
}

impl Request {
    /// The requested shapes of a suite, at the requested size.
    fn shapes(&self, suite: &Suite) -> Vec<Named> {
        let chosen =
            suite.shapes.iter().filter(|(name, _)| self.shapes.is_empty() || self.shapes.iter().any(|s| s == name));
        chosen.map(|(name, graph)| (*name, if self.part < 1.0 { graph.scaled(self.part) } else { *graph })).collect()
    }

    /// Whether a runtime is requested. millpond always is, for comparison.
    pub fn asks_for(&self, runtime: &Runtime) -> bool {
        self.runtimes.is_empty() || runtime.name == MILLPOND || self.runtimes.iter().any(|name| name == runtime.name)
    }

    /// The numbers of workers of a suite.
    fn workers<'a>(&'a self, suite: &'a Suite) -> &'a [usize] {
        if self.workers.is_empty() { suite.workers } else { &self.workers }
    }

    fn steps(&self, body_ns: u64) -> u64 {
        (body_ns as f64 * self.steps_per_ns).round().max(1.0) as u64
    }

    /// A row for every requested and available runtime that can express the graph.
    fn rows(&self, suite: &Suite, shape: &'static str, workers: usize, case: Case) -> Vec<Row> {
        let here = |runtime: &Runtime| runtime.missing().is_none() && (runtime.can)(case.graph);
        // A loop has no workers, so it has a row only for one worker.
        let alone = |runtime: &Runtime| runtime.name != SERIAL || workers == 1;
        // The ceiling is a bound of efficiency, so it takes part only where that is measured.
        let of_use = |runtime: &Runtime| runtime.name != CEILING || suite.name == "bodies";
        let fits = |runtime: &&Runtime| self.asks_for(runtime) && here(runtime) && alone(runtime) && of_use(runtime);
        let row = |runtime: &Runtime| Row::new(suite.name, shape, runtime.name, workers, case);
        RUNTIMES.iter().filter(fits).map(row).collect()
    }

    /// Measures empty bodies on every graph of a suite. `fit` first chooses the size of a row's
    /// graph.
    fn measure_empty(
        &self,
        suite: &Suite,
        started: &mut Started,
        fit: impl Fn(&mut Started, &mut Row),
    ) -> Result<Vec<Row>, String> {
        let mut rows = Vec::new();
        for (shape, graph) in self.shapes(suite) {
            // All numbers of workers take turns, so that they can be compared.
            let case = Case::empty(graph);
            let all = self.workers(suite).iter().flat_map(|&workers| self.rows(suite, shape, workers, case));
            let mut some: Vec<Row> = all.collect();
            some.iter_mut().for_each(|row| fit(started, row));
            by_turns(started, &mut some, self.reps, &self.progress)?;
            compare(&mut some);
            some.sort_by_key(|row| row.workers);
            rows.extend(some);
        }
        Ok(rows)
    }

    /// Measures a case alternately on the requested runtimes and the serial loop. Returns their
    /// rows, and the loop's seconds.
    fn measure_beside_serial(
        &self,
        suite: &Suite,
        started: &mut Started,
        shape: &'static str,
        workers: usize,
        case: Case,
    ) -> Result<(Vec<Row>, f64), String> {
        let mut rows = self.rows(suite, shape, workers, case);
        rows.retain(|row| row.runtime != SERIAL);
        rows.insert(0, Row::new(suite.name, shape, SERIAL, 1, case));
        by_turns(started, &mut rows, self.reps, &self.progress)?;
        let serial = rows.remove(0).median_seconds().ok_or("the serial loop did not run")?;
        Ok((rows, serial))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ceiling_takes_part_in_bodies_only() {
        let request = Request {
            shapes: Vec::new(),
            runtimes: Vec::new(),
            workers: Vec::new(),
            reps: 1,
            part: 1.0,
            steps_per_ns: 1.0,
            progress: Progress::new(),
        };
        for suite in SUITES {
            for &(shape, graph) in suite.shapes {
                let rows = request.rows(suite, shape, 2, Case::empty(graph));
                let ceilings = rows.iter().filter(|row| row.runtime == CEILING).count();
                assert_eq!(ceilings, usize::from(suite.name == "bodies"), "{}: {shape}", suite.name);
            }
        }
    }
}
