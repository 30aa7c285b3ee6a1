//! Fibonacci numbers by double recursion and a sum ([DDS](crate#sources) §2, Fig. 1).

use millpond::depend::Mode::{Read, Write};

use crate::program::{Children, Costs, Program, Size, Work};

/// `fib(n)`. For numbers up to the cut-off, a leaf runs the serial program. All leaves take the
/// same time.
///
/// ```
/// use millpond_sim::{Costs, Program, programs::Fib};
///
/// let fib = Fib::new(3, 1, 1_000, Costs::NONE);
/// // fib(3) and fib(2) with their sums, three leaves.
/// assert_eq!((fib.size(&fib.root()).tasks, fib.size(&fib.root()).work), (7, 3_000));
/// ```
#[derive(Clone, Debug)]
pub struct Fib {
    n: u32,
    cutoff: u32,
    leaf: Work,
    split: Work,
    /// For each n: the size of a call with its descendants, and its span.
    calls: Vec<(Size, Work)>,
}

/// A call, or the sum of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// The call with this number.
    Call(u32),
    /// The sum.
    Sum,
}

impl Fib {
    /// A leaf takes `leaf` nanoseconds.
    pub fn new(n: u32, cutoff: u32, leaf: Work, costs: Costs) -> Self {
        // A call has its number and its result as arguments; a sum has its result and two numbers.
        let split = costs.of(2).saturating_mul(2).saturating_add(costs.of(3));
        let mut calls: Vec<(Size, Work)> = Vec::new();
        for n in 0..=n {
            calls.push(if n <= cutoff.max(1) {
                (Size { work: leaf, tasks: 1 }, leaf)
            } else {
                let ((one, one_span), (other, other_span)) = (calls[n as usize - 1], calls[n as usize - 2]);
                let size = [Size { work: split, tasks: 2 }, one, other].into_iter().sum();
                (size, split.saturating_add(one_span.max(other_span)))
            });
        }
        Fib { n, cutoff: cutoff.max(1), leaf, split, calls }
    }
}

impl Program for Fib {
    type Task = Task;

    fn root(&self) -> Task {
        Task::Call(self.n)
    }

    fn size(&self, &task: &Task) -> Size {
        match task {
            Task::Call(n) => self.calls[n as usize].0,
            Task::Sum => Size { work: 0, tasks: 1 },
        }
    }

    fn body(&self, &task: &Task) -> Work {
        match task {
            Task::Call(n) if n <= self.cutoff => self.leaf,
            Task::Call(_) => self.split,
            Task::Sum => 0,
        }
    }

    fn children(&self, &task: &Task, children: &mut Children<Task>) {
        if let Task::Call(n) = task {
            children.spawn(Task::Call(n - 1), [(1, Write)]);
            children.spawn(Task::Call(n - 2), [(2, Write)]);
            children.spawn(Task::Sum, [(1, Read), (2, Read), (3, Write)]);
        }
    }

    fn span(&self) -> Option<Work> {
        Some(self.calls[self.n as usize].1)
    }
}
