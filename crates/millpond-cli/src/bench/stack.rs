//! What does a task cost that nobody steals, by what does that change, and how soon is one given away? (DDS Theorem 1).
//!
//! The dataflow stack, and beside it the default scheme, by turns; where tasks create tasks, also that scheme without tasks that
//! run at their spawn.

use super::options::names;
use super::row::Row;
use super::{Measure, Suite};
use crate::config::beside;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::stats::median;
use clap::{Arg, ArgMatches};
use millpond::catalogue::{MEMORY, POOLS};
use millpond::depend::Scheme;
use millpond::depend::parked::Parked;
use millpond::depend::stack::Stack;
use millpond::{Access, DefaultMemory, DefaultPool, Handle, Inline, Inout, Runtime, Spawn, Write};
use serde_json::json;
use std::hint::spin_loop;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// The row in the table of suites.
pub const SUITE: Suite = Suite {
    name: "stack",
    summary: "A task on the dataflow stack, by accesses, number and depth; how soon a long body gives others away",
    args: Vec::new,
    measure: Measure::Own { choice, measure },
};

type Of<D> = Runtime<DefaultMemory, DefaultPool, D>;

/// Some tasks, as many of them as a size says.
struct Shape {
    name: &'static str,
    /// What is varied, and its values.
    varied: &'static str,
    sizes: &'static [u64],
    workers: usize,
    /// Tasks in a run.
    tasks: fn(u64) -> u64,
    on_stack: Run<Stack>,
    on_parked: Run<Parked>,
}

/// Runs tasks: how long that took, and whether all was right.
type Run<D> = fn(&Of<D>, u64) -> Result<(Duration, bool), millpond::Error>;

macro_rules! shape {
    ($name:literal, $varied:literal, $sizes:expr, $workers:literal, $tasks:expr, $run:ident) => {
        Shape {
            name: $name,
            varied: $varied,
            sizes: $sizes,
            workers: $workers,
            tasks: $tasks,
            on_stack: $run::<Stack>,
            on_parked: $run::<Parked>,
        }
    };
}

/// Tasks in a run where their number is not what is varied.
const MANY: u64 = 1_000_000;

static SHAPES: &[Shape] = &[
    shape!("accesses", "accesses", &[1, 2, 3, 4, 6, 8], 1, |_| MANY, accesses),
    shape!(
        "number",
        "number",
        &[1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000],
        1,
        |number| number,
        number
    ),
    shape!("depth", "depth", &[10, 100, 1_000, 10_000, 100_000], 1, |_| 2 * MANY, depth),
    shape!("give", "ready", &[1, 100, 10_000], 2, |_| 0, give),
    shape!("fib", "n", &[27], 1, fib_tasks, fib),
    shape!("fib-2", "n", &[27], 2, fib_tasks, fib),
];

/// The default scheme, all of its tasks in the pool: beside the shapes of which this says so.
const QUEUED: &str = "parked-queued";

impl Shape {
    fn schemes(&self) -> &'static [&'static str] {
        if self.varied == "n" { &[Stack::NAME, Parked::NAME, QUEUED] } else { &[Stack::NAME, Parked::NAME] }
    }
}

/// A point is repeated within a measurement for so long.
const LEAST: Duration = Duration::from_millis(100);

fn choice() -> Vec<Arg> {
    vec![
        names("shape", SHAPES.iter().map(|shape| shape.name), "Measure these tasks only; may be repeated"),
        names("scheme", [Stack::NAME, Parked::NAME, QUEUED], "Measure this scheme only; may be repeated"),
    ]
}

