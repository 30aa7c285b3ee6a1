//! The counts of a tree, and their reduction.

use super::Node;
use crate::options::Value;
use millpond::Reducer;
use serde::{Deserialize, Serialize};

/// The counts of a tree or a part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// The number of nodes.
    pub nodes: u64,
    /// The number of nodes without children.
    pub leaves: u64,
    /// The maximum depth of a node. The root has depth 0.
    pub depth: u64,
}

impl Tally {
    /// The counts of a node alone.
    pub(crate) fn of(node: &Node) -> Self {
        Self { nodes: 1, leaves: u64::from(node.children == 0), depth: node.depth.into() }
    }

    /// The counts of both parts.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { nodes: self.nodes + other.nodes, leaves: self.leaves + other.leaves, depth: self.depth.max(other.depth) }
    }

    /// The counts by name.
    pub(crate) fn values(self) -> Vec<(&'static str, Value)> {
        let counts = [("nodes", self.nodes), ("leaves", self.leaves), ("depth", self.depth)];
        counts.map(|(name, count)| (name, Value::Integer(count))).to_vec()
    }
}

/// Reduces the counts of parts to those of the tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Merge;

impl Reducer<Tally> for Merge {
    fn identity(&self, _: &Tally) -> Tally {
        Tally::default()
    }

    fn combine(&self, into: &mut Tally, part: Tally) {
        *into = into.and(part);
    }

    fn absorb(&self, into: &mut Tally, part: &mut Tally) -> bool {
        self.combine(into, std::mem::take(part));
        true
    }
}
