//! The task program as portable tasks: a struct for each closure.

use super::{Merge, Node, Tally, Tree};
use millpond::{Access, Accumulate, Spawn};
use millpond_dist::{Args, Cw, Handles, ParentScope, Portable, PortableParent, SpawnPortable, portable};
use serde::{Deserialize, Serialize};

/// Adds the counts of the tree to `total`.
pub fn portable<'s, S: Spawn<'s>>(s: &S, tree: Tree, total: Access<'_, Tally, Accumulate<Merge>, S::Brand>) {
    s.nest_portable(total, Inner { tree, node: tree.root() });
}

/// A node without children.
#[derive(Serialize, Deserialize)]
struct Leaf {
    node: Node,
}

impl Portable for Leaf {
    type Access = Cw<Tally, Merge>;

    fn run(self, mut total: Args<'_, Self>) {
        total.add(Tally::of(&self.node));
    }
}

portable!(Leaf, "uts.leaf");

/// Any other node. The root may be a leaf, too.
#[derive(Serialize, Deserialize)]
struct Inner {
    tree: Tree,
    node: Node,
}

impl PortableParent for Inner {
    type Access = Cw<Tally, Merge>;

    fn run<'t>(self, s: &impl ParentScope<'t>, total: Handles<'t, Self>) {
        let Self { tree, node } = self;
        total.add(Tally::of(&node));
        for child in 0..node.children {
            let node = tree.child(&node, child);
            if node.children == 0 {
                s.spawn_portable(total.accumulate(), Leaf { node });
            } else {
                s.nest_portable(total.accumulate(), Inner { tree, node });
            }
        }
    }
}

portable!(Inner, "uts.inner");
