//! The suites that measure every dependence scheme, with small sizes.

use crate::common::{Dir, fails, json, words};
use millpond::catalogue::{Row, SCHEMES};
use millpond::depend::Mode;
use serde_json::Value;

/// The fields that every row has before those of its suite.
const FIELDS: &str = "shape runtime config params tasks reps seconds median_seconds min_seconds ns_per_task \
                      worker_shares verified scheme workers";

/// The fields that every row has after those of its suite.
const STATISTICS: &str = "steals mean_seconds deviation_seconds max_seconds cdf against rank_sum_w rank_sum_p";

fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field].as_str().expect("a name")
}

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().expect("a number")
}

/// The verified rows of a suite. Each has the fields of the contract and those of the suite.
#[track_caller]
fn rows(line: &str, adds: &str) -> Vec<Value> {
    let bench = json(&format!("{line} --json"));
    assert_eq!(bench["suite"], line.split(' ').next().expect("a suite"));
    let rows = bench["rows"].as_array().expect("rows").clone();
    for row in &rows {
        let keys: Vec<_> = row.as_object().expect("an object").keys().map(String::as_str).collect();
        let fields = FIELDS.split_whitespace().chain(adds.split(' ')).chain(STATISTICS.split(' '));
        assert_eq!(keys, fields.collect::<Vec<_>>());
        assert_eq!(row["verified"], true, "{row}");
        assert_eq!((&row["config"]["scheme"], &row["config"]["workers"]), (&row["scheme"], &row["workers"]));
        let shares = row["worker_shares"].as_array().expect("shares");
        assert_eq!(shares.len() as f64, number(row, "workers"), "{row}");
        let sum: f64 = shares.iter().map(|s| s.as_f64().expect("a number")).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{row}");
        assert!(number(row, "ns_per_task") > 0.0, "{row}");
        statistics(row);
    }
    rows
}

/// The statistics are those of the samples.
#[track_caller]
fn statistics(row: &Value) {
    let numbers = |value: &Value| value.as_array().expect("numbers").iter().filter_map(Value::as_f64).collect();
    let mut seconds: Vec<f64> = numbers(&row["seconds"]);
    let (n, is) = (seconds.len() as f64, |field: &str, value: f64| (number(row, field) - value).abs() < 1e-9);
    assert_eq!((number(row, "reps"), seconds.iter().all(|s| *s > 0.0)), (n, true), "{row}");
    seconds.sort_by(f64::total_cmp);
    let (least, most, mean) = (seconds[0], seconds[seconds.len() - 1], seconds.iter().sum::<f64>() / n);
    assert!(is("min_seconds", least) && is("max_seconds", most) && is("mean_seconds", mean), "{row}");
    let squares: f64 = seconds.iter().map(|s| (s - mean).powi(2)).sum();
    assert!(is("deviation_seconds", (squares / (n - 1.0).max(1.0)).sqrt()), "{row}");
    let cdf: Vec<Vec<f64>> = row["cdf"].as_array().expect("steps").iter().map(numbers).collect();
    seconds.dedup();
    assert!(cdf.iter().map(|step| step[0]).eq(seconds), "{row}");
    assert!(cdf.is_sorted_by(|one, next| one[1] < next[1]) && cdf[cdf.len() - 1][1] == 1.0, "{row}");
    // Spare threads steal, too, even beside one worker.
    assert!(number(row, "steals") >= 0.0, "{row}");
    if row["against"].is_null() {
        assert!(row["rank_sum_w"].is_null() && row["rank_sum_p"].is_null(), "{row}");
    } else {
        assert!((0.0..=n * n).contains(&number(row, "rank_sum_w")), "{row}");
        assert!((0.0..=1.0).contains(&number(row, "rank_sum_p")), "{row}");
    }
}

/// Each row but those of one scheme is compared with it.
#[track_caller]
fn against(rows: &[Value], scheme: &str) {
    for row in rows {
        let with = if text(row, "scheme") == scheme { Value::Null } else { scheme.into() };
        assert_eq!(row["against"], with, "{row}");
    }
}

/// Each scheme that orders the mode has equally many rows.
#[track_caller]
fn every_scheme(rows: &[Value], each: usize, mode: Mode) {
    let has = |scheme: &Row| scheme.modes.is_none_or(|modes| modes.contains(&mode));
    for scheme in SCHEMES {
        let found = rows.iter().filter(|row| text(row, "scheme") == scheme.name).count();
        assert_eq!(found, if has(scheme) { each } else { 0 }, "{}", scheme.name);
    }
}

const MODES: [(&str, Mode); 7] = [
    ("read", Mode::Read),
    ("write", Mode::Write),
    ("inout", Mode::Inout),
    ("commutative", Mode::Commutative),
    ("concurrent", Mode::Concurrent),
    ("reduce-scalar", Mode::Reduce),
    ("reduce-object", Mode::Reduce),
];