fn measure(matches: &ArgMatches, reps: usize) -> Result<Vec<Row>, Failure> {
    let (stack, parked) = (on::<Stack>(Inline::Auto)?, on::<Parked>(Inline::Auto)?);
    let queued = on::<Parked>(Inline::Never)?;
    let wants = |option: &str, name: &str| super::options::wants(matches, option, name);
    let (mut rows, progress) = (Vec::new(), Progress::new());
    for shape in SHAPES.iter().filter(|shape| wants("shape", shape.name)) {
        let of_shape = rows.len();
        let schemes = shape.schemes().iter().copied().filter(|name| wants("scheme", name));
        rows.extend(shape.sizes.iter().flat_map(|&size| schemes.clone().map(move |on| row(shape, on, size))));
        for rep in 1..=reps {
            for row in &mut rows[of_shape..] {
                let (size, workers) = (row.params[0].1, shape.workers - 1);
                progress.say(|| format!("{} {size}: {rep} of {reps}", shape.name));
                let (seconds, right) = match row.runtime {
                    Stack::NAME => once(shape.on_stack, &stack[workers], size)?,
                    QUEUED => once(shape.on_parked, &queued[workers], size)?,
                    _ => once(shape.on_parked, &parked[workers], size)?,
                };
                row.seconds.push(seconds);
                row.verified &= right;
            }
        }
    }
    Ok(rows)
}

/// With one worker, and with two.
fn on<D: Scheme>(inline: Inline) -> Result<[Of<D>; 2], Failure> {
    let build = |workers| Runtime::builder().workers(workers).inline(inline).build_with();
    let both = build(1).and_then(|one| Ok([one, build(2)?]));
    both.map_err(|error| Failure::Failed(format!("cannot start the runtime: {error}")))
}

fn row(shape: &Shape, runtime: &'static str, size: u64) -> Row {
    let scheme = if runtime == QUEUED { Parked::NAME } else { runtime };
    let config = json!({
        "workers": shape.workers,
        "scheme": scheme,
        "pool": beside(scheme, POOLS[0].name),
        "memory": beside(scheme, MEMORY[0].name),
    });
    Row {
        shape: shape.name,
        runtime,
        config,
        params: vec![(shape.varied, size)],
        tasks: (shape.tasks)(size),
        seconds: Vec::new(),
        worker_shares: Vec::new(),
        verified: true,
        extra: vec![(shape.varied, json!(size)), ("scheme", json!(runtime))],
    }
}

/// One measurement: as many runs as fill the least time, their median; and whether all was right.
fn once<D: Scheme>(run: Run<D>, rt: &Of<D>, size: u64) -> Result<(f64, bool), Failure> {
    let (began, mut seconds, mut right) = (Instant::now(), Vec::new(), true);
    while began.elapsed() < LEAST {
        let (time, ok) = run(rt, size)?;
        seconds.push(time.as_secs_f64());
        right &= ok;
    }
    Ok((median(&seconds), right))
}

/// Tasks that may change so many data, and change one.
fn accesses<D: Scheme>(rt: &Of<D>, accesses: u64) -> Result<(Duration, bool), millpond::Error> {
    let [a, b, c, d, e, f, g, h] = [0_u64; 8].map(Handle::new);
    let start = Instant::now();
    rt.scope(|s| {
        macro_rules! many {
            ($($x:ident)*) => {
                for _ in 0..MANY {
                    s.spawn(($($x.inout(),)*), |all| *all.0 += 1);
                }
            };
        }
        match accesses {
            1 => many!(a),
            2 => many!(a b),
            3 => many!(a b c),
            4 => many!(a b c d),
            6 => many!(a b c d e f),
            _ => many!(a b c d e f g h),
        }
    })?;
    let took = start.elapsed();
    let all = [a, b, c, d, e, f, g, h].map(Handle::into_inner).into_iter().sum::<Result<u64, _>>()?;
    Ok((took, all == MANY))
}

/// So many tasks of two accesses.
fn number<D: Scheme>(rt: &Of<D>, number: u64) -> Result<(Duration, bool), millpond::Error> {
    let (x, y) = (Handle::new(0_u64), Handle::new(0_u64));
    let start = Instant::now();
    rt.scope(|s| {
        for _ in 0..number {
            s.spawn((x.inout(), y.inout()), |(x, _y)| *x += 1);
        }
    })?;
    Ok((start.elapsed(), x.into_inner()? + y.into_inner()? == number))
}

