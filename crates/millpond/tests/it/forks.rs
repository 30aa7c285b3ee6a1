//! Fork-join: private halves, offered halves, and forks of bodies that change between stacks.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use millpond::{Inline, Joiner, Runtime, Spawn, join};

use crate::common::{builder, limit, runtime, sized};

fn deep(joiner: &Joiner, depth: u32) -> u32 {
    if depth == 0 {
        return 1;
    }
    let (one, two) = joiner.join(|joiner| deep(joiner, depth - 1), |_| 1);
    one + two
}

fn deep_plain(depth: u32) -> u32 {
    if depth == 0 {
        return 1;
    }
    let (one, two) = join(|| deep_plain(depth - 1), || 1);
    one + two
}

#[test]
fn as_deep_as_the_stack_is() {
    const DEPTH: u32 = 100_000;
    limit(60, "a deep nest of joins", || {
        for workers in [1, 2] {
            let rt = builder(workers).stack_size(1 << 30).build().unwrap();
            for _ in 0..3 {
                let sum = rt.scope(|s| s.wait(s.nest((), |_, ()| Joiner::with(|joiner| deep(joiner, DEPTH)))));
                assert_eq!(sum.unwrap().unwrap(), DEPTH + 1);
                let sum = rt.scope(|s| s.wait(s.nest((), |_, ()| deep_plain(DEPTH))));
                assert_eq!(sum.unwrap().unwrap(), DEPTH + 1);
            }
        }
    });
}

#[test]
fn the_halves_of_a_joiner_without_workers() {
    let here = thread::current().id();
    let id = || thread::current().id();
    let ids = Joiner::with(|joiner| joiner.join(|joiner| joiner.join(|_| id(), |_| id()), |_| id()));
    assert_eq!(ids, ((here, here), here));
    // Deeper than the first slots.
    thread::Builder::new()
        .stack_size(64 << 20)
        .spawn(|| assert_eq!(Joiner::with(|joiner| deep(joiner, 10_000)), 10_001))
        .unwrap()
        .join()
        .unwrap();
}

/// Counts its drops.
struct Counts<'a>(&'a AtomicUsize);

impl Drop for Counts<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn panics() -> ! {
    resume_unwind(Box::new("a half"))
}

/// One half or both panic. The second half is private, or a thief has stolen it. Every value that
/// the halves capture and return is dropped once.
#[test]
fn halves_that_panic() {
    limit(120, "panicking halves", || {
        for workers in [1, 2] {
            let rt = runtime(workers);
            let (mut stolen, mut turn) = ([0; 4], 0);
            while turn < sized(200, 2_000) || (workers > 1 && stolen.contains(&0)) {
                let bad = turn % 4;
                stolen[bad] += usize::from(rt.scope(|_| panicking_halves(bad)).unwrap());
                turn += 1;
            }
        }
    });
}

/// Bit 0 of `bad`: the first half panics; bit 1: the second. Returns whether the second was stolen.
fn panicking_halves(bad: usize) -> bool {
    let (dropped, ran, stolen) = (AtomicUsize::new(0), AtomicU32::new(0), AtomicU32::new(0));
    let (one, two, here) = (Counts(&dropped), Counts(&dropped), thread::current().id());
    let first = || {
        let _one = one;
        let until = Instant::now() + Duration::from_micros(200);
        while stolen.load(SeqCst) == 0 && Instant::now() < until {
            thread::yield_now();
        }
        if bad & 1 != 0 { panics() } else { Counts(&dropped) }
    };
    let second = || {
        let _two = two;
        ran.fetch_add(1, SeqCst);
        stolen.fetch_add(u32::from(thread::current().id() != here), SeqCst);
        if bad & 2 != 0 { panics() } else { Counts(&dropped) }
    };
    let result = catch_unwind(AssertUnwindSafe(|| join(first, second)));
    assert_eq!(result.is_ok(), bad == 0);
    drop(result);
    let was_stolen = stolen.load(SeqCst) != 0;
    let returned = usize::from(bad & 1 == 0) + usize::from(ran.load(SeqCst) == 1 && bad & 2 == 0);
    assert_eq!(dropped.load(SeqCst), 2 + returned);
    assert!(ran.load(SeqCst) == 1 || bad & 1 != 0);
    was_stolen
}