/// The rows of each mode.
#[track_caller]
fn every_mode(rows: &[Value], each: usize) {
    for (name, mode) in MODES {
        let of: Vec<_> = rows.iter().filter(|row| text(row, "mode") == name).cloned().collect();
        every_scheme(&of, each, mode);
    }
}

#[test]
fn spawn() {
    let parts = "mode cycles baseline_cycles generic_cycles specific_cycles clock";
    let rows = rows("spawn --spawns 999 --reps 2", parts);
    // At once, untracked, and queued.
    every_mode(&rows, 3);
    against(&rows, "parked");
    let bare: Vec<_> = rows.iter().filter(|row| text(row, "mode") == "none").cloned().collect();
    every_scheme(&bare, 3, Mode::Inout);
    for row in &rows {
        assert_eq!((number(row, "tasks"), number(row, "workers")), (500.0, 1.0));
        let sum =
            ["baseline_cycles", "generic_cycles", "specific_cycles"].map(|part| number(row, part)).iter().sum::<f64>();
        assert!((sum / number(row, "cycles") - 1.0).abs() < 1e-6, "{row}");
        assert!(number(row, "specific_cycles") >= 0.0, "{row}");
    }
    for row in bare {
        assert_eq!(number(&row, "cycles"), number(&row, "baseline_cycles"));
    }
    for (shape, rule, window) in [("at-once", "issued", 4096), ("untracked", "always", 4096), ("queued", "never", 1)] {
        let on_list = |row: &&Value| text(row, "shape") == shape && text(row, "scheme") == "list";
        let config = &rows.iter().find(on_list).expect("a row")["config"];
        assert_eq!((&config["inline"], &config["window"]), (&rule.into(), &window.into()));
    }
}

#[test]
fn long_repetitions_of_spawn_have_many_runs() {
    let parts = "mode cycles baseline_cycles generic_cycles specific_cycles clock";
    let line = "spawn --spawns 50000 --reps 1 --scheme list --shape at-once";
    for row in rows(line, parts) {
        assert_eq!((number(&row, "tasks"), number(&row["params"], "spawns")), (2e4, 6e4), "{row}");
    }
    // The rule for leaves chooses the shape.
    for (inline, shape) in [("issued", "at-once"), ("always", "untracked"), ("auto", "untracked"), ("never", "queued")]
    {
        let rows = rows(&format!("spawn --spawns 9 --reps 1 --scheme list --inline {inline}"), parts);
        assert!(rows.len() == 8 && rows.iter().all(|row| text(row, "shape") == shape), "{inline}: {rows:?}");
    }
}

#[test]
fn slow_path() {
    let rows = rows("slow-path --tasks 3 --tasks 40 --reps 2", "mode generation");
    // Two sizes, with one worker and with two.
    every_mode(&rows, 4);
    assert!(rows.iter().all(|row| row["tasks"] == row["generation"] && row["config"]["window"] == 1_u64 << 32));
}

#[test]
fn three_generations() {
    let rows = rows("three-gen --tasks 300 --workers 2 --reps 1", "mode generation");
    every_mode(&rows, 1);
    assert!(rows.iter().all(|row| number(row, "tasks") == 2.0 * number(row, "generation")));
}

#[test]
fn ten_million_tasks_may_wait() {
    let line = "slow-path --scheme list --mode read --tasks 10000000 --workers 1 --reps 3 --seconds 1";
    let ran = words(&format!("{line} --json"));
    // The time or the memory does not suffice, and a line says so.
    assert_eq!((ran.status, ran.stderr.lines().count()), (0, 1), "{ran:?}");
    let says = "left out: slow-path on list, 1 worker, mode \"read\", generation 10000000: a run would take about ";
    assert!(ran.stderr.starts_with(says), "{ran:?}");
    let rows: Value = serde_json::from_str(&ran.stdout).expect("a JSON object");
    assert_eq!(rows["rows"], Value::Array(Vec::new()));
}

#[test]
fn tasks_that_wait_need_room() {
    let line = |suite: &str, options: &str| format!("{suite} --scheme graph --workers 2 --reps 1 {options}");
    let some = line("slow-path", "--mode write --tasks 50 --inline never --window 51 --rename off");
    for row in rows(&some, "mode generation") {
        let config = &row["config"];
        assert_eq!((&config["inline"], &config["rename"]), (&"never".into(), &"off".into()));
        assert_eq!(config["window"], 51);
    }
    let refused = |line: String, says: &str| fails(&line.split(' ').collect::<Vec<_>>(), 2, says);
    let says = "--window 50: 51 tasks wait here, which needs 51 with --inline never";
    refused(line("slow-path", "--tasks 50 --inline never --window 50"), says);
    let says = "--window 100: 101 tasks wait here, which needs 404 with --inline issued";
    refused(line("three-gen", "--tasks 50 --window 100"), says);
    refused(line("args", "--tasks 100 --window 100"), says);
}

