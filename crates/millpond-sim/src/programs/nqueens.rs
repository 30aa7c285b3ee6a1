//! n queens on a board of n × n, row by row. It is a model of the tree, because the true one has
//! too many nodes.
//!
//! A node in row i has n − 14i/5 children. This is close to the mean number of squares left free by
//! i queens. Its work is divided among the children in proportion to numbers from 0.5 to 1.5. These
//! numbers follow from the child's position in the tree. The division ends at the rows solved by a
//! leaf. (The numbers' coefficient of variation is 0.29. For the true subtrees of 11 queens it is
//! 0.06, 0.08, 0.17 and 0.27 in the first four rows.) So the tree is irregular, depends on a seed,
//! and has exactly the given work.
//!
//! The span is a path from the root to a leaf. It is found without unfolding the whole tree: see
//! `Search`.

use std::sync::OnceLock;

use crate::program::{Children, Costs, Program, Size, Work};
use crate::random::{Random, mix};

/// A model of the n-queens problem.
///
/// ```
/// use millpond_sim::{Costs, Program, programs::NQueens};
///
/// // 395 million leaves of 0.2 s on average. The longest path is found in a fraction of a second.
/// let queens = NQueens::new(23, 15, 78_000_000_000_000_000, Costs::PAPER, 1);
/// assert_eq!(queens.size(&queens.root()).work, 78_000_000_000_000_000);
/// assert_eq!(queens.span().unwrap() / 1_000_000_000, 4);
/// ```
#[derive(Clone, Debug)]
pub struct NQueens {
    n: u32,
    cutoff: u32,
    work: Work,
    costs: Costs,
    seed: u64,
    /// By the number of filled rows: the tasks of a node with its descendants.
    tasks: Vec<u64>,
    /// The result of the search, once it is needed.
    span: OnceLock<Option<Work>>,
}

/// A node.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    row: u32,
    /// The work of the node with its descendants.
    work: Work,
    place: u64,
}

impl NQueens {
    /// The maximum number of nodes that the search for the span visits: about two seconds.
    pub const MAX_VISITS: u64 = 4_000_000;

    /// A leaf fills the last `cutoff` rows. All tasks together take `work` nanoseconds, including
    /// their creation.
    pub fn new(n: u32, cutoff: u32, work: Work, costs: Costs, seed: u64) -> Self {
        let rows = n - cutoff.min(n);
        let mut tasks = vec![1_u64; rows as usize + 1];
        for row in (0..rows).rev() {
            let below = tasks[row as usize + 1];
            tasks[row as usize] = below.saturating_mul(branches(n, row)).saturating_add(1);
        }
        NQueens { n, cutoff: n - rows, work, costs, seed, tasks, span: OnceLock::new() }
    }

    /// The number of leaves.
    pub fn leaves(&self) -> u64 {
        (0..self.rows()).fold(1, |leaves: u64, row| leaves.saturating_mul(branches(self.n, row)))
    }

    /// The cost of creating all tasks: the minimum work.
    pub fn creation(&self) -> Work {
        self.costs.of(3).saturating_mul(self.tasks[0] - 1)
    }

    /// The number of rows above the leaves.
    fn rows(&self) -> u32 {
        self.n - self.cutoff
    }

    /// The cost of creating the children of a node in this row.
    fn creation_in(&self, row: u32) -> Work {
        // The arguments: the board, the row, and the sum to which it adds.
        self.costs.of(3).saturating_mul(branches(self.n, row))
    }

    /// The work of a task's body: all work for a leaf, the creation of the children for others.
    fn body_of(&self, task: &Task) -> Work {
        if task.row >= self.rows() { task.work } else { task.work.min(self.creation_in(task.row)) }
    }

    /// Calls `each` with the children of a node, in order. `shares` is memory for their shares.
    fn divide(&self, task: &Task, shares: &mut Vec<f64>, mut each: impl FnMut(Task)) {
        let (count, rest) = (branches(self.n, task.row), task.work - self.body_of(task));
        let mut random = Random::of(task.place, 0);
        shares.clear();
        shares.extend((0..count).map(|_| 0.5 + random.unit()));
        let all: f64 = shares.iter().sum();
        let (mut share, mut given) = (0.0, 0);
        for (number, part) in (1..).zip(shares) {
            share += *part;
            let until = if number == count { rest } else { (rest as f64 * (share / all)) as Work };
            let until = until.clamp(given, rest);
            let place = mix(task.place ^ mix(number));
            each(Task { row: task.row + 1, work: until - given, place });
            given = until;
        }
    }
}

fn branches(n: u32, row: u32) -> u64 {
    u64::from(n.saturating_sub(row * 14 / 5).max(1))
}

impl Program for NQueens {
    type Task = Task;

    fn root(&self) -> Task {
        Task { row: 0, work: self.work, place: mix(self.seed) }
    }

