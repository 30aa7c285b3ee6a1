//! The serial program. Its stack is a vector, because trees can have a million levels.

use super::{Node, Tally, Tree};

/// Counts the tree.
pub fn serial(tree: &Tree) -> Tally {
    serial_below(tree, tree.root())
}

/// Counts the subtree of this node.
pub fn serial_below(tree: &Tree, node: Node) -> Tally {
    let (mut tally, mut stack) = (Tally::default(), vec![node]);
    while let Some(node) = stack.pop() {
        tally = tally.and(Tally::of(&node));
        stack.extend((0..node.children).map(|child| tree.child(&node, child)));
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::super::{PUBLISHED, Shape};
    use super::*;

    /// The counts of another program, in Python.
    #[test]
    fn small_trees_have_known_counts() {
        let of = |shape, b0, (q, m), depth, seed| {
            let Tally { nodes, leaves, depth } = serial(&Tree { shape, b0, q, m, depth, seed });
            (nodes, leaves, depth)
        };
        let none = (0.0, 0);
        assert_eq!(of(Shape::Fixed, 4.0, none, 1, 19), (6, 5, 1));
        assert_eq!(of(Shape::Fixed, 4.0, none, 5, 19), (3987, 3232, 5));
        assert_eq!(of(Shape::Linear, 4.0, none, 10, 34), (5577, 3111, 10));
        // The default tree of UTS.
        assert_eq!(of(Shape::Linear, 4.0, none, 6, 0), (1732, 1050, 6));
        assert_eq!(of(Shape::Cyclic, 6.0, none, 6, 502), (4988, 3086, 31));
        assert_eq!(of(Shape::Exponential, 4.0, none, 8, 1), (3216, 1651, 24));
        assert_eq!(of(Shape::Binomial, 100.0, (0.12, 8), 0, 42), (981, 870, 17));
        assert_eq!(of(Shape::Binomial, 5.5, (0.0, 8), 0, 1), (6, 5, 1));
        assert_eq!(of(Shape::Hybrid, 6.0, (0.234_375, 4), 6, 1), (5522, 4150, 72));
    }

    /// The trees of about four million nodes. Only optimized code counts them.
    #[test]
    fn published_trees_have_published_counts() {
        let counted = if cfg!(debug_assertions) { &[] } else { &PUBLISHED[..5] };
        for published in counted {
            assert!(published.agrees(serial(&published.tree)), "{}", published.name);
        }
    }
}
