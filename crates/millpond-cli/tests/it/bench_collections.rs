//! The suites of `millpond bench` about Collections, with small sizes.

use crate::common::{fails, json};
use serde_json::Value;

fn rows(line: &str) -> Vec<Value> {
    let bench = json(&format!("bench {line} --json"));
    let rows = bench["rows"].as_array().expect("rows").clone();
    assert!(rows.iter().all(|row| row["verified"] == true && row["median_seconds"].as_f64() > Some(0.0)), "{rows:?}");
    rows
}

#[test]
fn stacks_by_kind_and_threads() {
    let rows = rows("stack-alloc --steps 300 --held 7 --threads 1 --threads 3 --reps 2");
    let points: Vec<_> =
        rows.iter().map(|row| (row["shape"].as_str().unwrap(), row["threads"].as_u64().unwrap())).collect();
    assert_eq!(points, [("fresh", 1), ("pooled", 1), ("block", 1), ("fresh", 3), ("pooled", 3), ("block", 3)]);
    assert!(rows.iter().all(|row| row["tasks"].as_u64() == Some(300 * row["threads"].as_u64().unwrap())));
    // Allocating from the system and freeing costs more than reuse.
    let cost = |row: &Value| row["ns_per_task"].as_f64().unwrap();
    assert!(cost(&rows[0]) > cost(&rows[1]) && cost(&rows[0]) > cost(&rows[2]));
}

#[test]
fn modes_compared_with_flexible_preconditions() {
    let rows = rows("preconditions --workload porting --workers 1 --reps 2");
    let modes: Vec<_> = rows.iter().map(|row| row["mode"].as_str().unwrap()).collect();
    assert_eq!(modes, ["flexible", "strict", "eager-resume", "eager-fiber", "eager-replay"]);
    assert_eq!((rows[0]["time_percent"].as_f64(), rows[0]["memory_percent"].as_f64()), (Some(0.0), Some(0.0)));
    for row in &rows {
        assert!(row["peak_rss_bytes"].as_f64() > Some(1e6));
        assert!((0.0..=1.0).contains(&row["time_p"].as_f64().unwrap()), "{row}");
    }
    assert_eq!(rows[3]["config"]["blocked"], "fiber");
    let strict = rows[1]["tasks"].as_u64().unwrap();
    assert_eq!(strict, 4 * rows[0]["tasks"].as_u64().unwrap(), "a step a get");
}

#[test]
fn without_flexible_ones_there_is_nothing_to_compare_with() {
    let rows = rows("preconditions --workload porting --mode strict --reps 1");
    assert_eq!((rows.len(), &rows[0]["time_percent"]), (1, &Value::Null));
}

#[test]
fn names_that_are_none() {
    let all = "blackscholes, cholesky-cnc, inverse, fileconcat, reduction, porting";
    let says = format!("unknown workload 'nqueens'; the nearest valid: {all}");
    fails(&["bench", "preconditions", "--workload", "nqueens"], 2, &says);
    let says = "unknown kind 'heap'; the nearest valid: fresh, pooled, block";
    fails(&["bench", "stack-alloc", "--kind", "heap"], 2, says);
}
