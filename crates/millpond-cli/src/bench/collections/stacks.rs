//! The micro-benchmark of [FP](crate#sources) §VI.D: threads that only allocate and free the memory
//! of suspended steps. By such allocations the paper explains why an eager runtime stops scaling.
//!
//! Each thread repeatedly suspends a number of steps, then finishes them all:
//!
//! - *fresh*: each on its own stack, which the system allocates and frees;
//! - *pooled*: each on the stack of a finished step;
//! - *block*: each as a future in a block of the runtime's memory manager.

use super::super::options::{cores, names, numbers, wants};
use super::super::row::Row;
use super::super::{Measure, Suite};
use crate::args::{MAX_WORKERS, integer};
use crate::failure::Failure;
use crate::progress::Progress;
use clap::{Arg, ArgAction, ArgMatches};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use millpond::taskpool::TaskPool;
use serde_json::{Value, json};
use std::io;
use std::sync::Barrier;
use std::time::Instant;

/// The suite's entry in the table.
pub const SUITE: Suite = Suite {
    name: "stack-alloc",
    summary: "Threads that only allocate and free the memory of suspended steps",
    args,
    measure: Measure::Own(measure),
};

/// Steps of a thread per repetition.
const STEPS: u64 = 20_000;
/// Suspended steps of a thread at the same time.
const HELD: u64 = 100;
/// The reserved size of a stack, as in the paper (§VI.A).
const STACK: u64 = 2 << 20;
/// The size of a suspended step's future in a block.
const FUTURE: usize = 256;

/// Suspends a thread's steps, with these sizes. Returns the sum of their results.
type Suspend = fn(&Sizes, &mut Kept) -> io::Result<u64>;

const KINDS: [(&str, Suspend); 3] = [("fresh", fresh), ("pooled", pooled), ("block", block)];

struct Sizes {
    steps: u64,
    held: u64,
    stack: usize,
}

/// The state of a thread between rounds.
struct Kept {
    stacks: Vec<DefaultStack>,
    blocks: TaskPool<[u8; FUTURE]>,
}

fn args() -> Vec<Arg> {
    vec![
        integer(
            "threads",
            "N",
            1,
            MAX_WORKERS,
            "Threads; may be repeated [default: 1, 2, 4 and so on, and the cores allowed]",
        )
        .action(ArgAction::Append),
        names("kind", KINDS.map(|(name, _)| name), "Measure this kind only; may be repeated"),
        integer("steps", "N", 1, 1 << 32, format!("Steps of a thread [default: {STEPS}]")),
        integer("held", "N", 1, 10_000, format!("Steps of a thread that are suspended at once [default: {HELD}]")),
        integer("stack", "BYTES", 1 << 14, 1 << 30, format!("Reserved for a stack [default: {STACK}]")),
    ]
}

fn measure(matches: &ArgMatches, reps: usize) -> Result<Vec<Row>, Failure> {
    let number = |name, default| matches.get_one::<u64>(name).copied().unwrap_or(default);
    let sizes =
        Sizes { steps: number("steps", STEPS), held: number("held", HELD), stack: number("stack", STACK) as usize };
    let all = cores() as u64;
    let doubled: Vec<_> =
        std::iter::successors(Some(1), |n| Some(2 * n)).take_while(|&n| n < all).chain([all]).collect();
    let progress = Progress::new();
    let mut points: Vec<_> = numbers(matches, "threads", &doubled)
        .into_iter()
        .flat_map(|threads| KINDS.map(|(kind, suspend)| (threads, kind, suspend, Vec::new())))
        .filter(|(_, kind, ..)| wants(matches, "kind", kind))
        .collect();
    for rep in 1..=reps {
        for (threads, kind, suspend, seconds) in &mut points {
            progress.say(|| format!("{kind}, {threads} threads: {rep} of {reps}"));
            let once = on_threads(*threads as usize, *suspend, &sizes);
            seconds.push(once.map_err(|error| Failure::Failed(format!("{kind}, {threads} threads: {error}")))?);
        }
    }
    Ok(points.into_iter().map(|(threads, kind, _, seconds)| row(threads, kind, seconds, &sizes)).collect())
}

