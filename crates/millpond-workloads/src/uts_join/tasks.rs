//! The task program: plain fork-join, without declared data. A node's children are halved until one
//! is left.

use crate::uts::{Node, Tally, Tree, serial_below};
use std::ops::Range;

/// The maximum number of calls and joins within one another. They are on the worker's stack, and a
/// tree may have a million levels. So subtrees below are counted serially. Without optimization,
/// frames are larger.
const MAX_NESTING: u32 = if cfg!(debug_assertions) { 250 } else { 1000 };

/// Counts the tree.
pub fn tasks(tree: &Tree) -> Tally {
    visit(tree, &tree.root(), 0)
}

/// Counts the subtree of a node.
fn visit(tree: &Tree, node: &Node, nesting: u32) -> Tally {
    if node.children == 0 {
        return Tally { nodes: 1, leaves: 1, depth: node.depth.into() };
    }
    let mut tally = below(tree, node, 0..node.children, nesting);
    tally.nodes += 1;
    tally
}

/// Counts the subtrees of these children.
fn below(tree: &Tree, node: &Node, children: Range<u32>, nesting: u32) -> Tally {
    if nesting == MAX_NESTING {
        let subtrees = children.map(|child| serial_below(tree, tree.child(node, child)));
        return subtrees.fold(Tally::default(), Tally::and);
    }
    if children.len() == 1 {
        return visit(tree, &tree.child(node, children.start), nesting + 1);
    }
    let middle = children.start.midpoint(children.end);
    let (left, right) = millpond::join(
        || below(tree, node, children.start..middle, nesting + 1),
        || below(tree, node, middle..children.end, nesting + 1),
    );
    left.and(right)
}

/// The number of branches run as tasks: two for each join. The number of joins is one less than the
/// number of leaves, unless a subtree is counted serially.
pub fn count(tally: Tally) -> u64 {
    2 * (tally.leaves - 1)
}
