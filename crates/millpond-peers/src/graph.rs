//! The graphs, as in `cpp/graphs.hpp`. [`Graph::walk`] visits a graph in spawn order, and calls a
//! [`Sink`] for each task. So a runtime spawns from loops, as in a program, not from a list.

/// A task graph and its sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Graph {
    /// The joins of the Fibonacci number, without a cut-off. This graph cannot be walked.
    Fib { n: u64 },
    /// Tasks without an access.
    Flat { tasks: u64 },
    /// The same, where one in a thousand is long.
    Bimodal { tasks: u64 },
    /// Parallel chains, spawned step by step.
    Chains { chains: u64, length: u64 },
    /// On one datum: a change and 1000 reads, then 500 times a change and a read.
    Generations { rounds: u64 },
    /// The right-looking tile factorisation.
    Cholesky { tiles: u64 },
    /// The product of two matrices of tiles. All updates of a tile are consecutive.
    MatmulIjk { tiles: u64 },
    /// The same product. Updates of the same tile are far apart.
    MatmulKij { tiles: u64 },
    /// Tasks that each change many data. Twenty sets of data alternate.
    Args { accesses: u64, tasks: u64 },
    /// No graph, but a loop that changes each datum several times. An item takes this number of
    /// nanoseconds. It cannot be walked.
    Loop { items: u64, ns: u64, times: u64 },
}

/// The number of alternating sets of data of [`Graph::Args`].
const SETS: usize = 20;

/// The visitor of a walk: one call per task.
pub trait Sink {
    /// The `k`th task without an access. It may be long.
    fn alone(&mut self, k: u64, long: bool);
    /// Reads a datum.
    fn read(&mut self, a: usize);
    /// Changes a datum.
    fn inout(&mut self, c: usize);
    /// Reads `a` and changes `c`.
    fn update(&mut self, a: usize, c: usize);
    /// Reads `a` and `b` and changes `c`.
    fn update_by_two(&mut self, a: usize, b: usize, c: usize);
    /// Changes N data, from `first` on.
    fn many<const N: usize>(&mut self, first: usize);
}

