//! The serial program: step by step, the whole rod as one tile.

use super::{LEFT, RIGHT, update};

/// The temperatures after this number of steps.
pub fn serial(start: Vec<f64>, steps: u64) -> Vec<f64> {
    let mut now = start;
    let mut next = vec![0.0; now.len()];
    for _ in 0..steps {
        update(LEFT, &now, RIGHT, &mut next);
        std::mem::swap(&mut now, &mut next);
    }
    now
}
