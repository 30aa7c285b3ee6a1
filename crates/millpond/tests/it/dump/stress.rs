//! Programs that run while another thread dumps all the time.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use millpond::{Handle, Inline, Runtime, Spawn, Sum};

use super::latch::empty;
use crate::common::{builder, join_all, limit, sized};

/// A xorshift random number generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// A scope with random tasks on a few data.
fn program(rt: &Runtime, seed: u64) {
    let (mut dice, data) = (Dice(seed), [0, 1, 2].map(Handle::new));
    let mut log = Handle::new(0);
    let _failed = rt.scope(|s| {
        let external = s.external();
        for i in 0..60 {
            let (a, b) = (&data[dice.below(3) as usize], &data[dice.below(3) as usize]);
            let task = s.task("task").index([i]);
            match dice.below(12) {
                0 => drop(task.spawn(a.read(), |_| ())),
                1 => drop(task.spawn((a.inout(), b.read()), |(a, b)| *a += *b)),
                2 => drop(task.spawn((a.commutative(), b.commutative()), |(a, b)| *a ^= *b)),
                3 => drop(task.spawn(a.write(), |a| a.set(3))),
                4 => drop(task.spawn(a.reduce(Sum), |a| *a += 1)),
                5 => drop(task.spawn(a.concurrent(), |_| ())),
                6 => s.set(a, 7),
                7 => {
                    let value = task.spawn(b.read(), |b| *b);
                    _ = s.wait(value);
                }
                8 => _ = s.wait_on(&mut log),
                9 => drop(external.task("pending").pending(|| ()).hold()),
                10 => _ = millpond::join(|| 1, || 2),
                _ => {
                    task.nest((a.inout(), log.commutative()), |s, (mut a, log)| {
                        s.spawn(a.inout(), |a| *a += 1);
                        s.nest(log.commutative(), |s, log| drop(s.spawn(log.inout(), |log| *log += 1)));
                        _ = s.wait_on(&mut a);
                    });
                }
            }
        }
    });
}

#[test]
fn dumps_while_programs_run() {
    limit(120, "dumps while programs run", || {
        for (workers, inline) in [(1, Inline::Auto), (2, Inline::Never), (4, Inline::Auto), (2, Inline::Always)] {
            let rt = builder(workers).inline(inline).window(40).dumps(true).build().unwrap();
            let done = AtomicBool::new(false);
            let (rt, done) = (&rt, &done);
            thread::scope(|threads| {
                let dumps = threads.spawn(|| {
                    while !done.load(Relaxed) {
                        assert!(rt.dump().to_string().starts_with("millpond: "));
                    }
                });
                let programs = (1..=2).map(|caller| {
                    threads.spawn(move || {
                        (1..=sized(100, 500)).for_each(|n| program(rt, 2 * n as u64 + caller));
                        let session = rt.session();
                        let sum = Handle::new(0);
                        (0..1000).for_each(|_| drop(session.spawn(sum.inout(), |sum| *sum += 1)));
                        session.close().wait().unwrap();
                    })
                });
                join_all(programs.collect());
                done.store(true, Relaxed);
                join_all(vec![dumps]);
            });
            empty(rt);
        }
    });
}

/// The cost of the records for dumps: `cargo test --profile max -p millpond --test it -- --ignored
/// --nocapture dump::stress::cost`.
#[test]
#[ignore = "a measurement"]
fn cost() {
    /// A body of about a microsecond.
    fn body() {
        let start = Instant::now();
        while start.elapsed().as_nanos() < 1000 {}
    }
    for (name, inline) in [("inline", Inline::Auto), ("through the pool", Inline::Never)] {
        for accesses in [0, 2] {
            let mut best = [f64::MAX; 2];
            for _ in 0..5 {
                for (on, best) in [false, true].into_iter().zip(&mut best) {
                    let rt = builder(2).inline(inline).dumps(on).build().unwrap();
                    let (n, data): (_, Vec<_>) = (200_000, (0..64).map(Handle::new).collect());
                    let start = Instant::now();
                    rt.scope(|s| {
                        for i in 0..n {
                            if accesses == 0 {
                                s.spawn((), |()| body());
                            } else {
                                s.spawn((data[i % 64].inout(), data[(i + 1) % 64].read()), |_| body());
                            }
                        }
                    })
                    .unwrap();
                    *best = best.min(start.elapsed().as_nanos() as f64 / n as f64);
                }
            }
            println!("{name}, {accesses} accesses: {:.0} ns a task without, {:.0} with dumps", best[0], best[1]);
        }
    }
}
