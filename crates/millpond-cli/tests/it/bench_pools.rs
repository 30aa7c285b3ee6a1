//! The suites of `millpond bench` that measure every pool with every memory manager, with small
//! sizes.

use crate::common::{Dir, Ran, fails, json, words};
use millpond::catalogue::{MEMORY, POOLS};
use serde_json::Value;
use std::process::Command;

const FIELDS: [&str; 12] = [
    "shape",
    "runtime",
    "config",
    "params",
    "tasks",
    "reps",
    "seconds",
    "median_seconds",
    "min_seconds",
    "ns_per_task",
    "worker_shares",
    "verified",
];

fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field].as_str().expect("a name")
}

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().expect("a number")
}

/// The verified rows of a suite. Each has the fields of the contract and those of the suite.
#[track_caller]
fn rows(line: &str, adds: &[&str]) -> Vec<Value> {
    let bench = json(&format!("bench {line} --json"));
    let rows = bench["rows"].as_array().expect("rows").clone();
    for row in &rows {
        let keys: Vec<_> = row.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(keys, FIELDS.iter().chain(adds).copied().collect::<Vec<_>>());
        assert_eq!(row["verified"], true, "{row}");
        assert_eq!((&row["config"]["workers"], &row["config"]["memory"]), (&row["workers"], &row["memory"]));
        assert!(number(row, "median_seconds") > 0.0 && number(row, "ns_per_task") > 0.0, "{row}");
        let shares: f64 = row["worker_shares"].as_array().expect("shares").iter().filter_map(Value::as_f64).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{row}");
    }
    rows
}

/// The rows by the value of a field. The best one comes first, and the others are compared with it.
#[track_caller]
fn in_order<'a>(rows: &'a [Value], shape: &str, workers: u64, field: &str) -> Vec<&'a str> {
    let of: Vec<_> = rows.iter().filter(|row| text(row, "shape") == shape && row["workers"] == workers).collect();
    for pair in of.windows(2) {
        assert!(number(pair[0], "median_seconds") <= number(pair[1], "median_seconds"));
        let relative = number(pair[1], "median_seconds") / number(of[0], "median_seconds") - 1.0;
        assert!((number(pair[1], "relative") - relative).abs() < 1e-9, "{}", pair[1]);
        assert!((0.0..=1.0).contains(&number(pair[1], "rank_sum_p")), "{}", pair[1]);
    }
    assert!(number(of[0], "relative") == 0.0 && of[0]["rank_sum_p"].is_null());
    of.into_iter().map(|row| text(row, field)).collect()
}

fn all(rows: &[millpond::catalogue::Row]) -> Vec<&'static str> {
    let mut names: Vec<_> = rows.iter().map(|row| row.name).collect();
    names.sort_unstable();
    names
}

const OF_POOLS: [&str; 11] = [
    "pool",
    "workers",
    "memory",
    "parameter",
    "value",
    "relative",
    "rank_sum_p",
    "speed_up",
    "wake_calls",
    "wake_ups",
    "more_arrays",
];

#[test]
fn pools() {
    let rows = rows("pools --k 6 --f 0 --reps 2 --workers 1 --workers 2 --shape best", &OF_POOLS);
    for workers in [1, 2] {
        let mut pools = in_order(&rows, "best", workers, "pool");
        pools.sort_unstable();
        assert_eq!(pools, all(POOLS));
    }
    // Relative to the best with one worker.
    assert_eq!(number(&rows[0], "speed_up"), 1.0);
    // In 2 repetitions. A put into an empty queue happens less often.
    let calls = |pool: &str| {
        let row = rows.iter().find(|row| text(row, "pool") == pool && row["workers"] == 1);
        number(row.expect("a row"), "wake_calls")
    };
    assert_eq!((calls("dq2"), calls("dq10")), (2.0 * 58.0, 0.0));
    assert!((2.0..100.0).contains(&calls("dq9")), "{}", calls("dq9"));
    assert!(rows.iter().all(|row| number(row, "tasks") == 58.0 && row["params"]["k"] == 6));
}