/// With two forks, thieves can find one of them, whatever happened before.
#[test]
fn while_another_body_does_not_join() {
    limit(60, "a long body above two forks", || {
        let rt = runtime(2);
        for _ in 0..sized(100, 1_000) {
            let found = AtomicU32::new(0);
            let waits = || {
                while found.load(SeqCst) == 0 {
                    thread::yield_now();
                }
            };
            rt.scope(|_| join(|| join(waits, || ()), || found.fetch_add(1, SeqCst))).unwrap();
        }
    });
}

/// After a thief has stolen a fork, it can steal the next one at the owner's next join.
#[test]
fn one_after_the_other_is_stolen() {
    const THIEVES: usize = 3;
    fn forks(left: usize, begun: &AtomicUsize, all: &Barrier) {
        if left == 0 {
            while begun.load(SeqCst) < THIEVES {
                join(thread::yield_now, || ());
            }
            all.wait();
            return;
        }
        let half = || {
            begun.fetch_add(1, SeqCst);
            all.wait();
        };
        join(|| forks(left - 1, begun, all), half);
    }
    limit(60, "forks for three thieves", || {
        let rt = runtime(THIEVES + 1);
        for _ in 0..sized(50, 500) {
            let (begun, all) = (AtomicUsize::new(0), Barrier::new(THIEVES + 1));
            rt.scope(|_| forks(THIEVES, &begun, &all)).unwrap();
        }
    });
}

/// When the second half of a join starts, thieves can find the forks below it, though the owner
/// forks no more.
#[test]
fn at_the_end_of_a_first_half() {
    limit(60, "forks below a second half", || {
        let rt = runtime(3);
        for _ in 0..sized(100, 1_000) {
            let begun: [_; 3] = std::array::from_fn(|_| AtomicU32::new(0));
            let begin = |fork: usize| begun[fork].store(1, SeqCst);
            let until = |fork: usize| {
                while begun[fork].load(SeqCst) == 0 {
                    thread::yield_now();
                }
            };
            rt.scope(|_| {
                let top = || join(|| until(0), || until(1));
                // The first fork keeps a thief busy. Then two more forks are below the second half
                // of `top`.
                join(|| join(|| join(top, || begin(2)), || begin(1)), || (begin(0), until(2)));
            })
            .unwrap();
        }
    });
}

/// Another runtime's scope is on top. There, this thread is not that worker.
#[test]
fn a_joiner_from_further_out() {
    limit(60, "a joiner in the scope of another runtime", || {
        let (rt, away) = (runtime(2), runtime(2));
        for _ in 0..sized(100, 1_000) {
            rt.scope(|_| {
                Joiner::with(|outer| {
                    let sum = away.scope(|s| {
                        let tasks = s.nest((), |_, ()| deep_plain(50));
                        let here = thread::current().id();
                        let ids = outer.join(|outer| outer.join(|_| (), |_| thread::current().id()).1, |_| here);
                        assert_eq!(ids, (here, here));
                        deep(outer, 50) + deep_plain(50) + s.wait(tasks).unwrap()
                    });
                    assert_eq!(sum.unwrap(), 3 * 51);
                    assert_eq!(deep(outer, 50), 51);
                })
            })
            .unwrap();
        }
    });
}

/// A join in a drop, while the thread unwinds. Its halves run one after the other.
#[test]
fn while_a_panic_unwinds() {
    struct Joins;
    impl Drop for Joins {
        fn drop(&mut self) {
            let id = || {
                thread::sleep(Duration::from_micros(100));
                thread::current().id()
            };
            let ids = join(|| join(|| join(id, id), id), id);
            let first = ids.0.0.0;
            assert_eq!(ids, (((first, first), first), first));
        }
    }
    limit(60, "joins while a panic unwinds", || {
        let rt = runtime(2);
        for _ in 0..sized(100, 1_000) {
            let result = rt.scope(|_| {
                catch_unwind(|| {
                    let _joins = Joins;
                    panics()
                })
            });
            assert!(result.unwrap().is_err());
        }
    });
}

/// A random program. It contains every way in which a body forks, waits or leaves its stack.
struct Mixed {
    rt: Runtime,
    /// Another runtime on which to open scopes. If there is none, the program uses sessions. It
    /// does not use both: a body of one runtime that waits in the other for a session blocks a
    /// worker that the session needs.
    away: Option<Runtime>,
}

