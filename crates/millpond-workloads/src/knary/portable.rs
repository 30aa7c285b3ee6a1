//! The task program as portable tasks: a struct for each closure. The first children and the others
//! declare different accesses, so they are different tasks. Both are instances of one struct, whose
//! parameter is the access to the turn.

use super::Params;
use super::serial::{ITERATIONS, serial};
use super::tasks::leaf_levels;
use crate::spin::work;
use millpond::{Access, Accumulate, Contribution, In, Spawn, Sum};
use millpond_dist::portable::{One, Registered, Takes};
use millpond_dist::{Args, Cw, Handles, ParentScope, Portable, PortableParent, R, Rw, SpawnPortable, portable};
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// Visits the tree, and adds its nodes to `visited`.
pub fn portable<'s, S: Spawn<'s>>(s: &S, params: Params, visited: Access<'_, u64, Accumulate<Sum>, S::Brand>) {
    let turn = s.handle(());
    let tree = Subtree { params, levels: params.n };
    if tree.is_leaf() {
        s.spawn_portable((turn.inout(), visited), Leaf::<Rw<()>>::of(tree));
    } else {
        s.nest_portable((turn.inout(), visited), Node::<Rw<()>>::of(tree));
    }
}

/// A subtree to visit.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Subtree {
    params: Params,
    levels: u64,
}

impl Subtree {
    fn is_leaf(self) -> bool {
        self.levels <= leaf_levels(self.params)
    }
}

/// A subtree visited in its turn, without further tasks.
#[derive(Serialize, Deserialize)]
struct Leaf<Turn> {
    tree: Subtree,
    turn: PhantomData<fn() -> Turn>,
}

impl<Turn> Leaf<Turn> {
    fn of(tree: Subtree) -> Self {
        Leaf { tree, turn: PhantomData }
    }
}

impl<Turn: One> Portable for Leaf<Turn>
where
    Self: Registered,
{
    type Access = (Turn, Cw<u64, Sum>);

    fn run(self, (_, mut visited): Args<'_, Self>) {
        visited.add(serial(self.tree.params, self.tree.levels));
    }
}

portable!(Leaf<Rw<()>>, "knary.first.leaf");
portable!(Leaf<R<()>>, "knary.rest.leaf");

/// A subtree whose root is visited in its turn, followed by each child.
#[derive(Serialize, Deserialize)]
struct Node<Turn> {
    tree: Subtree,
    turn: PhantomData<fn() -> Turn>,
}

impl<Turn> Node<Turn> {
    fn of(tree: Subtree) -> Self {
        Node { tree, turn: PhantomData }
    }
}

impl<Turn: One> PortableParent for Node<Turn>
where
    Self: Registered,
{
    type Access = (Turn, Cw<u64, Sum>);

    fn run<'t>(self, s: &impl ParentScope<'t>, (_, visited): Handles<'t, Self>) {
        work(ITERATIONS);
        visited.add(1);
        let Subtree { params, levels } = self.tree;
        let below = Subtree { params, levels: levels - 1 };
        let turn = s.handle(());
        for _ in 0..params.r {
            node::<Rw<()>, _>(s, below, turn.inout(), visited.accumulate());
        }
        for _ in params.r..params.k {
            node::<R<()>, _>(s, below, turn.read(), visited.accumulate());
        }
    }
}

portable!(Node<Rw<()>>, "knary.first");
portable!(Node<R<()>>, "knary.rest");

fn node<'t, Turn, A>(s: &impl ParentScope<'t>, tree: Subtree, turn: A, visited: Contribution<'_, u64, Sum, In<'t>>)
where
    Turn: One + for<'s> Takes<'s, A, In<'t>>,
    Leaf<Turn>: Registered,
    Node<Turn>: Registered,
{
    if tree.is_leaf() {
        s.spawn_portable((turn, visited), Leaf::<Turn>::of(tree));
    } else {
        s.nest_portable((turn, visited), Node::<Turn>::of(tree));
    }
}
