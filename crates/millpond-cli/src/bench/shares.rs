//! The share of each worker.

use millpond::catalogue::AnyRuntime;
use millpond::on_runtime;

/// The number of bodies run by each worker so far.
pub fn ran(runtime: &AnyRuntime) -> Vec<u64> {
    on_runtime!(runtime, rt => rt.counts()).iter().map(|counts| counts.tasks).collect()
}

/// The number of bodies run by each worker since `before`.
pub fn ran_since(before: &[u64], runtime: &AnyRuntime) -> Vec<u64> {
    ran(runtime).iter().zip(before).map(|(now, before)| now - before).collect()
}

/// Each worker's fraction of all bodies, the caller's first.
pub fn shares(ran: &[u64]) -> Vec<f64> {
    let all = ran.iter().sum::<u64>().max(1) as f64;
    ran.iter().map(|n| *n as f64 / all).collect()
}
