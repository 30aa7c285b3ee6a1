//! What does an idle runtime cost? The suite measures the processor time of the whole process while
//! the caller sleeps.

use super::Request;
use super::row::Row;
use super::shares::{ran, ran_since, shares};
use crate::args::integer;
use crate::failure::Failure;
use crate::stats::median;
use clap::Arg;
use clap::builder::PossibleValuesParser;
use millpond::catalogue::AnyRuntime;
use millpond::{Engine, Handle, Session, Spawn, on_runtime};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use std::time::{Duration, Instant};

/// The state of the idle runtime.
struct Shape {
    name: &'static str,
    /// Puts the runtime into this state and sleeps. Also returns whether the tasks before the sleep
    /// were correct.
    sleep: fn(&AnyRuntime, Duration) -> Result<(Slept, bool), millpond::Error>,
}

static SHAPES: &[Shape] = &[
    Shape { name: "new", sleep: |_, time| Ok((Slept::new(time), true)) },
    Shape { name: "between-scopes", sleep: between_scopes },
    Shape { name: "in-a-scope", sleep: in_a_scope },
    Shape { name: "open-session", sleep: open_session },
];

/// Tasks before and after the sleep.
const TASKS: u64 = 1000;

/// A sleep of the caller.
struct Slept {
    seconds: f64,
    /// The processor time of the process during the sleep.
    cpu_seconds: f64,
}

impl Slept {
    fn new(time: Duration) -> Self {
        let (start, cpu) = (Instant::now(), cpu_seconds());
        std::thread::sleep(time);
        Self { cpu_seconds: cpu_seconds() - cpu, seconds: start.elapsed().as_secs_f64() }
    }
}

/// The processor time of all threads of the process.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The options of this suite.
pub fn args() -> Vec<Arg> {
    let shapes = PossibleValuesParser::new(SHAPES.iter().map(|shape| shape.name));
    vec![
        Arg::new("shape").long("shape").value_name("NAME").value_parser(shapes).help("Measure this state only"),
        integer("sleep-ms", "MS", 1, 60_000, "How long the caller sleeps [default: 2000]"),
    ]
}

/// Measures every state.
pub fn measure(request: &Request) -> Result<Vec<Row>, Failure> {
    let time = Duration::from_millis(request.matches.get_one::<u64>("sleep-ms").copied().unwrap_or(2000));
    let chosen = request.matches.get_one::<String>("shape");
    let shapes = SHAPES.iter().filter(|shape| chosen.is_none_or(|name| name == shape.name));
    shapes.map(|shape| point(request, shape, time)).collect()
}

/// Measures one state, with a new runtime each time.
fn point(request: &Request, shape: &Shape, time: Duration) -> Result<Row, Failure> {
    let (mut seconds, mut cpu_shares, mut verified) = (Vec::new(), Vec::new(), true);
    let mut bodies = Vec::new();
    for rep in 1..=request.reps {
        request.progress.say(|| format!("{}: {rep} of {}", shape.name, request.reps));
        let runtime = request.config.build()?;
        let before = ran(&runtime);
        let (slept, right) = (shape.sleep)(&runtime, time)?;
        // The runtime still works.
        verified &= right & work(&runtime)?;
        cpu_shares.push(slept.cpu_seconds / slept.seconds);
        seconds.push(slept.seconds);
        let ran = ran_since(&before, &runtime);
        bodies.resize(ran.len(), 0);
        bodies.iter_mut().zip(ran).for_each(|(sum, ran)| *sum += ran);
    }
    let most = cpu_shares.iter().copied().fold(0.0, f64::max);
    Ok(Row {
        shape: shape.name,
        runtime: "millpond",
        config: request.config.json(),
        params: vec![("sleep_ms", time.as_millis() as u64)],
        tasks: 0,
        seconds,
        worker_shares: shares(&bodies),
        verified,
        extra: vec![("cpu_share", json!(median(&cpu_shares))), ("cpu_share_max", json!(most))],
    })
}

fn work(runtime: &AnyRuntime) -> Result<bool, millpond::Error> {
    let n = Handle::new(0);
    on_runtime!(runtime, rt => rt.scope(|s| count(s, &n)))?;
    Ok(n.into_inner()? == TASKS)
}

fn count<'s, S: Spawn<'s>>(s: &S, n: &Handle<u64, S::Brand>) {
    for _ in 0..TASKS {
        s.spawn(n.inout(), |n| *n += 1);
    }
}

/// Waits until they have finished. Returns whether the last one found their result.
fn counted<'s, S: Spawn<'s>>(s: &S, n: &Handle<u64, S::Brand>) -> Result<bool, millpond::Error> {
    count(s, n);
    Ok(s.wait(s.spawn(n.read(), |n| *n))? == TASKS)
}

fn between_scopes(runtime: &AnyRuntime, time: Duration) -> Result<(Slept, bool), millpond::Error> {
    let right = work(runtime)?;
    Ok((Slept::new(time), right))
}

/// The caller sleeps in the body of a scope whose tasks have all finished.
fn in_a_scope(runtime: &AnyRuntime, time: Duration) -> Result<(Slept, bool), millpond::Error> {
    let n = Handle::new(0);
    on_runtime!(runtime, rt => rt.try_scope(|s| {
        let right = counted(s, &n)?;
        Ok((Slept::new(time), right))
    }))
}

fn open_session(runtime: &AnyRuntime, time: Duration) -> Result<(Slept, bool), millpond::Error> {
    on_runtime!(runtime, rt => in_session(rt.session(), time))
}

fn in_session<E: Engine>(session: Session<E>, time: Duration) -> Result<(Slept, bool), millpond::Error> {
    let right = counted(&session, &Handle::new(0))?;
    let slept = Slept::new(time);
    session.close().wait()?;
    Ok((slept, right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_works_takes_processor_time() {
        let before = cpu_seconds();
        std::hint::black_box(super::super::spin::steps_per_ns());
        assert!(cpu_seconds() > before);
    }
}
