//! Theorem 2 and the paper's tables. With `MILLPOND_DEEP` in the environment, in the sizes of the
//! chapter.

use millpond_sim::experiments::{Fit, TABLE_1_LATENCY, figure4, table1, theorem2};
use millpond_sim::programs::{Fib, Knary, Stencil};
use millpond_sim::{Config, Costs, Program, Work, simulate, speeds};

const MS: Work = 1_000_000;

fn is_deep() -> bool {
    std::env::var_os("MILLPOND_DEEP").is_some()
}

#[test]
fn one_constant_for_all_processors() {
    for fit in theorem2(if is_deep() { 1422 } else { 100 }, None, 1).unwrap() {
        let Fit { program, speeds, largest_error, steals_grow, .. } = &fit;
        assert!(*largest_error < 0.05, "{program} {speeds}: {largest_error}");
        // The chapter has 1.10 as the largest of three seeds, for p up to 1422, of the queens. For
        // smaller p, there is more than enough work.
        assert!(!is_deep() || *steals_grow <= 1.1, "{program} {speeds}: p^{steals_grow}");
    }
}

/// The same program with one D after the other, on the paper's numbers of processors. They have
/// equal speeds, or speeds from 1 to 4.
fn steals_grow<P: Program>(name: &str, latency: f64, programs: &[P]) {
    for kind in ["constant", "uniform:1..4"] {
        let steals = |program, count| {
            let config = Config { latency, speeds: speeds(kind, count, 1).unwrap(), ..Config::of(count) };
            simulate(program, &config).unwrap().steals as f64
        };
        let steals = programs.iter().map(|program| COUNTS.map(|count| steals(program, count))).collect::<Vec<_>>();
        let spans: Vec<_> = programs.iter().map(|program| program.span().unwrap() as f64).collect();
        no_faster(&format!("{name}, {kind}"), &spans, &steals);
    }
}

/// The number of processors.
const COUNTS: [usize; 4] = [32, 100, 320, 1422];

/// The exponents of the steals over p and over D are at most 1, except for chance. From 100
/// processors on, the steals for each p·D do not grow at all. (Below that, there is enough work for
/// all.)
fn no_faster(name: &str, spans: &[f64], steals: &[[f64; 4]]) {
    const MAX_EXPONENT: f64 = 1.1;
    let counts = COUNTS.map(|count| count as f64);
    for (span, steals) in spans.iter().zip(steals) {
        let over_p = slope(counts.into_iter().zip(steals.iter().copied()));
        println!("{name}, D = {} s: p^{over_p:.2}", span / 1e9);
        assert!(over_p <= MAX_EXPONENT, "{name}, D = {} s: p^{over_p}, {steals:?}", span / 1e9);
        let (few, many) = (steals[1] / counts[1], steals[3] / counts[3]);
        assert!(many <= few, "{name}, D = {} s: {few} and {many} for each p", span / 1e9);
    }
    for (number, count) in COUNTS.iter().enumerate() {
        let over_d = slope(spans.iter().copied().zip(steals.iter().map(|steals| steals[number])));
        println!("{name}, p = {count}: D^{over_d:.2}");
        assert!(over_d <= MAX_EXPONENT, "{name}, p = {count}: D^{over_d}, {steals:?}");
    }
}

/// The slope of a line through points on logarithmic scales.
fn slope(points: impl Iterator<Item = (f64, f64)>) -> f64 {
    let logs: Vec<_> = points.map(|(x, y)| (x.ln(), y.max(1.0).ln())).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / logs.len() as f64;
    let (x, y) = (mean(|l| l.0), mean(|l| l.1));
    let above: f64 = logs.iter().map(|l| (l.0 - x) * (l.1 - y)).sum();
    above / logs.iter().map(|l| (l.0 - x).powi(2)).sum::<f64>()
}

#[test]
fn steals_of_fib_grow_no_faster_than_p_and_d() {
    // D is a leaf, and the path to it.
    let n = if is_deep() { 38 } else { 32 };
    steals_grow("fib", 1e-4, &[1, 2, 4, 8, 16].map(|leaf| Fib::new(n, 15, leaf * MS, Costs::PAPER)));
}

#[test]
fn steals_of_knary_grow_no_faster_than_p_and_d() {
    // D is 1, 2^n and 3^n leaves.
    let n = if is_deep() { 8 } else { 7 };
    steals_grow("knary", 1e-3, &[0, 1, 2].map(|r| Knary::new(n, 6, r, 0, MS, Costs::PAPER)));
}

#[test]
fn steals_of_stencil_grow_no_faster_than_p_and_d() {
    // D is one tile per step.
    let (tiles, block, steps) = if is_deep() { (8192, 16, [10, 25, 50]) } else { (2048, 4, [5, 10, 20]) };
    steals_grow("stencil", 1e-4, &steps.map(|steps| Stencil::new(tiles, block, steps, 10 * MS, Costs::PAPER)));
}

#[test]
fn table_1() {
    for row in table1(false, TABLE_1_LATENCY, 1).unwrap() {
        let off = (row.seconds / row.published_seconds - 1.0).abs();
        // Fast runs of fib(40) take a second in total. With this seed they are within 25 % of that;
        // with other seeds up to 37 % off (decision 29).
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
