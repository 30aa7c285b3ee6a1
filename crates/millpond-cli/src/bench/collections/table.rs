//! Table I of [FP](crate#sources) for this machine: time and peak memory of its benchmarks under
//! eager, strict and flexible preconditions. It also has the differences to the flexible ones.
//!
//! Each repetition is a separate process (`millpond run`), so that memory of one run does not count
//! for the next. The modes alternate.

use super::super::options::{cores, names, numbers, wants};
use super::super::rank_sum;
use super::super::row::Row;
use super::super::{Measure, Suite};
use crate::args::{MAX_WORKERS, integer};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::stats::median;
use clap::{Arg, ArgAction, ArgMatches};
use serde_json::{Value, json};
use std::process::Command;
use std::time::Instant;

/// The suite's entry in the table.
pub const SUITE: Suite = Suite {
    name: "preconditions",
    summary: "Time and memory under eager, strict and flexible preconditions",
    args,
    measure: Measure::Own(measure),
};

/// The default maximum time of a suite, approximately, in seconds.
const SECONDS: u64 = 240;

/// A benchmark of the paper, with its sizes (§VI.B).
struct Job {
    workload: &'static str,
    options: &'static str,
    /// The possible modes.
    modes: &'static [&'static Mode],
}

/// Preconditions, and how a waiting step is kept.
struct Mode {
    name: &'static str,
    options: &'static str,
}

static FLEXIBLE: Mode = Mode { name: "flexible", options: "--preconditions flexible" };
static STRICT: Mode = Mode { name: "strict", options: "--preconditions strict" };
static RESUME: Mode = Mode { name: "eager-resume", options: "--preconditions eager --blocked resume" };
static FIBER: Mode = Mode { name: "eager-fiber", options: "--preconditions eager --blocked fiber" };
static REPLAY: Mode = Mode { name: "eager-replay", options: "--preconditions eager --blocked replay" };

const ALL: &[&Mode] = &[&FLEXIBLE, &STRICT, &RESUME, &FIBER, &REPLAY];
/// Programs whose keys are values of other gets.
const NOT_STRICT: &[&Mode] = &[&FLEXIBLE, &RESUME, &FIBER, &REPLAY];

const JOBS: &[Job] = &[
    Job { workload: "blackscholes", options: "--options 1500000 --granularity 100", modes: ALL },
    Job { workload: "cholesky-cnc", options: "--n 4000 --tile 125", modes: ALL },
    Job { workload: "inverse", options: "--n 2048 --tile 64", modes: ALL },
    Job { workload: "fileconcat", options: "--files 32768", modes: NOT_STRICT },
    Job { workload: "reduction", options: "--tiles 16 --iterations 16 --size 10 --work 1000", modes: ALL },
    Job { workload: "porting", options: "--gets 4", modes: ALL },
];

/// A benchmark in a mode with a number of workers, and its measurements.
struct Point {
    job: &'static Job,
    mode: &'static Mode,
    workers: u64,
    runs: Vec<Run>,
}

struct Run {
    seconds: f64,
    peak: f64,
    tasks: u64,
    verified: bool,
    config: Value,
}

fn args() -> Vec<Arg> {
    let workers = "Threads that run steps; may be repeated [default: the cores allowed]";
    let seconds = format!("Begin no repetition that would end beyond this [default: {SECONDS}]");
    vec![
        integer("workers", "N", 1, MAX_WORKERS, workers).action(ArgAction::Append),
        names("workload", JOBS.iter().map(|job| job.workload), "Measure this benchmark only; may be repeated"),
        names("mode", ALL.iter().map(|mode| mode.name), "Measure this mode only; may be repeated"),
        integer("seconds", "S", 1, 1_000_000, seconds),
    ]
}

