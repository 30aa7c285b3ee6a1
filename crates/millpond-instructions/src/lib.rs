//! The paths whose instructions are counted: task graphs with almost empty bodies, on one worker.
//!
//! `benches/instructions.rs` runs each once under valgrind. `ceilings.toml` has the maximum number
//! of instructions per task.
#![forbid(unsafe_code)]

pub mod ceilings;
pub mod stack;

use millpond::{DefaultEngine, Engine, Handle, Inline, Runtime, Spawn, StackEngine};
use std::array::from_fn;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A graph of almost empty tasks.
pub struct Path<E: Engine = DefaultEngine> {
    /// Its name.
    pub name: &'static str,
    /// The number of tasks in a run.
    pub tasks: u64,
    /// The number of their data.
    data: u64,
    /// The number of changes of data, in total.
    changes: u64,
    run: fn(&Bench<E>) -> Result<(), millpond::Error>,
}

/// Tasks of a graph with at most one access per task.
const TASKS: u64 = 10_000;
/// Tasks of a graph with several accesses per task.
const TASKS_OF_SEVERAL_ACCESSES: u64 = 2000;
/// Tiles in a row of the matrix.
const TILES: u64 = 16;
/// Rounds of generations, and the consecutive readers of a round.
const ROUNDS: u64 = 5;
const READERS: u64 = 1000;
/// The argument of the recursion.
const FIB: u64 = 20;

/// The graphs whose tasks run at their spawn, or through the pool.
pub static PATHS: [Path; 8] = [
    Path { name: "flat", tasks: TASKS, data: 1, changes: 0, run: flat },
    Path { name: "chain", tasks: TASKS, data: 1, changes: TASKS, run: chain },
    Path {
        name: "generations",
        tasks: ROUNDS * (1 + 2 * READERS),
        data: 1,
        changes: ROUNDS * (1 + READERS / 2),
        run: generations,
    },
    Path {
        name: "cholesky",
        tasks: TILES * (TILES + 1) * (TILES + 2) / 6,
        data: TILES * TILES,
        changes: TILES * (TILES + 1) * (TILES + 2) / 6,
        run: cholesky,
    },
    accesses::<1>("accesses_1"),
    accesses::<4>("accesses_4"),
    accesses::<8>("accesses_8"),
    accesses::<20>("accesses_20"),
];

/// The recursion with plain fork-joins: one per inner node.
pub static JOIN: Path = Path { name: "join", tasks: fib(FIB + 1) - 1, data: 1, changes: 0, run: join };

/// Tasks that each change their own `N` data.
const fn accesses<const N: usize>(name: &'static str) -> Path {
    Path {
        name,
        tasks: TASKS_OF_SEVERAL_ACCESSES,
        data: TASKS_OF_SEVERAL_ACCESSES * N as u64,
        changes: TASKS_OF_SEVERAL_ACCESSES * N as u64,
        run: several::<N>,
    }
}

fn named<E: Engine>(mut paths: impl Iterator<Item = &'static Path<E>>, name: &str) -> Option<&'static Path<E>> {
    paths.find(|path| path.name == name)
}

fn path(name: &str) -> Option<&'static Path> {
    named(PATHS.iter().chain([&JOIN]), name)
}

/// The number of tasks of the named path.
///
/// # Panics
///
/// If the path does not exist.
pub fn tasks(name: &str) -> u64 {
    let on_stack = || named(stack::PATHS.iter(), name).map(|path| path.tasks);
    path(name).map(|path| path.tasks).or_else(on_stack).expect("a path of that name")
}

/// How ready tasks run.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// At their spawn, which is the builder's default with one worker.
    Inline,
    /// All through the pool.
    Queued,
}

/// Steps of the bodies of queued tasks. The runtime measures the time of bodies. Under valgrind an
/// empty one takes about its break-even time, so the counted way would depend on the machine. These
/// bodies are far longer than that time, and far shorter than a long body. So each body has about
/// as many steps, however many data it changes.
const STEPS: u64 = 16;

/// A runtime with one worker, the data of a path, and the counts.
pub struct Bench<E: Engine = DefaultEngine> {
    runtime: Runtime<E>,
    path: &'static Path<E>,
    steps: u64,
    data: Vec<Handle<u64>>,
    /// The counter of tasks without a datum.
    count: AtomicU64,
}

impl Bench {
    /// A path of the default scheme.
    ///
    /// # Panics
    ///
    /// If the path does not exist, or a run fails.
    pub fn new(name: &str, way: Way) -> Self {
        let (inline, steps) = match way {
            Way::Inline => (Inline::Auto, 0),
            Way::Queued => (Inline::Never, STEPS),
        };
        Self::of(path(name), inline, steps)
    }
}

impl Bench<StackEngine> {
    /// A path on the dataflow stack.
    ///
    /// # Panics
    ///
    /// If the path does not exist, or a run fails.
    pub fn on_stack(name: &str) -> Self {
        Self::of(named(stack::PATHS.iter(), name), Inline::Auto, 0)
    }
}

impl<E: Engine> Bench<E> {
    /// Builds the runtime and warms it up, because a run leaves memory for the next one.
    fn of(path: Option<&'static Path<E>>, inline: Inline, steps: u64) -> Self {
        let path = path.expect("a path of that name");
        let runtime = Runtime::builder().workers(1).inline(inline).build_with().expect("a runtime of one worker");
        let data = (0..path.data).map(|_| Handle::new(0)).collect();
        let bench = Self { runtime, path, steps, data, count: AtomicU64::new(0) };
        bench.run();
        bench
    }

