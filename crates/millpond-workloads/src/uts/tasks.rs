//! The task program: one task per node, without a cutoff. The leaves reduce their counts into one
//! tally.

use super::{Merge, Node, Tally, Tree};
use millpond::{Access, Reduce, Spawn};
use serde::{Deserialize, Serialize};

/// The counts of a tree, as a reduction.
pub(super) type Total<'h, B> = Access<'h, Tally, Reduce<Merge>, B>;

/// Adds the counts of the tree to `total`.
pub fn tasks<'s, S: Spawn<'s>>(s: &S, tree: Tree, total: Total<'_, S::Brand>) {
    visit(s, tree, Visit::root(&tree), total);
}

fn visit<'s, S: Spawn<'s>>(s: &S, tree: Tree, visit: Visit, total: Total<'_, S::Brand>) {
    if visit.is_leaf() {
        s.spawn(total, move |total| visit.count(total));
        return;
    }
    s.nest(total, move |s, total| {
        for child in visit.children(&tree) {
            self::visit(s, tree, child, total.reduce(Merge));
        }
    });
}

/// A node to visit.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Visit {
    node: Node,
    /// The number of inner nodes that the first leaf below this node counts. A parent could reach
    /// the tally only by waiting.
    above: u32,
}

impl Visit {
    pub(super) fn root(tree: &Tree) -> Self {
        Self { node: tree.root(), above: 0 }
    }

    pub(super) fn is_leaf(self) -> bool {
        self.node.children == 0
    }

    pub(super) fn children(self, tree: &Tree) -> impl Iterator<Item = Self> {
        (0..self.node.children).map(move |child| Self {
            node: tree.child(&self.node, child),
            above: if child == 0 { self.above + 1 } else { 0 },
        })
    }

    /// Counts a leaf.
    pub(super) fn count(self, total: &mut Tally) {
        *total = total.and(Tally { nodes: 1 + u64::from(self.above), leaves: 1, depth: self.node.depth.into() });
    }
}

/// The number of tasks: one for each node.
pub fn count(tally: Tally) -> u64 {
    tally.nodes
}