impl Graph {
    /// Its name in the protocol.
    pub fn name(self) -> &'static str {
        match self {
            Graph::Fib { .. } => "fib",
            Graph::Flat { .. } => "flat",
            Graph::Bimodal { .. } => "bimodal",
            Graph::Chains { .. } => "chains",
            Graph::Generations { .. } => "generations",
            Graph::Cholesky { .. } => "cholesky",
            Graph::MatmulIjk { .. } => "matmul-ijk",
            Graph::MatmulKij { .. } => "matmul-kij",
            Graph::Args { .. } => "args",
            Graph::Loop { .. } => "loop",
        }
    }

    /// The graph with this name in the protocol and these sizes. `None` if it cannot be walked.
    pub fn parse(name: &str, first: u64, second: u64) -> Option<Graph> {
        Some(match name {
            "flat" => Graph::Flat { tasks: first },
            "bimodal" => Graph::Bimodal { tasks: first },
            "chains" => Graph::Chains { chains: first, length: second },
            "generations" => Graph::Generations { rounds: first },
            "cholesky" => Graph::Cholesky { tiles: first },
            "matmul-ijk" => Graph::MatmulIjk { tiles: first },
            "matmul-kij" => Graph::MatmulKij { tiles: first },
            "args" => Graph::Args { accesses: first, tasks: second },
            _ => return None,
        })
    }

    /// Its sizes by name.
    pub fn params(self) -> Vec<(&'static str, u64)> {
        match self {
            Graph::Fib { n } => vec![("n", n)],
            Graph::Flat { tasks } | Graph::Bimodal { tasks } => vec![("tasks", tasks)],
            Graph::Chains { chains, length } => vec![("chains", chains), ("length", length)],
            Graph::Generations { rounds } => vec![("rounds", rounds)],
            Graph::Cholesky { tiles } | Graph::MatmulIjk { tiles } | Graph::MatmulKij { tiles } => {
                vec![("tiles", tiles)]
            }
            Graph::Args { accesses, tasks } => vec![("accesses", accesses), ("tasks", tasks)],
            Graph::Loop { items, ns, times } => vec![("items", items), ("ns", ns), ("times", times)],
        }
    }

    /// The number of tasks; for `Fib`, of joins; for `Loop`, of loops.
    pub fn tasks(self) -> u64 {
        match self {
            Graph::Fib { n } => fibonacci(n + 1) - 1,
            Graph::Flat { tasks } | Graph::Bimodal { tasks } | Graph::Args { tasks, .. } => tasks,
            Graph::Chains { chains, length } => chains * length,
            Graph::Generations { rounds } => 2001 * rounds,
            Graph::Loop { times, .. } => times,
            Graph::Cholesky { tiles: n } => n + n * (n - 1) + n * (n - 1) * n.saturating_sub(2) / 6,
            Graph::MatmulIjk { tiles: n } | Graph::MatmulKij { tiles: n } => n * n * n,
        }
    }

    /// The number of data.
    pub fn data(self) -> usize {
        match self {
            Graph::Fib { .. } | Graph::Flat { .. } | Graph::Bimodal { .. } => 0,
            Graph::Chains { chains, .. } => chains as usize,
            Graph::Generations { .. } => 1,
            Graph::Cholesky { tiles } => (tiles * tiles) as usize,
            Graph::MatmulIjk { tiles } | Graph::MatmulKij { tiles } => (3 * tiles * tiles) as usize,
            Graph::Args { accesses, .. } => SETS * accesses as usize,
            Graph::Loop { items, .. } => items as usize,
        }
    }

    /// The initial data.
    pub fn start(self) -> impl Iterator<Item = u64> {
        0..self.data() as u64
    }

    /// The same graph with about this fraction of its tasks, or the smallest one.
    pub fn scaled(self, part: f64) -> Graph {
        let least = |n: u64, least: f64| ((n as f64 * part).round().max(least)) as u64;
        let edge = |n: u64| ((n as f64 * part.cbrt()).round().max(2.0)) as u64;
        match self {
            // If n decreases by one, the number of joins decreases by the golden ratio.
            Graph::Fib { n } => Graph::Fib { n: (n as f64 + part.ln() / 1.618_f64.ln()).round().max(2.0) as u64 },
            Graph::Flat { tasks } => Graph::Flat { tasks: least(tasks, 1.0) },
            // Whole thousands, so that each has its long task.
            Graph::Bimodal { tasks } => Graph::Bimodal { tasks: least(tasks / 1000, 1.0) * 1000 },
            Graph::Chains { chains, length } => Graph::Chains { chains, length: least(length, 1.0) },
            Graph::Generations { rounds } => Graph::Generations { rounds: least(rounds, 1.0) },
            Graph::Cholesky { tiles } => Graph::Cholesky { tiles: edge(tiles) },
            Graph::MatmulIjk { tiles } => Graph::MatmulIjk { tiles: edge(tiles) },
            Graph::MatmulKij { tiles } => Graph::MatmulKij { tiles: edge(tiles) },
            Graph::Args { accesses, tasks } => Graph::Args { accesses, tasks: least(tasks, 1.0) },
            // Fewer loops. A loop that runs once gets fewer items.
            Graph::Loop { items, ns, times: 1 } => Graph::Loop { items: least(items, 1.0), ns, times: 1 },
            Graph::Loop { items, ns, times } => Graph::Loop { items, ns, times: least(times, 1.0) },
        }
    }

    /// Calls `sink` for every task. Each graph has its own function, as in a program with only this
    /// graph.
    pub fn walk(self, sink: &mut impl Sink) {
        match self {
            Graph::Fib { .. } | Graph::Loop { .. } => {}
            Graph::Flat { tasks } => flat(tasks, sink),
            Graph::Bimodal { tasks } => bimodal(tasks, sink),
            Graph::Chains { chains, length } => side_by_side(chains as usize, length, sink),
            Graph::Generations { rounds } => generations(rounds, sink),
            Graph::Cholesky { tiles } => cholesky(tiles as usize, sink),
            Graph::MatmulIjk { tiles } => matmul(tiles as usize, |x, y, z| (x, y, z), sink),
            Graph::MatmulKij { tiles } => matmul(tiles as usize, |x, y, z| (y, z, x), sink),
            Graph::Args { accesses: 1, tasks } => args::<1>(tasks, sink),
            Graph::Args { accesses: 4, tasks } => args::<4>(tasks, sink),
            Graph::Args { accesses: 8, tasks } => args::<8>(tasks, sink),
            Graph::Args { tasks, .. } => args::<20>(tasks, sink),
        }
    }
}

#[inline(never)]
fn flat(tasks: u64, sink: &mut impl Sink) {
    (0..tasks).for_each(|k| sink.alone(k, false));
}

#[inline(never)]
fn bimodal(tasks: u64, sink: &mut impl Sink) {
    (0..tasks).for_each(|k| sink.alone(k, k % 1000 == 500));
}

#[inline(never)]
fn side_by_side(chains: usize, length: u64, sink: &mut impl Sink) {
    (0..length).for_each(|_| (0..chains).for_each(|chain| sink.inout(chain)));
}

#[inline(never)]
fn generations(rounds: u64, sink: &mut impl Sink) {
    for _ in 0..rounds {
        sink.inout(0);
        (0..1000).for_each(|_| sink.read(0));
        for _ in 0..500 {
            sink.inout(0);
            sink.read(0);
        }
    }
}

