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
mod counters;
mod managers;
mod sweep;

use super::options::{cores, names, numbers, wants};
use super::row::Row;
use crate::args::{MAX_WORKERS, flag, integer};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::tuning::{idle_arg, idle_of};
use cell::Cell;
use clap::{Arg, ArgAction, ArgMatches};
use counters::Method;
use counters::cachegrind::Cachegrind;
use millpond::Idle;
use millpond::catalogue::{self, Registry};
use millpond::pool::params::Params;
use millpond_workloads::synthetic::Params as Load;
use serde_json::Value;
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
    /// How to count cache misses, if asked for.
    counters: Option<Method>,
    progress: Progress,
}

impl<'a> Request<'a> {
    /// Reads the common options of these suites. Fails if there is no way to count cache misses.
    pub fn new(matches: &'a ArgMatches, registry: &'a Registry, reps: usize) -> Result<Self, Failure> {
        let number = |name, default| matches.get_one::<u64>(name).copied().unwrap_or(default);
        let workers = numbers(matches, "workers", &powers_of_two(cores() as u64));
        Ok(Self {
            matches,
            registry,
            load: Load { k: number("k", K), f: number("f", F) },
            workers: workers.into_iter().map(|n| n as usize).collect(),
            pools: chosen(matches, "pool", registry.pools()),
            managers: chosen(matches, "memory", registry.memory()),
            idle: idle_of(matches),
            reps,
            seconds: number("seconds", SECONDS) as f64,
            counters: if matches.get_flag("counters") { Some(Method::new()?) } else { None },
            progress: Progress::new(),
        })
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
    /// measured at least once. Cachegrind gets half of the time, for its own runs.
    fn measure(&self, cells: &mut [Cell]) -> Result<(), Failure> {
        let started = Instant::now();
        let counted = matches!(self.counters, Some(Method::PerfEvent));
        let seconds = if self.cachegrind().is_some() { self.seconds / 2.0 } else { self.seconds };
        for rep in 1..=self.reps {
            let so_far = started.elapsed().as_secs_f64();
            if rep > 1 && so_far * rep as f64 / (rep - 1) as f64 > seconds {
                let half = if self.cachegrind().is_some() { "half of " } else { "" };
                eprintln!("{} of {} repetitions fit into {seconds} s ({half}--seconds)", rep - 1, self.reps);
                return Ok(());
            }
            // The order rotates, so that no cell is always first.
            let first = (rep - 1) * cells.len() / self.reps;
            let (before, from) = cells.split_at_mut(first);
            for cell in from.iter_mut().chain(before) {
                self.progress.say(|| format!("{}: {rep} of {}", cell.name(), self.reps));
                cell.measure(self.registry, self.load, counted)?;
            }
        }
        Ok(())
    }

    fn cachegrind(&self) -> Option<&Cachegrind> {
        match &self.counters {
            Some(Method::Cachegrind(cachegrind)) => Some(cachegrind),
            Some(Method::PerfEvent) | None => None,
        }
    }

    /// Counts the cache misses of rows under cachegrind, if it is the method. Each row has the
    /// indices of its cells. The first row is always counted. Then rows are counted while they are
    /// expected to end within half of `--seconds`.
    fn count(&self, cells: &mut [Cell], rows: impl IntoIterator<Item = Vec<usize>>) -> Result<(), Failure> {
        let Some(cachegrind) = self.cachegrind() else { return Ok(()) };
        let (started, seconds) = (Instant::now(), self.seconds / 2.0);
        let (mut counted, mut left_out, mut runs) = (0, 0, 0_usize);
        for row in rows {
            let open: Vec<_> = row.into_iter().filter(|&cell| cells[cell].misses.is_none()).collect();
            let expected = started.elapsed().as_secs_f64() * (runs + open.len()) as f64 / runs.max(1) as f64;
            if runs > 0 && !open.is_empty() && expected > seconds {
                left_out += 1;
                continue;
            }
            for index in open {
                let cell = &mut cells[index];
                self.progress.say(|| format!("{}: counts cache misses", cell.name()));
                let failed = |error| Failure::Failed(format!("--counters: {}: cachegrind: {error}", cell.name()));
                cell.misses = Some(cachegrind.misses(cell, self.load).map_err(failed)?);
                runs += 1;
            }
            counted += 1;
        }
        if left_out > 0 {
            let all = counted + left_out;
            eprintln!("the cache misses of {counted} of {all} rows fit into {seconds} s (half of --seconds)");
        }
        Ok(())
    }

    /// The fields of a cell's cache misses; none without `--counters`.
    fn fields(&self, cell: &Cell) -> Vec<(&'static str, Value)> {
        self.counters.as_ref().map_or_else(Vec::new, |method| method.fields(cell.misses))
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
        flag("counters", "Count cache misses, too: by perf_event, or by cachegrind if the system refuses it"),
    ]
}