#[test]
fn parameters() {
    let rows = rows("pools --k 6 --reps 1 --workers 2 --shape sweep", &OF_POOLS);
    let of = |parameter: &str, pool: &str| {
        let is_one = |row: &&Value| text(row, "parameter") == parameter && text(row, "pool") == pool;
        rows.iter().filter(is_one).map(|row| text(row, "value")).collect::<Vec<_>>()
    };
    assert_eq!(of("queues", "rq1"), ["4", "1", "2", "8", "16"]);
    assert_eq!(of("threshold", "sdq1"), ["4", "8", "16", "64"]);
    assert_eq!(of("filling", "dq8"), ["generous", "greedy"]);
    assert_eq!(of("share", "dq2"), ["one", "4", "half", "workers"]);
    assert_eq!(of("lock", "sq4"), ["system", "spin"]);
    assert_eq!(of("capacity", "dq7"), ["1024", "16", "4"]);
    assert!(rows.iter().all(|row| text(row, "shape") == "sweep" && row["speed_up"].is_null()));
}

#[test]
fn memory() {
    let rows = rows("memory --k 6 --reps 2 --workers 2", &["memory", "workers", "relative", "rank_sum_p"]);
    for shape in ["average", "dq8", "default"] {
        let mut managers = in_order(&rows, shape, 2, "memory");
        managers.sort_unstable();
        assert_eq!(managers, all(MEMORY), "{shape}");
    }
}

#[test]
fn what_is_chosen_alone_is_measured() {
    let rows = rows("pools --k 6 --reps 1 --workers 1 --pool dq8 --memory bs --memory dlf --shape best", &OF_POOLS);
    let [row] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!(text(row, "pool"), "dq8");
    assert!(["bs", "dlf"].contains(&text(row, "memory")));
    let dir = Dir::new("bench-pools");
    let file = dir.path("rows.csv");
    let ran = words(&format!("bench memory --k 6 --reps 1 --workers 1 --shape dq8 --memory bs --csv {file}"));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let csv = std::fs::read_to_string(&file).expect("the file");
    assert!(csv.starts_with("shape,runtime,config,params,tasks,") && csv.lines().count() == 2, "{csv}");
}

#[test]
fn wrong_arguments() {
    let (pools, managers): (Vec<_>, Vec<_>) =
        (POOLS.iter().map(|row| row.name).collect(), MEMORY.iter().map(|row| row.name).collect());
    let unknown = |what: &str, nearest: &str, all: &[&str]| {
        format!("unknown {what}; the nearest valid: {nearest}; all: {}", all.join(", "))
    };
    fails(&["bench", "pools", "--pool", "dq11"], 2, &unknown("pool 'dq11'", "dq1, dq10, sdq1", &pools));
    let nearest = "dgbkof, dgbko, dgbk";
    fails(&["bench", "memory", "--memory", "dgbkoff"], 2, &unknown("memory manager 'dgbkoff'", nearest, &managers));
    fails(&["bench", "pools", "--k", "0"], 2, "invalid value '0' for '--k <K>': expected 1..=40");
    fails(&["bench", "memory", "--shape", "dq9"], 2, &unknown("shape 'dq9'", "dq8", &["average", "dq8", "default"]));
}

/// The fields of `--counters`.
const OF_COUNTERS: [&str; 6] =
    ["l1_misses_per_task", "ll_misses_per_task", "counters", "counted_tasks", "l1_misses", "ll_misses"];

/// The start of the error on a machine with neither method.
const NO_WAY: &str = "error: --counters: no way to count cache misses: perf_event: ";

/// The output and the rows of a suite with `--counters`; `None` if this machine cannot count.
#[track_caller]
fn counted(line: &str, adds: &[&str]) -> Option<(Ran, Vec<Value>)> {
    let ran = words(&format!("bench {line} --counters --json"));
    if ran.stderr.starts_with(NO_WAY) {
        assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{ran:?}");
        eprintln!("skipped: {}", ran.stderr);
        return None;
    }
    assert_eq!(ran.status, 0, "{ran:?}");
    let bench: Value = serde_json::from_str(&ran.stdout).expect("one object");
    let rows = bench["rows"].as_array().expect("rows").clone();
    for row in &rows {
        let keys: Vec<_> = row.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(keys, FIELDS.iter().chain(adds).chain(&OF_COUNTERS).copied().collect::<Vec<_>>());
        assert!(["perf_event", "cachegrind"].contains(&text(row, "counters")), "{row}");
    }
    Some((ran, rows))
}

