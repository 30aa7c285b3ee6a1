//! The contract of `millpond bench`: every suite, with small sizes.

use crate::common::{Dir, json, words};
use serde_json::Value;

/// The fields that every row has.
const FIELDS: &str =
    "shape runtime config params tasks reps seconds median_seconds min_seconds ns_per_task worker_shares verified";

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().expect("an object").keys().map(String::as_str).collect()
}

/// The verified rows of a suite. Each has the fields of the contract and those of the suite.
#[track_caller]
fn rows(line: &str, adds: &str) -> Vec<Value> {
    let bench = json(&format!("bench {line} --json"));
    assert_eq!(keys(&bench), ["suite", "rows"]);
    assert_eq!(bench["suite"], line.split(' ').next().expect("a suite"));
    let rows = bench["rows"].as_array().expect("rows").clone();
    for row in &rows {
        assert_eq!(keys(row), FIELDS.split(' ').chain(adds.split(' ')).collect::<Vec<_>>());
        assert_eq!(row["verified"], true, "{row}");
        let shares = row["worker_shares"].as_array().expect("shares");
        let sum: f64 = shares.iter().map(|s| s.as_f64().expect("a number")).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{row}");
    }
    rows
}

fn shapes(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["shape"].as_str().expect("a name")).collect()
}

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().expect("a number")
}

#[test]
fn grain() {
    let line = "grain --workers 2 --reps 2 --body-ns 200 --body-ns 100 --shape chains --shape cholesky";
    let rows = rows(line, "body_ns serial_seconds efficiency metg50_ns metg50");
    assert_eq!(shapes(&rows), ["chains", "chains", "cholesky", "cholesky"]);
    assert_eq!(rows.iter().map(|row| number(row, "body_ns")).collect::<Vec<_>>(), [100.0, 200.0, 100.0, 200.0]);
    for graph in rows.chunks(2) {
        // One row for each graph, with correct fields.
        assert_eq!(graph[0]["metg50_ns"], graph[1]["metg50_ns"]);
        let [first, last] = [number(&graph[0], "efficiency"), number(&graph[1], "efficiency")];
        let (ns, expected) = match graph[0]["metg50"].as_str().expect("a word") {
            "below" => (100.0..=100.0, first >= 0.5 && last >= 0.5),
            "above" => (200.0..=200.0, last < 0.5),
            _ => (100.0..=200.0, first < 0.5 && last >= 0.5),
        };
        assert!(expected && ns.contains(&number(&graph[0], "metg50_ns")), "{graph:?}");
    }
}

#[test]
fn cost() {
    let rows = rows("cost --workers 2 --reps 1 --shape independent --tasks 1000000", "ratio");
    assert_eq!(rows.iter().map(|row| number(row, "tasks")).collect::<Vec<_>>(), [1e4, 1e5, 1e6]);
    assert_eq!(number(&rows[0], "ratio"), 1.0);
}

#[test]
fn parked_readers_have_no_window() {
    for workers in [1, 2] {
        let rows = rows(&format!("cost --workers {workers} --reps 1 --shape readers-parked --tasks 100000"), "ratio");
        assert_eq!(rows.iter().map(|row| number(row, "tasks")).collect::<Vec<_>>(), [1e5]);
        assert!(number(&rows[0]["config"], "window") > 1e6);
    }
}

#[test]
fn bimodal() {
    let sizes = "--tasks 2100 --one-in 100 --long-ns 20000 --short-ns 20 --seed 7";
    let all = rows(&format!("bimodal --workers 2 --reps 2 {sizes}"), "serial_seconds speedup");
    assert_eq!(shapes(&all), ["uniform", "clustered-first", "clustered-last"]);
    for row in &all {
        assert_eq!(keys(&row["params"]), ["tasks", "one_in", "long_ns", "short_ns", "seed"]);
        let speedup = number(row, "serial_seconds") / number(row, "median_seconds");
        assert!((number(row, "speedup") / speedup - 1.0).abs() < 1e-9);
    }
    let one = rows(&format!("bimodal --workers 1 --reps 1 --shape uniform {sizes}"), "serial_seconds speedup");
    assert_eq!(shapes(&one), ["uniform"]);
}

#[test]
fn idle() {
    let rows = rows("idle --workers 2 --reps 2 --sleep-ms 20", "cpu_share cpu_share_max");
    assert_eq!(shapes(&rows), ["new", "between-scopes", "in-a-scope", "open-session"]);
    for row in &rows {
        assert!(number(row, "min_seconds") >= 0.02);
        assert_eq!((number(row, "tasks"), number(row, "ns_per_task")), (0.0, 0.0));
        let (share, most) = (number(row, "cpu_share"), number(row, "cpu_share_max"));
        assert!((0.0..=most).contains(&share) && most < 64.0, "{row}");
    }
}

#[test]
fn bytes() {
    let rows = rows("bytes --reps 2 --tasks 50000", "bytes_per_task");
    assert_eq!(shapes(&rows), ["own", "readers", "chain", "ready"]);
    for row in &rows {
        // A header is 64 bytes. A task needs much less than a page.
        assert!((64.0..1000.0).contains(&number(row, "bytes_per_task")), "{row}");
        assert_eq!((number(&row["config"], "workers"), number(row, "reps")), (1.0, 2.0));
    }
}

#[test]
fn rows_as_csv_and_as_a_table() {
    let line = "bench grain --workers 2 --reps 1 --body-ns 100 --shape chains --shape cholesky";
    let dir = Dir::new("csv");
    let file = dir.path("rows.csv");
    let ran = words(&format!("{line} --csv {file}"));
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let text = std::fs::read_to_string(&file).expect("the rows");
    assert_eq!(text.lines().count(), 3);
    let columns: Vec<_> = text.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(columns, [17, 17, 17]);
    // The table is printed, too.
    for word in ["efficiency", "metg50", "chains", "cholesky", "true"] {
        assert!(ran.stdout.contains(word), "{word}: {}", ran.stdout);
    }
}
