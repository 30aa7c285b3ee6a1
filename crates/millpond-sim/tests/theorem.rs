//! Theorem 2 at moderate p, and the paper's tables.

use millpond_sim::experiments::{TABLE_1_LATENCY, figure4, table1, theorem2};

#[test]
fn one_constant_for_all_processors() {
    for fit in theorem2(100, 1).unwrap() {
        assert!(fit.largest_error < 0.05, "{} {}: {}", fit.program, fit.speeds, fit.largest_error);
    }
}

#[test]
fn table_1() {
    for row in table1(false, TABLE_1_LATENCY, 1).unwrap() {
        let off = (row.seconds / row.published_seconds - 1.0).abs();
        // Fast runs of fib(40) take a second in all: they are within a quarter of that.
        assert!(
            off < if row.published_seconds < 5.0 { 0.25 } else { 0.08 },
            "{} {}: {off}",
            row.program,
            row.processors
        );
    }
}

#[test]
fn figure_4() {
    for row in figure4(0.01, 1).unwrap() {
        assert!((row.seconds / row.published_seconds - 1.0).abs() < 0.03, "{}: {}", row.program, row.seconds);
        if row.program == "nqueens 23" {
            assert!(row.outcome.idle_share <= 0.005, "{}", row.outcome.idle_share);
        }
    }
}