/// Checks a counted row.
#[track_caller]
fn has_misses(row: &Value) {
    let [tasks, l1, last_level] = ["counted_tasks", "l1_misses", "ll_misses"].map(|field| number(row, field));
    // With 1000 tasks or more, memory for tasks is touched for the first time.
    assert!(tasks >= 1000.0 && l1 > 0.0 && last_level >= 0.0, "{row}");
    assert!((number(row, "l1_misses_per_task") - l1 / tasks).abs() < 1e-9, "{row}");
    assert!((number(row, "ll_misses_per_task") - last_level / tasks).abs() < 1e-9, "{row}");
}

/// The tasks in a queue of order first in, first out are old when they run. So they are no longer
/// in the cache (TP Table 6: about 4000 times the misses with one thread).
#[test]
fn misses_of_pools() {
    let line = "pools --k 17 --f 0 --reps 1 --workers 1 --shape best --memory bs --pool dq8 --pool sq3";
    let Some((_, rows)) = counted(line, &OF_POOLS) else { return };
    rows.iter().for_each(has_misses);
    let of =
        |pool: &str| rows.iter().find(|row| text(row, "pool") == pool).map(|row| number(row, "l1_misses_per_task"));
    let (last_first, first_first) = (of("dq8").expect("a row"), of("sq3").expect("a row"));
    assert!(first_first > 2.0 * last_first, "{rows:?}");
}

#[test]
fn misses_of_managers() {
    let line = "memory --k 16 --f 0 --reps 1 --workers 2 --memory bs --shape dq8 --shape default";
    let Some((_, rows)) = counted(line, &["memory", "workers", "relative", "rank_sum_p"]) else { return };
    assert_eq!(rows.len(), 2);
    rows.iter().for_each(has_misses);
}

/// Cachegrind has no time for a second row. The processor counts all rows while it measures them.
#[test]
fn rows_that_do_not_fit_have_no_misses() {
    let line = "pools --k 16 --f 0 --reps 1 --seconds 1 --workers 1 --memory bs --shape best --pool sq1 --pool sq4";
    let Some((ran, rows)) = counted(line, &OF_POOLS) else { return };
    let without = rows.iter().filter(|row| row["l1_misses"].is_null()).count();
    if text(&rows[0], "counters") == "perf_event" {
        assert_eq!((without, ran.stderr.as_str()), (0, ""));
    } else {
        // A fast machine may count both.
        let says = "the cache misses of 1 of 2 rows fit into 0.5 s (half of --seconds)";
        assert_eq!(without == 1, ran.stderr.contains(says), "{ran:?}");
        assert!(without <= 1, "{ran:?}");
    }
    for row in rows.iter().filter(|row| row["l1_misses"].is_null()) {
        let values =
            ["l1_misses_per_task", "ll_misses_per_task", "counted_tasks", "ll_misses"].map(|field| &row[field]);
        assert!(values.iter().all(|value| value.is_null()), "{row}");
    }
}

#[test]
fn without_valgrind_only_the_processor_can_count() {
    let line = "bench pools --k 6 --f 0 --reps 1 --workers 1 --shape best --memory bs --pool dq8 --counters --json";
    let mut command = Command::new(env!("CARGO_BIN_EXE_millpond"));
    // No program is found there.
    let output = command.args(line.split(' ')).env("PATH", "/nonexistent").output().expect("it runs");
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text"));
    if output.status.success() {
        assert!(stdout.contains(r#""counters":"perf_event""#) && stderr.is_empty(), "{stdout}{stderr}");
    } else {
        assert_eq!((output.status.code(), stdout.as_str()), (Some(1), ""), "{stderr}");
        assert!(stderr.starts_with(NO_WAY) && stderr.lines().count() == 1, "{stderr}");
        assert!(stderr.ends_with("; cachegrind: valgrind is not installed\n"), "{stderr}");
    }
}

/// Without the option there is no field of it, and nothing runs under valgrind.
#[test]
fn the_table_has_the_misses_of_a_task() {
    let line = "bench pools --k 16 --f 0 --reps 1 --workers 1 --shape best --memory bs --pool dq8";
    let plain = words(line);
    assert!(plain.status == 0 && !plain.stdout.contains("misses"), "{plain:?}");
    let ran = words(&format!("{line} --counters"));
    if ran.status == 0 {
        assert!(ran.stdout.contains("l1_misses_per_task") && ran.stdout.contains("ll_misses_per_task"), "{ran:?}");
        assert!(!ran.stdout.contains("counted_tasks"), "{ran:?}");
    } else {
        assert!(ran.stderr.starts_with(NO_WAY), "{ran:?}");
    }
}