#[inline(never)]
fn cholesky(tiles: usize, sink: &mut impl Sink) {
    let at = |i: usize, j: usize| i * tiles + j;
    for k in 0..tiles {
        sink.inout(at(k, k));
        (k + 1..tiles).for_each(|i| sink.update(at(k, k), at(i, k)));
        for i in k + 1..tiles {
            sink.update(at(i, k), at(i, i));
            (k + 1..i).for_each(|j| sink.update_by_two(at(i, k), at(j, k), at(i, j)));
        }
    }
}

/// `ijk` maps the numbers of the three loops to the row, the column and the step.
#[inline(never)]
fn matmul(tiles: usize, ijk: impl Fn(usize, usize, usize) -> (usize, usize, usize), sink: &mut impl Sink) {
    let at = |matrix: usize, i: usize, j: usize| (matrix * tiles + i) * tiles + j;
    for x in 0..tiles {
        for y in 0..tiles {
            for z in 0..tiles {
                let (i, j, k) = ijk(x, y, z);
                sink.update_by_two(at(0, i, k), at(1, k, j), at(2, i, j));
            }
        }
    }
}

#[inline(never)]
fn args<const N: usize>(tasks: u64, sink: &mut impl Sink) {
    let mut set = 0;
    for _ in 0..tasks {
        sink.many::<N>(set * N);
        set = if set + 1 == SETS { 0 } else { set + 1 };
    }
}

/// Fibonacci numbers, computed by a loop.
pub fn fibonacci(n: u64) -> u64 {
    (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0
}

/// A graph with its bodies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case {
    /// The graph.
    pub graph: Graph,
    /// Steps of a body.
    pub steps: u64,
    /// Steps of the long bodies of [`Graph::Bimodal`].
    pub long_steps: u64,
}

impl Case {
    /// A graph whose bodies are empty.
    pub fn empty(graph: Graph) -> Self {
        Self { graph, steps: 0, long_steps: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the calls.
    #[derive(Default)]
    struct Counter {
        tasks: u64,
        largest: usize,
    }

    impl Counter {
        fn count(&mut self, data: &[usize]) {
            self.tasks += 1;
            self.largest = data.iter().map(|datum| datum + 1).fold(self.largest, usize::max);
        }
    }

    impl Sink for Counter {
        fn alone(&mut self, _: u64, _: bool) {
            self.count(&[]);
        }
        fn read(&mut self, a: usize) {
            self.count(&[a]);
        }
        fn inout(&mut self, c: usize) {
            self.count(&[c]);
        }
        fn update(&mut self, a: usize, c: usize) {
            self.count(&[a, c]);
        }
        fn update_by_two(&mut self, a: usize, b: usize, c: usize) {
            self.count(&[a, b, c]);
        }
        fn many<const N: usize>(&mut self, first: usize) {
            self.count(&[first, first + N - 1]);
        }
    }

    #[test]
    fn graphs_have_the_tasks_and_data_they_claim() {
        let graphs = [
            Graph::Flat { tasks: 7 },
            Graph::Bimodal { tasks: 2000 },
            Graph::Chains { chains: 3, length: 5 },
            Graph::Generations { rounds: 2 },
            Graph::Cholesky { tiles: 6 },
            Graph::MatmulIjk { tiles: 4 },
            Graph::MatmulKij { tiles: 4 },
            Graph::Args { accesses: 1, tasks: 30 },
            Graph::Args { accesses: 20, tasks: 30 },
        ];
        for graph in graphs {
            let mut counter = Counter::default();
            graph.walk(&mut counter);
            assert_eq!((counter.tasks, counter.largest), (graph.tasks(), graph.data()), "{graph:?}");
            let sizes: Vec<u64> = graph.params().iter().map(|(_, size)| *size).collect();
            assert_eq!(Graph::parse(graph.name(), sizes[0], sizes.last().copied().unwrap_or(0)), Some(graph));
        }
    }

    #[test]
    fn a_part_of_a_graph_has_that_part_of_its_tasks() {
        for graph in [Graph::Fib { n: 30 }, Graph::Cholesky { tiles: 64 }, Graph::MatmulKij { tiles: 64 }] {
            let part = graph.scaled(0.1).tasks() as f64 / graph.tasks() as f64;
            assert!((0.05..0.2).contains(&part), "{graph:?}: {part}");
        }
        assert_eq!(Graph::Generations { rounds: 5 }.scaled(1e-9), Graph::Generations { rounds: 1 });
    }

    #[test]
    fn joins_are_counted_without_the_leaves() {
        // 3 joins 2 and 1, and 2 joins 1 and 0.
        assert_eq!(Graph::Fib { n: 3 }.tasks(), 2);
        assert_eq!(fibonacci(10), 55);
    }
}
