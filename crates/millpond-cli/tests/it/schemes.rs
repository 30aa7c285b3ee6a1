//! `--scheme` accepts the names of `list schemes` in every command.

use crate::common::{fails, json, words};
use serde_json::Value;

/// The rows of `list schemes`.
fn schemes() -> Vec<Value> {
    json("list schemes --json")["schemes"].as_array().expect("rows").clone()
}

fn names() -> Vec<String> {
    schemes().iter().map(|row| text(row, "name").to_owned()).collect()
}

fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    let text = row[field].as_str().unwrap_or_else(|| panic!("{field} in {row}"));
    assert!(!text.is_empty(), "{field} in {row}");
    text
}

#[test]
fn every_scheme_says_what_it_is() {
    let modes = ["read", "write", "inout", "commutative", "concurrent", "reduce"];
    for row in schemes() {
        for field in ["name", "source", "complexity", "summary"] {
            text(&row, field);
        }
        let orders = row["modes"].as_array().expect("modes");
        assert!(!orders.is_empty(), "{row}");
        assert!(orders.iter().all(|mode| modes.contains(&mode.as_str().expect("a word"))), "{row}");
    }
    let defaults: Vec<_> = schemes().into_iter().filter(|row| row["default"] == true).collect();
    assert_eq!(defaults.len(), 1);
    assert_eq!(json("run fib --n 1 --json")["config"]["scheme"], defaults[0]["name"]);
}

#[test]
fn the_table_fits_a_wide_terminal() {
    let ran = words("list schemes");
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    for line in ran.stdout.lines() {
        assert!(line.chars().count() <= 150, "{line}");
    }
    // A wrapped text still has every word.
    let shown: Vec<_> = ran.stdout.split_whitespace().collect();
    for row in schemes() {
        for field in ["name", "source", "complexity", "summary"] {
            for word in text(&row, field).split_whitespace() {
                assert!(shown.contains(&word), "{word} of {row} in {}", ran.stdout);
            }
        }
    }
}

#[test]
fn every_scheme_runs_a_workload() {
    for name in names() {
        let run = json(&format!("run cholesky --n 300 --tile 50 --workers 2 --reps 2 --scheme {name} --json"));
        assert_eq!((run["verified"].as_bool(), run["config"]["scheme"].as_str()), (Some(true), Some(name.as_str())));
    }
}

#[test]
fn every_scheme_is_profiled() {
    for name in names() {
        let object = json(&format!("profile cholesky --n 200 --tile 50 --workers 2 --scheme {name} --json"));
        assert_eq!(object["config"]["scheme"], name.as_str());
        assert_eq!((object["verified"].as_bool(), object["profile"]["tasks"].as_u64()), (Some(true), Some(20)));
    }
}

/// `cost` has no small size. The tests of its graphs cover every scheme.
#[test]
fn every_scheme_runs_the_suites() {
    let suites = [
        "grain --workers 2 --body-ns 100 --shape chains",
        "bimodal --workers 2 --tasks 2000 --one-in 100 --long-ns 20000 --shape uniform",
        "idle --workers 2 --sleep-ms 5",
        "bytes --tasks 1000 --shape readers",
    ];
    for name in names() {
        for suite in suites {
            let bench = json(&format!("bench {suite} --reps 1 --scheme {name} --json"));
            for row in bench["rows"].as_array().expect("rows") {
                assert_eq!((&row["verified"], &row["config"]["scheme"]), (&true.into(), &name.as_str().into()));
            }
        }
    }
}

#[test]
fn a_scheme_that_there_is_not() {
    let all = names().join(", ");
    for command in ["run", "profile"] {
        let bad = |given| [command, "fib", "--scheme", given];
        fails(
            &bad("lsit"),
            2,
            "unknown scheme 'lsit'; the nearest valid: list; all: parked, graph, embedded-graph, hypergraph, embedded-hypergraph, list, two-lock-list, tickets, stack",
        );
        fails(&bad("zzz"), 2, &format!("unknown scheme 'zzz'; the nearest valid: {all}"));
    }
    fails(
        &["bench", "grain", "--scheme", "prked"],
        2,
        "unknown scheme 'prked'; the nearest valid: parked; all: parked, graph, embedded-graph, hypergraph, embedded-hypergraph, list, two-lock-list, tickets, stack",
    );
    let missing = "a value is required for '--scheme <NAME>' but none was supplied";
    assert!(words("run fib --scheme").stderr.starts_with(&format!("error: {missing}")));
}
