//! n queens on a board of n × n, row by row. It is a model of the tree, because the true one has
//! too many nodes.
//!
//! A node in row i has n − 14i/5 children. This is close to the mean number of squares left free by
//! i queens. Its work is divided among the children in proportion to numbers from 0.5 to 1.5. These
//! numbers follow from the child's position in the tree. The division ends at the rows solved by a
//! leaf. (The numbers' coefficient of variation is 0.29. For the true subtrees of 11 queens it is
//! 0.06, 0.08, 0.17 and 0.27 in the first four rows.) So the tree is irregular, depends on a seed,
//! and has exactly the given work.

use crate::program::{Children, Costs, Program, Size, Work};
use crate::random::{Random, mix};

/// A model of the n-queens problem.
///
/// ```
/// use millpond_sim::{Costs, Program, programs::NQueens};
///
/// let queens = NQueens::new(21, 17, 78_000_000_000_000, Costs::PAPER, 1);
/// assert_eq!(queens.size(&queens.root()).work, 78_000_000_000_000);
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
    /// A leaf fills the last `cutoff` rows. All tasks together take `work` nanoseconds, including
    /// their creation.
    pub fn new(n: u32, cutoff: u32, work: Work, costs: Costs, seed: u64) -> Self {
        let rows = n - cutoff.min(n);
        let mut tasks = vec![1_u64; rows as usize + 1];
        for row in (0..rows).rev() {
            let below = tasks[row as usize + 1];
            tasks[row as usize] = below.saturating_mul(branches(n, row)).saturating_add(1);
        }
        NQueens { n, cutoff: n - rows, work, costs, seed, tasks }
    }

    /// The number of leaves.
    pub fn leaves(&self) -> u64 {
        let rows = self.n - self.cutoff;
        (0..rows).fold(1, |leaves: u64, row| leaves.saturating_mul(branches(self.n, row)))
    }

    /// The cost of creating all tasks: the minimum work.
    pub fn creation(&self) -> Work {
        self.costs.of(3).saturating_mul(self.tasks[0] - 1)
    }

    /// The work of a task's body: all work for a leaf, the creation of the children for others.
    fn body_of(&self, task: &Task) -> Work {
        if task.row + self.cutoff >= self.n {
            return task.work;
        }
        // The arguments: the board, the row, and the sum to which it adds.
        task.work.min(self.costs.of(3).saturating_mul(branches(self.n, task.row)))
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
        let (count, rest) = (branches(self.n, task.row), task.work - self.body_of(task));
        let mut random = Random::of(task.place, 0);
        let shares: Vec<f64> = (0..count).map(|_| 0.5 + random.unit()).collect();
        let all: f64 = shares.iter().sum();
        let (mut share, mut given) = (0.0, 0);
        for (number, part) in (1..).zip(&shares) {
            share += part;
            let until = if number == count { rest } else { (rest as f64 * (share / all)) as Work };
            let until = until.clamp(given, rest);
            let place = mix(task.place ^ mix(number));
            children.spawn(Task { row: task.row + 1, work: until - given, place }, []);
            given = until;
        }
    }

    fn span(&self) -> Option<Work> {
        None
    }
}
