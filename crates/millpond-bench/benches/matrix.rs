//! The whole matrix: every pool with every memory manager, on the paper's synthetic algorithm (TP
//! §7.2). Each pair is compiled separately. `millpond bench pools` chooses at run time, which costs
//! every pair the same; here no pair pays for a choice. This is a separate target, because some 400
//! task pools take minutes to compile.
//!
//! ```sh
//! cargo bench --profile max -p millpond-bench --bench matrix -- --workers 2 --k 22 --f 4 > matrix.csv
//! ```
#![forbid(unsafe_code)]

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use millpond::catalogue::{MEMORY, POOLS};
use millpond::memory::Memory;
use millpond::pool::Pool;
use millpond::taskpool::TaskPool;
use millpond::{Idle, with_memory, with_pool};
use millpond_workloads::synthetic::{self, Params, Step};
use std::io::{self, Write};
use std::time::Instant;

/// A pair, and its times.
struct Cell {
    pool: &'static str,
    memory: &'static str,
    seconds: Vec<f64>,
    verified: bool,
}

/// The load of a run.
struct Load {
    workers: usize,
    k: u64,
    f: u64,
}

impl Load {
    /// Runs the load once, on a pair's own types.
    fn run<M: Memory, P: Pool>(&self) -> (f64, bool) {
        let pool: TaskPool<Step, M, P> =
            TaskPool::create_with(self.workers, &Default::default(), &Default::default(), Idle::ByPool);
        synthetic::init(&pool, Params { k: self.k, f: self.f });
        let started = Instant::now();
        pool.run_all();
        let seconds = started.elapsed().as_secs_f64();
        let ran: u64 = pool.counts().iter().map(|counts| counts.tasks).sum();
        (seconds, ran == synthetic::count(self.k) && pool.finalize() == 0)
    }
}

impl Cell {
    fn measure(&mut self, load: &Load) {
        let run = with_pool!(self.pool, P => with_memory!(self.memory, M => load.run::<M, P>()));
        let (seconds, verified) = run.flatten().expect("names of the catalogue");
        self.seconds.push(seconds);
        self.verified &= verified;
    }

    fn line(&mut self, load: &Load) -> String {
        self.seconds.sort_by(f64::total_cmp);
        let (Cell { pool, memory, verified, .. }, Load { workers, k, f }) = (&self, load);
        let (median, least, tasks) = (self.seconds[self.seconds.len() / 2], self.seconds[0], synthetic::count(*k));
        let ns = median * 1e9 / tasks as f64;
        format!(
            "{pool},{memory},{workers},{k},{f},{tasks},{},{median:.6},{least:.6},{ns:.2},{verified}",
            self.seconds.len()
        )
    }
}

fn command() -> Command {
    let number = |name: &'static str, default: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_parser(value_parser!(u64)).default_value(default).help(help)
    };
    let names = |option: &'static str, names: Vec<&'static str>| {
        Arg::new(option).long(option).action(ArgAction::Append).value_parser(PossibleValuesParser::new(names))
    };
    Command::new("matrix")
        .about("Every pool with every memory manager on the synthetic algorithm: lines of CSV")
        .arg(number("workers", "2", "Threads that run tasks").value_parser(value_parser!(u64).range(1..=1024)))
        .arg(number("k", "20", "Initial tasks").value_parser(value_parser!(u64).range(1..=40)))
        .arg(number("f", "4", "Length of a task, in hundreds of steps"))
        .arg(number("reps", "5", "Repetitions").value_parser(value_parser!(u64).range(1..)))
        .arg(names("pool", POOLS.iter().map(|row| row.name).collect()).help("This pool only; may be repeated"))
        .arg(names("memory", MEMORY.iter().map(|row| row.name).collect()).help("This manager only; may be repeated"))
        // `cargo bench` passes this to every target.
        .arg(Arg::new("bench").long("bench").action(ArgAction::SetTrue).hide(true))
}

fn main() -> io::Result<()> {
    let matches = command().get_matches();
    let number = |name: &str| *matches.get_one::<u64>(name).expect("it has a default");
    let load = Load { workers: number("workers") as usize, k: number("k"), f: number("f") };
    let mut cells: Vec<_> = POOLS
        .iter()
        .filter(|row| wants(&matches, "pool", row.name))
        .flat_map(|pool| {
            let managers = MEMORY.iter().filter(|row| wants(&matches, "memory", row.name));
            managers.map(|memory| Cell { pool: pool.name, memory: memory.name, seconds: Vec::new(), verified: true })
        })
        .collect();
    for _ in 0..number("reps") {
        cells.iter_mut().for_each(|cell| cell.measure(&load));
    }
    let mut out = io::stdout().lock();
    writeln!(out, "pool,memory,workers,k,f,tasks,reps,median_seconds,min_seconds,ns_per_task,verified")?;
    for cell in &mut cells {
        writeln!(out, "{}", cell.line(&load))?;
    }
    if cells.iter().all(|cell| cell.verified) { Ok(()) } else { Err(io::Error::other("a pair lost or doubled tasks")) }
}

fn wants(matches: &ArgMatches, option: &str, name: &str) -> bool {
    matches.get_many::<String>(option).is_none_or(|mut names| names.any(|given| given == name))
}
