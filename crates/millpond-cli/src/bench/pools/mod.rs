//! Suites that compare pools and memory managers like the paper ([TP](crate#sources) §8.1). They
//! run its synthetic algorithm on a task pool alone, for every pool with every manager. Each
//! repetition visits all pairs.
//!
//! All pairs, including the default, are chosen at run time. So each pays the same for the choice
//! (`docs/results/performance.md`, "What a choice at run time costs"). Without that choice: `cargo
//! bench --profile max -p millpond-bench --bench matrix`.

mod best;
mod cell;
mod compare;
mod managers;
mod sweep;

use super::options::{cores, names, numbers, wants};
use super::row::Row;
use crate::args::{MAX_WORKERS, integer};
use crate::progress::Progress;
use crate::tuning::{idle_arg, idle_of};
use cell::Cell;
use clap::{Arg, ArgAction, ArgMatches};
use millpond::Idle;
use millpond::catalogue::{self, Registry};
use millpond::pool::params::Params;
use millpond_workloads::synthetic::Params as Load;
use std::time::Instant;

pub use best::SUITE as POOLS_SUITE;
pub use managers::SUITE as MEMORY_SUITE;

/// The default maximum time of a suite, approximately, in seconds.
const SECONDS: u64 = 240;

/// The default tasks of a run. They are short, so that the pool is a large part of the time.
const K: u64 = 22;
const F: u64 = 4;

/// The arguments of such a suite.
pub struct Request<'a> {
    matches: &'a ArgMatches,
    registry: &'a Registry,
    pub load: Load,
    pub workers: Vec<usize>,
    pools: Vec<&'static str>,
    managers: Vec<&'static str>,
    idle: Idle,
    reps: usize,
    seconds: f64,
    progress: Progress,
}

impl<'a> Request<'a> {
    /// Reads the common options of these suites.
    pub fn new(matches: &'a ArgMatches, registry: &'a Registry, reps: usize) -> Self {
        let number = |name, default| matches.get_one::<u64>(name).copied().unwrap_or(default);
        let workers = numbers(matches, "workers", &powers_of_two(cores() as u64));
        Self {
            matches,
            registry,
            load: Load { k: number("k", K), f: number("f", F) },
            workers: workers.into_iter().map(|n| n as usize).collect(),
            pools: chosen(matches, "pool", registry.pools()),
            managers: chosen(matches, "memory", registry.memory()),
            idle: idle_of(matches),
            reps,
            seconds: number("seconds", SECONDS) as f64,
            progress: Progress::new(),
        }
    }

    /// Whether a repeatable option has the name, or was not given.
    fn wants(&self, option: &str, name: &str) -> bool {
        wants(self.matches, option, name)
    }

    /// Every pool with every manager, for every number of workers.
    fn product(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &workers in &self.workers {
            for &pool in &self.pools {
                let cell =
                    |memory: &&'static str| Cell::new(workers, pool, memory, Params::default()).with_idle(self.idle);
                cells.extend(self.managers.iter().map(cell));
            }
        }
        cells
    }

    /// Measures all cells, interleaved, for all repetitions or until the time is over. Each is
    /// measured at least once.
    fn measure(&self, cells: &mut [Cell]) {
        let started = Instant::now();
        for rep in 1..=self.reps {
            let so_far = started.elapsed().as_secs_f64();
            if rep > 1 && so_far * rep as f64 / (rep - 1) as f64 > self.seconds {
                eprintln!("{} of {} repetitions fit into {} s (--seconds)", rep - 1, self.reps, self.seconds);
                return;
            }
            // The order rotates, so that no cell is always first.
            let first = (rep - 1) * cells.len() / self.reps;
            let (before, from) = cells.split_at_mut(first);
            for cell in from.iter_mut().chain(before) {
                self.progress.say(|| format!("{}: {rep} of {}", cell.name(), self.reps));
                cell.measure(self.registry, self.load);
            }
        }
    }
}

/// 1, 2, 4, ..., and all.
fn powers_of_two(all: u64) -> Vec<u64> {
    std::iter::successors(Some(1), |n| Some(2 * n)).take_while(|&n| n < all).chain([all]).collect()
}

/// The members of a family named by an option, in order; all without the option.
fn chosen<'a>(
    matches: &ArgMatches,
    option: &str,
    members: impl Iterator<Item = &'a catalogue::Row>,
) -> Vec<&'static str> {
    members.map(|row| row.name).filter(|name| wants(matches, option, name)).collect()
}

/// The common options of these suites, in place of those that choose one runtime.
pub fn args(registry: &Registry) -> Vec<Arg> {
    let workers = "Threads that run tasks; may be repeated [default: 1, 2, 4 and so on, and the cores allowed]";
    let seconds = format!("Begin no repetition that would end beyond this [default: {SECONDS}]");
    vec![
        integer("workers", "N", 1, MAX_WORKERS, workers).action(ArgAction::Append),
        names("pool", registry.pools().map(|row| row.name), "Measure this pool only; may be repeated"),
        names("memory", registry.memory().map(|row| row.name), "Measure this memory manager only; may be repeated"),
        integer("k", "K", 1, 40, format!("Initial tasks [default: {K}]")),
        integer("f", "F", 0, 1_000_000, format!("Length of a task, in hundreds of steps [default: {F}]")),
        idle_arg(),
        integer("seconds", "S", 1, 1_000_000, seconds),
    ]
}
