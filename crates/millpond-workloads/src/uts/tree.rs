//! The trees. A node's SHA-1 digest determines the number of its children and their digests.

use serde::{Deserialize, Serialize};
use sha1_smol::Sha1;
use std::f64::consts::TAU;

/// The maximum number of children of a node, except for the root of a binomial tree.
pub(super) const MAX_CHILDREN: u32 = 100;

/// The number of values of a node's uniform number, which has 31 bits.
pub(super) const VALUES: f64 = 2_147_483_648.0;

/// Nodes of a cyclic tree deeper than this many times `depth` have no children.
const CYCLES: u32 = 5;

/// How many children a node has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shape {
    /// `b0` on average, above depth `depth`.
    Fixed,
    /// On average `b0` at the root, and linearly fewer down to none at depth `depth`.
    Linear,
    /// On average `b0 * level^(-ln b0 / ln depth)`: `b0` at depth 1, one at `depth`, fewer below.
    /// UTS calls this exponential.
    Exponential,
    /// On average up to `b0` and down to `1 / b0`, in cycles of `depth` levels. None deeper than
    /// `5 * depth`.
    Cyclic,
    /// `b0` at the root. Any other node has `m` children with probability `q`, otherwise none.
    Binomial,
    /// Linear above half of `depth`, binomial below.
    Hybrid,
}

impl Shape {
    /// Every shape. The first one is the default.
    pub(crate) const ALL: [Self; 6] =
        [Self::Fixed, Self::Linear, Self::Exponential, Self::Cyclic, Self::Binomial, Self::Hybrid];

    /// Its name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Linear => "linear",
            Self::Exponential => "exponential",
            Self::Cyclic => "cyclic",
            Self::Binomial => "binomial",
            Self::Hybrid => "hybrid",
        }
    }

    /// Whether its trees have a `depth`.
    pub(super) const fn has_depth(self) -> bool {
        !matches!(self, Self::Binomial)
    }

    /// Whether its trees have `q` and `m`.
    pub(super) const fn is_binomial(self) -> bool {
        matches!(self, Self::Binomial | Self::Hybrid)
    }
}

/// The parameters of a tree. Those that its shape does not have are not read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// The rule for the number of children.
    pub shape: Shape,
    /// The number of children of the root: exact in a binomial tree, otherwise on average.
    pub b0: f64,
    /// The probability that a node of a binomial or hybrid tree has children.
    pub q: f64,
    /// The number of children of a node that has any, in a binomial or hybrid tree.
    pub m: u32,
    /// The depth that the shape refers to.
    pub depth: u32,
    /// The seed.
    pub seed: u32,
}

/// A node of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    state: [u8; 20],
    /// The number of nodes above it.
    pub depth: u32,
    /// The number of its children.
    pub children: u32,
}

impl Tree {
    /// The root.
    pub fn root(&self) -> Node {
        self.node(&[0; 16], self.seed, 0)
    }

    /// Child number `child` of the node.
    pub fn child(&self, of: &Node, child: u32) -> Node {
        self.node(&of.state, child, of.depth + 1)
    }

    fn node(&self, parent: &[u8], number: u32, depth: u32) -> Node {
        let mut hash = Sha1::new();
        hash.update(parent);
        hash.update(&number.to_be_bytes());
        let state = hash.digest().bytes();
        Node { state, depth, children: self.children(uniform(&state), depth) }
    }

    /// The number of children of a node, for the uniform number `u`.
    fn children(&self, u: f64, depth: u32) -> u32 {
        match self.shape {
            Shape::Binomial if depth == 0 => self.b0 as u32,
            Shape::Binomial => self.binomial(u),
            Shape::Hybrid if f64::from(depth) >= 0.5 * f64::from(self.depth) => self.binomial(u),
            _ => self.geometric(u, depth),
        }
    }

    fn binomial(&self, u: f64) -> u32 {
        if u < self.q { self.m } else { 0 }
    }

    /// Geometrically distributed. The mean depends on the depth.
    fn geometric(&self, u: f64, depth: u32) -> u32 {
        let p = 1.0 / (1.0 + self.mean(depth));
        let children = (1.0 - u).ln() / (1.0 - p).ln();
        // The conversion rounds down.
        (children as u32).min(MAX_CHILDREN)
    }

    /// The mean number of children at this depth of a geometric tree.
    fn mean(&self, depth: u32) -> f64 {
        let (level, levels, b0) = (f64::from(depth), f64::from(self.depth), self.b0);
        match self.shape {
            _ if depth == 0 => b0,
            Shape::Fixed if depth < self.depth => b0,
            Shape::Fixed => 0.0,
            Shape::Exponential => b0 * level.powf(-b0.ln() / levels.ln()),
            Shape::Cyclic if depth > CYCLES * self.depth => 0.0,
            Shape::Cyclic => b0.powf((TAU * level / levels).sin()),
            Shape::Linear | Shape::Binomial | Shape::Hybrid => b0 * (1.0 - level / levels),
        }
    }
}

/// The last four bytes of the state as a number in [0, 1), without their sign bit.
fn uniform(state: &[u8; 20]) -> f64 {
    let last = [state[16], state[17], state[18], state[19]];
    f64::from(u32::from_be_bytes(last) & 0x7fff_ffff) / VALUES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digests are those of `sha1sum`.
    #[test]
    fn the_states_are_digests() {
        let tree = Tree { shape: Shape::Fixed, b0: 4.0, q: 0.0, m: 0, depth: 10, seed: 19 };
        let root = tree.root();
        assert_eq!(hex(&root), "c6988ab70cc9559ae4d6cba254e29a845a85f86b");
        assert_eq!(hex(&tree.child(&root, 1)), "4a8304c7c88f903ac06b01b07c7b2590e9397b5b");
    }

    fn hex(node: &Node) -> String {
        node.state.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn a_node_has_at_most_100_children() {
        let tree = Tree { shape: Shape::Linear, b0: 1e6, q: 0.0, m: 0, depth: 2, seed: 1 };
        assert_eq!((tree.children(0.0, 0), tree.children(0.999, 1), tree.children(0.999, 2)), (0, 100, 0));
    }
}
