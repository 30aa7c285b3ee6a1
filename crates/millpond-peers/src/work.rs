//! The bodies, as in `cpp/graphs.hpp`: a fixed amount of work that counts itself.
//!
//! A loop watching the clock ends on time even if its thread was not running meanwhile, which would
//! hide the delay. A fixed number of dependent steps does not.

use std::cell::Cell;
use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The tally of one thread, which alone writes it: the number of bodies, and the sum of their
/// results.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Tally {
    ran: AtomicU64,
    sum: AtomicU64,
}

static TALLIES: Mutex<Vec<&'static Tally>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: Cell<Option<&'static Tally>> = const { Cell::new(None) };
}

#[cold]
fn enlist() -> &'static Tally {
    let tally: &Tally = Box::leak(Box::default());
    TALLIES.lock().unwrap_or_else(PoisonError::into_inner).push(tally);
    OWN.set(Some(tally));
    tally
}

/// Mixes `x` through `steps` dependent steps. The compiler can neither skip a step nor merge it
/// with the next.
#[inline(always)]
fn spin(steps: u64, x: u64) -> u64 {
    let mut x = x;
    for _ in 0..steps {
        x = (x ^ (x >> 29)).wrapping_mul(6_364_136_223_846_793_005);
    }
    x
}

/// The body of a loop's item. It counts nothing, so that it can be as short as a few nanoseconds. A
/// call, so that all runtimes run the same code. If it were inlined, the place of its inner loop
/// would make more of a difference than the runtime does.
#[inline(never)]
pub fn item(steps: u64, x: &mut u64) {
    *x = spin(steps, *x);
}

/// Runs a loop several times. Returns its time, and a sum that shows whether each item ran once in
/// each loop. The compiler cannot merge loops.
pub fn loops(times: u64, data: &mut [u64], mut run: impl FnMut(&mut [u64])) -> (Duration, u64) {
    let start = Instant::now();
    (0..times).for_each(|_| run(black_box(&mut *data)));
    let time = start.elapsed();
    (time, data.iter().fold(0, |sum: u64, x| sum.rotate_left(1).wrapping_add(*x)))
}

/// The body. It mixes a task's read data into its changed data. So the sum of all results shows
/// whether each task ran once, and after its predecessors.
#[inline(never)]
pub fn work(steps: u64, c: u64, a: u64, b: u64) -> u64 {
    let mixed = c.rotate_left(7) ^ a.rotate_left(21).wrapping_add(b);
    let x = spin(steps, mixed.wrapping_add(1));
    let tally = OWN.get().unwrap_or_else(enlist);
    tally.ran.store(tally.ran.load(Relaxed) + 1, Relaxed);
    tally.sum.store(tally.sum.load(Relaxed).wrapping_add(x), Relaxed);
    x
}

/// The body of a task that changes many data.
#[inline(never)]
pub fn work_many<const N: usize>(steps: u64, data: [&mut u64; N]) {
    let x = work(steps, *data[0], 0, 0);
    for datum in data {
        *datum = datum.rotate_left(7).wrapping_add(x);
    }
}

/// The result of a measured run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The time from the first task to the last.
    pub time: Duration,
    /// The sum of the bodies' results, or the computed value. For the ceiling, how many bodies ran.
    pub sum: u64,
    /// The number of bodies run by each thread; empty if the runtime does not count them. The first
    /// is the spawner in this process, and the most active thread in a program.
    pub ran: Vec<u64>,
}

/// Measures a run in this process. `run` returns its time, and the computed value or 0. Runs are
/// exclusive, because the tallies belong to the process.
pub fn measured<E>(run: impl FnOnce() -> Result<(Duration, u64), E>) -> Result<Outcome, E> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = read_tallies();
    let (time, value) = run()?;
    let (mut sum, mut here, mut elsewhere) = (value, 0, Vec::new());
    for (k, (tally, count, total)) in read_tallies().into_iter().enumerate() {
        let (count_before, total_before) = before.get(k).map_or((0, 0), |(_, count, total)| (*count, *total));
        sum = sum.wrapping_add(total.wrapping_sub(total_before));
        match count - count_before {
            count if OWN.get().is_some_and(|own| ptr::eq(own, tally)) => here = count,
            0 => {}
            count => elsewhere.push(count),
        }
    }
    elsewhere.sort_unstable_by(|a, b| b.cmp(a));
    let ran = if here == 0 && elsewhere.is_empty() { Vec::new() } else { [vec![here], elsewhere].concat() };
    Ok(Outcome { time, sum, ran })
}

fn read_tallies() -> Vec<(&'static Tally, u64, u64)> {
    let tallies = TALLIES.lock().unwrap_or_else(PoisonError::into_inner);
    tallies.iter().map(|&tally| (tally, tally.ran.load(Relaxed), tally.sum.load(Relaxed))).collect()
}

/// Steps per nanosecond.
pub fn steps_per_ns() -> f64 {
    const STEPS: u64 = 1_000_000;
    let once = || {
        let start = Instant::now();
        black_box(spin(black_box(STEPS), black_box(1)));
        start.elapsed().as_nanos() as f64
    };
    // The minimum of many, because an interruption only adds time.
    let least = (0..25).map(|_| once()).fold(f64::INFINITY, f64::min);
    STEPS as f64 / least
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_body_that_runs_twice_or_elsewhere_is_noticed() {
        let of = |bodies: &[u64]| {
            let run = || {
                bodies.iter().for_each(|k| _ = work(3, *k, 0, 0));
                Ok::<_, ()>((Duration::ZERO, 0))
            };
            measured(run).expect("it never fails")
        };
        let right = of(&[1, 2]);
        assert_eq!(right.ran, [2]);
        assert_eq!(right, of(&[2, 1]));
        assert_ne!(right.sum, of(&[1]).sum);
        assert_ne!(right.sum, of(&[1, 2, 2]).sum);
        assert_ne!(right.sum, of(&[1, 1]).sum);
    }

    #[test]
    fn who_spawns_comes_first() {
        let run = || {
            _ = work(0, 1, 0, 0);
            thread::scope(|s| _ = s.spawn(|| (0..3).for_each(|k| _ = work(0, k, 0, 0))));
            Ok::<_, ()>((Duration::ZERO, 0))
        };
        assert_eq!(measured(run).expect("it never fails").ran, [1, 3]);
        let elsewhere = || {
            thread::scope(|s| _ = s.spawn(|| _ = work(0, 1, 0, 0)));
            Ok::<_, ()>((Duration::ZERO, 0))
        };
        assert_eq!(measured(elsewhere).expect("it never fails").ran, [0, 1]);
    }
}
