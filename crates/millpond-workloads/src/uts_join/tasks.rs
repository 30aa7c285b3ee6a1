//! The task program: plain fork-join, without declared data. Joins halve a node's children until
//! one is left.
//!
//! Nested calls are on the worker's stack, and a tree may have a million levels. So the program
//! works in rounds. A round visits the nodes down to a maximum nesting, and returns the inner nodes
//! there. The next round begins with those, again by joins.

use crate::uts::{Node, Tally, Tree};
use std::ops::Range;

/// The children of a node at this nesting of calls wait for the next round. Fewer than 50 further
/// calls are nested: those that halve the nodes of a round, and the children of the last node.
const MAX_NESTING: u32 = 64;

/// Visited nodes.
struct Visited {
    tally: Tally,
    /// Inner nodes whose subtrees are left to the next round. They are not in the tally. Most often
    /// there are none.
    rest: Vec<Node>,
}

impl Visited {
    fn and(self, other: Self) -> Self {
        let (mut rest, mut others) = (self.rest, other.rest);
        if rest.is_empty() {
            rest = others;
        } else {
            rest.append(&mut others);
        }
        Self { tally: self.tally.and(other.tally), rest }
    }
}

/// Counts the tree. Also returns the number of branches run as tasks: two for each join.
pub fn tasks(tree: &Tree) -> (Tally, u64) {
    let (mut tally, mut joins, mut nodes) = (Tally::default(), 0, vec![tree.root()]);
    while !nodes.is_empty() {
        let round = visit_all(tree, &nodes);
        // The joins of a round form a binary tree. Its ends are leaves and returned nodes.
        joins += round.tally.leaves + round.rest.len() as u64 - 1;
        tally = tally.and(round.tally);
        nodes = round.rest;
    }
    (tally, 2 * joins)
}

/// Visits the subtrees of these nodes. There is at least one.
fn visit_all(tree: &Tree, nodes: &[Node]) -> Visited {
    if let [node] = nodes {
        return visit(tree, node, 0);
    }
    let (left, right) = nodes.split_at(nodes.len() / 2);
    let (left, right) = millpond::join(|| visit_all(tree, left), || visit_all(tree, right));
    left.and(right)
}

/// Visits the subtree of a node.
fn visit(tree: &Tree, node: &Node, nesting: u32) -> Visited {
    if node.children == 0 {
        return Visited { tally: Tally::of(node), rest: Vec::new() };
    }
    if nesting >= MAX_NESTING {
        return Visited { tally: Tally::default(), rest: vec![*node] };
    }
    let mut visited = below(tree, node, 0..node.children, nesting);
    visited.tally = visited.tally.and(Tally::of(node));
    visited
}

/// Visits the subtrees of these children.
fn below(tree: &Tree, node: &Node, children: Range<u32>, nesting: u32) -> Visited {
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

/// The minimum number of branches run as tasks. It is exact for a tree of one round: the number of
/// its joins is one less than the number of leaves. More rounds may take more joins.
pub fn count(tally: Tally) -> u64 {
    2 * (tally.leaves - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uts::Shape;

    /// The numbers of another program, in Python.
    #[test]
    fn deep_trees_take_several_rounds() {
        let hybrid = Tree { shape: Shape::Hybrid, b0: 6.0, q: 0.234_375, m: 4, depth: 6, seed: 1 };
        let tally = Tally { nodes: 5522, leaves: 4150, depth: 72 };
        assert_eq!((tasks(&hybrid), count(tally)), ((tally, 8366), 8298));
        let cyclic = Tree { shape: Shape::Cyclic, b0: 6.0, q: 0.0, m: 0, depth: 6, seed: 502 };
        let tally = Tally { nodes: 4988, leaves: 3086, depth: 31 };
        assert_eq!((tasks(&cyclic), count(tally)), ((tally, 6276), 6170));
    }

    /// Each node has one child.
    #[test]
    fn a_path_takes_no_joins() {
        let path = Tree { shape: Shape::Binomial, b0: 1.0, q: 0.9995, m: 1, depth: 0, seed: 30 };
        assert_eq!(tasks(&path), (Tally { nodes: 1538, leaves: 1, depth: 1537 }, 0));
    }
}
