//! A timeline has the properties that its readers need: slices that nest, arrows with two ends, and
//! consistent numbers. If a worker ran nothing, the timeline says why.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crate::programs::{chain, recorded, recordings, runtime, told, work};

use millpond::record::{Role, What};
use millpond::{Handle, Inline, Runtime, Spawn, StackEngine};
use millpond_trace::{Profile, Recording, Writer};
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
fn every_body_is_there_and_says_why_it_waited() {
    for (name, recording) in recordings() {
        let trace = Trace::of(&recording);
        let mut seen = HashSet::new();
        for slice in trace.slices().iter().filter(|slice| slice.event["cat"] != "idle") {
            let args = &slice.event["args"];
            let first = seen.insert(args["task"].as_u64().unwrap());
            assert_eq!(args["resumed after"]["waited for"].is_string(), !first, "{name}: {args}");
        }
        let begin = |slice: &&Slice| slice.event["args"]["resumed after"].is_null();
        let scopes = trace.slices().iter().filter(|slice| slice.event["cat"] == "scope").filter(begin).count();
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

/// Sometimes a worker neither runs anything nor is shown as idle. It then works on the runtime's
/// behalf. The report states the same amount of such work, so no idle time lacks a cause.
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

#[test]
fn every_event_is_on_a_track_with_a_name() {
    for (name, recording) in recordings() {
        let trace = Trace::of(&recording);
        let about = |what: &str| -> Vec<u64> {
            let of = trace.phase("M").filter(|event| event["name"] == what);
            of.map(|event| event["tid"].as_u64().unwrap()).collect()
        };
        let (names, order) = (about("thread_name"), about("thread_sort_index"));
        let tids: HashSet<_> = names.iter().copied().collect();
        assert_eq!((tids.len(), &order), (names.len(), &names), "{name}");
        for event in &trace.0 {
            let tid = event["tid"].as_u64().unwrap();
            // Perfetto takes 0 for the number of the process. It would put two threads on one
            // track.
            assert!(tid > 0 && tids.contains(&tid) && event["pid"] == 1, "{name}: {event}");
            assert!(event["ph"] == "M" || event["ts"].is_number(), "{name}: {event}");
        }
    }
}

/// A million tasks make a file of hundreds of megabytes. The file is not longer than it must be.
#[test]
fn nothing_is_said_of_a_task_that_says_nothing() {
    for (name, recording) in recordings() {
        for slice in Trace::of(&recording).slices() {
            let args = slice.event["args"].as_object().unwrap();
            let is = |what| args.contains_key(what);
            assert!(!is("ready at") || nanos(&args["ready at"]) > nanos(&args["spawned at"]), "{name}: {args:?}");
            let waits = args.get("waited").map_or(0, |waited| waited.as_object().unwrap().len());
            assert_eq!(is("waited"), waits > 0, "{name}: {args:?}");
            assert_eq!(is("waited mostly for"), waits > 1, "{name}: {args:?}");
            assert!(args.get("accesses").is_none_or(|accesses| accesses != &Value::Array(vec![])), "{name}: {args:?}");
        }
    }
}

/// Readers match events by category and number. The place in the file tells them which one begins.
#[test]
fn waits_begin_and_end_once() {
    for (name, recording) in recordings() {
        let trace = Trace::of(&recording);
        let mut open: HashMap<u64, &Value> = HashMap::new();
        let mut seen = HashSet::new();
        for event in trace.0.iter().filter(|event| event["ph"] == "b" || event["ph"] == "e") {
            let id = event["id"].as_u64().unwrap();
            if event["ph"] == "b" {
                assert!(seen.insert(id) && open.insert(id, event).is_none(), "{name}: {event}");
                assert!(event["args"]["body"].is_string() && event["args"]["us"].is_number(), "{name}: {event}");
                continue;
            }
            let begin = open.remove(&id).unwrap_or_else(|| panic!("{name}: {event} without a beginning"));
            assert_eq!((&begin["cat"], &begin["name"]), (&event["cat"], &event["name"]), "{name}");
            assert!(nanos(&begin["ts"]) <= nanos(&event["ts"]), "{name}: {begin} {event}");
        }
        assert!(open.is_empty(), "{name}: {open:?}");
    }
}

/// The slices that each arrow joins, and what the arrow says, as Perfetto reads the file
/// (`TraceSorter`, `SliceTracker`, `FlowTracker`). Perfetto sorts events by time. Slices come
/// before other events, and long slices first. A slice that has ended leaves its thread's stack
/// when the next slice begins. An arrow is bound to the top of the stack, whether that slice has
/// ended or not.
fn joined(trace: &Trace) -> Vec<(Slice, Slice, String)> {
    let mut events: Vec<_> =
        trace.0.iter().filter(|event| ["X", "s", "f"].iter().any(|ph| event["ph"] == *ph)).collect();
    events.sort_by_key(|event| {
        let dur = event["dur"].is_number().then(|| Reverse(nanos(&event["dur"])));
        (nanos(&event["ts"]), dur.is_none(), dur)
    });
    let mut stacks: HashMap<u64, Vec<Slice>> = HashMap::new();
    let (mut begun, mut joined) = (HashMap::new(), Vec::new());
    for event in events {
        let (tid, from, id) = (event["tid"].as_u64().unwrap(), nanos(&event["ts"]), event["id"].as_u64());
        let stack = stacks.entry(tid).or_default();
        match event["ph"].as_str().unwrap() {
            "X" => {
                let to = from + nanos(&event["dur"]);
                let over = |slice: &mut Slice| slice.to < from || slice.to == from && (slice.from < from || to > from);
                while stack.pop_if(over).is_some() {}
                assert!(stack.last().is_none_or(|below| to <= below.to), "{event} is dropped");
                stack.push(Slice { tid, from, to, event: event.clone() });
            }
            "s" => assert!(begun.insert(id, stack.last().unwrap().clone()).is_none(), "{event}"),
            _ => {
                let why = event["name"].as_str().unwrap().to_owned();
                joined.push((begun[&id].clone(), stack.last().unwrap().clone(), why));
            }
        }
    }
    joined
}

/// A scope spawns a task that runs on top of it. Later it spawns one that another worker takes.
fn on_top_and_away() -> Recording {
    let (writer, place) = (Writer::of_clock("on top and away", 2), Location::caller());
    let spawned = |task| What::Spawned { role: Role::Leaf, task, spawner: 1, order: task, place };
    let scope = [
        (0, What::Opened { scope: 1, within: 0, place }),
        (10, spawned(2)),
        (10, What::Started { task: 2 }),
        (20, What::Ended { body: 2, ok: true }),
        (50, spawned(3)),
        (50, What::Issued { body: 1 }),
        (100, What::Ended { body: 1, ok: true }),
        (100, What::Completed { body: 1 }),
    ];
    told(&writer, 0, scope);
    told(&writer, 1, [(60, What::Started { task: 3 }), (70, What::Ended { body: 3, ok: true })]);
    writer.finish_in_memory().unwrap()
}

#[test]
fn arrows_come_from_what_is_said_to_have_made_a_task_ready() {
    for (name, recording) in recordings().into_iter().chain([("on top and away".to_owned(), on_top_and_away())]) {
        let trace = Trace::of(&recording);
        let joined = joined(&trace);
        assert_eq!(joined.len(), trace.phase("f").count(), "{name}");
        for (from, to, why) in joined {
            let args = &to.event["args"];
            let number = |on: &str| on.rsplit_once('#').unwrap().1.parse().unwrap();
            let by = args["waited"][&why]["on"].as_str().map_or_else(|| args["spawner"].as_u64().unwrap(), number);
            assert_eq!(from.event["args"]["task"], by, "{name}: {why}: {} -> {}", from.event, to.event);
        }
    }
}

/// Two workers of a stack, with times in nanoseconds. Shows how long each worker scans for tasks,
/// waits at a theft, and is idle.
fn thefts() -> Recording {
    let (writer, place) = (Writer::of_clock("thefts", 2), Location::caller());
    let spawned = |task| What::Spawned { role: Role::Leaf, task, spawner: 1, order: task, place };
    let runs = |from, task, to| [(from, What::Started { task }), (to, What::Ended { body: task, ok: true })];
    let mut owner = vec![(0, What::Opened { scope: 1, within: 0, place })];
    owner.extend((2..=7).map(|task| (0, spawned(task))));
    owner.push((100, What::Ended { body: 1, ok: true }));
    owner.extend(runs(110, 2, 200));
    // The owner waits for 40 ns and continues. Then it waits for 30 ns, and scans elsewhere. It
    // begins the last scan at 355, and is idle from 360 on.
    owner.push((210, What::AtTheft));
    owner.extend(runs(250, 4, 300));
    owner.extend([(310, What::AtTheft), (340, What::StoleClosures { closures: 1 })]);
    owner.extend(runs(345, 6, 355));
    owner.extend([(360, What::Idle), (390, What::Awake), (390, What::Stole)]);
    owner.extend(runs(395, 7, 480));
    owner.push((500, What::Completed { body: 1 }));
    let mut thief = vec![(0, What::Idle), (120, What::StoleClosures { closures: 2 })];
    thief.extend(runs(150, 3, 250).into_iter().chain(runs(260, 5, 450)));
    told(&writer, 0, owner);
    told(&writer, 1, thief);
    writer.finish_in_memory().unwrap()
}

#[test]
fn a_wait_at_a_theft_ends_with_what_comes_next() {
    let (writer, place) = (Writer::of_clock("the end", 2), Location::caller());
    let spawned = |scope, task| (0, What::Spawned { role: Role::Leaf, task, spawner: scope, order: 0, place });
    let opened = |at, scope| (at, What::Opened { scope, within: 0, place });
    let over = |at, body| (at, What::Ended { body, ok: true });
    // The last task in the scope was stolen. The next scope is opened a millisecond later.
    let owner = [opened(0, 1), spawned(1, 3), over(100, 1), (210, What::AtTheft), (250, What::Completed { body: 1 })];
    let next = [opened(1_000_250, 2), over(1_000_300, 2), (1_000_300, What::Completed { body: 2 })];
    told(&writer, 0, owner.into_iter().chain(next));
    // The thief begins what it took at the same moment.
    let runs = [(120, What::StoleClosures { closures: 1 }), (120, What::Started { task: 3 }), over(240, 3)];
    told(&writer, 1, runs);
    let thefts = writer.finish_in_memory().unwrap().report().unwrap().thefts.unwrap();
    assert_eq!((thefts.scans, thefts.waits, (thefts.seconds * 1e9).round()), (1, 1, 40.0));
}

#[test]
fn what_workers_did_at_thefts_is_a_part_of_their_overhead() {
    let report = thefts().report().unwrap();
    let nanos = |seconds: f64| (seconds * 1e9).round() as u64;
    let found = report.thefts.unwrap();
    // The owner waits for 40 ns. It takes 45 ns from one body to the next, with a scan in between.
    // Another 5 ns pass until it is idle, before the last scan.
    assert_eq!((found.scans, found.closures, found.waits, nanos(found.seconds)), (3, 4, 1, 40 + 45 + 5));
    // The thief was also idle, for 150 ns, until it ran something. It had to wake up.
    assert_eq!(nanos(found.idle), 35);
    assert_eq!(report.idle.iter().map(|idle| nanos(idle.seconds)).sum::<u64>(), 35 + 150);
    let overhead = 10 + (10 + 40) + 45 + 5 + 20 + 10 + 50;
    assert_eq!((report.steals, nanos(report.overhead)), (4, overhead));
    assert!(report.to_string().contains("at thefts               3 scans, 1 waits: 90.000 ns"), "{report}");
    // What a pool does is no theft from a stack.
    assert!(recorded(&runtime(2, 2048, Inline::Never), chain).report().unwrap().thefts.is_none());
}

#[test]
fn a_stack_tells_of_its_thefts() {
    let rt: Runtime<StackEngine> = Runtime::builder().workers(2).build_with().unwrap();
    let report = || {
        let (begun, x) = (AtomicBool::new(false), Handle::new(0));
        let wait = || {
            while !begun.load(Relaxed) {
                std::thread::yield_now();
            }
        };
        // The first task ends when another worker has begun the second. The third task waits for
        // the second.
        let (done, recording) = rt.record(|| {
            rt.scope(|s| {
                s.spawn((), |()| wait());
                s.spawn(x.inout(), |_| {
                    begun.store(true, Relaxed);
                    std::thread::sleep(Duration::from_millis(5));
                });
                s.spawn(x.read(), |_| ());
            })
        });
        done.unwrap();
        let report = recording.report().unwrap();
        let thefts = report.thefts.expect("one of the first two was stolen");
        assert!(thefts.scans >= 1 && thefts.closures >= 1 && thefts.seconds <= report.overhead, "{report}");
        assert!(thefts.waits == 0 || thefts.seconds > 0.0, "{report}");
        thefts
    };
    // If the second task was stolen and the first was not, the worker that reaches the second
    // waits. The third belongs to no other worker.
    assert!((0..200).any(|_| report().waits >= 1), "no worker was at a theft");
}
