//! Random life cycle programs: foreign threads, wakers, drops in any order and on any thread,
//! `mem::forget`, and panics in bodies and drops. Sanitizers watch for undefined behaviour. The
//! program itself determines the expected results (`fuzz::program`).
//!
//! `MILLPOND_PROGRAMS` is the number of programs, `MILLPOND_SEED` the first number. A failure or a
//! hang prints the number and the steps. A failure may depend on timing, so repeat it by
//!
//! ```text
//! MILLPOND_SEED=17 MILLPOND_PROGRAMS=1 MILLPOND_REPEATS=1000 cargo test --release -p millpond --test it -- fuzz::
//! ```
//!
//! `MILLPOND_AT_ONCE` programs run at the same time, by default 2.
//!
//! With `--cfg millpond_yields`, the runtime's threads wait at random if `MILLPOND_YIELDS`, the
//! seed, is set. With `MILLPOND_TRACE`, each program is printed before it runs, in case the process
//! ends.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use millpond::on_runtime;

mod actor;
mod generate;
mod kept;
mod ledger;
mod program;
mod session;
mod sessions;
mod slots;
mod tasks;
mod work;
mod world;

use crate::common::rng::Rng;
use crate::common::watchdog::Watchdog;
use crate::common::{join_all, number, silence_expected_panics};
use actor::Actor;
use kept::Kept;
use program::{End, Program, Step};
use world::{Job, World, hand};

/// The number of programs in a plain `cargo test`.
const PROGRAMS: u64 = if cfg!(debug_assertions) { 200 } else { 1000 };

/// Seats for callers. Additional callers get caller contexts.
const SEATS: usize = 5;

/// Waits, for a long time at most.
fn until(done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() && start.elapsed() < Duration::from_secs(10) {
        thread::yield_now();
    }
}

/// Waits for a long time at most. Waits for a short time if something was forgotten and may remain.
fn until_gone(world: &World, done: impl Fn() -> bool) {
    let start = Instant::now();
    until(|| done() || (start.elapsed() > Duration::from_millis(50) && world.ledger.has_leaks()));
}

/// Runs a program. Returns its errors.
fn execute(program: &Arc<Program>) -> Vec<String> {
    let (world, mut rng) = (World::new(program), Rng::new(!program.seed));
    let runtimes: Vec<_> = program.runtimes.iter().map(|config| Kept::new(config.build())).collect();
    for (i, item) in program.items.iter().enumerate() {
        item.uses.iter().for_each(|&how| world.bag.push(Job::Use(i, how)));
        (0..item.looks).for_each(|_| world.bag.push(Job::Look(i)));
        (0..item.releases).for_each(|_| world.bag.push(Job::Free(i)));
        world.bag.push(Job::Put(i));
    }
    let (sat, seated) = channel();
    let (stand, sitters): (Vec<_>, Vec<_>) = (0..if program.sitters { SEATS } else { 0 })
        .map(|_| {
            let ((leave, left), runtime, sat) = (channel::<()>(), runtimes[0].clone(), sat.clone());
            let sit = move || {
                let sit = || _ = (sat.send(()), left.recv());
                on_runtime!(&*runtime, rt => rt.scope(|_| sit())).expect("it spawns nothing");
            };
            (leave, thread::spawn(sit))
        })
        .unzip();
    sitters.iter().for_each(|_| seated.recv().expect("it sits down"));
    let hands: Vec<_> = (0..program.hands).map(|i| (world.clone(), Rng::new(program.seed ^ i as u64))).collect();
    let hands: Vec<_> = hands.into_iter().map(|(world, rng)| thread::spawn(move || hand(&world, rng))).collect();
    let actors = (0..program.actors.len()).map(|i| {
        let (actor, program) = (Actor::new(&world, &runtimes), program.clone());
        thread::spawn(move || actor.run(&program.actors[i]))
    });
    let actors: Vec<_> = actors.collect();
    drop(runtimes);
    // These threads act in the middle of the program, or after the others have ended.
    let mut stand = Some(stand).filter(|_| program.sitters);
    if rng.percent(50) {
        stand.take().into_iter().for_each(|stand| world.bag.push(Job::Stand(stand)));
    }
    actors.into_iter().for_each(|actor| actor.join().expect("an actor catches what its steps throw"));
    drop(stand);
    for (of, session) in world.sessions.iter().enumerate() {
        let how = if program.domains[of].cancels { End::Dropped } else { End::Closed(0) };
        let rest = session.rest().and_then(Arc::into_inner);
        rest.into_iter().for_each(|session| world.guard(|| session.end(None, &world, of, how)));
    }
    world.joins.iter().for_each(|join| world.guard(|| drop(join.rest())));
    // Detached tasks continue for a while, and need hands.
    until(|| world.ledger.all_ran());
    until_gone(&world, || world.works.load(SeqCst) == 0);
    drop(std::mem::take(&mut *world.kept.lock().expect("no thread panics with it")));
    world.end_droppers(|done| until(done));
    world.bag.close();
    hands.into_iter().for_each(|hand| hand.join().expect("a hand catches what its jobs throw"));
    sitters.into_iter().for_each(|sitter| sitter.join().expect("a sitter does nothing"));
    // A runtime that one of its own bodies has dropped ends by itself. Forgotten tasks may never
    // end.
    let until_rest = |done: &dyn Fn() -> bool| {
        until(|| {
            world.run_rest();
            done()
        });
    };
    world.end_droppers(until_rest);
    world.bag.take_late().into_iter().for_each(|job| world.guard(|| world::run(&world, job)));
    let ledger = world.ledger.clone();
    until_gone(&world, || {
        world.run_rest();
        Arc::strong_count(&world) == 1
    });
    drop(world);
    until(|| ledger.is_empty());
    if ledger.has_leaks() {
        // Includes the errors of the values.
        ledger::forget(ledger.clone());
    }
    ledger.faults()
}

