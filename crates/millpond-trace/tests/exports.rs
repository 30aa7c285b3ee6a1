//! What is exported holds what its readers take for granted: slices that nest, arrows with two ends, drawings that are
//! XML, graphs whose edges have nodes; and says why nothing ran where nothing did.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use millpond::record::Recorder;
use millpond::{Handle, Inline, Runtime, Spawn};
use millpond_trace::{DotError, Profile, Recording};
use serde_json::Value;

/// Takes its time.
fn work(micros: u64) {
    let until = Instant::now() + Duration::from_micros(micros);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

fn recorded(rt: &Runtime, program: impl FnOnce(&Runtime)) -> Recording {
    rt.record(|| program(rt)).1
}

fn runtime(workers: usize, window: usize, inline: Inline) -> Runtime {
    Runtime::builder().workers(workers).window(window).inline(inline).build().unwrap()
}

fn chain(rt: &Runtime) {
    let x = Handle::new(0_u64);
    let step = |x: &mut u64| {
        work(30);
        *x += 1;
    };
    rt.scope(|s| (0..10).for_each(|n| drop(s.task("step").index([n]).spawn(x.inout(), step)))).unwrap();
}

fn contention(rt: &Runtime) {
    let (x, y) = (Handle::new(0_u64), Handle::new(0_u64));
    rt.scope(|s| {
        for n in 0..10 {
            s.task("one").index([n, 2 * n]).nest(x.commutative(), |_, _| work(20));
            s.task("both").nest((x.commutative(), y.commutative()), |_, _| work(20));
        }
    })
    .unwrap();
}

fn nested_waits(rt: &Runtime) {
    let (mut a, b) = (Handle::new(0_u64), Handle::new(1_u64));
    rt.scope(|s| {
        for n in 0..4 {
            let join = s.task("outer").index([n]).nest((a.inout(), b.read()), |s, (mut a, b)| {
                (0..3).for_each(|_| drop(s.task("inner").nest(a.inout(), |_, _| work(20))));
                *s.wait_on(&mut a).unwrap() += 1;
                let join = s.task("late").nest((a.read(), b.read()), |_, _| work(20));
                s.wait(join).unwrap();
            });
            s.task("beside").nest(b.read(), |_, _| work(30));
            s.wait(join).unwrap();
        }
        s.wait_on(&mut a).unwrap();
    })
    .unwrap();
}

fn joins(rt: &Runtime) {
    fn halves(depth: u32) {
        if depth == 0 {
            return work(10);
        }
        millpond::join(|| halves(depth - 1), || halves(depth - 1));
    }
    rt.scope(|s| (0..3).for_each(|_| drop(s.task("halves").spawn((), |()| halves(4))))).unwrap();
}

fn scope_within_a_body(rt: &Runtime) {
    rt.scope(|s| {
        s.task("opens").nest((), |_, ()| {
            rt.scope(|s| (0..5).for_each(|_| drop(s.task("below").nest((), |_, ()| work(10))))).unwrap();
            work(10);
        });
        s.task("beside").nest((), |_, ()| work(50));
    })
    .unwrap();
}

/// A task that fails poisons those that read what it should have made; names are not what formats take for a name.
fn failures_and_names(rt: &Runtime) {
    let (x, y) = (Handle::new(0_u64), Handle::new(0_u64));
    let failed = rt.scope(|s| {
        let fails = |_: &mut u64| std::panic::resume_unwind(Box::new("on purpose"));
        s.task("\"quoted\" <&> \\ end").spawn(x.inout(), fails);
        s.task("refused").index([1]).spawn((x.read(), y.commutative()), |_| ());
        s.task("concurrent").spawn(y.concurrent(), |_| ());
        s.task("sum").spawn(y.reduce(millpond::Sum), |y| *y += 1);
        s.task("set").spawn(x.write(), |x| x.set(1));
    });
    assert!(failed.is_err());
}

fn session(rt: &Runtime) {
    let session = rt.session();
    let join = session.task("of a session").spawn((), |()| work(50));
    drop(join);
    session.close().unwrap();
}

/// Every program on one worker and two, inline or not, with a window that fills.
fn recordings() -> Vec<(String, Recording)> {
    let programs: [(&str, fn(&Runtime)); 7] = [
        ("chain", chain),
        ("contention", contention),
        ("nested waits", nested_waits),
        ("joins", joins),
        ("scope within a body", scope_within_a_body),
        ("failures and names", failures_and_names),
        ("session", session),
    ];
    let mut all = Vec::new();
    for (name, program) in programs {
        for (workers, window, inline) in
            [(1, 2048, Inline::Never), (2, 2048, Inline::Always), (2, 2, Inline::Never), (2, 3, Inline::Always)]
        {
            let rt = runtime(workers, window, inline);
            all.push((format!("{name} ({workers}, {window}, {inline:?})"), recorded(&rt, program)));
        }
    }
    all
}

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

/// A drawing: tags are closed in order, attributes quoted, and nothing is left that XML forbids.
fn assert_xml(text: &str) {
    let mut open = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>'));
        let end = start + rest[start..].find('>').unwrap();
        let tag = &rest[start + 1..end];
        assert!(!tag.contains('<') && tag.matches('"').count().is_multiple_of(2), "{tag}");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        match (tag.strip_prefix('/'), tag.ends_with('/')) {
            (Some(closed), _) => assert_eq!(open.pop(), Some(closed)),
            (None, false) => open.push(name),
            (None, true) => {}
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty() && rest.trim().is_empty());
    for entity in text.split('&').skip(1) {
        assert!(["amp;", "lt;", "gt;", "quot;"].iter().any(|known| entity.starts_with(known)), "{entity}");
    }
    assert!(!text.contains("NaN") && !text.contains("inf"));
}

fn schedule(recording: &Recording) -> String {
    let mut file = Vec::new();
    recording.write_schedule(&mut file).unwrap();
    String::from_utf8(file).unwrap()
}

#[test]
fn schedules_are_xml_with_a_row_a_worker() {
    for (name, recording) in recordings() {
        let drawing = schedule(&recording);
        assert_xml(&drawing);
        let rows = drawing.matches(">worker ").count();
        assert_eq!(rows, recording.workers, "{name}");
        assert!(drawing.contains("time ("));
    }
}

#[test]
fn a_schedule_is_no_larger_than_can_be_seen() {
    let recording = recorded(&runtime(2, 2048, Inline::Auto), |rt| {
        rt.scope(|s| (0..100_000).for_each(|n| drop(s.task("small").index([n]).spawn((), |()| ())))).unwrap();
    });
    let drawing = schedule(&recording);
    assert_xml(&drawing);
    assert!(drawing.len() < 2_000_000, "{}", drawing.len());
    assert!(drawing.contains("stretches, mostly small"));
}

#[test]
fn speedups_are_xml_whatever_was_measured() {
    let report = recorded(&runtime(2, 2048, Inline::Never), nested_waits).report().unwrap();
    for measured in [vec![], vec![(1, 1.0), (2, 0.5), (1024, 1e-9)], vec![(0, 1.0), (4, 0.0), (2, 1e9)]] {
        let mut file = Vec::new();
        report.write_speedup(&measured, &mut file).unwrap();
        let drawing = String::from_utf8(file).unwrap();
        assert_xml(&drawing);
        assert!(drawing.contains("work law") && drawing.contains("span law") && drawing.contains("predicted"));
    }
}

fn dot(recording: &Recording) -> Result<String, DotError> {
    let mut file = Vec::new();
    recording.write_dot(&mut file)?;
    Ok(String::from_utf8(file).unwrap())
}

/// The text without what is quoted.
fn unquoted(text: &str) -> String {
    let (mut out, mut quoted, mut characters) = (String::new(), false, text.chars());
    while let Some(character) = characters.next() {
        match character {
            '"' => quoted = !quoted,
            '\\' if quoted => _ = characters.next(),
            other if !quoted => out.push(other),
            _ => {}
        }
    }
    assert!(!quoted);
    out
}

#[test]
fn graphs_have_balanced_boxes_and_edges_between_nodes() {
    for (name, recording) in recordings() {
        let text = unquoted(&dot(&recording).unwrap());
        let count = |what: char| text.matches(what).count();
        assert_eq!((count('{'), count('[')), (count('}'), count(']')), "{name}");
        let (mut nodes, mut ends) = (HashSet::new(), HashSet::new());
        for line in text.lines() {
            let words: Vec<_> = line.split_whitespace().collect();
            match words[..] {
                [from, "->", to, ..] => ends.extend([from, to]),
                [node, attributes, ..] if attributes.starts_with('[') => _ = nodes.insert(node),
                _ => {}
            }
        }
        assert!(ends.is_subset(&nodes), "{name}: {:?}", ends.difference(&nodes));
        let tasks = nodes.iter().filter(|node| node.starts_with('b')).count() as u64;
        assert!(tasks > recording.report().unwrap().tasks, "{name}");
    }
}

#[test]
fn graphs_show_versions_and_generations() {
    let recording = recorded(&runtime(1, 2048, Inline::Never), |rt| {
        let (x, y) = (Handle::new(0), Handle::new(0));
        rt.scope(|s| {
            s.spawn(y.read(), |_| ());
            s.spawn(x.inout(), |_| ());
            s.spawn(x.read(), |_| ());
            s.spawn(x.read(), |_| ());
            s.spawn(x.write(), |x| x.set(1));
            s.spawn(x.commutative(), |_| ());
        })
        .unwrap();
    });
    let text = dot(&recording).unwrap();
    let names = ["d0 v0 g0 read", "d1 v0 g0 inout", "d1 v0 g1 read", "d1 v1 g0 write", "d1 v1 g1 commutative"];
    for name in names {
        assert_eq!(text.matches(&format!("\"{name}\"")).count(), 1, "{name}: {text}");
    }
    // To both reads, and to the commutative access; to the write nothing leads.
    assert_eq!(text.lines().filter(|line| line.trim().starts_with('g') && line.contains("-> b")).count(), 3);
}

#[test]
fn a_graph_too_large_is_refused() {
    let recording = recorded(&runtime(1, 2048, Inline::Always), |rt| {
        rt.scope(|s| (0..501).for_each(|_| drop(s.spawn((), |()| ())))).unwrap();
    });
    let error = dot(&recording).unwrap_err();
    assert!(matches!(error, DotError::TooLarge { tasks: 501, limit: 500 }));
    assert_eq!(error.to_string(), "the graph has 501 tasks, 500 can be drawn: record a smaller instance");
}

#[test]
fn nothing_and_no_time_at_all_can_be_exported() {
    let rt = Runtime::builder().workers(2).recorder(&Recorder::with_clock(|| 7)).build().unwrap();
    for recording in [recorded(&rt, |_| ()), recorded(&rt, nested_waits), recorded(&rt, joins)] {
        Trace::of(&recording);
        assert_xml(&schedule(&recording));
        dot(&recording).unwrap();
        let mut file = Vec::new();
        recording.report().unwrap().write_speedup(&[(1, 1.0)], &mut file).unwrap();
        assert_xml(&String::from_utf8(file).unwrap());
    }
}
