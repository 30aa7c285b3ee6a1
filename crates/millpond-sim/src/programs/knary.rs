//! knary(n, k, r), whose parallelism is adjustable (R. Blumofe et al., *Cilk: an efficient
//! multithreaded runtime system*, 1995). It has n levels and k children per node. The first r
//! children run one after the other.

use millpond::depend::Mode::{Inout, Read};

use crate::program::{Children, Costs, Program, Size, Work};

/// `knary(n, k, r)`. The root has level n, and a node at the level of the cut-off is a leaf. With
/// cut-off 1 it is the tree of the workload `knary`: Cilk's, of n levels.
///
/// ```
/// use millpond_sim::{Costs, Program, programs::Knary};
///
/// let knary = Knary::new(3, 4, 2, 0, 1_000, Costs::NONE);
/// // Of four children two run one after the other, then the others.
/// assert_eq!((knary.size(&3).work, knary.span()), (64_000, Some(27_000)));
/// ```
#[derive(Clone, Debug)]
pub struct Knary {
    k: u32,
    r: u32,
    cutoff: u32,
    leaf: Work,
    split: Work,
    /// For each level: the size of a node with its descendants, and its span.
    nodes: Vec<(Size, Work)>,
}

impl Knary {
    /// A leaf takes `leaf` nanoseconds.
    pub fn new(n: u32, k: u32, r: u32, cutoff: u32, leaf: Work, costs: Costs) -> Self {
        // The arguments: the level, and the datum that the first child writes and the others read.
        let split = costs.of(2).saturating_mul(k.into());
        let mut nodes: Vec<(Size, Work)> = Vec::new();
        for level in 0..=n {
            nodes.push(match nodes.last() {
                Some(&(below, span)) if level > cutoff => {
                    let work = split.saturating_add(below.work.saturating_mul(k.into()));
                    let tasks = below.tasks.saturating_mul(k.into()).saturating_add(1);
                    let one_after_the_other = u64::from(r.min(k) + u32::from(r < k));
                    (Size { work, tasks }, split.saturating_add(one_after_the_other.saturating_mul(span)))
                }
                _ => (Size { work: leaf, tasks: 1 }, leaf),
            });
        }
        Knary { k, r, cutoff, leaf, split, nodes }
    }
}

impl Program for Knary {
    type Task = u32;

    fn root(&self) -> u32 {
        self.nodes.len() as u32 - 1
    }

    fn size(&self, &level: &u32) -> Size {
        self.nodes[level as usize].0
    }

    fn body(&self, &level: &u32) -> Work {
        if level <= self.cutoff { self.leaf } else { self.split }
    }

    fn children(&self, &level: &u32, children: &mut Children<u32>) {
        for child in 0..self.k {
            children.spawn(level - 1, [(1, if child < self.r { Inout } else { Read })]);
        }
    }

    fn span(&self) -> Option<Work> {
        self.nodes.last().map(|(_, span)| *span)
    }
}
