//! The task program: one task per node. The *turn* is a datum that orders siblings. Each of the
//! first children changes it, and so waits for the previous one. The others read it, and so wait
//! for the first ones, not for each other.

use super::serial::{ITERATIONS, serial};
use super::{Params, nodes};
use crate::spin::work;
use millpond::{Access, Accesses, Accumulate, Accumulator, Spawn, Sum};

/// Visits the tree, and adds its nodes to `visited`.
pub fn tasks<'s, S: Spawn<'s>>(s: &S, params: Params, visited: Access<'_, u64, Accumulate<Sum>, S::Brand>) {
    if params.n <= leaf_levels(params) {
        s.spawn(visited, move |mut visited| visited.add(serial(params, params.n)));
    } else {
        s.nest(visited, move |s, visited| children(s, params, params.n, &visited));
    }
}

/// Visits the root of a subtree of `levels` levels, and spawns a task for each child.
fn children<'s, S: Spawn<'s>>(s: &S, params: Params, levels: u64, visited: &Accumulator<u64, Sum, S::Brand>) {
    work(ITERATIONS);
    visited.add(1);
    let turn = s.handle(());
    for _ in 0..params.r {
        node(s, params, levels - 1, turn.inout(), visited);
    }
    for _ in params.r..params.k {
        node(s, params, levels - 1, turn.read(), visited);
    }
}

/// Visits a subtree in its turn.
fn node<'s, S, T>(s: &S, params: Params, levels: u64, turn: T, visited: &Accumulator<u64, Sum, S::Brand>)
where
    S: Spawn<'s>,
    T: Accesses<'s, S::Brand>,
{
    let accesses = (turn, visited.accumulate());
    if levels <= leaf_levels(params) {
        s.spawn(accesses, move |(_, mut visited)| visited.add(serial(params, levels)));
    } else {
        s.nest(accesses, move |s, (_, visited)| children(s, params, levels, &visited));
    }
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
