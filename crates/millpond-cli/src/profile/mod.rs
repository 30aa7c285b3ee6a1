//! `millpond profile`: records a workload, and reports how it spent its time.

mod middle;
pub mod outputs;

use crate::args;
use crate::config::Config;
use crate::failure::Failure;
use crate::line;
use crate::progress::Progress;
use crate::recording;
use crate::report::{Report, print};
use crate::rss;
use crate::run::{Measured, Place, named, not_applicable};
use crate::stats::median;
use clap::ArgMatches;
use clap::parser::ValueSource;
use middle::Middle;
use millpond::catalogue::Registry;
use millpond::on_runtime;
use millpond::record::{Recorder, Recording as InProgress};
use millpond_trace::{Recording, Report as Profile, Writer};
use millpond_workloads::{Job, Probe, RunsOn, Stopwatch, Verdict, Workload};
use outputs::{Made, Outputs};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Profiles the named workload, or a recording. Returns whether the workload's answer was correct.
pub fn profile(matches: &ArgMatches, registry: &Registry) -> Result<bool, Failure> {
    match matches.get_one::<PathBuf>("read") {
        Some(_) if matches.subcommand().is_some() => {
            Err(Failure::Usage("--read takes a recording instead of a workload: give one of the two".to_owned()))
        }
        Some(file) => read(file, matches, registry),
        None if matches.subcommand().is_none() => {
            let names: Vec<_> = millpond_workloads::WORKLOADS.iter().map(|w| w.name).collect();
            Err(Failure::Usage(format!("expected --read FILE or one of {}", names.join(", "))))
        }
        None => run(matches, registry),
    }
}

/// Profiles an existing recording.
fn read(file: &Path, matches: &ArgMatches, registry: &Registry) -> Result<bool, Failure> {
    nothing_runs(matches, registry)?;
    let outputs = Outputs::new(matches, &[("read", file)])?;
    let failed = |error: millpond_trace::ReadError| Failure::Failed(error.to_string());
    let progress = Progress::new();
    let recording = recording::read(file, recording::Needs::Report, &progress)?;
    progress.say(|| format!("profiling {}", file.display()));
    let profile = recording.report().map_err(failed)?;
    outputs.check_size(profile.tasks + profile.combinations)?;
    outputs.write(&Made { recording: &recording, profile: &profile, points: &[] }, &progress)?;
    drop(progress);
    if matches.get_flag("json") {
        print(&json!({ "program": recording.program, "profile": profile }).to_string())?;
    } else {
        print(profile.to_string().trim_end())?;
    }
    Ok(true)
}

/// Refuses options of a run if there is no run.
fn nothing_runs(matches: &ArgMatches, registry: &Registry) -> Result<(), Failure> {
    let args = args::run_args(registry);
    let given = args.iter().map(|arg| arg.get_id().as_str());
    let given: Vec<_> = given.filter(|id| matches.value_source(id) == Some(ValueSource::CommandLine)).collect();
    if given.is_empty() {
        return Ok(());
    }
    let given = given.join(", --");
    Err(Failure::Usage(format!("--read takes a recording instead of a run: it cannot be used with --{given}")))
}

fn run(matches: &ArgMatches, registry: &Registry) -> Result<bool, Failure> {
    let (workload, matches) = named(matches)?;
    not_applicable(workload, matches)?;
    let outputs = Outputs::new(matches, &args::files(workload, matches))?;
    let config = Config::of(workload.runs_on, matches, registry)?;
    config.reserve_addresses();
    let mut job = (workload.prepare)(&args::options(workload, matches))?;
    // Without `--dot`, the size does not matter, and some jobs compute it by the serial program.
    if matches.contains_id("dot") {
        outputs.check_size(job.tasks())?;
    }
    let reps = matches.get_one::<u64>("reps").copied().unwrap_or(1);
    let progress = Progress::new();
    let profiled = repeat(job.as_mut(), workload, &config, reps, &progress)?;
    let points =
        if outputs.wants_points() { measure(job.as_mut(), workload, &config, reps, &progress)? } else { Vec::new() };
    let Profiled { recording, profile, measured } = profiled;
    let report = Report { workload: workload.name, params: job.params(), tasks: job.tasks(), config, measured };
    let verified = report.measured.verdict.verified;
    // The number of combinations is known only now.
    outputs.check_size(profile.tasks + profile.combinations)?;
    if verified {
        job.save()?;
    }
    outputs.write(&Made { recording: &recording, profile: &profile, points: &points }, &progress)?;
    drop(progress);
    if matches.get_flag("json") {
        let mut object = report.json();
        object.insert("profile".into(), json!(profile));
        print(&Value::Object(object).to_string())?;
    } else {
        print(&report.table(false))?;
        print(profile.to_string().trim_end())?;
    }
    if !verified {
        line::error(&format!("{}: the answer is wrong", workload.name));
    }
    Ok(verified)
}

