//! The task program: one task per node, without a cutoff. Each adds its counts to one tally.
//!
//! With `--deterministic`, the runtime keeps a part for each node until the end, so the memory in
//! use grows with the number of nodes.

use super::{Merge, Node, Tally, Tree};
use millpond::{Access, Accumulate, Accumulator, Spawn};

/// Adds the counts of the tree to `total`.
pub fn tasks<'s, S: Spawn<'s>>(s: &S, tree: Tree, total: Access<'_, Tally, Accumulate<Merge>, S::Brand>) {
    let root = tree.root();
    s.nest(total, move |s, total| visit(s, tree, root, &total));
}

/// Counts a node, and spawns a task for each child.
fn visit<'s, S: Spawn<'s>>(s: &S, tree: Tree, node: Node, total: &Accumulator<Tally, Merge, S::Brand>) {
    total.add(Tally::of(&node));
    for child in 0..node.children {
        let child = tree.child(&node, child);
        if child.children == 0 {
            s.spawn(total.accumulate(), move |mut total| total.add(Tally::of(&child)));
        } else {
            s.nest(total.accumulate(), move |s, total| visit(s, tree, child, &total));
        }
    }
}

/// The number of tasks: one for each node.
pub fn count(tally: Tally) -> u64 {
    tally.nodes
}
