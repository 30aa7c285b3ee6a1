//! `millpond run`: times and checks a workload.

use crate::args;
use crate::config::Config;
use crate::failure::Failure;
use crate::line;
use crate::progress::Progress;
use crate::report::Report;
use crate::rss;
use clap::ArgMatches;
use clap::parser::ValueSource;
use millpond::catalogue::{AnyRuntime, Registry};
use millpond::on_runtime;
use millpond::pool::Counts;
use millpond_workloads::{Error, Job, PoolParts, Probe, RunsOn, Stopwatch, Verdict, Workload};

/// Runs the named workload. Returns whether its answer was correct.
pub fn run(matches: &ArgMatches, registry: &Registry) -> Result<bool, Failure> {
    let (workload, matches) = named(matches)?;
    not_applicable(workload, matches)?;
    let config = Config::of(workload.runs_on, matches, registry)?;
    config.reserve_addresses();
    let mut job = (workload.prepare)(&args::options(workload, matches))?;
    let reps = matches.get_one::<u64>("reps").copied().unwrap_or(1);
    let measured = measure(job.as_mut(), workload, &config, reps, matches.get_flag("serial"))?;
    let report = Report { workload: workload.name, params: job.params(), tasks: job.tasks(), config, measured };
    if report.measured.verdict.verified {
        job.save()?;
    }
    if matches.get_flag("json") { report.print_json() } else { report.print_table(matches.get_flag("verbose")) }?;
    if !report.measured.verdict.verified {
        line::error(&format!("{}: the answer is wrong", workload.name));
    }
    Ok(report.measured.verdict.verified)
}

/// The named workload, and its arguments.
pub fn named(matches: &ArgMatches) -> Result<(&'static Workload, &ArgMatches), Failure> {
    let (name, matches) = matches.subcommand().ok_or_else(|| Failure::Usage("expected a workload".to_owned()))?;
    let workload = millpond_workloads::find(name);
    workload.map(|workload| (workload, matches)).ok_or_else(|| Failure::Usage(format!("unknown workload '{name}'")))
}

/// Refuses inapplicable options of a workload. These are options of Collections, if it has none,
/// and options of a runtime, if it runs on a task pool alone.
pub fn not_applicable(workload: &Workload, matches: &ArgMatches) -> Result<(), Failure> {
    const OF_COLLECTIONS: [(&str, &str); 4] = [
        ("preconditions", "preconditions"),
        ("blocked", "blocked steps"),
        ("need", "preconditions"),
        ("item-table", "table of items"),
    ];
    const OF_RUNTIMES: [(&str, &str); 7] = [
        ("scheme", "dependences"),
        ("theft", "dataflow stack"),
        ("window", "window"),
        ("inline", "tasks that run at their spawn"),
        ("stack-size", "stacks"),
        ("deterministic", "order to keep"),
        ("pin", "workers of a runtime's"),
    ];
    let of_runtimes = if workload.runs_on == RunsOn::TaskPool { &OF_RUNTIMES[..] } else { &[] };
    let is_own = |name: &str| workload.options.iter().any(|own| own.name == name);
    for (option, what) in OF_COLLECTIONS.iter().filter(|(option, _)| !is_own(option)).chain(of_runtimes) {
        if matches.value_source(option) == Some(ValueSource::CommandLine) {
            let own: Vec<_> = workload.options.iter().map(|own| format!("--{}", own.name)).collect();
            let (name, own) = (workload.name, own.join(", "));
            return Err(Failure::Usage(format!("--{option}: {name} has no {what}; its own options: {own}")));
        }
    }
    Ok(())
}

/// The measurements of a run.
pub struct Measured {
    /// The time of each repetition.
    pub seconds: Vec<f64>,
    /// The time of the serial program, if requested.
    pub serial_seconds: Option<f64>,
    /// The maximum memory during a repetition.
    pub peak_rss_bytes: u64,
    /// The result of the check.
    pub verdict: Verdict,
    /// What the pool has counted: in all repetitions on a runtime, in the last one on a task pool.
    /// `None` if the job does not say.
    pub counts: Option<Counts>,
}

/// Where a job runs.
pub enum Place {
    /// On a runtime's workers.
    Runtime(AnyRuntime),
    /// In a task pool of these parts.
    TaskPool(PoolParts),
}

impl Place {
    /// A runtime, or the parts of a pool.
    pub fn of(workload: &Workload, config: &Config) -> Result<Self, Failure> {
        match workload.runs_on {
            RunsOn::TaskPool => config.pool_parts().map(Self::TaskPool),
            RunsOn::Runtime | RunsOn::Collections => config.build().map(Self::Runtime),
        }
    }

    /// What the pool has counted.
    pub fn pool_counts(&self, job: &dyn Job) -> Option<Counts> {
        match self {
            Self::Runtime(runtime) => Some(on_runtime!(runtime, rt => rt.pool_counts())),
            Self::TaskPool(_) => job.pool_counts(),
        }
    }

    /// Runs the task program.
    pub fn run(&self, job: &mut dyn Job, probe: &mut dyn Probe) -> Result<(), Error> {
        match self {
            Self::Runtime(runtime) => job.run(runtime, probe),
            Self::TaskPool(parts) => job.run_in_pool(parts, probe),
        }
    }
}

fn measure(
    job: &mut dyn Job,
    workload: &Workload,
    config: &Config,
    reps: u64,
    serial: bool,
) -> Result<Measured, Failure> {
    let progress = Progress::new();
    let mut serial_seconds = None;
    if serial {
        progress.say(|| format!("{}: the serial program", workload.name));
        let mut watch = Stopwatch::default();
        job.serial(&mut watch)?;
        serial_seconds = Some(watch.elapsed.as_secs_f64());
    }
    let place = Place::of(workload, config)?;
    let (mut seconds, mut peak, mut verdict) = (Vec::new(), 0, None::<Verdict>);
    for rep in 1..=reps {
        progress.say(|| format!("{}: repetition {rep} of {reps}", workload.name));
        let mut meter = Meter::default();
        place.run(job, &mut meter)?;
        seconds.push(meter.watch.elapsed.as_secs_f64());
        peak = meter.peak.max(peak);
        progress.say(|| format!("{}: check {rep} of {reps}", workload.name));
        let found = job.check()?;
        let wrong = !found.verified;
        verdict = Some(found);
        if wrong {
            break;
        }
    }
    let counts = place.pool_counts(job);
    let verdict = verdict.unwrap_or(Verdict { verified: false, result: Vec::new() });
    Ok(Measured { seconds, serial_seconds, peak_rss_bytes: peak, verdict, counts })
}

/// Measures time and memory of the timed part.
#[derive(Default)]
struct Meter {
    watch: Stopwatch,
    peak: u64,
}

impl Probe for Meter {
    fn start(&mut self) {
        rss::reset();
        self.watch.start();
    }

    fn stop(&mut self) {
        self.watch.stop();
        self.peak = rss::peak();
    }
}
