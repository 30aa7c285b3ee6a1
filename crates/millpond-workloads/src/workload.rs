//! The table of workloads, and their common interface.

use crate::options::{Opt, Options, Value};
use crate::{
    Error, blackscholes, cholesky, cholesky_cnc, denoise, fib, fib_join, fileconcat, grammar, inverse, knary, matmul,
    nqueens, porting, reduction, routing, stencil, synthetic, uts, uts_join,
};
use millpond::Idle;
use millpond::catalogue::{AnyRuntime, Registry};
use millpond::memory::Chosen as ChosenMemory;
use millpond::on_runtime;
use millpond::pool::params::Params;
use millpond::pool::{Chosen as ChosenPool, Counts};
use millpond::record::Sink;
use std::time::{Duration, Instant};

/// A workload: an entry in the table of workloads.
pub struct Workload {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its purpose, in one line.
    pub summary: &'static str,
    /// Its own options.
    pub options: &'static [Opt],
    /// The kind of runtime for its tasks.
    pub runs_on: RunsOn,
    /// Checks the options; reads or generates the input.
    pub prepare: fn(&Options) -> Result<Box<dyn Job>, Error>,
}

/// The kind of runtime for a workload's tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsOn {
    /// A runtime: a scope's tasks with data, windows and a dependence scheme.
    Runtime,
    /// A task pool alone: a pool and a memory manager.
    TaskPool,
    /// A runtime, as a graph of Concurrent Collections.
    Collections,
}

/// Every workload, in the order of `list`.
pub static WORKLOADS: &[Workload] = &[
    cholesky::WORKLOAD,
    matmul::WORKLOAD,
    fib::WORKLOAD,
    fib_join::WORKLOAD,
    knary::WORKLOAD,
    nqueens::WORKLOAD,
    uts::WORKLOAD,
    uts_join::WORKLOAD,
    stencil::WORKLOAD,
    synthetic::WORKLOAD,
    grammar::WORKLOAD,
    porting::WORKLOAD,
    blackscholes::WORKLOAD,
    cholesky_cnc::WORKLOAD,
    inverse::WORKLOAD,
    fileconcat::WORKLOAD,
    reduction::WORKLOAD,
    denoise::WORKLOAD,
    routing::WORKLOAD,
];

/// The workload of this name.
pub fn find(name: &str) -> Option<&'static Workload> {
    WORKLOADS.iter().find(|w| w.name == name)
}

/// A workload with its parameters and its input.
///
/// [`run`](Job::run) and [`serial`](Job::serial) may be called any number of times, each from the
/// same input. [`check`](Job::check) and [`save`](Job::save) use the last computed answer.
pub trait Job {
    /// Every parameter after defaults.
    fn params(&self) -> Vec<(&'static str, Value)>;

    /// The number of task bodies in a run: leaves and parents, without the root.
    fn tasks(&self) -> u64;

    /// Runs the task program. `probe` brackets the timed part.
    fn run(&mut self, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(), Error>;

    /// Runs the task program in a task pool, for a workload on [`RunsOn::TaskPool`]. `probe`
    /// brackets the timed part.
    ///
    /// # Panics
    ///
    /// If the workload needs a runtime.
    fn run_in_pool(&mut self, _parts: &PoolParts, _probe: &mut dyn Probe) -> Result<(), Error> {
        unreachable!("the workload needs a runtime")
    }

    /// What the pool of the last [`run_in_pool`](Job::run_in_pool) has counted. `None` if there was
    /// none.
    fn pool_counts(&self) -> Option<Counts> {
        None
    }

    /// Like [`run_in_pool`](Job::run_in_pool), but also records each task to `sink`, because a task
    /// pool has no recorder.
    ///
    /// # Panics
    ///
    /// If the workload needs a runtime.
    fn record_in_pool(&mut self, _: &PoolParts, _: &mut dyn Probe, _: &dyn Sink) -> Result<(), Error> {
        unreachable!("the workload needs a runtime")
    }

    /// Runs the serial program. `probe` brackets the timed part.
    fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error>;

    /// Checks the last answer.
    fn check(&mut self) -> Result<Verdict, Error>;

    /// Writes the last answer to the output file, if the options name one.
    fn save(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// The parts of a task pool, for a workload on [`RunsOn::TaskPool`].
#[derive(Debug, Clone)]
pub struct PoolParts {
    /// Threads that run tasks.
    pub workers: usize,
    /// Where tasks wait.
    pub pool: ChosenPool,
    /// Where task blocks come from.
    pub memory: ChosenMemory,
    /// The idle rule: what a worker without a task does.
    pub idle: Idle,
}

impl PoolParts {
    /// The same number of workers as a runtime, and parts of the same names.
    ///
    /// # Panics
    ///
    /// If a part of the runtime is not in the catalogue.
    pub fn of(runtime: &AnyRuntime) -> Self {
        let (names, registry) = (runtime.names(), Registry::default());
        Self {
            workers: on_runtime!(runtime, rt => rt.workers()),
            pool: registry.pool(names.pool, Params::default()).expect("a pool of the catalogue"),
            memory: registry.memory_manager(names.memory).expect("a memory manager of the catalogue"),
            idle: Idle::default(),
        }
    }
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Whether the answer is correct.
    pub verified: bool,
    /// Figures about the answer.
    pub result: Vec<(&'static str, Value)>,
}

/// Called when the timed part of a job begins and ends.
pub trait Probe {
    /// Called before the first spawn.
    fn start(&mut self);
    /// Called after the scope has completed.
    fn stop(&mut self);
}

/// The simplest probe: a clock.
#[derive(Debug, Default)]
pub struct Stopwatch {
    started: Option<Instant>,
    /// The time of the last part.
    pub elapsed: Duration,
}

impl Probe for Stopwatch {
    fn start(&mut self) {
        self.started = Some(Instant::now());
    }

    fn stop(&mut self) {
        self.elapsed = self.started.take().map_or(Duration::ZERO, |t| t.elapsed());
    }
}