/// The repetition of median time, and figures of all repetitions.
struct Profiled {
    recording: Recording,
    profile: Profile,
    measured: Measured,
}

fn repeat(
    job: &mut dyn Job,
    workload: &Workload,
    config: &Config,
    reps: u64,
    progress: &Progress,
) -> Result<Profiled, Failure> {
    let place = Place::of(workload, config)?;
    let (mut seconds, mut graphs, mut peak) = (Vec::new(), Vec::new(), 0);
    let mut middle = Middle::of(reps as usize);
    let mut verdict = Verdict { verified: false, result: Vec::new() };
    for rep in 1..=reps {
        progress.say(|| format!("{}: repetition {rep} of {reps}", workload.name));
        let mut probe = RecordingProbe::new(&place, workload);
        match &place {
            Place::Runtime(runtime) => job.run(runtime, &mut probe)?,
            Place::TaskPool(parts) => {
                let writer = probe.writer.clone();
                job.record_in_pool(parts, &mut probe, &*writer)?;
            }
        }
        probe.in_progress = None;
        let took = probe.watch.elapsed.as_secs_f64();
        seconds.push(took);
        peak = probe.peak.max(peak);
        progress.say(|| format!("{}: profile {rep} of {reps}", workload.name));
        let recording = probe.writer.finish_in_memory().map_err(|error| Failure::Failed(error.to_string()))?;
        let profile = recording.report().map_err(|error| Failure::Failed(error.to_string()))?;
        graphs.push(profile.graphs.clone());
        middle.add(took, (recording, profile));
        progress.say(|| format!("{}: check {rep} of {reps}", workload.name));
        verdict = job.check()?;
        if !verdict.verified {
            break;
        }
    }
    let (recording, mut profile) = middle.take().expect("there is one repetition at least");
    if graphs.len() > 1 {
        profile.repeated = Some(graphs.windows(2).all(|two| two[0] == two[1]));
    }
    let counts = place.pool_counts(job);
    let measured = Measured { seconds, serial_seconds: None, peak_rss_bytes: peak, verdict, counts };
    Ok(Profiled { recording, profile, measured })
}

/// Times without recording on 1, 2, 4, … workers, up to the requested number.
fn measure(
    job: &mut dyn Job,
    workload: &Workload,
    config: &Config,
    reps: u64,
    progress: &Progress,
) -> Result<Vec<(u32, f64)>, Failure> {
    let mut counts: Vec<_> = (0..).map(|power| 1 << power).take_while(|&count| count < config.workers).collect();
    counts.push(config.workers);
    let mut points = Vec::new();
    for workers in counts {
        progress.say(|| format!("{}: {workers} workers, not recorded", workload.name));
        let place = Place::of(workload, &config.with_workers(workers))?;
        let mut seconds = Vec::new();
        for _ in 0..reps {
            let mut watch = Stopwatch::default();
            place.run(job, &mut watch)?;
            seconds.push(watch.elapsed.as_secs_f64());
        }
        points.push((workers as u32, median(&seconds)));
    }
    Ok(points)
}

/// Records the timed part, and its time and memory. A graph of Collections is recorded as a whole,
/// because it is one scope, and recording a begun scope is impossible. A task pool has no recorder:
/// its workload writes the events.
struct RecordingProbe<'a> {
    is_graph: bool,
    recorder: Option<&'a Recorder>,
    writer: Arc<Writer>,
    in_progress: Option<InProgress>,
    watch: Stopwatch,
    peak: u64,
}

impl<'a> RecordingProbe<'a> {
    fn new(place: &'a Place, workload: &Workload) -> Self {
        let (recorder, workers) = match place {
            Place::Runtime(runtime) => on_runtime!(runtime, rt => (Some(rt.recorder()), rt.workers())),
            Place::TaskPool(parts) => (None, parts.workers),
        };
        let writer = Writer::to_memory(workload.name, workers);
        let is_graph = workload.runs_on == RunsOn::Collections;
        let in_progress = recorder.filter(|_| is_graph).map(|recorder| recorder.add(writer.clone()));
        RecordingProbe { is_graph, recorder, writer, in_progress, watch: Stopwatch::default(), peak: 0 }
    }
}

impl Probe for RecordingProbe<'_> {
    fn start(&mut self) {
        rss::reset();
        if !self.is_graph {
            self.in_progress = self.recorder.map(|recorder| recorder.add(self.writer.clone()));
        }
        self.watch.start();
    }

    fn stop(&mut self) {
        self.watch.stop();
        if !self.is_graph {
            self.in_progress = None;
        }
        self.peak = rss::peak();
    }
}
