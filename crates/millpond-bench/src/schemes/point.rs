//! What these suites measure: points, and a cell of each point for each scheme.

use super::compare;
use super::setting::Setting;
use crate::cycles::Timed;
use crate::engines::StaticRuntime;
use millpond::depend::Mode;
use millpond::{Engine, Runtime, WorkerCounts};
use millpond_cli::suites::{Failure, Row, median, shares};
use serde_json::{Value, json};
use std::time::Instant;

/// A measured program. It is compiled once per scheme, so that no dispatch is part of the measured
/// time.
pub trait Program {
    /// The number of bodies in a run.
    fn bodies(&self) -> u64;

    /// Runs it once.
    fn run<E: Engine>(&self, runtime: &Runtime<E>) -> Result<Ran, millpond::Error>;

    /// The time of the serial program in seconds, if a suite needs it.
    fn serial(&self) -> Option<f64> {
        None
    }
}

/// A run.
pub struct Ran {
    pub timed: Timed,
    /// The time of as many tasks without accesses, measured in the same run.
    pub baseline: Option<Timed>,
    /// Whether the result equals the serial program's.
    pub right: bool,
}

impl Ran {
    /// A run without a baseline.
    pub fn new(timed: Timed, right: bool) -> Self {
        Self { timed, baseline: None, right }
    }
}

/// A point, on every scheme.
pub struct Point<P> {
    pub shape: &'static str,
    /// The access mode of its tasks. A scheme without an order for this mode has no such point.
    pub mode: Option<Mode>,
    pub setting: Setting,
    /// Tasks per run.
    pub tasks: u64,
    /// Runs per repetition, unless they are so short that more are needed.
    pub runs: usize,
    /// The approximate amount of work.
    pub weight: f64,
    /// Whether the user asked for it. If not, it only predicts larger points.
    pub asked: bool,
    pub params: Vec<(&'static str, u64)>,
    /// Additional fields of a row.
    pub labels: Vec<(&'static str, Value)>,
    pub program: P,
}

/// A measured point.
pub struct Measured<P> {
    pub point: Point<P>,
    /// The times of the serial program, one per repetition.
    pub serial: Vec<f64>,
    /// The time of the serial program in seconds, as measured before the repetitions.
    pub serial_cost: f64,
    /// A cell for each scheme that has the point.
    pub cells: Vec<Cell>,
}

/// A point on one scheme.
pub struct Cell {
    pub scheme: &'static str,
    /// The index of its runtime.
    pub engine: usize,
    pub seconds: Vec<f64>,
    pub cycles: Vec<f64>,
    /// The cycles of the baseline, if the program has one.
    pub baseline: Vec<f64>,
    /// The steals of a run.
    steals: Vec<f64>,
    /// The number of bodies run by each worker.
    ran: Vec<u64>,
    verified: bool,
    /// Whether a run is short. Then a run before it warms up, and a repetition has several runs.
    pub short: bool,
    /// The expected time of a repetition in seconds.
    pub cost: f64,
}

/// The maximum time of a short run, in seconds.
pub const SHORT_SECONDS: f64 = 0.010;
/// A repetition of short runs ends when they took the first number of seconds, or the second one
/// including all overhead.
const MIN_MEASURED_SECONDS: f64 = 0.002;
const MAX_TOTAL_SECONDS: f64 = 0.010;
/// The minimum number of runs in a repetition of short runs.
const MIN_RUNS: usize = 3;

impl<P> Point<P> {
    /// Its name in messages, without the values that its series varies.
    pub fn series(&self, scheme: &str) -> String {
        let workers = self.setting.workers;
        format!("{} on {scheme}, {workers} {}", self.shape, if workers == 1 { "worker" } else { "workers" })
    }

    /// The values that its series varies.
    pub fn values(&self) -> String {
        let labels: Vec<_> = self.labels.iter().map(|(name, value)| format!("{name} {value}")).collect();
        labels.join(", ")
    }
}

impl<P> Measured<P> {
    pub fn new(point: Point<P>) -> Self {
        Self { point, serial: Vec::new(), serial_cost: 0.0, cells: Vec::new() }
    }

    /// The expected time of a repetition on all schemes, in seconds.
    pub fn cost(&self) -> f64 {
        self.serial_cost + self.cells.iter().map(|cell| cell.cost).sum::<f64>()
    }

    /// The row of a cell: the point's `labels`, then the suite's fields, then the statistics.
    pub fn row(&self, cell: &Cell, against: &'static str, adds: Vec<(&'static str, Value)>) -> Row {
        let setting = &self.point.setting;
        let mut extra = vec![("scheme", json!(cell.scheme)), ("workers", json!(setting.workers))];
        extra.extend(self.point.labels.iter().cloned());
        extra.extend(adds);
        extra.push(("steals", json!(median(&cell.steals))));
        let with = self.cells.iter().find(|other| other.scheme == against && other.scheme != cell.scheme);
        extra.extend(compare::statistics(&cell.seconds, with.map(|with| (with.scheme, with.seconds.as_slice()))));
        Row {
            shape: self.point.shape,
            runtime: "millpond",
            config: setting.config(cell.scheme),
            params: self.point.params.clone(),
            tasks: self.point.tasks,
            seconds: cell.seconds.clone(),
            worker_shares: shares(&cell.ran),
            verified: cell.verified,
            extra,
        }
    }

    /// The rows of all cells, without fields of the suite.
    pub fn rows(&self, against: &'static str) -> impl Iterator<Item = Row> {
        self.cells.iter().map(move |cell| self.row(cell, against, Vec::new()))
    }
}

impl Cell {
    pub fn new(scheme: &'static str, engine: usize) -> Self {
        Self {
            scheme,
            engine,
            seconds: Vec::new(),
            cycles: Vec::new(),
            baseline: Vec::new(),
            steals: Vec::new(),
            ran: Vec::new(),
            verified: true,
            short: false,
            cost: 0.0,
        }
    }

