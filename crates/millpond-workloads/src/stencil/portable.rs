//! The task program with a portable task per tile and step. They are leaves, so one process spawns
//! all.

use super::Pieces;
use super::tasks::advance;
use millpond::Spawn;
use millpond_dist::{Args, Portable, R, TaskPortable, W, portable};
use serde::{Deserialize, Serialize};

/// Computes this many steps: from the first pieces to the second, back to the first, and so on.
pub fn portable<'s, S: Spawn<'s>>(s: &S, pieces: &[Pieces<S::Brand>; 2], steps: u64) {
    let [mut now, mut next] = pieces.each_ref();
    for step in 0..steps {
        for (at, (near, next)) in now.windows(3).zip(&next[1..]).enumerate() {
            let access = (near[0].read(), near[1].read(), near[2].read(), next.write());
            s.task("step").index([at, step as usize]).spawn_portable(access, Step);
        }
        std::mem::swap(&mut now, &mut next);
    }
}

/// A step of a tile.
#[derive(Serialize, Deserialize)]
struct Step;

impl Portable for Step {
    type Access = (R<Vec<f64>>, R<Vec<f64>>, R<Vec<f64>>, W<Vec<f64>>);

    fn run(self, (left, own, right, next): Args<'_, Self>) {
        advance(left, own, right, next);
    }
}

portable!(Step, "stencil.step");
