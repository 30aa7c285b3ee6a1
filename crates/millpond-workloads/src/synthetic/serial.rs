//! The serial program: each task's children run when they are put.

use super::{Params, work};

/// Runs all initial tasks. Returns the number of tasks.
pub fn serial(params: Params) -> u64 {
    (0..params.k as i64).rev().map(|i| task(i, params.f)).sum()
}

fn task(i: i64, f: u64) -> u64 {
    let mut tasks = 1;
    if i > 0 {
        work(10 * f);
        tasks += task(i - 2, f);
        work(50 * f);
        tasks += task(i - 1, f);
    }
    work(100 * f);
    tasks
}
