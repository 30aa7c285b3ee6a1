//! The unit of time of the synthetic algorithm and of task grammars ([TP](crate#sources) §2.2,
//! §7.2): one iteration of a loop.

use std::hint::black_box;

/// Runs `units` iterations of two cycles each. Each one waits for the previous one.
///
/// ```
/// millpond_workloads::synthetic::work(100);
/// ```
#[inline(never)]
pub fn work(units: u64) {
    let mixed = (0..units).fold(black_box(1_u64), |x, i| x.rotate_left(1) ^ i);
    black_box(mixed);
}
