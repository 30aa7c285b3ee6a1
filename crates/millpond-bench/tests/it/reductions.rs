//! The suite `reductions`, with small sizes.

use crate::common::json;

const POINTS: [&str; 11] = [
    "leaf-inout",
    "leaf-accumulate",
    "leaf-reduce",
    "parent-inout",
    "parent-accumulate",
    "parent-reduce",
    "fib",
    "nqueens",
    "uts-serial",
    "uts",
    "uts-join",
];

#[test]
fn every_point_on_both_engines() {
    let bench = json("reductions --tasks 1000 --n 6 --workers 2 --reps 2 --json");
    let rows = bench["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2 * POINTS.len());
    for (rows, scheme) in rows.chunks(POINTS.len()).zip(["parked", "stack"]) {
        for (row, point) in rows.iter().zip(POINTS) {
            assert!(row["shape"] == point && row["scheme"] == scheme && row["verified"] == true, "{row}");
            assert_eq!(row["reps"], 2);
            let (base, ratio) = (row["base"].as_str(), row["ratio"].as_f64());
            assert!(base.is_none_or(|base| POINTS.contains(&base)), "{row}");
            assert_eq!(
                (base.is_some(), row["at_most"].is_f64()),
                (ratio.is_some_and(|ratio| ratio > 0.0), base.is_some())
            );
        }
    }
}

#[test]
fn one_scheme() {
    let bench = json("reductions --scheme stack --tasks 100 --n 4 --reps 1 --json");
    let rows = bench["rows"].as_array().expect("rows");
    assert!(rows.iter().map(|row| row["shape"].as_str().expect("a name")).eq(POINTS));
    assert!(rows.iter().all(|row| row["scheme"] == "stack" && row["workers"] == 1), "{rows:?}");
}
