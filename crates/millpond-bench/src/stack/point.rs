//! A point of the suite: times, steals, thefts, and the share of each worker.

use millpond::{StackEngine, WorkerCounts};
use millpond_cli::suites::{Failure, Row, median, shares};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The minimum time of a measurement. A point is repeated until then.
const MIN_TIME: Duration = Duration::from_millis(100);

/// A row, and its counts.
pub struct Point {
    pub row: Row,
    /// Stolen tasks and thefts of a run, by measurement.
    steals: Vec<f64>,
    thefts: Vec<f64>,
    /// Stolen tasks and thefts, over all runs.
    stolen: Stolen,
    /// Bodies of each worker, over all runs.
    bodies: Vec<u64>,
}

/// What all workers have stolen.
#[derive(Clone, Copy, Default)]
struct Stolen {
    steals: u64,
    thefts: u64,
}

impl Point {
    pub fn new(row: Row) -> Self {
        Self { row, steals: Vec::new(), thefts: Vec::new(), stolen: Stolen::default(), bodies: Vec::new() }
    }

    /// One measurement: enough runs for the minimum time, and their medians.
    pub fn measure(
        &mut self,
        counts: impl Fn() -> Vec<WorkerCounts>,
        mut run: impl FnMut() -> Result<(Duration, bool), Failure>,
    ) -> Result<(), Failure> {
        let (began, mut seconds, mut stolen) = (Instant::now(), Vec::new(), Vec::new());
        while began.elapsed() < MIN_TIME {
            let before = counts();
            let (time, right) = run()?;
            seconds.push(time.as_secs_f64());
            stolen.push(self.add(&before, &counts()));
            self.row.verified &= right;
        }
        self.row.seconds.push(median(&seconds));
        let middle = |of: fn(&Stolen) -> u64| median(&stolen.iter().map(|run| of(run) as f64).collect::<Vec<_>>());
        self.steals.push(middle(|run| run.steals));
        self.thefts.push(middle(|run| run.thefts));
        Ok(())
    }

    /// Adds the counts of a run to the totals. Returns what was stolen in the run.
    fn add(&mut self, before: &[WorkerCounts], after: &[WorkerCounts]) -> Stolen {
        self.bodies.resize(after.len(), 0);
        let both = || before.iter().zip(after);
        self.bodies.iter_mut().zip(both()).for_each(|(sum, (before, after))| *sum += after.tasks - before.tasks);
        let sum = |of: fn(&WorkerCounts) -> u64| both().map(|(before, after)| of(after) - of(before)).sum::<u64>();
        let run = Stolen { steals: sum(|worker| worker.steals), thefts: sum(|worker| worker.thefts) };
        self.stolen.steals += run.steals;
        self.stolen.thefts += run.thefts;
        run
    }

    /// The finished row. Thefts are of a stack only, so other schemes have `null` there.
    pub fn done(mut self) -> Row {
        self.row.worker_shares = shares(&self.bodies);
        let is_stack = self.row.config["scheme"] == StackEngine::NAME;
        let of_stack = |value: f64| if is_stack { json!(value) } else { Value::Null };
        let Stolen { steals, thefts } = self.stolen;
        let closures = if thefts == 0 { Value::Null } else { json!(steals as f64 / thefts as f64) };
        self.row.extra.extend([
            ("steals", json!(median(&self.steals))),
            ("thefts", of_stack(median(&self.thefts))),
            ("closures_per_theft", closures),
        ]);
        self.row
    }
}
