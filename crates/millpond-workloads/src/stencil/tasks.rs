//! The task program: one task per tile and step.
//!
//! A tile has two data, for even and for odd steps: a task reads the tile's last state and writes
//! the next one. Each datum is written many times, and each `write` starts a new version. So a task
//! waits for the three states that it reads, and never for a neighbour still reading an old one.

use super::{Params, update};
use millpond::{Handle, Out, Spawn};

/// The left end, the tiles from left to right, and the right end. An end is one point, never
/// written.
pub type Pieces<B> = Vec<Handle<Vec<f64>, B>>;

/// Computes this many steps: from the first pieces to the second, back to the first, and so on.
pub fn tasks<'s, S: Spawn<'s>>(s: &S, pieces: &[Pieces<S::Brand>; 2], steps: u64) {
    let [mut now, mut next] = pieces.each_ref();
    for step in 0..steps {
        for (at, (near, next)) in now.windows(3).zip(&next[1..]).enumerate() {
            let access = (near[0].read(), near[1].read(), near[2].read(), next.write());
            s.task("step")
                .index([at, step as usize])
                .spawn(access, |(left, own, right, next)| advance(left, own, right, next));
        }
        std::mem::swap(&mut now, &mut next);
    }
}

/// Computes a tile's next state.
pub(super) fn advance(left: &[f64], own: &[f64], right: &[f64], mut next: Out<'_, Vec<f64>>) {
    let mut tile = next.recycled().unwrap_or_default();
    tile.resize(own.len(), 0.0);
    update(left[left.len() - 1], own, right[0], &mut tile);
    next.set(tile);
}

/// The number of tasks.
pub fn count(params: Params) -> u64 {
    params.tiles() * params.steps
}