/// Parents of a scope's descents, where these are shorter.
const BATCH: u64 = 1_000;

/// Parents in parents, so many deep, each with a leaf besides; again and again, no more at once than fit the caches.
fn depth<D: Scheme>(rt: &Of<D>, depth: u64) -> Result<(Duration, bool), millpond::Error> {
    let x = Handle::new(0_u64);
    let start = Instant::now();
    for _ in 0..MANY / BATCH.max(depth) {
        rt.scope(|s| (0..(BATCH / depth).max(1)).for_each(|_| descend(s, depth, x.inout())))?;
    }
    Ok((start.elapsed(), x.into_inner()? == MANY))
}

fn descend<'s, S: Spawn<'s>>(s: &S, levels: u64, x: Access<'_, u64, Inout, S::Brand>) {
    s.nest(x, move |s, x| {
        s.spawn(x.inout(), |x| *x += 1);
        if levels > 1 {
            descend(s, levels - 1, x.inout());
        }
    });
}

/// Fibonacci number `n` without a cutoff, each call a parent.
fn fib<D: Scheme>(rt: &Of<D>, n: u64) -> Result<(Duration, bool), millpond::Error> {
    let (result, start) = (Handle::unset(), Instant::now());
    rt.scope(|s| fib_in(s, n, result.write()))?;
    let (took, result) = (start.elapsed(), result.into_inner()?);
    Ok((took, result == fibonacci(n)))
}

fn fib_in<'s, S: Spawn<'s>>(s: &S, n: u64, r: Access<'_, u64, Write, S::Brand>) {
    s.nest(r, move |s, r| {
        if n < 2 {
            s.set(&r, n);
            return;
        }
        let (a, b) = (s.unset(), s.unset());
        fib_in(s, n - 1, a.write());
        fib_in(s, n - 2, b.write());
        s.spawn((a.read(), b.read(), r.write()), |(a, b, r)| r.set(a + b));
    });
}

fn fibonacci(n: u64) -> u64 {
    (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0
}

/// Each call is a task, and each that calls has a sum.
fn fib_tasks(n: u64) -> u64 {
    3 * fibonacci(n + 1) - 2
}

/// How long a body runs before anything else is ready, and how long the one that gives things away.
const FIRST: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_millis(10);

/// A worker that has so many tasks, of which none is ready yet, begins a long body; with that they become ready. Until another
/// worker begins one of them.
fn give<D: Scheme>(rt: &Of<D>, ready: u64) -> Result<(Duration, bool), millpond::Error> {
    let (begun, given, ran) = (&AtomicU64::new(0), &AtomicU64::new(u64::MAX), &AtomicU64::new(0));
    let (busy, origin) = (&OnceLock::<ThreadId>::new(), Instant::now());
    let now = move || origin.elapsed().as_nanos() as u64;
    let work = move |time: Duration| {
        let until = now() + time.as_nanos() as u64;
        while now() < until {
            spin_loop();
        }
    };
    let (x, y) = (Handle::new(()), Handle::new(()));
    rt.scope(|s| {
        s.spawn((x.inout(), y.inout()), move |_| work(FIRST));
        s.spawn(x.inout(), move |_| {
            busy.get_or_init(|| thread::current().id());
            begun.store(now(), Relaxed);
            work(LONG);
        });
        for _ in 0..ready {
            s.spawn(y.read(), move |_| {
                ran.fetch_add(1, Relaxed);
                if busy.get() != Some(&thread::current().id()) {
                    given.fetch_min(now(), Relaxed);
                }
            });
        }
    })?;
    let took = Duration::from_nanos(given.load(Relaxed).saturating_sub(begun.load(Relaxed)));
    Ok((took.min(LONG), ran.load(Relaxed) == ready))
}