const WORK: &str = "serial_seconds efficiency delay_ns delay_cycles";

#[track_caller]
fn times_of_work(rows: &[Value]) {
    for row in rows {
        let time = number(row, "median_seconds") * number(row, "workers");
        let delay = (time - number(row, "serial_seconds")) / number(row, "tasks") * 1e9;
        assert!((number(row, "delay_ns") - delay).abs() < 1e-3, "{row}");
        assert!((number(row, "efficiency") * time / number(row, "serial_seconds") - 1.0).abs() < 1e-9, "{row}");
    }
}

#[test]
fn task_size() {
    let line = "task-size --body-ns 100 --body-ns 1000 --tasks 500 --workers 2 --reps 3";
    let all = rows(line, &format!("objects body_ns {WORK}"));
    every_scheme(&all, 4, Mode::Read);
    times_of_work(&all);
    against(&all, "parked");
    let of = |row: &Value| (text(row, "shape").to_owned(), number(row, "objects"));
    let mut shapes: Vec<_> = all.iter().map(of).collect();
    shapes.dedup();
    assert_eq!(shapes, [("one-object".to_owned(), 1.0), ("objects".to_owned(), 4.0)]);
}

#[test]
fn objects_and_the_time_of_a_run() {
    let line = "task-size --scheme list --body-ns 1000 --objects 3 --objects 1 --objects 7 --tasks 50 --reps 1";
    let all = rows(line, &format!("objects body_ns {WORK}"));
    assert_eq!(all.iter().map(|row| number(row, "objects")).collect::<Vec<_>>(), [1.0, 3.0, 7.0]);
    // One worker takes a second for these bodies of a millisecond.
    let line = "task-size --scheme list --body-ns 1000000 --objects 3 --workers 1 --reps 1 --run-seconds 1";
    let all = rows(line, &format!("objects body_ns {WORK}"));
    assert_eq!(all.iter().map(|row| number(row, "tasks")).collect::<Vec<_>>(), [999.0]);
}

#[test]
fn arguments() {
    let rows = rows("args --tasks 50 --reps 1", "args");
    // Seven numbers of arguments, with one worker and with two.
    let (inout, blackscholes): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| text(row, "shape") == "inout");
    every_scheme(&inout, 14, Mode::Inout);
    every_scheme(&blackscholes, 2, Mode::Write);
    assert!(blackscholes.iter().all(|row| number(row, "args") == 7.0));
}

#[test]
fn matmul_graph() {
    let rows = rows("matmul-graph --d 5 --cycles 0 --cycles 2000 --workers 2 --reps 2", &format!("cycles {WORK}"));
    every_scheme(&rows, 4, Mode::Inout);
    times_of_work(&rows);
    against(&rows, "parked");
    assert!(rows.iter().all(|row| number(row, "tasks") == 125.0));
}

#[test]
fn any_two_schemes() {
    let line = "matmul-graph --d 8 --cycles 500 --workers 2 --scheme tickets --scheme graph --against graph --reps 30";
    let rows = rows(line, &format!("cycles {WORK}"));
    assert_eq!(rows.len(), 4);
    against(&rows, "graph");
    assert!(rows.iter().all(|row| row["seconds"].as_array().expect("samples").len() == 30), "{rows:?}");
    // Without the option, the first measured scheme is the reference.
    let two = self::rows("args --args 1 --tasks 9 --workers 1 --scheme list --scheme graph --reps 2", "args");
    against(&two, "graph");
}

#[test]
fn the_window_and_the_rule_for_leaves() {
    let line = "cholesky-graph --t 5 --cycles 0 --workers 2 --scheme list --reps 1 --window 4 --inline issued";
    for row in rows(&format!("{line} --rename 4096"), &format!("cycles {WORK}")) {
        let config = &row["config"];
        assert_eq!(
            (&config["window"], &config["inline"], &config["rename"]),
            (&4.into(), &"issued".into(), &4096.into())
        );
    }
}

#[test]
fn cholesky_graph() {
    let rows = rows("cholesky-graph --t 6 --cycles 0 --workers 2 --reps 2", &format!("cycles {WORK}"));
    every_scheme(&rows, 1, Mode::Inout);
    times_of_work(&rows);
    assert!(rows.iter().all(|row| number(row, "tasks") == 56.0));
}

#[test]
fn some_schemes_and_some_points() {
    let line = "slow-path --scheme list --mode read --mode write --tasks 5 --workers 1 --reps 1";
    let some = rows(line, "mode generation");
    assert_eq!(some.iter().map(|row| text(row, "mode")).collect::<Vec<_>>(), ["read", "write"]);
    assert!(some.iter().all(|row| row["scheme"] == "list"));
    let two = rows(
        "matmul-graph --scheme list --scheme parked --shape kij --d 2 --cycles 0 --reps 1",
        &format!("cycles {WORK}"),
    );
    assert_eq!(two.iter().map(|row| text(row, "shape")).collect::<Vec<_>>(), ["kij", "kij"]);
}