    /// Notes the first runs: the measured time of one, and its time with all overhead.
    pub fn expect(&mut self, seconds: f64, whole: f64, runs: usize) {
        self.short = seconds < SHORT_SECONDS;
        let (least, runs) = if self.short { (MAX_TOTAL_SECONDS, runs.max(MIN_RUNS) + 1) } else { (0.0, runs) };
        self.cost = (whole * runs as f64).max(least);
    }

    /// Runs it once, and counts the bodies of each worker. Also returns the number of steals.
    pub fn run<P: Program>(&mut self, runtime: &StaticRuntime, program: &P) -> Result<(Ran, u64), Failure> {
        let before = counts(runtime);
        let ran = on_scheme!(runtime, rt => program.run(rt))?;
        let after = counts(runtime);
        let of = |count: fn(&WorkerCounts) -> u64| {
            after.iter().zip(&before).map(|(after, before)| count(after) - count(before)).collect::<Vec<_>>()
        };
        let (bodies, steals) = (of(|counts| counts.tasks), of(|counts| counts.steals));
        self.verified &= ran.right && bodies.iter().sum::<u64>() == program.bodies();
        self.ran.resize(bodies.len(), 0);
        self.ran.iter_mut().zip(bodies).for_each(|(sum, bodies)| *sum += bodies);
        Ok((ran, steals.iter().sum()))
    }

    /// A repetition: one run, or the medians of several.
    pub fn measure<P: Program>(&mut self, runtime: &StaticRuntime, program: &P, runs: usize) -> Result<(), Failure> {
        let begun = Instant::now();
        if self.short {
            self.run(runtime, program)?;
        }
        let runs = if self.short { runs.max(MIN_RUNS) } else { runs };
        let [mut seconds, mut cycles, mut baseline, mut steals] = [(); 4].map(|()| Vec::new());
        let mut enough = false;
        while !enough {
            let (ran, stolen) = self.run(runtime, program)?;
            seconds.push(ran.timed.seconds);
            cycles.push(ran.timed.cycles);
            baseline.extend(ran.baseline.map(|timed| timed.cycles));
            steals.push(stolen as f64);
            let long = seconds.iter().sum::<f64>() >= MIN_MEASURED_SECONDS
                || begun.elapsed().as_secs_f64() >= MAX_TOTAL_SECONDS;
            enough = seconds.len() >= runs && (!self.short || long);
        }
        self.seconds.push(median(&seconds));
        self.cycles.push(median(&cycles));
        self.baseline.extend((!baseline.is_empty()).then(|| median(&baseline)));
        self.steals.push(median(&steals));
        Ok(())
    }
}

/// What each worker has done so far.
fn counts(runtime: &StaticRuntime) -> Vec<WorkerCounts> {
    on_scheme!(runtime, rt => rt.counts())
}
