//! The suites of `millpond bench` that measure every pool with every memory manager, with small
//! sizes.

use crate::common::{Dir, fails, json, words};
use millpond::catalogue::{MEMORY, POOLS};
use serde_json::Value;

const FIELDS: [&str; 11] = [
    "shape",
    "runtime",
    "config",
    "params",
    "tasks",
    "reps",
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
