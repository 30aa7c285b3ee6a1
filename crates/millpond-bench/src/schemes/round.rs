//! Measures every point on every scheme, interleaved.

use super::Request;
use super::plan::Trend;
use crate::cycles::Timed;
use crate::engines::StaticRuntime;
use millpond::depend::Mode;
use millpond::{Engine, Inline, Runtime};
use millpond_cli::suites::{Failure, Row, median, of_scheme, rss, shares};
use millpond_workloads::matrix::memory::available;
use serde_json::{Value, json};
use std::time::Instant;

/// A measured program. It is compiled once per scheme, so that no dispatch is part of the measured
/// time.
pub trait Program {
    /// The number of bodies in a run.
    fn bodies(&self) -> u64;

    /// Runs it once. Returns the time, and whether the result equals the serial program's.
    fn run<E: Engine>(&self, runtime: &Runtime<E>) -> Result<(Timed, bool), millpond::Error>;

    /// The time of the serial program in seconds, if a suite needs it.
    fn serial(&self) -> Option<f64> {
        None
    }
}

/// The build of a point's runtimes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    pub workers: usize,
    pub inline: Inline,
    pub window: usize,
}

impl Setting {
    fn config(&self, scheme: &str) -> Value {
        let mut config = of_scheme(scheme, self.workers);
        config["deterministic"] = json!(false);
        config["window"] = json!(self.window);
        config
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
    /// A cell for each scheme that has the point.
    pub cells: Vec<Cell>,
}

/// A point on one scheme.
pub struct Cell {
    pub scheme: &'static str,
    engine: usize,
    pub seconds: Vec<f64>,
    pub cycles: Vec<f64>,
    /// The number of bodies run by each worker.
    ran: Vec<u64>,
    verified: bool,
    /// Whether a run is short. Then a run before it warms up, and a repetition has several runs.
    short: bool,
}

/// The maximum time of a short run, in seconds.
const SHORT_SECONDS: f64 = 0.010;
/// A repetition of short runs ends when they took the first number of seconds, or the second one
/// including all overhead.
const MIN_MEASURED_SECONDS: f64 = 0.002;
const MAX_TOTAL_SECONDS: f64 = 0.010;
/// The minimum number of runs in a repetition of short runs.
const MIN_RUNS: usize = 3;
/// A first run shorter than this, in seconds, is repeated.
const REPEAT_BELOW_SECONDS: f64 = 0.100;
/// Runs below these seconds or bytes do not predict larger ones, because they may have waited, or
/// were the first.
const TELLING: (f64, f64) = (0.010, 8e6);
/// The fraction of the memory that a run may need.
const MEMORY: f64 = 0.25;

impl<P> Measured<P> {
    /// The row of a cell: the point's `labels`, then the suite's fields.
    pub fn row(&self, cell: &Cell, adds: Vec<(&'static str, Value)>) -> Row {
        let setting = &self.point.setting;
        let mut extra = vec![("scheme", json!(cell.scheme)), ("workers", json!(setting.workers))];
        extra.extend(self.point.labels.iter().cloned());
        extra.extend(adds);
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
}

impl<P> Point<P> {
    fn name(&self, scheme: &str) -> String {
        let labels: Vec<_> = self.labels.iter().map(|(name, value)| format!("{name} {value}")).collect();
        format!("{} on {scheme}, {} workers, {}", self.shape, self.setting.workers, labels.join(", "))
    }
}

/// Measures points in series, each from the lightest to the heaviest.
pub fn measure<P: Program>(request: &Request, series: Vec<Vec<Point<P>>>) -> Result<Vec<Measured<P>>, Failure> {
    let (mut engines, mut all) = (Engines::default(), Vec::new());
    let started = Instant::now();
    for points in series {
        all.extend(admit(request, &mut engines, points)?);
    }
    let admitted = started.elapsed().as_secs_f64();
    for rep in 1..=request.reps {
        let so_far = started.elapsed().as_secs_f64();
        let each = (so_far - admitted) / (rep - 1) as f64;
        if rep > 1 && so_far + each > request.seconds {
            let says =
                format!("{} of {} repetitions fit into {} s (--seconds)", rep - 1, request.reps, request.seconds);
            request.left_out.borrow_mut().push(says);
            break;
        }
        for measured in &mut all {
            request.progress.say(|| format!("{}: {rep} of {}", measured.point.name("all"), request.reps));
            measured.serial.extend(measured.point.program.serial());
            // The order rotates, so that no scheme is always first.
            let first = (rep - 1) % measured.cells.len();
            let (before, from) = measured.cells.split_at_mut(first);
            for cell in from.iter_mut().chain(before) {
                cell.measure(&engines.0[cell.engine].1, &measured.point.program)?;
            }
        }
    }
    Ok(all)
}

/// The built runtimes.
#[derive(Default)]
struct Engines(Vec<(Setting, StaticRuntime)>);

impl Engines {
    /// The index of a runtime, built at its first use.
    fn find(&mut self, setting: Setting, scheme: &str, pin: bool) -> Result<usize, Failure> {
        let is_it = |(its, runtime): &(Setting, StaticRuntime)| *its == setting && runtime.scheme() == scheme;
        if let Some(place) = self.0.iter().position(is_it) {
            return Ok(place);
        }
        let builder =
            Runtime::builder().workers(setting.workers).inline(setting.inline).window(setting.window).pin(pin);
        let runtime = StaticRuntime::build(builder, scheme)
            .map_err(|error| Failure::Failed(format!("cannot start the runtime: {error}")))?;
        self.0.push((setting, runtime.expect("a scheme of the catalogue")));
        Ok(self.0.len() - 1)
    }
}

/// Runs each point once on every scheme, except those that lighter points predict to be too
/// expensive.
fn admit<P: Program>(
    request: &Request,
    engines: &mut Engines,
    points: Vec<Point<P>>,
) -> Result<Vec<Measured<P>>, Failure> {
    let mut all: Vec<_> =
        points.into_iter().map(|point| Measured { point, serial: Vec::new(), cells: Vec::new() }).collect();
    for scheme in &request.schemes {
        let (mut times, mut sizes) = (Trend::new(TELLING.0), Trend::new(TELLING.1));
        for Measured { point, cells, .. } in &mut all {
            let Point { weight, setting, .. } = *point;
            if point.mode.is_some_and(|mode| !scheme.modes.is_none_or(|modes| modes.contains(&mode))) {
                continue;
            }
            if let Some(why) = too_much(request, &times, &sizes, weight) {
                request.left_out.borrow_mut().push(format!("left out: {}, and beyond: {why}", point.name(scheme.name)));
                break;
            }
            request.progress.say(|| format!("{}: once", point.name(scheme.name)));
            let engine = engines.find(setting, scheme.name, request.pin)?;
            let mut cell = Cell::new(scheme.name, engine);
            rss::reset();
            let held = rss::peak();
            let mut seconds = cell.run(&engines.0[engine].1, &point.program)?.seconds;
            let bytes = rss::peak().saturating_sub(held) as f64;
            if seconds < REPEAT_BELOW_SECONDS {
                // The first one may have been delayed.
                seconds = seconds.min(cell.run(&engines.0[engine].1, &point.program)?.seconds);
            }
            times.note(weight, seconds);
            sizes.note(weight, bytes);
            cell.short = seconds < SHORT_SECONDS;
            cells.extend(point.asked.then_some(cell));
        }
    }
    all.retain(|measured| !measured.cells.is_empty());
    Ok(all)
}

/// Why a point of this weight is not measured.
fn too_much(request: &Request, times: &Trend, sizes: &Trend, weight: f64) -> Option<String> {
    let (seconds, bytes) = (times.expect(weight, 1.0), sizes.expect(weight, 2.0));
    if seconds > request.seconds / 100.0 {
        let allow = (seconds * 120.0).ceil();
        return Some(format!("a run would take about {seconds:.1} s (--seconds {allow} allows it)"));
    }
    let most = available().map_or(f64::INFINITY, |bytes| bytes as f64 * MEMORY);
    (bytes > most).then(|| format!("a run would take about {:.0} MB of memory", bytes / 1e6))
}

impl Cell {
    fn new(scheme: &'static str, engine: usize) -> Self {
        let (seconds, cycles, ran) = (Vec::new(), Vec::new(), Vec::new());
        Self { scheme, engine, seconds, cycles, ran, verified: true, short: false }
    }

    /// Runs it once, and counts the bodies of each worker.
    fn run<P: Program>(&mut self, runtime: &StaticRuntime, program: &P) -> Result<Timed, Failure> {
        let before = ran(runtime);
        let (timed, right) = on_scheme!(runtime, rt => program.run(rt))?;
        let ran: Vec<_> = ran(runtime).iter().zip(before).map(|(now, before)| now - before).collect();
        self.verified &= right && ran.iter().sum::<u64>() == program.bodies();
        self.ran.resize(ran.len(), 0);
        self.ran.iter_mut().zip(ran).for_each(|(sum, ran)| *sum += ran);
        Ok(timed)
    }

    /// A repetition: one run, or the median of several short ones.
    fn measure<P: Program>(&mut self, runtime: &StaticRuntime, program: &P) -> Result<(), Failure> {
        let begun = Instant::now();
        if self.short {
            self.run(runtime, program)?;
        }
        let (mut seconds, mut cycles) = (Vec::new(), Vec::new());
        let mut enough = false;
        while !enough {
            let timed = self.run(runtime, program)?;
            seconds.push(timed.seconds);
            cycles.push(timed.cycles);
            let long = seconds.iter().sum::<f64>() >= MIN_MEASURED_SECONDS
                || begun.elapsed().as_secs_f64() >= MAX_TOTAL_SECONDS;
            enough = !self.short || long && seconds.len() >= MIN_RUNS;
        }
        self.seconds.push(median(&seconds));
        self.cycles.push(median(&cycles));
        Ok(())
    }
}

/// The number of bodies run by each worker so far.
fn ran(runtime: &StaticRuntime) -> Vec<u64> {
    on_scheme!(runtime, rt => rt.counts()).iter().map(|counts| counts.tasks).collect()
}
