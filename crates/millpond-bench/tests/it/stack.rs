//! The suite `stack`, with small sizes.

use crate::common::{fails, json};
use serde_json::Value;

/// The fields that every row has.
const FIELDS: &str =
    "shape runtime config params tasks reps seconds median_seconds min_seconds ns_per_task worker_shares verified";

/// The counts of steals that every row has.
const STOLEN: &str = "steals thefts closures_per_theft";

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().expect("an object").keys().map(String::as_str).collect()
}

/// The verified rows of a suite. Each has the fields of the contract and those of the suite.
#[track_caller]
fn rows(line: &str, adds: &str) -> Vec<Value> {
    let bench = json(&format!("{line} --json"));
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

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().expect("a number")
}

/// The rows of a shape of `stack`: one for each size and scheme. Workers steal if there are
/// several.
#[track_caller]
fn of_stack(shape: &str, varied: &str, sizes: &[u64], schemes: &[&str]) {
    let rows = rows(&format!("stack --shape {shape} --tasks 3000 --reps 1"), &format!("{varied} scheme {STOLEN}"));
    let found = rows.iter().map(|row| (row[varied].as_u64().expect("a size"), row["scheme"].as_str().expect("a name")));
    assert!(found.eq(sizes.iter().flat_map(|size| schemes.iter().map(|scheme| (*size, *scheme)))), "{rows:?}");
    for row in &rows {
        assert_eq!(
            (&row["shape"], &row["params"][varied], &row["runtime"]),
            (&shape.into(), &row[varied], &row["scheme"])
        );
        // The owner may give ready tasks away before the long body has started.
        assert!(number(row, "median_seconds") > 0.0 || matches!(shape, "give" | "behind"), "{row}");
        assert!(number(row, "tasks") <= 3000.0, "{row}");
        // Beside one worker, only a spare thread steals, if a wait takes long.
        assert!(number(&row["config"], "workers") > 1.0 || number(row, "steals") < 10.0, "{row}");
        // Only a stack has thefts.
        assert_eq!(row["thefts"].is_number(), row["scheme"] == "stack", "{row}");
    }
}

#[test]
fn stack_of_leaves() {
    of_stack("accesses", "accesses", &[1, 2, 3, 4, 6, 8], &["stack", "parked"]);
    of_stack("number", "number", &[1000], &["stack", "parked"]);
    of_stack("give", "ready", &[1, 100], &["stack", "parked"]);
    of_stack("behind", "ready", &[100, 1000], &["stack", "parked"]);
}

#[test]
fn stack_of_parents() {
    of_stack("depth", "depth", &[10, 100, 1000], &["stack", "parked"]);
    for shape in ["fib", "fib-2"] {
        of_stack(shape, "n", &[13], &["stack", "parked", "parked-queued"]);
    }
}

#[test]
fn stack_from_both_ends() {
    let rows = rows("stack --shape ends --workers 3 --tasks 3000 --reps 2", &format!("program scheme {STOLEN}"));
    let programs = ["fib", "fib-uncut", "nqueens", "knary", "stencil"];
    assert_eq!(rows.len(), 2 * programs.len());
    for (both, program) in rows.chunks(2).zip(programs) {
        assert!(both.iter().all(|row| row["program"] == program && row["shape"] == "ends"), "{both:?}");
        assert_eq!([&both[0]["scheme"], &both[1]["scheme"]], ["stack", "stack-newest"]);
        assert_eq!([&both[0]["config"]["steal_from"], &both[1]["config"]["steal_from"]], ["oldest", "newest"]);
        assert!(number(&both[0]["config"], "workers") == 3.0 && number(&both[0], "tasks") <= 3000.0, "{both:?}");
        assert!(both[0]["tasks"] == both[1]["tasks"] && both[0]["params"] == both[1]["params"], "{both:?}");
    }
}

/// One closure per theft. A worker may run a closure that it has stolen from a stack of its own,
/// which counts as a theft only.
#[test]
fn stack_with_the_thieves_of_the_paper() {
    let compared = rows("stack --shape thefts --workers 3 --tasks 3000 --reps 2", &format!("program scheme {STOLEN}"));
    let programs = ["fib", "fib-uncut", "nqueens", "knary", "stencil", "stencil-10000", "matmul"];
    assert_eq!(compared.len(), 2 * programs.len());
    for (both, program) in compared.chunks(2).zip(programs) {
        assert!(both.iter().all(|row| row["program"] == program && row["shape"] == "thefts"), "{both:?}");
        assert_eq!([&both[0]["scheme"], &both[1]["scheme"]], ["stack", "stack-paper"]);
        assert_eq!([&both[0]["config"]["theft"], &both[1]["config"]["theft"]], ["chains", "paper"]);
        assert!(both[0]["tasks"] == both[1]["tasks"] && both[0]["params"] == both[1]["params"], "{both:?}");
        let closures = both[1]["closures_per_theft"].as_f64().unwrap_or(1.0);
        assert!(closures > 0.0 && closures <= 1.0, "{both:?}");
    }
    let only =
        rows("stack --shape thefts --tasks 100 --reps 1 --scheme stack-paper", &format!("program scheme {STOLEN}"));
    assert!(only.iter().all(|row| row["scheme"] == "stack-paper") && only.len() == programs.len(), "{only:?}");
}

#[test]
fn stack_of_what_is_not_measured() {
    let refused = |line: &str, says: &str| fails(&line.split(' ').collect::<Vec<_>>(), 2, says);
    let workers = "--workers is for --shape ends and --shape thefts: the other shapes have one worker or two";
    refused("stack --shape accesses --workers 4", workers);
    let newest = "--scheme stack-newest: these shapes are measured on parked, stack";
    refused("stack --shape depth --scheme stack --scheme stack-newest", newest);
    let paper = "--scheme stack-paper: these shapes are measured on stack, stack-newest";
    refused("stack --shape ends --scheme stack-paper", paper);
    refused("stack --shape ends --scheme parked", "--scheme parked: these shapes are measured on stack, stack-newest");
}