#[test]
fn what_takes_too_long_is_left_out_and_said() {
    // The time for the first length predicts the time for the others. All of them are named.
    let bodies = "--body-ns 10000 --body-ns 900000 --body-ns 1000000";
    let line = format!("task-size --scheme list --tasks 2000 {bodies} --workers 1 --reps 1 --seconds 1");
    let ran = words(&format!("{line} --json"));
    assert_eq!(ran.status, 0, "{ran:?}");
    let rows: Value = serde_json::from_str(&ran.stdout).expect("a JSON object");
    assert_eq!(rows["rows"].as_array().expect("rows").len(), 2, "{ran:?}");
    assert_eq!(ran.stderr.lines().count(), 2, "{ran:?}");
    let values = "objects 1, body_ns 900000; objects 1, body_ns 1000000";
    let says = format!("left out: one-object on list, 1 worker, {values}: a run would take about ");
    assert!(ran.stderr.starts_with(&says), "{ran:?}");
}

#[test]
fn rows_as_csv_and_as_a_table() {
    let line = "args --args 2 --tasks 9 --workers 1 --reps 1";
    let (dir, points) = (Dir::new("schemes-csv"), SCHEMES.len());
    let file = dir.path("rows.csv");
    let ran = words(&format!("{line} --csv {file}"));
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let csv = std::fs::read_to_string(&file).expect("the rows");
    assert_eq!(csv.lines().count(), 1 + points);
    assert!(csv.lines().all(|line| line.split(',').count() == 23), "{csv}");
    // The table is printed, too.
    assert!(SCHEMES.iter().all(|scheme| ran.stdout.contains(scheme.name)), "{ran:?}");
}

#[test]
fn wrong_options() {
    let refused = |line: &str, says: &str| fails(&line.split(' ').collect::<Vec<_>>(), 2, says);
    refused("spawn --spawns 0", "invalid value '0' for '--spawns <N>': expected 1..=1000000000");
    refused("slow-path --tasks 10000001", "invalid value '10000001' for '--tasks <N>': expected 1..=10000000");
    refused("args --tasks 0", "invalid value '0' for '--tasks <N>': expected 1..=10000000");
    refused("task-size --objects 0", "invalid value '0' for '--objects <N>': expected 1..=1000000");
    refused("task-size --run-seconds 0", "invalid value '0' for '--run-seconds <S>': expected 1..=1000");
    let both = "the argument '--tasks <N>' cannot be used with '--run-seconds <S>'";
    refused("task-size --tasks 9 --run-seconds 1", both);
    refused("args --window 0", "invalid value '0' for '--window <TASKS>': expected 1..=4294967296");
    refused("args --inline nevr", "unknown inline 'nevr'; the nearest valid: never; all: auto, always, issued, never");
    let renames = "invalid value 'of' for '--rename <on|off|BYTES>': expected on, off, or 1..=4611686018427387904";
    refused("three-gen --rename of", renames);
    refused("spawn --shape queued --inline issued", "--inline issued: only --shape at-once runs tasks so");
    let measured = "--against list: this scheme is not measured; expected one of graph, tickets";
    refused("matmul-graph --scheme tickets --scheme graph --against list", measured);
    refused(
        "slow-path --mode reed",
        "unknown mode 'reed'; the nearest valid: read; all: read, write, inout, commutative, concurrent, reduce-scalar, reduce-object",
    );
    refused("three-gen --workers 1025", "invalid value '1025' for '--workers <N>': expected 1..=1024");
    refused("args --args 3", "unknown args '3'; the nearest valid: 1, 2, 4, 8, 12, 16, 20");
    refused("matmul-graph --d 129", "invalid value '129' for '--d <D>': expected 1..=128");
    refused("cholesky-graph --t 0", "invalid value '0' for '--t <T>': expected 1..=128");
    refused("task-size --seconds 0", "invalid value '0' for '--seconds <S>': expected 1..=1000000");
    refused(
        "spawn --scheme lists",
        "unknown scheme 'lists'; the nearest valid: list; all: parked, graph, embedded-graph, hypergraph, embedded-hypergraph, list, two-lock-list, tickets, stack",
    );
    // Here a single runtime cannot be chosen.
    for option in ["--pool", "--memory", "--deterministic"] {
        let ran = words(&format!("spawn {option} default"));
        assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.lines().count()), (2, "", 1), "{ran:?}");
        assert!(ran.stderr.starts_with(&format!("error: unknown option '{option}'")), "{ran:?}");
    }
}
