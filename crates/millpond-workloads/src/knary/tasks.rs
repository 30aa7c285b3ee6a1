//! The task program: one task per node. The *turn* is a datum that orders siblings. Each of the
//! first children changes it, and so waits for the previous one. The others read it, and so wait
//! for the first ones, not for each other.

use super::serial::{ITERATIONS, serial};
use super::{Params, nodes};
use crate::spin::work;
use millpond::{Access, Accesses, Reduce, Spawn, Sum};

/// The count of visited nodes, as a reduction.
pub(super) type Visited<'h, B> = Access<'h, u64, Reduce<Sum>, B>;

/// Visits the tree, and adds its nodes to `visited`.
pub fn tasks<'s, S: Spawn<'s>>(s: &S, params: Params, visited: Visited<'_, S::Brand>) {
    let turn = s.handle(());
    node(s, params, params.n, 0, turn.inout(), visited);
}

/// Visits a subtree of `levels` levels in its turn. Adds its nodes and `above` to `visited`.
fn node<'s, S, T>(s: &S, params: Params, levels: u64, above: u64, turn: T, visited: Visited<'_, S::Brand>)
where
    S: Spawn<'s>,
    T: Accesses<'s, S::Brand>,
{
    if levels <= leaf_levels(params) {
        s.spawn((turn, visited), move |(_, visited)| *visited += above + serial(params, levels));
        return;
    }
    s.nest((turn, visited), move |s, (_, visited)| {
        work(ITERATIONS);
        // A parent could reach the sum only by waiting, so its first child adds the parent to it.
        let above = |child| if child == 0 { above + 1 } else { 0 };
        let turn = s.handle(());
        for child in 0..params.r {
            node(s, params, levels - 1, above(child), turn.inout(), visited.reduce(Sum));
        }
        for child in params.r..params.k {
            node(s, params, levels - 1, above(child), turn.read(), visited.reduce(Sum));
        }
    });
}

/// The maximum number of levels of a subtree in one task.
pub(super) fn leaf_levels(params: Params) -> u64 {
    params.cutoff.max(1)
}

/// The number of tasks: one for each node outside leaves' subtrees.
pub fn count(params: Params) -> u64 {
    // The whole tree can be counted, and so a smaller one.
    nodes(1 + params.n.saturating_sub(leaf_levels(params)), params.k).unwrap_or(u64::MAX)
}
