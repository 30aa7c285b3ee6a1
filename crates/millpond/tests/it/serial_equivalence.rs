//! Random programs give the serial result. A runtime runs each in a configuration of its own, and
//! an interpreter runs it serially: each task where it is spawned.
//!
//! | variable | what it sets |
//! |---|---|
//! | `MILLPOND_CASES` | how many programs run |
//! | `MILLPOND_SEED` | the number of the first one |
//! | `MILLPOND_PARTS` | the parts of the runtime, for all of them |
//!
//! A failure prints the three, the configuration, and a program made as small as possible. A
//! million programs, optimized:
//!
//! ```text
//! MILLPOND_CASES=1000000 MILLPOND_SEED=1 cargo test --release -p millpond --test it -- \
//!     serial_equivalence::random
//! ```

use std::sync::Arc;
use std::sync::mpsc::{TryRecvError, channel};
use std::thread;
use std::time::Duration;

use millpond::catalogue::Names;
use millpond::{Engine, Runtime, on_runtime};

mod accumulate;
mod compare;
mod config;
mod counted;
mod coverage;
mod datum;
mod execute;
mod extend;
mod external;
mod generate;
mod leaf;
mod loops;
mod model;
mod program;
mod rules;
mod rules_of_use;
mod shrink;
mod slots;
mod value;

use crate::common::rng::Rng;
use crate::common::watchdog::Watchdog;
use crate::common::{number, silence_expected_panics};
use config::Config;
use program::Program;

/// The cases of a plain `cargo test`: a few seconds. `.ci/run stress` runs more.
const CASES: u64 = if cfg!(debug_assertions) { 1000 } else { 10_000 };
/// The cases that every part runs.
const CASES_UNDER_ALL: u64 = if cfg!(debug_assertions) { 30 } else { 200 };

/// How many random combinations of a scheme, a pool and a memory manager run.
const COMBINATIONS: u64 = 200;

/// The configuration of a case, with the parts that `MILLPOND_PARTS` names.
fn config_of(seed: u64) -> Config {
    let config = Config::of(seed);
    let Ok(parts) = std::env::var("MILLPOND_PARTS") else { return config };
    let named = Names::all().find(|names| names.to_string() == parts);
    config.with(named.unwrap_or_else(|| panic!("MILLPOND_PARTS is {parts}, which is no combination of the catalogue")))
}

/// Runs a program once, and describes the first difference from the serial result.
fn wrong<E: Engine>(program: &Program, config: &Config, runtime: &Runtime<E>, dog: &Watchdog) -> Option<String> {
    let expected = model::run(program);
    let show = {
        let (program, config) = (Arc::new(program.clone()), *config);
        move || format!("{config:?}\n{program}")
    };
    let run = || execute::execute(program, runtime, config.session);
    let outcome = dog.over(show, || if config.dumps { dumping(runtime, run) } else { run() });
    let dump = runtime.dump();
    let left = || (!dump.unfinished.is_empty()).then(|| format!("left in the account:\n{dump}"));
    compare::difference(program, &expected, &outcome).or_else(left)
}

/// Runs a program while another thread dumps.
fn dumping<E: Engine, R>(runtime: &Runtime<E>, run: impl FnOnce() -> R) -> R {
    let (done, end) = channel::<()>();
    thread::scope(|threads| {
        let dumps = threads.spawn(move || {
            while end.try_recv() == Err(TryRecvError::Empty) {
                assert!(runtime.dump().kept);
                thread::yield_now();
            }
        });
        // Dropped on a panic, too.
        let done = done;
        let result = run();
        drop(done);
        dumps.join().expect("nothing panics in a dump");
        result
    })
}

/// Makes a failing program small. A failure may be rare, so each candidate gets several runs.
fn report(seed: u64, program: &Program, config: &Config, first: &str, dog: &Watchdog) -> ! {
    let runtime = config.build();
    let wrong = |program: &Program| on_runtime!(&runtime, rt => wrong(program, config, rt, dog));
    let small = shrink::shrink(program, |program| (0..200).find_map(|_| wrong(program)).is_some());
    let last = (0..1000).find_map(|_| wrong(&small));
    let last = last.unwrap_or_else(|| "(did not fail again)".to_owned());
    panic!(
        "{parts}: {first}\n\nthe program, made small:\n{small}\n{last}\n\n{config:?}\n\
         again: MILLPOND_SEED={seed} MILLPOND_CASES=1 MILLPOND_PARTS='{parts}'",
        parts = config.names,
    );
}

/// The steps that made a program smaller in another process.
fn steps() -> Vec<usize> {
    let text = std::env::var("MILLPOND_STEPS").unwrap_or_default();
    text.split_terminator(',').map(|step| step.parse().expect("numbers with commas")).collect()
}

