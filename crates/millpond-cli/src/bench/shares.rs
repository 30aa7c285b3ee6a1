//! Which worker ran how much.

use millpond::Runtime;

/// How many bodies each worker has run so far.
pub fn ran(runtime: &Runtime) -> Vec<u64> {
    runtime.counts().iter().map(|counts| counts.tasks).collect()
}

/// The part of the bodies run between two counts that each worker ran, the caller's first.
pub fn shares(before: &[u64], after: &[u64]) -> Vec<f64> {
    let ran: Vec<u64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
    let all = ran.iter().sum::<u64>().max(1) as f64;
    ran.iter().map(|n| *n as f64 / all).collect()
}