/// Runs the program of a number, as often as requested.
fn check(seed: u64, repeats: u64, dog: &Watchdog) {
    let program = Arc::new(generate::program(seed));
    if std::env::var_os("MILLPOND_TRACE").is_some() {
        let _ = writeln!(std::io::stderr(), "MILLPOND_SEED={seed}\n{program}");
    }
    for _ in 0..repeats {
        let show = {
            let program = program.clone();
            move || format!("MILLPOND_SEED={seed} MILLPOND_PROGRAMS=1\n{program}")
        };
        let faults = dog.over(show, || execute(&program));
        assert!(
            faults.is_empty(),
            "{}\n\n{program}\nagain: MILLPOND_SEED={seed} MILLPOND_PROGRAMS=1 MILLPOND_REPEATS=1000",
            faults.join("\n"),
        );
    }
}

#[test]
fn random_life_cycles() {
    silence_expected_panics();
    let (programs, from) = (number("MILLPOND_PROGRAMS", PROGRAMS), number("MILLPOND_SEED", 0));
    let (repeats, limit) = (number("MILLPOND_REPEATS", 1), number("MILLPOND_LIMIT", 30));
    // A program mostly waits.
    let at_once = number("MILLPOND_AT_ONCE", 2);
    thread::scope(|threads| {
        let run = |first| {
            let dog = Watchdog::new(Duration::from_secs(limit));
            (from + first..from + programs).step_by(at_once as usize).for_each(|seed| check(seed, repeats, &dog));
        };
        join_all((0..at_once).map(|first| threads.spawn(move || run(first))).collect());
    });
}

/// The test can fail: the expectation for one scope is changed, so the program must contradict it.
#[test]
fn a_wrong_expectation_is_noticed() {
    silence_expected_panics();
    let dog = Watchdog::new(Duration::from_secs(30));
    let (mut tried, mut seed) = (0, 0);
    while tried < 20 {
        seed += 1;
        let mut program = generate::program(seed);
        let steps = program.actors.iter().flatten();
        let mut scopes = steps.filter_map(|step| match step {
            Step::Scope { scope, .. } => Some(*scope),
            _ => None,
        });
        let is_sure = |scope: &usize| {
            let domain = &program.domains[*scope];
            !(domain.cancels || domain.may_fail || domain.panics || domain.forgets)
        };
        let Some(scope) = scopes.find(is_sure) else { continue };
        let domain = &mut program.domains[scope];
        match (tried % 2, &mut domain.number) {
            (0, Some(number)) => *number += 1,
            _ => domain.must_fail = true,
        }
        let faults = dog.over(move || format!("seed {seed}"), || execute(&Arc::new(program)));
        assert!(faults.iter().any(|fault| fault.contains(&format!("domain {scope}"))), "seed {seed}: {faults:?}");
        tried += 1;
    }
}