    fn size(&self, task: &Task) -> Size {
        Size { work: task.work, tasks: self.tasks[task.row as usize] }
    }

    fn body(&self, task: &Task) -> Work {
        self.body_of(task)
    }

    fn children(&self, task: &Task, children: &mut Children<Task>) {
        self.divide(task, &mut Vec::new(), |child| children.spawn(child, []));
    }

    /// `None` if the search visits more than [`NQueens::MAX_VISITS`] nodes.
    fn span(&self) -> Option<Work> {
        *self.span.get_or_init(|| Search::new(self, Self::MAX_VISITS).run())
    }
}

/// Branch and bound for the longest path. A node is visited only if a path through it can be longer
/// than the longest one known. The child with the most work comes first.
struct Search<'a> {
    queens: &'a NQueens,
    /// By row: a and b, such that a node with work w is the top of no path longer than a·w + b.
    bounds: Vec<(f64, f64)>,
    longest: Work,
    visits: u64,
    max_visits: u64,
    shares: Vec<f64>,
}

impl<'a> Search<'a> {
    fn new(queens: &'a NQueens, max_visits: u64) -> Self {
        let rows = queens.rows() as usize;
        let mut bounds = vec![(1.0, 0.0); rows + 1];
        for row in (0..rows).rev() {
            let ((share_below, rest_below), count) = (bounds[row + 1], branches(queens.n, row as u32) as f64);
            // One child of weight 1.5, all others of weight 0.5.
            let share = share_below * 1.5 / (0.5 * count + 1.0);
            // One nanosecond is lost or won by rounding.
            let rest = queens.creation_in(row as u32) as f64 * (1.0 - share) + rest_below + 1.0;
            bounds[row] = (share, rest);
        }
        Search { queens, bounds, longest: 0, visits: 0, max_visits, shares: Vec::new() }
    }

    fn run(mut self) -> Option<Work> {
        let root = self.queens.root();
        self.visit(root, 0);
        (self.visits <= self.max_visits).then_some(self.longest)
    }

    /// Whether a path through this node can be longer than the longest one known. `above` is the
    /// work of the path before it. The factor is far more than the rounding of a few operations.
    fn can_be_longer(&self, task: &Task, above: Work) -> bool {
        let (share, rest) = self.bounds[task.row as usize];
        (above as f64 + share * task.work as f64 + rest) * (1.0 + 1e-9) > self.longest as f64
    }

    fn visit(&mut self, task: Task, above: Work) {
        let above = above.saturating_add(self.queens.body_of(&task));
        self.longest = self.longest.max(above);
        if task.row >= self.queens.rows() || self.visits > self.max_visits {
            return;
        }
        self.visits += 1;
        let mut children = Vec::new();
        self.queens.divide(&task, &mut self.shares, |child| children.push(child));
        children.sort_unstable_by_key(|child| std::cmp::Reverse(child.work));
        for child in children {
            if !self.can_be_longer(&child, above) {
                break;
            }
            self.visit(child, above);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest path of the whole tree.
    fn unfolded(queens: &NQueens, task: &Task) -> Work {
        let (mut below, mut shares) = (0, Vec::new());
        if task.row < queens.rows() {
            queens.divide(task, &mut shares, |child| below = below.max(unfolded(queens, &child)));
        }
        queens.body_of(task) + below
    }

    #[test]
    fn the_search_finds_the_path_of_the_whole_tree() {
        for (n, cutoff) in [(1, 0), (1, 1), (5, 0), (8, 3), (9, 4), (10, 5), (12, 8), (8, 8), (11, 20)] {
            // With little work, nodes have less of it than their creation costs.
            for work in [0, 10_000, 1_000_000, 100_000_000_000] {
                for costs in [Costs::PAPER, Costs::NONE, Costs { task: 1_000_000, argument: 3 }] {
                    for seed in 1..4 {
                        let queens = NQueens::new(n, cutoff, work, costs, seed);
                        let expected = unfolded(&queens, &queens.root());
                        assert_eq!(queens.span(), Some(expected), "{n} {cutoff} {work} {costs:?} {seed}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_search_that_is_too_long_is_given_up() {
        let queens = NQueens::new(12, 6, 1_000_000_000_000, Costs::PAPER, 1);
        assert_eq!(Search::new(&queens, 5).run(), None);
        assert_eq!(Search::new(&queens, 1_000_000).run(), queens.span());
        // Fewer than one in a hundred of the nodes above the leaves.
        let paper = NQueens::new(23, 15, 6_273_000_000_000_000_000 / 1000, Costs::PAPER, 1);
        let mut search = Search::new(&paper, NQueens::MAX_VISITS);
        let root = paper.root();
        search.visit(root, 0);
        assert!(search.visits < 1_000_000, "{}", search.visits);
        assert_eq!(paper.span(), Some(search.longest));
    }
}
