//! One pool with one manager and one number of workers: its runs.

use super::counters::{Misses, perf};
use crate::bench::row::Row;
use crate::bench::shares::shares;
use crate::failure::Failure;
use crate::tuning::idle_name;
use millpond::Idle;
use millpond::catalogue::Registry;
use millpond::memory::AnyMemory;
use millpond::pool::AnyPool;
use millpond::pool::params::Params;
use millpond::taskpool::TaskPool;
use millpond_workloads::synthetic::{self, Params as Load, Step};
use serde_json::{Value, json};
use std::io;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

/// The initial tasks of the warm-up run of a pool, which has several thousand tasks in total.
const WARM_UP: u64 = 12;

/// A pool, a manager, a number of workers, and their measurements.
#[derive(Debug, Clone)]
pub struct Cell {
    pub workers: usize,
    pub pool: &'static str,
    pub memory: &'static str,
    params: Params,
    /// The parameter in `params` that was set, and its value.
    set: Option<[&'static str; 2]>,
    idle: Idle,
    pub seconds: Vec<f64>,
    /// The cache misses, once they are counted.
    pub misses: Option<Misses>,
    /// The number of tasks run by each worker.
    ran: Vec<u64>,
    /// What the pools have counted in all runs, without the warm-up runs.
    counts: [u64; 3],
    verified: bool,
}

type Pool = TaskPool<Step, AnyMemory, AnyPool>;

impl Cell {
    pub fn new(workers: usize, pool: &'static str, memory: &'static str, params: Params) -> Self {
        let (seconds, ran, counts) = (Vec::new(), vec![0; workers], [0; 3]);
        let (idle, set, misses, verified) = (Idle::default(), None, None, true);
        Self { workers, pool, memory, params, set, idle, seconds, misses, ran, counts, verified }
    }

    /// The same with another idle rule.
    pub fn with_idle(self, idle: Idle) -> Self {
        Self { idle, ..self }
    }

    /// The same with the name and the value of the parameter in `params` that was set.
    pub fn with_set(self, parameter: &'static str, value: &'static str) -> Self {
        Self { set: Some([parameter, value]), ..self }
    }

    /// The options of `run synthetic` that select the same parts.
    pub fn options(&self) -> Vec<String> {
        let (workers, pool, memory) = (self.workers.to_string(), self.pool.to_owned(), self.memory.to_owned());
        let parts =
            [("workers", workers), ("pool", pool), ("memory", memory), ("idle", idle_name(self.idle).to_owned())];
        let mut options: Vec<_> = parts.into_iter().flat_map(|(name, value)| [format!("--{name}"), value]).collect();
        options.extend(self.set.into_iter().flat_map(|[name, value]| [format!("--pool-{name}"), value.to_owned()]));
        options
    }

    pub fn name(&self) -> String {
        format!("{} with {}, {} workers", self.pool, self.memory, self.workers)
    }

    /// Runs it once more, in a new pool. With `counted`, the processor counts the cache misses of
    /// the working phase.
    pub fn measure(&mut self, registry: &Registry, load: Load, counted: bool) -> Result<(), Failure> {
        let memory = registry.memory_manager(self.memory).expect("a name of the registry");
        let pool = registry.pool(self.pool, self.params).expect("a name of the registry");
        let pool: Pool = TaskPool::create_with(self.workers, &memory, &pool, self.idle);
        synthetic::init(&pool, Load { k: WARM_UP, f: 0 });
        pool.run_all();
        let (before, before_counts) = (ran(&pool), counts(&pool));
        synthetic::init(&pool, load);
        let (seconds, misses) = worked(&pool, counted);
        self.seconds.push(seconds);
        let now: Vec<_> = ran(&pool).iter().zip(before).map(|(now, before)| now - before).collect();
        let tasks = now.iter().sum::<u64>();
        self.verified &= tasks == synthetic::count(load.k);
        self.ran.iter_mut().zip(now).for_each(|(sum, ran)| *sum += ran);
        let more = counts(&pool).into_iter().zip(before_counts).map(|(now, before)| now - before);
        self.counts.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        if counted {
            let failed = |error| Failure::Failed(format!("--counters: {}: perf_event: {error}", self.name()));
            let [l1, last_level] = misses.map_err(failed)?;
            self.misses = Some(self.misses.unwrap_or_default().plus(Misses { tasks, l1, last_level }));
        }
        Ok(())
    }

