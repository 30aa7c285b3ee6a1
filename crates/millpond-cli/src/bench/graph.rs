//! Task graphs without their kernels: each task reads up to two data and changes one.

use super::spin::spin;
use millpond::{Handle, Spawn};

/// A task: the data that it reads, and the datum that it changes.
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

/// The graphs by name, in the order of measurement.
pub const SHAPES: &[&str] = &["independent", "chains", "cholesky", "matmul"];

impl Graph {
    /// The graph of this name, with about 50 000 tasks.
    pub fn new(shape: &str) -> Self {
        match shape {
            "chains" => Self::chains(64, 1000),
            "cholesky" => Self::cholesky(66),
            "matmul" => Self::matmul(37),
            _ => Self::independent(50_000),
        }
    }

    /// Tasks without shared data: each has its own datum.
    fn independent(n: u32) -> Self {
        let params = vec![("tasks", u64::from(n))];
        Self { shape: "independent", params, data: n as usize, steps: (0..n).map(Step::Alone).collect() }
    }

    /// Parallel chains, spawned step by step.
    fn chains(chains: u32, length: u32) -> Self {
        let params = vec![("chains", u64::from(chains)), ("length", u64::from(length))];
        let steps = (0..length).flat_map(|_| (0..chains).map(Step::Alone)).collect();
        Self { shape: "chains", params, data: chains as usize, steps }
    }

    /// The right-looking tile factorisation.
    pub fn cholesky(nt: u32) -> Self {
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

    /// The product of two matrices of tiles. All updates of a tile are consecutive.
    pub fn matmul(nt: u32) -> Self {
        Self::product(nt, |outer, middle, inner| (outer, middle, inner))
    }

    /// The same product. Updates of the same tile are far apart.
    pub fn matmul_kij(nt: u32) -> Self {
        Self::product(nt, |outer, middle, inner| (middle, inner, outer))
    }

    /// The product with its loops in a given order, which maps loops to i, j and k.
    fn product(nt: u32, order: fn(u32, u32, u32) -> (u32, u32, u32)) -> Self {
        let at = |matrix: u32, i: u32, j: u32| (matrix * nt + i) * nt + j;
        let loops = (0..nt).flat_map(|a| (0..nt).flat_map(move |b| (0..nt).map(move |c| order(a, b, c))));
        let steps = loops.map(|(i, j, k)| Step::AfterTwo(at(0, i, k), at(1, k, j), at(2, i, j))).collect();
        Self { shape: "matmul", params: vec![("tiles", u64::from(nt))], data: (3 * nt * nt) as usize, steps }
    }

    /// The number of tasks.
    pub fn tasks(&self) -> u64 {
        self.steps.len() as u64
    }

    /// The initial data.
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

/// Works for a while. The result depends on all previous numbers and their order.
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

    /// The tiles read and changed by each task of a product, as i, j and k.
    fn updates(graph: &Graph, nt: u32) -> Vec<(u32, u32, u32)> {
        let update = |step: &Step| {
            let &Step::AfterTwo(a, b, c) = step else { panic!("not a product") };
            let (i, j, k) = (c / nt - 2 * nt, c % nt, a % nt);
            assert_eq!((a, b), (i * nt + k, (nt + k) * nt + j));
            (i, j, k)
        };
        graph.steps.iter().map(update).collect()
    }

    #[test]
    fn both_orders_of_a_product_have_every_update_once() {
        let (ijk, mut kij) = (updates(&Graph::matmul(5), 5), updates(&Graph::matmul_kij(5), 5));
        assert!(ijk.is_sorted() && kij.is_sorted_by_key(|&(i, j, k)| (k, i, j)));
        kij.sort_unstable();
        assert_eq!(ijk, kij);
        assert_eq!((ijk.len(), ijk.first(), ijk.last()), (125, Some(&(0, 0, 0)), Some(&(4, 4, 4))));
        assert!(ijk.windows(2).all(|two| two[0] != two[1]));
    }

    #[test]
    fn conflicting_updates_keep_their_order_in_both() {
        // The bodies do not commute. Both orders update each tile by ascending k.
        let data = |graph: &Graph| {
            let mut data = graph.start();
            graph.serial(3, &mut data);
            data
        };
        assert_eq!(data(&Graph::matmul(6)), data(&Graph::matmul_kij(6)));
        let mut other = Graph::matmul(6);
        other.steps.reverse();
        assert_ne!(data(&Graph::matmul(6)), data(&other));
    }

    #[test]
    fn a_tile_of_cholesky_is_read_when_it_has_all_its_updates() {
        let nt = 7;
        let graph = Graph::cholesky(nt);
        let mut updates = vec![0; graph.data];
        for step in &graph.steps {
            let (reads, changes) = match *step {
                Step::Alone(c) => (vec![], c),
                Step::After(a, c) => (vec![a], c),
                Step::AfterTwo(a, b, c) => (vec![a, b], c),
            };
            // A tile of column j has j updates, and its own task.
            assert!(reads.iter().all(|&a| updates[a as usize] == a % nt + 1), "{step:?}");
            updates[changes as usize] += 1;
        }
        let lower = |at: u32| at / nt >= at % nt;
        assert!((0..nt * nt).all(|at| updates[at as usize] == if lower(at) { at % nt + 1 } else { 0 }));
    }
}
