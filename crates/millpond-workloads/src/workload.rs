//! The table of workloads and the one interface that all of them have.

use crate::options::{Opt, Options, Value};
use crate::{
    Error, blackscholes, cholesky, cholesky_cnc, denoise, fib, fib_join, fileconcat, grammar, inverse, knary, matmul,
    nqueens, porting, reduction, routing, stencil, synthetic,
};
use millpond::Idle;
use millpond::catalogue::{AnyRuntime, Registry};
use millpond::memory::any::Chosen as ChosenMemory;
use millpond::on_runtime;
use millpond::pool::any::Chosen as ChosenPool;
use millpond::pool::params::Params;
use millpond::record::Sink;
use std::time::{Duration, Instant};

/// A workload: a row of data before it is code.
pub struct Workload {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line that says what it does.
    pub summary: &'static str,
    /// Its own options.
    pub options: &'static [Opt],
    /// What its tasks run on.
    pub runs_on: RunsOn,
    /// Checks the options, reads or makes the input.
    pub prepare: fn(&Options) -> Result<Box<dyn Job>, Error>,
}

/// What a workload's tasks run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsOn {
    /// A runtime: a scope's tasks with data, windows and a dependence scheme.
    Runtime,
    /// A task pool and nothing else: a pool and a memory manager.
    TaskPool,
    /// A runtime, as a graph of Concurrent Collections.
    Collections,
}

/// Every workload, in the order in which `list` shows them.
pub static WORKLOADS: &[Workload] = &[
    cholesky::WORKLOAD,
    matmul::WORKLOAD,
    fib::WORKLOAD,
    fib_join::WORKLOAD,
    knary::WORKLOAD,
    nqueens::WORKLOAD,
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

/// The workload of that name.
pub fn find(name: &str) -> Option<&'static Workload> {
    WORKLOADS.iter().find(|w| w.name == name)
}

/// A workload with its parameters and its input.
///
/// [`run`](Job::run) and [`serial`](Job::serial) may be called any number of times, each from the same input;
/// [`check`](Job::check) and [`save`](Job::save) speak of the last answer computed.
pub trait Job {
    /// Every parameter after defaults.
    fn params(&self) -> Vec<(&'static str, Value)>;

    /// How many task bodies one run executes, leaves and parents, the root not counted.
    fn tasks(&self) -> u64;

    /// Runs the task program; `probe` brackets the part to be timed.
    fn run(&mut self, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(), Error>;

    /// Runs the task program in a task pool, for a workload that needs no more ([`RunsOn::TaskPool`]); `probe` brackets
    /// the part to be timed.
    ///
    /// # Panics
    ///
    /// If the workload needs a runtime.
    fn run_in_pool(&mut self, _parts: &PoolParts, _probe: &mut dyn Probe) -> Result<(), Error> {
        unreachable!("the workload needs a runtime")
    }

    /// As [`run_in_pool`](Job::run_in_pool), and tells `sink` what each task does: a task pool records nothing by itself.
    ///
    /// # Panics
    ///
    /// If the workload needs a runtime.
    fn record_in_pool(&mut self, _: &PoolParts, _: &mut dyn Probe, _: &dyn Sink) -> Result<(), Error> {
        unreachable!("the workload needs a runtime")
    }

    /// Runs the serial program; `probe` brackets the part to be timed.
    fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error>;

    /// Checks the last answer.
    fn check(&mut self) -> Result<Verdict, Error>;

    /// Writes the last answer where the options asked for it, if they did.
    fn save(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// What a task pool is built from, for a workload that needs no runtime ([`RunsOn::TaskPool`]).
#[derive(Debug, Clone)]
pub struct PoolParts {
    /// Threads that run tasks.
    pub workers: usize,
    /// Where tasks wait.
    pub pool: ChosenPool,
    /// Where task blocks come from.
    pub memory: ChosenMemory,
    /// What a worker does that finds no task.
    pub idle: Idle,
}

impl PoolParts {
    /// As many workers as a runtime has, and parts of the same names.
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

/// What a check found.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Whether the answer is right.
    pub verified: bool,
    /// The figures by which the answer is reported.
    pub result: Vec<(&'static str, Value)>,
}

/// Told when the timed part of a job begins and ends.
pub trait Probe {
    /// The first spawn is next.
    fn start(&mut self);
    /// The scope has completed.
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
