//! A timeline holds what its readers take for granted: slices that nest, arrows with two ends, numbers that belong
//! together; and says why nothing ran where nothing did.

mod programs;

use std::collections::{HashMap, HashSet};

use millpond::Inline;
use millpond_trace::Recording;
use programs::{chain, recorded, recordings, runtime, work};
use serde_json::Value;

struct Trace(Vec<Value>);

/// A slice, in whole nanoseconds.
#[derive(Clone, Debug)]
struct Slice {
    tid: u64,
    from: u64,
    to: u64,
    event: Value,
}

fn nanos(micros: &Value) -> u64 {
    let micros = micros.as_f64().unwrap();
    assert!(micros >= 0.0);
    // As viewers do.
    (micros * 1000.0) as u64
}

impl Trace {
    fn of(recording: &Recording) -> Trace {
        let mut file = Vec::new();
        recording.write_trace(&mut file).unwrap();
        let trace: Value = serde_json::from_slice(&file).unwrap();
        Trace(trace["traceEvents"].as_array().unwrap().clone())
    }

    fn phase(&self, phase: &str) -> impl Iterator<Item = &Value> {
        self.0.iter().filter(move |event| event["ph"] == phase)
    }

    fn slices(&self) -> Vec<Slice> {
        let slice = |event: &Value| {
            let from = nanos(&event["ts"]);
            Slice { tid: event["tid"].as_u64().unwrap(), from, to: from + nanos(&event["dur"]), event: event.clone() }
        };
        self.phase("X").map(slice).collect()
    }
}

#[test]
fn slices_of_a_track_nest() {
    for (name, recording) in recordings() {
        let mut slices = Trace::of(&recording).slices();
        slices.sort_by_key(|slice| (slice.tid, slice.from, std::cmp::Reverse(slice.to)));
        let mut open: Vec<Slice> = Vec::new();
        for slice in slices {
            open.retain(|outer| outer.tid == slice.tid && outer.to > slice.from);
            for outer in &open {
                assert!(slice.to <= outer.to, "{name}: {:?} cuts {:?}", slice.event, outer.event);
                let idle = outer.event["cat"] == "idle" || slice.event["cat"] == "idle";
                assert!(!idle || slice.from == slice.to, "{name}: {:?} while {:?}", slice.event, outer.event);
            }
            open.push(slice);
        }
    }
}

#[test]
fn every_body_is_there_and_says_why_it_stood_still() {
    for (name, recording) in recordings() {
        let trace = Trace::of(&recording);
        let mut seen = HashSet::new();
        for slice in trace.slices().iter().filter(|slice| slice.event["cat"] != "idle") {
            let args = &slice.event["args"];
            let first = seen.insert(args["task"].as_u64().unwrap());
            assert_eq!(args["kind"].is_string(), first, "{name}: {args}");
            assert_eq!(args["resumed after"]["waited for"].is_string(), !first, "{name}: {args}");
        }
        let scopes = trace.slices().iter().filter(|slice| slice.event["args"]["kind"] == "scope").count();
        let refused = trace.phase("i").count();
        let report = recording.report().unwrap();
        assert_eq!((seen.len() - scopes + refused) as u64, report.tasks + report.combinations, "{name}");
        assert_eq!(trace.phase("b").count(), trace.phase("e").count());
    }
}

#[test]
fn arrows_have_two_ends_in_slices() {
    for (name, recording) in recordings() {
        let trace = Trace::of(&recording);
        let slices = trace.slices();
        let in_slice = |event: &Value| {
            let (tid, at) = (event["tid"].as_u64().unwrap(), nanos(&event["ts"]));
            slices.iter().any(|slice| slice.tid == tid && slice.from <= at && at <= slice.to)
        };
        let mut starts: HashMap<u64, &Value> = HashMap::new();
        for start in trace.phase("s") {
            assert!(starts.insert(start["id"].as_u64().unwrap(), start).is_none(), "{name}: {start}");
            assert!(in_slice(start), "{name}: {start}");
        }
        for finish in trace.phase("f") {
            let start = starts.remove(&finish["id"].as_u64().unwrap()).unwrap();
            assert!(nanos(&start["ts"]) <= nanos(&finish["ts"]), "{name}: {start} {finish}");
            assert_eq!((&start["cat"], &start["name"]), (&finish["cat"], &finish["name"]), "{name}");
            assert!(in_slice(finish) && finish["bp"] == "e", "{name}: {finish}");
        }
        assert!(starts.is_empty(), "{name}: {starts:?}");
    }
}

#[test]
fn arrows_follow_the_data() {
    let recording = recorded(&runtime(1, 2048, Inline::Never), chain);
    let trace = Trace::of(&recording);
    let count = |cat| trace.phase("f").filter(|event| event["cat"] == cat).count();
    assert_eq!((count("data"), count("spawn")), (9, 1));
}

/// Where a worker neither ran anything nor is said to be idle, it was at work on the runtime's behalf: as much as the
/// report says, so that no idle time lacks a cause.
#[test]
fn idle_times_of_workers_are_there_with_a_cause() {
    for (name, recording) in recordings() {
        let (trace, report) = (Trace::of(&recording), recording.report().unwrap());
        let workers: HashMap<u64, String> = trace
            .phase("M")
            .filter(|event| event["name"] == "thread_name")
            .map(|event| (event["tid"].as_u64().unwrap(), event["args"]["name"].as_str().unwrap().to_owned()))
            .filter(|(_, name)| name.starts_with("worker"))
            .collect();
        assert_eq!(workers.len(), report.workers, "{name}");
        let slices = trace.slices();
        let mut covered = 0;
        for tid in workers.keys() {
            let mut own: Vec<_> = slices.iter().filter(|slice| slice.tid == *tid).collect();
            own.sort_by_key(|slice| slice.from);
            let mut until = 0;
            for slice in own {
                covered += slice.to.saturating_sub(slice.from.max(until));
                until = until.max(slice.to);
            }
        }
        let all = report.seconds * report.workers as f64;
        let overhead = all - covered as f64 * 1e-9;
        assert!((overhead - report.overhead).abs() < 2e-6, "{name}: {overhead} and {}", report.overhead);
        for gap in slices.iter().filter(|slice| slice.event["cat"] == "idle") {
            let reason = gap.event["args"]["reason"].as_str().unwrap();
            assert_eq!(gap.event["name"], format!("idle: {reason}"), "{name}");
        }
    }
}

#[test]
fn a_worker_without_work_is_idle_all_the_time() {
    let recording = recorded(&runtime(2, 2048, Inline::Always), |rt| rt.scope(|_| work(500)).unwrap());
    let trace = Trace::of(&recording);
    let idle: u64 =
        trace.slices().iter().filter(|slice| slice.event["cat"] == "idle").map(|slice| slice.to - slice.from).sum();
    assert!(idle >= 499_000, "{idle}");
    assert!(recording.report().unwrap().per_worker[1].idle_share > 0.99);
}
