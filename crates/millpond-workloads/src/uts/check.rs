//! The published trees, with their counts: `sample_trees.sh` of UTS 1.1.

use super::{Shape, Tally, Tree};

/// A published tree.
#[derive(Debug, PartialEq)]
pub struct Published {
    /// Its name.
    pub name: &'static str,
    /// Its parameters.
    pub tree: Tree,
    /// The number of its nodes.
    pub nodes: u64,
    /// The number of its leaves, if known.
    pub leaves: Option<u64>,
    /// Its depth, if published.
    pub depth: Option<u64>,
}

impl Published {
    const fn new(name: &'static str, tree: Tree, nodes: u64, leaves: u64, depth: u64) -> Self {
        Self { name, tree, nodes, leaves: Some(leaves), depth: Some(depth) }
    }

    /// Whether the counts are those published.
    pub fn agrees(&self, tally: Tally) -> bool {
        let agrees = |published: Option<u64>, counted| published.is_none_or(|published| published == counted);
        tally.nodes == self.nodes && agrees(self.leaves, tally.leaves) && agrees(self.depth, tally.depth)
    }

    /// Lower bounds of the counts, exact if they are known. At least half of the nodes of a
    /// published tree are leaves.
    pub(super) fn least(&self) -> Tally {
        Tally {
            nodes: self.nodes,
            leaves: self.leaves.unwrap_or(self.nodes / 2),
            depth: self.depth.unwrap_or_default(),
        }
    }
}

const fn geometric(shape: Shape, depth: u32, b0: f64, seed: u32) -> Tree {
    Tree { shape, b0, q: 0.0, m: 0, depth, seed }
}

const fn binomial(q: f64, m: u32, seed: u32) -> Tree {
    Tree { shape: Shape::Binomial, b0: 2000.0, q, m, depth: 0, seed }
}

const T4: Tree = Tree { shape: Shape::Hybrid, b0: 6.0, q: 0.234_375, m: 4, depth: 16, seed: 1 };

/// The published trees: about 4 million nodes, 100 million (`L`), more than a billion (`XL`,
/// `XXL`) and more than 100 billion (`WL`).
#[rustfmt::skip]
pub const PUBLISHED: &[Published] = &[
    Published::new("T1", geometric(Shape::Fixed, 10, 4.0, 19), 4_130_071, 3_305_118, 10),
    Published::new("T2", geometric(Shape::Cyclic, 16, 6.0, 502), 4_117_769, 2_342_762, 81),
    Published::new("T3", binomial(0.124_875, 8, 42), 4_112_897, 3_599_034, 1572),
    Published::new("T4", T4, 4_132_453, 3_108_986, 134),
    Published::new("T5", geometric(Shape::Linear, 20, 4.0, 34), 4_147_582, 2_181_318, 20),
    Published::new("T1L", geometric(Shape::Fixed, 13, 4.0, 29), 102_181_082, 81_746_377, 13),
    Published::new("T2L", geometric(Shape::Cyclic, 23, 7.0, 220), 96_793_510, 53_791_152, 67),
    // Here `q * m` is greater than 1, but the tree of this seed is finite.
    Published::new("T3L", binomial(0.200_014, 5, 7), 111_345_631, 89_076_904, 17_844),
    Published::new("T1XL", geometric(Shape::Fixed, 15, 4.0, 29), 1_635_119_272, 1_308_100_063, 15),
    Published {
        name: "T1XXL",
        tree: geometric(Shape::Fixed, 15, 4.0, 19),
        nodes: 4_230_646_601,
        leaves: None,
        depth: Some(15),
    },
    Published {
        name: "T3XXL",
        tree: binomial(0.499_995, 2, 316),
        nodes: 2_793_220_501,
        // Not published, but it follows from the number of nodes.
        leaves: Some(1_396_611_250),
        depth: None,
    },
    Published::new("T2XXL", binomial(0.499_999_995, 2, 0), 10_612_052_303, 5_306_027_151, 216_370),
    Published::new("T1WL", geometric(Shape::Fixed, 18, 4.0, 19), 270_751_679_750, 216_601_257_283, 18),
    Published::new("T2WL", binomial(0.499_999_999_5, 2, 559), 295_393_891_003, 147_696_946_501, 1_021_239),
    Published::new("T3WL", binomial(0.499_999_5, 2, 559), 157_063_495_159, 78_531_748_579, 758_577),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The nodes of a binomial tree are the root, its children, and `m` children of each other
    /// inner node.
    #[test]
    fn the_counts_of_binomial_trees_are_consistent() {
        let trees = PUBLISHED.iter().filter(|published| published.tree.shape == Shape::Binomial);
        for Published { name, tree, nodes, leaves, .. } in trees {
            let below = nodes - 1 - tree.b0 as u64;
            assert_eq!(below % u64::from(tree.m), 0, "{name}");
            let inner = 1 + below / u64::from(tree.m);
            assert!(leaves.is_none_or(|leaves| leaves == nodes - inner), "{name}");
        }
    }

    #[test]
    fn at_least_half_of_the_nodes_are_leaves() {
        for Published { name, nodes, leaves, .. } in PUBLISHED {
            assert!(leaves.is_none_or(|leaves| leaves >= nodes / 2), "{name}");
        }
    }

    #[test]
    fn another_count_does_not_agree() {
        let (published, tally) = (&PUBLISHED[0], Tally { nodes: 4_130_071, leaves: 3_305_118, depth: 10 });
        assert!(published.agrees(tally));
        assert!(!published.agrees(Tally { nodes: 4_130_070, ..tally }));
        assert!(!published.agrees(Tally { leaves: 3_305_119, ..tally }));
        assert!(!published.agrees(Tally { depth: 9, ..tally }));
    }
}
