//! The task program as portable tasks: a struct for each closure.

use super::tasks::{Total, Visit};
use super::{Merge, Tally, Tree};
use millpond::Spawn;
use millpond_dist::{Cw, Handles, ParentScope, Portable, PortableParent, SpawnPortable, portable};
use serde::{Deserialize, Serialize};

/// Adds the counts of the tree to `total`.
pub fn portable<'s, S: Spawn<'s>>(s: &S, tree: Tree, total: Total<'_, S::Brand>) {
    let visit = Visit::root(&tree);
    if visit.is_leaf() {
        s.spawn_portable(total, Leaf { visit });
    } else {
        s.nest_portable(total, Inner { tree, visit });
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
