//! A point of the suite: times, steals, and the share of each worker.

use millpond::WorkerCounts;
use millpond_cli::suites::{Failure, Row, median, shares};
use serde_json::json;
use std::time::{Duration, Instant};

/// The minimum time of a measurement. A point is repeated until then.
const MIN_TIME: Duration = Duration::from_millis(100);

/// A row, and its counts.
pub struct Point {
    pub row: Row,
    /// Steals of a run, by measurement.
    steals: Vec<f64>,
    /// Bodies of each worker, over all runs.
    bodies: Vec<u64>,
}

impl Point {
    pub fn new(row: Row) -> Self {
        Self { row, steals: Vec::new(), bodies: Vec::new() }
    }

    /// One measurement: enough runs for the minimum time, and their medians.
    pub fn measure(
        &mut self,
        counts: impl Fn() -> Vec<WorkerCounts>,
        mut run: impl FnMut() -> Result<(Duration, bool), Failure>,
    ) -> Result<(), Failure> {
        let (began, mut seconds, mut steals) = (Instant::now(), Vec::new(), Vec::new());
        while began.elapsed() < MIN_TIME {
            let before = counts();
            let (time, right) = run()?;
            seconds.push(time.as_secs_f64());
            steals.push(self.add(&before, &counts()));
            self.row.verified &= right;
        }
        self.row.seconds.push(median(&seconds));
        self.steals.push(median(&steals));
        Ok(())
    }

    /// Adds the bodies of a run to the totals. Returns its steals.
    fn add(&mut self, before: &[WorkerCounts], after: &[WorkerCounts]) -> f64 {
        self.bodies.resize(after.len(), 0);
        let both = || before.iter().zip(after);
        self.bodies.iter_mut().zip(both()).for_each(|(sum, (before, after))| *sum += after.tasks - before.tasks);
        both().map(|(before, after)| after.steals - before.steals).sum::<u64>() as f64
    }

    /// The finished row.
    pub fn done(mut self) -> Row {
        self.row.worker_shares = shares(&self.bodies);
        self.row.extra.push(("steals", json!(median(&self.steals))));
        self.row
    }
}
