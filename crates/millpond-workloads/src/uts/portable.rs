//! The task program as portable tasks: a struct for each closure. Portable tasks cannot accumulate,
//! so the leaves reduce their counts.

use super::{Merge, Node, Tally, Tree};
use millpond::{Access, Reduce, Spawn};
use millpond_dist::{Cw, Handles, ParentScope, Portable, PortableParent, SpawnPortable, portable};
use serde::{Deserialize, Serialize};

/// Adds the counts of the tree to `total`.
pub fn portable<'s, S: Spawn<'s>>(s: &S, tree: Tree, total: Access<'_, Tally, Reduce<Merge>, S::Brand>) {
    let visit = Visit::root(&tree);
    if visit.is_leaf() {
        s.spawn_portable(total, Leaf { visit });
    } else {
        s.nest_portable(total, Inner { tree, visit });
    }
}

/// A node to visit.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Visit {
    node: Node,
    /// The number of inner nodes that the first leaf below this node counts. A parent could reach
    /// the tally only by waiting.
    above: u32,
}

impl Visit {
    fn root(tree: &Tree) -> Self {
        Self { node: tree.root(), above: 0 }
    }

    fn is_leaf(self) -> bool {
        self.node.children == 0
    }

    fn children(self, tree: &Tree) -> impl Iterator<Item = Self> {
        (0..self.node.children).map(move |child| Self {
            node: tree.child(&self.node, child),
            above: if child == 0 { self.above + 1 } else { 0 },
        })
    }

    /// Counts a leaf.
    fn count(self, total: &mut Tally) {
        let leaf = Tally::of(&self.node);
        *total = total.and(Tally { nodes: leaf.nodes + u64::from(self.above), ..leaf });
    }
}

/// A node without children.
#[derive(Serialize, Deserialize)]
struct Leaf {
    visit: Visit,
}

impl Portable for Leaf {
    type Access = Cw<Tally, Merge>;

    fn run(self, total: &mut Tally) {
        self.visit.count(total);
    }
}

portable!(Leaf, "uts.leaf");

/// A node with children.
#[derive(Serialize, Deserialize)]
struct Inner {
    tree: Tree,
    visit: Visit,
}

impl PortableParent for Inner {
    type Access = Cw<Tally, Merge>;

    fn run<'t>(self, s: &impl ParentScope<'t>, total: Handles<'t, Self>) {
        let Self { tree, visit } = self;
        for visit in visit.children(&tree) {
            if visit.is_leaf() {
                s.spawn_portable(total.reduce(Merge), Leaf { visit });
            } else {
                s.nest_portable(total.reduce(Merge), Inner { tree, visit });
            }
        }
    }
}

portable!(Inner, "uts.inner");
