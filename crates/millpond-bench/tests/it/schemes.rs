//! The suites that measure every dependence scheme, with small sizes.

use crate::common::{Dir, fails, json, words};
use millpond::catalogue::{Row, SCHEMES};
use millpond::depend::Mode;
use serde_json::Value;

/// The fields that every row has before those of its suite.
const FIELDS: &str = "shape runtime config params tasks reps median_seconds min_seconds ns_per_task worker_shares \
                      verified scheme workers";

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
        assert_eq!(keys, FIELDS.split_whitespace().chain(adds.split(' ')).collect::<Vec<_>>());
        assert_eq!(row["verified"], true, "{row}");
        assert_eq!((&row["config"]["scheme"], &row["config"]["workers"]), (&row["scheme"], &row["workers"]));
        let shares = row["worker_shares"].as_array().expect("shares");
        assert_eq!(shares.len() as f64, number(row, "workers"), "{row}");
        let sum: f64 = shares.iter().map(|s| s.as_f64().expect("a number")).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{row}");
        assert!(number(row, "ns_per_task") > 0.0, "{row}");
    }
    rows
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
    // At the spawn, and queued.
    every_mode(&rows, 2);
    let bare: Vec<_> = rows.iter().filter(|row| text(row, "mode") == "none").cloned().collect();
    every_scheme(&bare, 2, Mode::Inout);
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

const WORK: &str = "serial_seconds efficiency delay_ns delay_cycles rank_sum_w rank_sum_p";

/// Every other scheme is compared with the first one.
#[track_caller]
fn compared(rows: &[Value], reps: f64) {
    for row in rows {
        let time = number(row, "median_seconds") * number(row, "workers");
        let delay = (time - number(row, "serial_seconds")) / number(row, "tasks") * 1e9;
        assert!((number(row, "delay_ns") - delay).abs() < 1e-3, "{row}");
        assert!((number(row, "efficiency") * time / number(row, "serial_seconds") - 1.0).abs() < 1e-9, "{row}");
        if text(row, "scheme") == "parked" {
            assert!(row["rank_sum_w"].is_null() && row["rank_sum_p"].is_null(), "{row}");
        } else {
            assert!((0.0..=reps * reps).contains(&number(row, "rank_sum_w")), "{row}");
            assert!((0.0..=1.0).contains(&number(row, "rank_sum_p")), "{row}");
        }
    }
}

#[test]
fn task_size() {
    let line = "task-size --body-ns 100 --body-ns 1000 --tasks 500 --workers 2 --reps 3";
    let rows = rows(line, &format!("body_ns {WORK}"));
    every_scheme(&rows, 4, Mode::Read);
    compared(&rows, 3.0);
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
    compared(&rows, 2.0);
    assert!(rows.iter().all(|row| number(row, "tasks") == 125.0));
}

#[test]
fn cholesky_graph() {
    let rows = rows("cholesky-graph --t 6 --cycles 0 --workers 2 --reps 2", &format!("cycles {WORK}"));
    every_scheme(&rows, 1, Mode::Inout);
    compared(&rows, 2.0);
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
    // The time for the first length predicts the time for the second.
    let line = "task-size --scheme list --tasks 2000 --body-ns 10000 --body-ns 100000 --workers 1 --reps 1 --seconds 1";
    let ran = words(&format!("{line} --json"));
    assert_eq!(ran.status, 0, "{ran:?}");
    let rows: Value = serde_json::from_str(&ran.stdout).expect("a JSON object");
    assert_eq!(rows["rows"].as_array().expect("rows").len(), 2, "{ran:?}");
    assert_eq!(ran.stderr.lines().count(), 2, "{ran:?}");
    assert!(ran.stderr.starts_with("left out: one-object on list, 1 workers, body_ns 100000, and beyond: "), "{ran:?}");
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
    assert!(csv.lines().all(|line| line.split(',').count() == 14), "{csv}");
    // The table is printed, too.
    assert!(SCHEMES.iter().all(|scheme| ran.stdout.contains(scheme.name)), "{ran:?}");
}

#[test]
fn wrong_options() {
    let refused = |line: &str, says: &str| fails(&line.split(' ').collect::<Vec<_>>(), 2, says);
    refused("spawn --spawns 0", "invalid value '0' for '--spawns <N>': expected 1..=1000000000");
    refused("slow-path --tasks 1000001", "invalid value '1000001' for '--tasks <N>': expected 1..=1000000");
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
    for option in ["--pool", "--memory", "--window", "--deterministic"] {
        let ran = words(&format!("spawn {option} default"));
        assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.lines().count()), (2, "", 1), "{ran:?}");
        assert!(ran.stderr.starts_with(&format!("error: unknown option '{option}'")), "{ran:?}");
    }
}
