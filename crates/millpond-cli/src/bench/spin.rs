//! Bodies of a given length: a fixed amount of work, calibrated once.
//!
//! A loop watching the clock ends on time even if its thread was not running meanwhile, which would
//! hide the delay. A fixed number of dependent steps does not.

use std::hint::black_box;
use std::time::Instant;

/// Mixes `x` through `steps` dependent steps.
#[inline(never)]
pub fn spin(steps: u64, x: u64) -> u64 {
    let mut x = x;
    for _ in 0..steps {
        // The constants are Knuth's for a 64-bit linear congruential generator. `black_box` keeps
        // the steps separate.
        x = black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
    }
    x
}

/// Steps per nanosecond.
pub fn steps_per_ns() -> f64 {
    const STEPS: u64 = 1_000_000;
    let once = || {
        let start = Instant::now();
        black_box(spin(STEPS, black_box(1)));
        start.elapsed().as_nanos() as f64
    };
    // The minimum of many, because an interruption only adds time.
    let least = (0..25).map(|_| once()).fold(f64::INFINITY, f64::min);
    STEPS as f64 / least
}

/// The number of steps for this time.
pub fn steps(ns: u64, steps_per_ns: f64) -> u64 {
    (ns as f64 * steps_per_ns).round().max(1.0) as u64
}
