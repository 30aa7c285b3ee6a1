//! One pool with one manager and one number of workers: its runs.

use crate::bench::row::Row;
use crate::bench::shares::shares;
use millpond::Idle;
use millpond::catalogue::Registry;
use millpond::memory::AnyMemory;
use millpond::pool::AnyPool;
use millpond::pool::params::Params;
use millpond::taskpool::TaskPool;
use millpond_workloads::synthetic::{self, Params as Load, Step};
use serde_json::{Value, json};
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
    idle: Idle,
    pub seconds: Vec<f64>,
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
        Self { workers, pool, memory, params, idle: Idle::default(), seconds, ran, counts, verified: true }
    }

    /// The same with another idle rule.
    pub fn with_idle(self, idle: Idle) -> Self {
        Self { idle, ..self }
    }

    pub fn name(&self) -> String {
        format!("{} with {}, {} workers", self.pool, self.memory, self.workers)
    }

    /// Runs it once more, in a new pool.
    pub fn measure(&mut self, registry: &Registry, load: Load) {
        let memory = registry.memory_manager(self.memory).expect("a name of the registry");
        let pool = registry.pool(self.pool, self.params).expect("a name of the registry");
        let pool: Pool = TaskPool::create_with(self.workers, &memory, &pool, self.idle);
        synthetic::init(&pool, Load { k: WARM_UP, f: 0 });
        pool.run_all();
        let (before, counted) = (ran(&pool), counts(&pool));
        synthetic::init(&pool, load);
        self.seconds.push(timed(&pool));
        let now: Vec<_> = ran(&pool).iter().zip(before).map(|(now, before)| now - before).collect();
        self.verified &= now.iter().sum::<u64>() == synthetic::count(load.k);
        self.ran.iter_mut().zip(now).for_each(|(sum, ran)| *sum += ran);
        let more = counts(&pool).into_iter().zip(counted).map(|(now, before)| now - before);
        self.counts.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    }

    /// The fields of what the pools have counted.
    pub fn counts(&self) -> [(&'static str, Value); 3] {
        let [calls, woken, arrays] = self.counts;
        [("wake_calls", json!(calls)), ("wake_ups", json!(woken)), ("more_arrays", json!(arrays))]
    }

    /// The average of cells that differ in their pools, per repetition; `None` without cells.
    pub fn average(name: &'static str, cells: &[&Cell]) -> Option<Cell> {
        let first = cells.first()?;
        let mean = |rep| cells.iter().map(|cell| cell.seconds[rep]).sum::<f64>() / cells.len() as f64;
        let ran = |worker| cells.iter().map(|cell| cell.ran[worker]).sum();
        Some(Cell {
            pool: name,
            seconds: (0..first.seconds.len()).map(mean).collect(),
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

/// The time of the working phase: after all workers have begun, until all have finished.
fn timed(pool: &Pool) -> f64 {
    let barrier = Barrier::new(pool.workers());
    thread::scope(|s| {
        let work = |number| {
            barrier.wait();
            let started = Instant::now();
            pool.run(number);
            (started, Instant::now())
        };
        let others: Vec<_> = (1..pool.workers()).map(|number| s.spawn(move || work(number))).collect();
        let mut spans = vec![work(0)];
        spans.extend(others.into_iter().map(|other| other.join().expect("no task panics")));
        let first = spans.iter().map(|span| span.0).min().expect("a worker");
        let last = spans.iter().map(|span| span.1).max().expect("a worker");
        (last - first).as_secs_f64()
    })
}
