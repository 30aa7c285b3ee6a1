//! Almost empty tasks, or tasks that are not ready until a long body runs.

use millpond::{Access, Engine, Handle, Inout, Runtime, Spawn, Write};
use std::hint::spin_loop;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// The time of a run, and whether its result was correct.
pub type TimedRun = Result<(Duration, bool), millpond::Error>;

/// The size of a shape.
#[derive(Clone, Copy)]
pub struct Size {
    /// The value of the varied parameter.
    pub varied: u64,
    /// The maximum number of tasks of a run.
    pub most: u64,
}

/// Tasks per run if their number is not varied, unless the maximum is lower.
const DEFAULT_TASKS: u64 = 1_000_000;

pub fn of_accesses(size: Size) -> u64 {
    DEFAULT_TASKS.min(size.most)
}

/// Tasks that may change this number of data, and change one.
pub fn accesses<E: Engine>(rt: &Runtime<E>, size: Size) -> TimedRun {
    let [a, b, c, d, e, f, g, h] = [0_u64; 8].map(Handle::new);
    let (many, start) = (of_accesses(size), Instant::now());
    rt.scope(|s| {
        macro_rules! many {
            ($($x:ident)*) => {
                for _ in 0..many {
                    s.spawn(($($x.inout(),)*), |all| *all.0 += 1);
                }
            };
        }
        match size.varied {
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
    Ok((took, all == many))
}

/// This number of tasks with two accesses.
pub fn number<E: Engine>(rt: &Runtime<E>, size: Size) -> TimedRun {
    let (x, y) = (Handle::new(0_u64), Handle::new(0_u64));
    let start = Instant::now();
    rt.scope(|s| {
        for _ in 0..size.varied {
            s.spawn((x.inout(), y.inout()), |(x, _y)| *x += 1);
        }
    })?;
    Ok((start.elapsed(), x.into_inner()? + y.into_inner()? == size.varied))
}

/// The number of parents in a scope's descents, if each descent is shorter.
const BATCH: u64 = 1_000;

/// The number of scopes, and of descents in each.
fn descents(size: Size) -> (u64, u64) {
    // There are as many leaves as parents.
    let (depth, parents) = (size.varied, DEFAULT_TASKS.min(size.most / 2));
    ((parents / BATCH.max(depth)).max(1), (BATCH.min(parents) / depth).max(1))
}

pub fn of_depth(size: Size) -> u64 {
    let (scopes, each) = descents(size);
    2 * scopes * each * size.varied
}

/// Nested parents of this depth, each with a leaf. Several scopes repeat this, so that all tasks of
/// a scope fit into the caches.
pub fn depth<E: Engine>(rt: &Runtime<E>, size: Size) -> TimedRun {
    let (scopes, each) = descents(size);
    let (x, start) = (Handle::new(0_u64), Instant::now());
    for _ in 0..scopes {
        rt.scope(|s| (0..each).for_each(|_| descend(s, size.varied, x.inout())))?;
    }
    Ok((start.elapsed(), 2 * x.into_inner()? == of_depth(size)))
}

fn descend<'s, S: Spawn<'s>>(s: &S, levels: u64, x: Access<'_, u64, Inout, S::Brand>) {
    s.nest(x, move |s, x| {
        s.spawn(x.inout(), |x| *x += 1);
        if levels > 1 {
            descend(s, levels - 1, x.inout());
        }
    });
}

/// Fibonacci number `n` without a cutoff. Each call is a parent.
pub fn fib<E: Engine>(rt: &Runtime<E>, size: Size) -> TimedRun {
    let (result, start) = (Handle::unset(), Instant::now());
    rt.scope(|s| fib_in(s, size.varied, result.write()))?;
    let (took, result) = (start.elapsed(), result.into_inner()?);
    Ok((took, result == fibonacci(size.varied)))
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

/// Each call is a task, and each inner call has a sum.
pub fn of_fib(size: Size) -> u64 {
    3 * fibonacci(size.varied + 1) - 2
}

/// The time of a body before any other is ready, and of the body that gives tasks away.
const FIRST: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_millis(10);
/// A body's maximum wait for other workers to run the tasks behind it.
const MAX_WAIT: Duration = Duration::from_secs(1);

fn spin_for(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        spin_loop();
    }
}

/// A worker with this number of tasks, none of them ready, begins a long body, which makes them
/// ready. The result is the time until another worker begins one of them.
pub fn give<E: Engine>(rt: &Runtime<E>, size: Size) -> TimedRun {
    let (begun, given, ran) = (&AtomicU64::new(0), &AtomicU64::new(u64::MAX), &AtomicU64::new(0));
    let (busy, origin) = (&OnceLock::<ThreadId>::new(), Instant::now());
    let now = move || origin.elapsed().as_nanos() as u64;
    let (x, y) = (Handle::new(()), Handle::new(()));
    rt.scope(|s| {
        s.spawn((x.inout(), y.inout()), |_| spin_for(FIRST));
        s.spawn(x.inout(), move |_| {
            busy.get_or_init(|| thread::current().id());
            begun.store(now(), Relaxed);
            spin_for(LONG);
        });
        for _ in 0..size.varied {
            s.spawn(y.read(), move |_| {
                ran.fetch_add(1, Relaxed);
                if busy.get() != Some(&thread::current().id()) {
                    given.fetch_min(now(), Relaxed);
                }
            });
        }
    })?;
    let took = Duration::from_nanos(given.load(Relaxed).saturating_sub(begun.load(Relaxed)));
    Ok((took.min(LONG), ran.load(Relaxed) == size.varied))
}

/// While a body runs, for a second at most, other workers steal and run all tasks behind it. The
/// result is the time for this.
pub fn behind<E: Engine>(rt: &Runtime<E>, size: Size) -> TimedRun {
    let (begun, ended, ran) = (&OnceLock::new(), &OnceLock::new(), &AtomicU64::new(0));
    let (x, y, all) = (Handle::new(()), Handle::new(()), size.varied);
    rt.scope(|s| {
        s.spawn((x.inout(), y.inout()), |_| spin_for(FIRST));
        s.spawn(x.inout(), move |_| {
            let begun = begun.get_or_init(Instant::now);
            while ran.load(Relaxed) < all && begun.elapsed() < MAX_WAIT {
                spin_loop();
            }
        });
        for _ in 0..all {
            s.spawn(y.read(), move |_| {
                if ran.fetch_add(1, Relaxed) + 1 == all {
                    ended.get_or_init(Instant::now);
                }
            });
        }
    })?;
    // Some may have run before this body began.
    let both = begun.get().zip(ended.get());
    let took = both.map(|(begun, ended)| ended.saturating_duration_since(*begun));
    Ok((took.unwrap_or_default(), took.is_some() && ran.load(Relaxed) == all))
}