impl Mixed {
    fn run(&self, depth: usize, seed: u64) -> u64 {
        let choice = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        if depth == 0 {
            if choice.is_multiple_of(64) {
                thread::yield_now();
            }
            return choice % 10;
        }
        let half = |n: u64| self.run(depth - 1, choice.wrapping_mul(31) + n);
        let add = |(one, two): (u64, u64)| one + two;
        match choice % 16 {
            0 => self.rt.scope(|s| [1, 2].map(|n| s.spawn((), move |()| half(n))).map(|j| s.wait(j).unwrap())).map(sum),
            1 => {
                self.rt.scope(|s| [1, 2].map(|n| s.nest((), move |_, ()| half(n))).map(|j| s.wait(j).unwrap())).map(sum)
            }
            2 => self.rt.scope(|s| {
                let nest = s.nest((), |s, ()| s.wait(s.spawn((), |()| half(1))).unwrap());
                s.wait(nest).unwrap() + half(2)
            }),
            3 => self.elsewhere(half),
            4 => self.rt.scope(|s| {
                // More than fits into the window.
                let nests: Vec<_> = (0..12).map(|_| s.nest((), |_, ()| deep_plain(3))).collect();
                nests.into_iter().map(|nest| u64::from(s.wait(nest).unwrap())).sum::<u64>() + half(1)
            }),
            5..10 => Ok(Joiner::with(|joiner| add(joiner.join(|_| half(1), |_| half(2))))),
            _ => Ok(add(join(|| half(1), || half(2)))),
        }
        .unwrap()
    }

    fn elsewhere(&self, half: impl Fn(u64) -> u64 + Sync) -> Result<u64, millpond::Error> {
        let Some(away) = &self.away else {
            let session = self.rt.session();
            let nest = session.nest((), |_, ()| deep_plain(3));
            let (one, two) = join(|| half(1), || half(2));
            return Ok(u64::from(session.wait(nest)?) + one + two);
        };
        away.scope(|s| {
            let one = s.spawn((), |()| half(1));
            half(2) + s.wait(one).unwrap()
        })
    }
}

fn sum(halves: [u64; 2]) -> u64 {
    halves[0] + halves[1]
}

#[test]
fn mixed_with_everything_that_waits() {
    limit(240, "random programs that fork and wait", || {
        let mixed = |workers, inline: Inline, away: bool| {
            let runtime = || builder(workers).inline(inline).window(8).build().unwrap();
            Mixed { rt: runtime(), away: away.then(runtime) }
        };
        for away in [false, true] {
            // With one worker each, the halves have one order.
            let one = mixed(1, Inline::Always, away);
            let expected: Vec<_> = (0..12).map(|seed| one.run(sized(7, 9), seed)).collect();
            for (workers, inline) in [(1, Inline::Never), (2, Inline::Never), (2, Inline::Auto), (4, Inline::Never)] {
                let mixed = mixed(workers, inline, away);
                for turn in 0..sized(3, 30) {
                    for (seed, expected) in expected.iter().enumerate() {
                        let run = || mixed.run(sized(7, 9), seed as u64);
                        let sum = if turn % 2 == 0 { mixed.rt.scope(|_| run()).unwrap() } else { run() };
                        assert_eq!(sum, *expected);
                    }
                }
            }
        }
    });
}

/// Whether another worker takes a fork within 5 s from a body that the caller runs. Meanwhile that
/// caller waits for the body in a scope of another runtime.
fn is_shared(rt: &Runtime, away: &Runtime) -> Option<bool> {
    let caller = thread::current().id();
    let (taken, here, starved) = (AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false));
    let body = || {
        here.store(thread::current().id() == caller, SeqCst);
        let begun = Instant::now();
        let wait = || {
            while !taken.load(SeqCst) && !starved.load(SeqCst) {
                join(|| (), || ());
                thread::yield_now();
                starved.store(begun.elapsed() > Duration::from_secs(5), SeqCst);
            }
        };
        join(wait, || taken.store(true, SeqCst));
    };
    let result = rt.scope(|s| {
        let task = s.nest((), |_, ()| body());
        away.scope(|_| s.wait(task))
    });
    result.unwrap().unwrap().unwrap();
    here.load(SeqCst).then(|| !starved.load(SeqCst))
}

/// The scope of another runtime hides this body's forks from thieves. The worker's other bodies, on
/// their own stacks, still share theirs.
#[test]
fn forks_are_shared_while_a_body_waits_in_another_runtime() {
    let [rt, away] = [2, 2].map(|workers| Runtime::builder().workers(workers).build().unwrap());
    let begun = Instant::now();
    let mut ran_here = 0;
    while ran_here < 50 && begun.elapsed() < Duration::from_secs(10) {
        if let Some(shared) = is_shared(&rt, &away) {
            assert!(shared, "an idle worker has not got the fork");
            ran_here += 1;
        }
    }
}
