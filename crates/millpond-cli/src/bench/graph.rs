//! Task graphs without their kernels: each task reads up to two data and changes one.

use super::spin::spin;
use millpond::{Handle, Spawn};

/// A task: the data that it reads, and the one that it changes.
#[derive(Debug, Clone, Copy)]
enum Step {
    Alone(u32),
    After(u32, u32),
    AfterTwo(u32, u32, u32),
}

/// A task graph, as the list of its tasks in spawn order.
pub struct Graph {
    /// Its name.
    pub shape: &'static str,
    /// Its sizes.
    pub params: Vec<(&'static str, u64)>,
    data: usize,
    steps: Vec<Step>,
}

/// The graphs by name, in the order in which they are measured.
pub const SHAPES: &[&str] = &["independent", "chains", "cholesky", "matmul"];

impl Graph {
    /// The graph of that name, of about 50 000 tasks.
    pub fn new(shape: &str) -> Self {
        match shape {
            "chains" => Self::chains(64, 1000),
            "cholesky" => Self::cholesky(66),
            "matmul" => Self::matmul(37),
            _ => Self::independent(50_000),
        }
    }

    /// Tasks that each have a datum of their own.
    fn independent(n: u32) -> Self {
        let params = vec![("tasks", u64::from(n))];
        Self { shape: "independent", params, data: n as usize, steps: (0..n).map(Step::Alone).collect() }
    }

    /// Chains side by side, spawned step by step.
    fn chains(chains: u32, length: u32) -> Self {
        let params = vec![("chains", u64::from(chains)), ("length", u64::from(length))];
        let steps = (0..length).flat_map(|_| (0..chains).map(Step::Alone)).collect();
        Self { shape: "chains", params, data: chains as usize, steps }
    }

    /// The right-looking tile factorisation.
    fn cholesky(nt: u32) -> Self {
        let at = |i: u32, j: u32| i * nt + j;
        let mut steps = Vec::new();
        for k in 0..nt {
            steps.push(Step::Alone(at(k, k)));
            steps.extend((k + 1..nt).map(|i| Step::After(at(k, k), at(i, k))));
            for i in k + 1..nt {
                steps.push(Step::After(at(i, k), at(i, i)));
                steps.extend((k + 1..i).map(|j| Step::AfterTwo(at(i, k), at(j, k), at(i, j))));
            }
        }
        Self { shape: "cholesky", params: vec![("tiles", u64::from(nt))], data: (nt * nt) as usize, steps }
    }

    /// The product of two matrices of tiles, all updates of a tile together.
    fn matmul(nt: u32) -> Self {
        let at = |matrix: u32, i: u32, j: u32| (matrix * nt + i) * nt + j;
        let mut steps = Vec::new();
        for i in 0..nt {
            for j in 0..nt {
                steps.extend((0..nt).map(|k| Step::AfterTwo(at(0, i, k), at(1, k, j), at(2, i, j))));
            }
        }
        Self { shape: "matmul", params: vec![("tiles", u64::from(nt))], data: (3 * nt * nt) as usize, steps }
    }

    /// How many tasks it has.
    pub fn tasks(&self) -> u64 {
        self.steps.len() as u64
    }

    /// What the data are at first.
    pub fn start(&self) -> Vec<u64> {
        (0..self.data as u64).collect()
    }

    /// Runs the same bodies in a plain loop.
    pub fn serial(&self, spins: u64, data: &mut [u64]) {
        for step in &self.steps {
            match *step {
                Step::Alone(c) => body(spins, 0, 0, &mut data[c as usize]),
                Step::After(a, c) => {
                    let a = data[a as usize];
                    body(spins, a, 0, &mut data[c as usize]);
                }
                Step::AfterTwo(a, b, c) => {
                    let (a, b) = (data[a as usize], data[b as usize]);
                    body(spins, a, b, &mut data[c as usize]);
                }
            }
        }
    }

    /// Spawns the tasks.
    pub fn spawn<'s, S: Spawn<'s>>(&self, s: &S, h: &[Handle<u64, S::Brand>], spins: u64) {
        let at = |i: u32| &h[i as usize];
        for step in &self.steps {
            match *step {
                Step::Alone(c) => {
                    s.spawn(at(c).inout(), move |c| {
                        body(spins, 0, 0, c);
                    });
                }
                Step::After(a, c) => {
                    s.spawn((at(a).read(), at(c).inout()), move |(a, c)| {
                        body(spins, *a, 0, c);
                    });
                }
                Step::AfterTwo(a, b, c) => {
                    s.spawn((at(a).read(), at(b).read(), at(c).inout()), move |(a, b, c)| {
                        body(spins, *a, *b, c);
                    });
                }
            }
        }
    }
}

/// Works for a while and leaves a number that depends on every number before it, in order.
fn body(spins: u64, a: u64, b: u64, c: &mut u64) {
    *c = spin(spins, c.rotate_left(7) ^ a.rotate_left(21).wrapping_add(b));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_have_the_tasks_they_claim() {
        assert_eq!(Graph::new("independent").tasks(), 50_000);
        assert_eq!(Graph::new("chains").tasks(), 64_000);
        let cholesky = |nt: u64| nt + nt * (nt - 1) + nt * (nt - 1) * (nt - 2) / 6;
        assert_eq!(Graph::new("cholesky").tasks(), cholesky(66));
        assert_eq!(Graph::new("matmul").tasks(), 37 * 37 * 37);
    }
}