fn measure(matches: &ArgMatches, reps: usize) -> Result<Vec<Row>, Failure> {
    let mut points: Vec<Point> = Vec::new();
    for workers in numbers(matches, "workers", &[cores() as u64]) {
        for job in JOBS.iter().filter(|job| wants(matches, "workload", job.workload)) {
            let modes = job.modes.iter().filter(|mode| wants(matches, "mode", mode.name));
            points.extend(modes.map(|mode| Point { job, mode, workers, runs: Vec::new() }));
        }
    }
    let seconds = matches.get_one::<u64>("seconds").copied().unwrap_or(SECONDS) as f64;
    let (started, progress) = (Instant::now(), Progress::new());
    for rep in 1..=reps {
        let so_far = started.elapsed().as_secs_f64();
        if rep > 1 && so_far * rep as f64 / (rep - 1) as f64 > seconds {
            eprintln!("{} of {reps} repetitions fit into {seconds} s (--seconds)", rep - 1);
            break;
        }
        for point in &mut points {
            progress.say(|| format!("{}: {rep} of {reps}", point.name()));
            let run = point.run()?;
            point.runs.push(run);
        }
    }
    Ok(points.iter().map(|point| point.row(&points)).collect())
}

impl Point {
    fn name(&self) -> String {
        format!("{}, {}, {} workers", self.job.workload, self.mode.name, self.workers)
    }

    /// A repetition, in a separate process.
    fn run(&self) -> Result<Run, Failure> {
        let failed = |what: String| Failure::Failed(format!("{}: {what}", self.name()));
        let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
        let mut command = Command::new(program);
        command.args(["run", self.job.workload, "--json", "--workers", &self.workers.to_string()]);
        command.args(self.job.options.split(' ')).args(self.mode.options.split(' '));
        let output = command.output().map_err(|error| failed(error.to_string()))?;
        let ran: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let number = |name: &str| ran[name].as_f64();
        let (Some(seconds), Some(peak), Some(tasks), Some(verified)) =
            (number("median_seconds"), number("peak_rss_bytes"), ran["tasks"].as_u64(), ran["verified"].as_bool())
        else {
            let says = String::from_utf8_lossy(&output.stderr);
            return Err(failed(format!("{}: {}", output.status, says.trim().trim_start_matches("error: "))));
        };
        Ok(Run { seconds, peak, tasks, verified, config: ran["config"].clone() })
    }

    fn seconds(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.seconds).collect()
    }

    fn peaks(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.peak).collect()
    }

    /// A row with the differences to flexible preconditions among `all`, as fractions of their
    /// values, as in the paper: the savings of flexible ones. The rank-sum test gives the
    /// probability of such a difference by chance.
    fn row(&self, all: &[Point]) -> Row {
        let same = |other: &&Point| other.job.workload == self.job.workload && other.workers == self.workers;
        let flexible = all.iter().filter(same).find(|other| other.mode.name == FLEXIBLE.name);
        let against = |of: fn(&Point) -> Vec<f64>| {
            let flexible = of(flexible?);
            let own = of(self);
            let percent = 100.0 * (median(&own) - median(&flexible)) / median(&flexible);
            Some((percent, rank_sum::test(&own, &flexible)?.p))
        };
        let (time, memory) = (against(Point::seconds), against(Point::peaks));
        let part = |of: Option<(f64, f64)>, at: fn((f64, f64)) -> f64| of.map_or(Value::Null, |pair| json!(at(pair)));
        Row {
            shape: self.job.workload,
            runtime: "millpond",
            config: self.runs.first().map_or(Value::Null, |run| run.config.clone()),
            params: Vec::new(),
            tasks: self.runs.first().map_or(0, |run| run.tasks),
            seconds: self.seconds(),
            worker_shares: Vec::new(),
            verified: self.runs.iter().all(|run| run.verified),
            extra: vec![
                ("mode", json!(self.mode.name)),
                ("workers", json!(self.workers)),
                ("peak_rss_bytes", json!(median(&self.peaks()))),
                ("time_percent", part(time, |(percent, _)| percent)),
                ("time_p", part(time, |(_, p)| p)),
                ("memory_percent", part(memory, |(percent, _)| percent)),
                ("memory_p", part(memory, |(_, p)| p)),
            ],
        }
    }
}