#[test]
fn random_programs_give_the_serial_result() {
    silence_expected_panics();
    let (cases, from) = (number("MILLPOND_CASES", CASES), number("MILLPOND_SEED", 0));
    let (repeats, steps) = (number("MILLPOND_REPEATS", 1), steps());
    let dog = Watchdog::new(Duration::from_secs(number("MILLPOND_LIMIT", 20)));
    for seed in from..from + cases {
        let config = config_of(seed);
        let program = generate::program(seed, config.deterministic);
        let program = shrink::follow(&program, &steps).expect("the steps of this program");
        if std::env::var_os("MILLPOND_TRACE").is_some() {
            eprintln!("MILLPOND_SEED={seed} {config:?}\n{program}");
        }
        Case { seed, config, program: &program, repeats }.check(&dog);
    }
}

/// One program, one configuration, and every member of every family: a difference is a bug of that
/// member.
#[test]
fn every_part_gives_the_serial_result() {
    silence_expected_panics();
    let from = number("MILLPOND_SEED", 0);
    let cases =
        std::env::var_os("MILLPOND_CASES").map_or(CASES_UNDER_ALL, |_| number("MILLPOND_CASES", 0).div_ceil(20));
    let dog = Watchdog::new(Duration::from_secs(number("MILLPOND_LIMIT", 20)));
    for seed in from..from + cases {
        let config = Config::of(seed);
        let program = generate::program(seed, config.deterministic);
        for names in Names::star() {
            Case { seed, config: config.with(names), program: &program, repeats: 1 }.check(&dog);
        }
    }
}

/// Any scheme with any pool and any memory manager: random combinations, each with a program of its
/// own.
#[test]
fn random_combinations_give_the_serial_result() {
    silence_expected_panics();
    let all: Vec<_> = Names::all().collect();
    let (from, mut rng) = (number("MILLPOND_SEED", 0), Rng::new(number("MILLPOND_SEED", 0)));
    let dog = Watchdog::new(Duration::from_secs(number("MILLPOND_LIMIT", 20)));
    for seed in from..from + COMBINATIONS {
        let config = Config::of(seed).with(all[rng.below(all.len())]);
        let program = generate::program(seed, config.deterministic);
        Case { seed, config, program: &program, repeats: 1 }.check(&dog);
    }
}

/// A random program, and how it runs.
struct Case<'a> {
    seed: u64,
    config: Config,
    program: &'a Program,
    repeats: u64,
}

impl Case<'_> {
    fn check(&self, dog: &Watchdog) {
        let Case { seed, config, program, repeats } = *self;
        let runtime = dog.over(move || format!("the start of {config:?}"), || config.build());
        let wrong = || on_runtime!(&runtime, rt => wrong(program, &config, rt, dog));
        if let Some(first) = (0..repeats).find_map(|_| wrong()) {
            report(seed, program, &config, &first, dog);
        }
        dog.over(move || format!("the end of {config:?}"), || drop(runtime));
    }
}

/// The test can fail: if two neighbouring tasks are exchanged, the interpreter and the runtime
/// disagree.
#[test]
fn a_wrong_interpreter_is_noticed() {
    silence_expected_panics();
    let config = Config::of(0);
    let runtime = Runtime::builder().workers(2).deterministic(config.deterministic).build().expect("a runtime");
    let dog = Watchdog::new(Duration::from_secs(20));
    let (mut noticed, mut tried) = (0, 0);
    for seed in 0..20_000 {
        let program = generate::program(seed, config.deterministic);
        let Some(other) = shrink::exchange(&program).filter(|_| !program.cancels()) else { continue };
        let (right, mistaken) = (model::run(&program), model::run(&other));
        if right.ran == mistaken.ran {
            // Both inputs were poisoned, so neither task ran.
            continue;
        }
        let show = move || format!("seed {seed}");
        let outcome = dog.over(show, || execute::execute(&program, &runtime, false));
        assert_eq!(compare::difference(&program, &right, &outcome), None, "seed {seed}");
        noticed += u32::from(compare::difference(&program, &mistaken, &outcome).is_some());
        tried += 1;
    }
    assert!(tried > 100, "only {tried} programs have two neighbours that conflict");
    assert_eq!(noticed, tried);
}

/// Makes the program of `MILLPOND_SEED` small if it ends the process or does not end itself.
#[test]
#[ignore = "a tool: run it with the number of a program that crashes or hangs"]
fn shrink_a_crash() {
    let seed = number("MILLPOND_SEED", 0);
    let program = generate::program(seed, Config::of(seed).deterministic);
    let program_crashes = |steps: &[usize]| {
        let steps: String = steps.iter().map(|step| format!("{step},")).collect();
        let this = std::env::current_exe().expect("it runs");
        let run = std::process::Command::new(this)
            .args(["--exact", "serial_equivalence::random_programs_give_the_serial_result"])
            .env("MILLPOND_SEED", seed.to_string())
            .env("MILLPOND_CASES", "1")
            .env("MILLPOND_LIMIT", "2")
            .env("MILLPOND_REPEATS", "200")
            .env("MILLPOND_STEPS", steps)
            .output();
        let status = run.expect("the test starts").status;
        !status.success()
    };
    let steps = shrink::path(&program, program_crashes);
    let small = shrink::follow(&program, &steps).expect("found above");
    panic!("{:?}\n{small}\nsteps {steps:?}", config_of(seed));
}