fn row(threads: u64, kind: &'static str, runs: Vec<Once>, sizes: &Sizes) -> Row {
    Row {
        shape: kind,
        runtime: "none",
        config: Value::Null,
        params: vec![("steps", sizes.steps), ("held", sizes.held), ("stack", sizes.stack as u64)],
        tasks: threads * sizes.steps,
        seconds: runs.iter().map(|once| once.seconds).collect(),
        worker_shares: Vec::new(),
        verified: runs.iter().all(|once| once.sum == threads * (0..sizes.steps).sum::<u64>()),
        extra: vec![("threads", json!(threads))],
    }
}

/// A repetition: its time, and the sum of the steps' results.
struct Once {
    seconds: f64,
    sum: u64,
}

fn on_threads(threads: usize, suspend: Suspend, sizes: &Sizes) -> io::Result<Once> {
    let barrier = Barrier::new(threads);
    let once = || {
        let mut kept = Kept { stacks: Vec::new(), blocks: TaskPool::create(1) };
        // Fills the pool before the clock starts.
        suspend(&Sizes { steps: sizes.held, ..*sizes }, &mut kept)?;
        barrier.wait();
        let start = Instant::now();
        let sum = suspend(sizes, &mut kept)?;
        Ok(Once { seconds: start.elapsed().as_secs_f64(), sum })
    };
    let runs: io::Result<Vec<Once>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(once)).collect();
        threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
    });
    let runs = runs?;
    Ok(Once {
        seconds: runs.iter().map(|once| once.seconds).fold(0.0, f64::max),
        sum: runs.iter().map(|once| once.sum).sum(),
    })
}

/// The numbers of a thread's steps, in batches of those suspended at the same time.
fn batches(sizes: &Sizes) -> impl Iterator<Item = std::ops::Range<u64>> {
    let Sizes { steps, held, .. } = *sizes;
    (0..steps).step_by(held as usize).map(move |first| first..steps.min(first + held))
}

/// A step suspended on a stack.
type OnStack = Coroutine<(), (), u64, DefaultStack>;

/// Begins a step on a stack, and suspends it.
fn suspended(step: u64, stack: DefaultStack) -> OnStack {
    let mut suspended = Coroutine::with_stack(stack, move |yielder, ()| {
        yielder.suspend(());
        step
    });
    suspended.resume(());
    suspended
}

/// Finishes a suspended step.
fn ended(suspended: &mut OnStack) -> u64 {
    match suspended.resume(()) {
        CoroutineResult::Return(value) => value,
        CoroutineResult::Yield(()) => unreachable!("it is suspended once"),
    }
}

fn fresh(sizes: &Sizes, _: &mut Kept) -> io::Result<u64> {
    let mut sum = 0;
    for batch in batches(sizes) {
        let all: io::Result<Vec<_>> = batch.map(|step| Ok(suspended(step, DefaultStack::new(sizes.stack)?))).collect();
        sum += all?.iter_mut().map(ended).sum::<u64>();
    }
    Ok(sum)
}

fn pooled(sizes: &Sizes, kept: &mut Kept) -> io::Result<u64> {
    let mut sum = 0;
    for batch in batches(sizes) {
        let mut stack = || kept.stacks.pop().map_or_else(|| DefaultStack::new(sizes.stack), Ok);
        let all: io::Result<Vec<_>> = batch.map(|step| Ok(suspended(step, stack()?))).collect();
        for mut suspended in all? {
            sum += ended(&mut suspended);
            kept.stacks.push(suspended.into_stack());
        }
    }
    Ok(sum)
}

fn block(sizes: &Sizes, kept: &mut Kept) -> io::Result<u64> {
    let mut worker = kept.blocks.worker(0);
    let mut sum = 0;
    for batch in batches(sizes) {
        let future = |step: u64| std::array::from_fn(|at| if at < 8 { (step >> (8 * at)) as u8 } else { 0 });
        let all: Vec<_> = batch.map(|step| worker.alloc_arg(future(step))).collect();
        sum += all.into_iter().map(|block| number(&worker.free_arg(block))).sum::<u64>();
    }
    Ok(sum)
}

/// The number of the future's step.
fn number(future: &[u8; FUTURE]) -> u64 {
    future[..8].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}