    /// The fields of what the pools have counted.
    pub fn counts(&self) -> [(&'static str, Value); 3] {
        let [calls, woken, arrays] = self.counts;
        [("wake_calls", json!(calls)), ("wake_ups", json!(woken)), ("more_arrays", json!(arrays))]
    }

    /// The average of cells that differ in their pools, per repetition; `None` without cells. It
    /// has cache misses if all cells have.
    pub fn average(name: &'static str, cells: &[&Cell]) -> Option<Cell> {
        let first = cells.first()?;
        let mean = |rep| cells.iter().map(|cell| cell.seconds[rep]).sum::<f64>() / cells.len() as f64;
        let ran = |worker| cells.iter().map(|cell| cell.ran[worker]).sum();
        Some(Cell {
            pool: name,
            seconds: (0..first.seconds.len()).map(mean).collect(),
            misses: cells.iter().try_fold(Misses::default(), |sum, cell| Some(sum.plus(cell.misses?))),
            ran: (0..first.workers).map(ran).collect(),
            counts: [0, 1, 2].map(|of| cells.iter().map(|cell| cell.counts[of]).sum()),
            verified: cells.iter().all(|cell| cell.verified),
            ..(*first).clone()
        })
    }

    /// The row of this cell: its `labels`, then the suite's fields.
    pub fn row(&self, shape: &'static str, load: Load, extra: Vec<(&'static str, Value)>) -> Row {
        let config = json!({ "workers": self.workers, "pool": self.pool, "memory": self.memory });
        Row {
            shape,
            runtime: "millpond",
            config,
            params: vec![("k", load.k), ("f", load.f)],
            tasks: synthetic::count(load.k),
            seconds: self.seconds.clone(),
            worker_shares: shares(&self.ran),
            verified: self.verified,
            extra,
        }
    }
}

fn ran(pool: &Pool) -> Vec<u64> {
    pool.counts().iter().map(|counts| counts.tasks).collect()
}

fn counts(pool: &Pool) -> [u64; 3] {
    let counts = pool.pool_counts();
    [counts.wake_calls, counts.wake_ups, counts.more_arrays]
}

/// Runs the working phase. Its time begins when all workers have begun, and ends when all have
/// finished. Also returns the cache misses of all workers if they are `counted`, and otherwise 0.
fn worked(pool: &Pool, counted: bool) -> (f64, io::Result<[u64; 2]>) {
    let barrier = Barrier::new(pool.workers());
    let span = |number| {
        barrier.wait();
        let started = Instant::now();
        pool.run(number);
        (started, Instant::now())
    };
    let work = |number| if counted { perf::counted(|| span(number)) } else { (span(number), Ok([0; 2])) };
    let work = &work;
    let ends = thread::scope(|s| {
        let others: Vec<_> = (1..pool.workers()).map(|number| s.spawn(move || work(number))).collect();
        let mut ends = vec![work(0)];
        ends.extend(others.into_iter().map(|other| other.join().expect("no task panics")));
        ends
    });
    let first = ends.iter().map(|end| end.0.0).min().expect("a worker");
    let last = ends.iter().map(|end| end.0.1).max().expect("a worker");
    let sum = |[l1, last_level]: [u64; 2], more: [u64; 2]| [l1 + more[0], last_level + more[1]];
    let misses = ends.into_iter().try_fold([0; 2], |all, (_, counts)| counts.map(|counts| sum(all, counts)));
    ((last - first).as_secs_f64(), misses)
}