    /// Runs the graph once.
    ///
    /// # Panics
    ///
    /// If a task fails.
    #[inline(never)]
    pub fn run(&self) {
        (self.path.run)(self).expect("nothing fails");
    }

    /// Checks that every task ran once in each of `runs` runs.
    ///
    /// # Panics
    ///
    /// If a task did not.
    pub fn check(self, runs: u64) {
        let changes: u64 = self.data.into_iter().map(|datum| datum.into_inner().expect("nothing failed")).sum();
        assert_eq!(changes, runs * self.path.changes, "{}", self.path.name);
        let counted = if self.path.changes == 0 { self.path.tasks } else { 0 };
        assert_eq!(self.count.into_inner(), runs * counted, "{}", self.path.name);
    }
}

// The bodies are not inlined, so that a task costs as much as in a program.

#[inline(never)]
fn change(datum: &mut u64, steps: u64) {
    *datum += 1;
    work(steps);
}

#[inline(never)]
fn observe(datum: &u64, steps: u64) {
    black_box(*datum);
    work(steps);
}

#[inline(never)]
fn count(count: &AtomicU64, steps: u64) {
    // No read-modify-write, because there is one worker.
    count.store(count.load(Relaxed) + 1, Relaxed);
    work(steps);
}

#[inline(always)]
fn work(steps: u64) {
    for step in 0..steps {
        black_box(step);
    }
}

fn flat(bench: &Bench) -> Result<(), millpond::Error> {
    let steps = bench.steps;
    bench.runtime.scope(|s| {
        for _ in 0..TASKS {
            s.spawn((), move |()| count(&bench.count, steps));
        }
    })
}

fn chain(bench: &Bench) -> Result<(), millpond::Error> {
    let steps = bench.steps;
    bench.runtime.scope(|s| {
        for _ in 0..TASKS {
            s.spawn(bench.data[0].inout(), move |datum| change(datum, steps));
        }
    })
}

fn generations(bench: &Bench) -> Result<(), millpond::Error> {
    let (datum, steps) = (&bench.data[0], bench.steps);
    bench.runtime.scope(|s| {
        for _ in 0..ROUNDS {
            s.spawn(datum.inout(), move |datum| change(datum, steps));
            for _ in 0..READERS {
                s.spawn(datum.read(), move |datum| observe(datum, steps));
            }
            for _ in 0..READERS / 2 {
                s.spawn(datum.inout(), move |datum| change(datum, steps));
                s.spawn(datum.read(), move |datum| observe(datum, steps));
            }
        }
    })
}

/// The right-looking tile factorisation.
fn cholesky(bench: &Bench) -> Result<(), millpond::Error> {
    let at = |i: u64, j: u64| &bench.data[(i * TILES + j) as usize];
    let steps = bench.steps;
    bench.runtime.scope(|s| {
        for k in 0..TILES {
            s.spawn(at(k, k).inout(), move |c| change(c, steps));
            for i in k + 1..TILES {
                s.spawn((at(k, k).read(), at(i, k).inout()), move |(_, c)| change(c, steps));
            }
            for i in k + 1..TILES {
                s.spawn((at(i, k).read(), at(i, i).inout()), move |(_, c)| change(c, steps));
                for j in k + 1..i {
                    let all = (at(i, k).read(), at(j, k).read(), at(i, j).inout());
                    s.spawn(all, move |(_, _, c)| change(c, steps));
                }
            }
        }
    })
}

fn several<const N: usize>(bench: &Bench) -> Result<(), millpond::Error> {
    let steps = bench.steps.div_ceil(N as u64);
    bench.runtime.scope(|s| {
        for data in bench.data.chunks_exact(N) {
            let all: [_; N] = from_fn(|k| data[k].inout());
            s.spawn(all, move |all| all.into_iter().for_each(|datum| change(datum, steps)));
        }
    })
}

fn join(bench: &Bench) -> Result<(), millpond::Error> {
    bench.runtime.scope(|_| {
        assert_eq!(forked(black_box(FIB), &bench.count), fib(FIB));
    })
}

fn forked(n: u64, calls: &AtomicU64) -> u64 {
    if n < 2 {
        return n;
    }
    count(calls, 0);
    let (a, b) = millpond::join(|| forked(n - 1, calls), || forked(n - 2, calls));
    a + b
}

const fn fib(n: u64) -> u64 {
    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_its_tasks<E: Engine>(bench: Bench<E>) {
        bench.run();
        let ran: u64 = bench.runtime.counts().iter().map(|counts| counts.tasks).sum();
        let path = bench.path;
        assert!(path.name == "join" || ran == 2 * path.tasks, "{}: {ran}", path.name);
        bench.check(2);
    }

    #[test]
    fn every_path_has_the_tasks_that_it_claims() {
        for path in PATHS.iter().chain([&JOIN]) {
            [Way::Inline, Way::Queued].into_iter().for_each(|way| has_its_tasks(Bench::new(path.name, way)));
        }
        stack::PATHS.iter().for_each(|path| has_its_tasks(Bench::on_stack(path.name)));
    }
}
