//! Bodies that add from several threads: in the halves of joins and the items of loops.

use std::collections::HashSet;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, ThreadId};
use std::time::Instant;

use millpond::{Acc, Append, each};

use super::edges::{Bounded, Live, counter, runtimes};
use super::*;
use crate::common::{Mutex, builder, limit, runtime, sized};

/// Takes about a nanosecond or more for each step.
fn work(steps: usize) {
    for step in 0..steps {
        black_box(step);
    }
}

/// What a body does. It adds numbers, which rise in the order of the serial program.
#[derive(Debug)]
enum Work {
    Add(u64),
    /// A loop that adds each number of a range.
    Range {
        from: u64,
        to: u64,
        steps: usize,
    },
    /// The same, with chunks as items.
    Chunks {
        numbers: Vec<u64>,
        size: usize,
    },
    Loop(Vec<Work>),
    Join(Box<[Work; 2]>),
    Sequence(Vec<Work>),
}

type Collected<'t> = Acc<'t, Vec<u64>, Append>;

impl Work {
    fn random(rng: &mut Rng, next: &mut u64, depth: usize) -> Work {
        let mut take = |count: usize| {
            let from = *next;
            *next += count as u64;
            from..*next
        };
        match rng.below(if depth == 0 { 3 } else { 8 }) {
            0 => Work::Add(take(1).start),
            1 => {
                let bits = rng.below(11);
                let numbers = take(rng.below(1 << bits));
                Work::Range { from: numbers.start, to: numbers.end, steps: rng.below(400) }
            }
            2 => Work::Chunks { numbers: take(rng.below(300)).collect(), size: 1 + rng.below(9) },
            3 => Work::Loop((0..rng.below(9)).map(|_| Work::random(rng, next, depth - 1)).collect()),
            4 => Work::Sequence((0..rng.below(4)).map(|_| Work::random(rng, next, depth - 1)).collect()),
            _ => Work::Join(Box::new([(); 2].map(|()| Work::random(rng, next, depth - 1)))),
        }
    }

    fn add(&self, total: &mut Collected<'_>) {
        match self {
            Work::Add(number) => total.add(vec![*number]),
            Work::Range { from, to, steps } => {
                total.for_each(each::indexed(*from as usize..*to as usize), |(i, number), total| {
                    assert_eq!(i as u64 + from, number as u64);
                    work(*steps);
                    total.partial().push(number as u64);
                });
            }
            Work::Chunks { numbers, size } => {
                total.for_each(each::chunks(numbers, *size), |chunk, total| total.partial().extend(chunk));
            }
            Work::Loop(bodies) => total.for_each(bodies, |body, total| body.add(total)),
            Work::Join(halves) => _ = total.join(|total| halves[0].add(total), |total| halves[1].add(total)),
            Work::Sequence(bodies) => bodies.iter().for_each(|body| body.add(total)),
        }
    }
}

/// A task, and what it does. The second and the third part are for the tasks of a parent.
#[derive(Debug)]
struct Part {
    way: usize,
    work: [Work; 3],
}

/// A program, and how many numbers it adds.
fn program(rng: &mut Rng) -> (Vec<Part>, u64) {
    let mut next = 1;
    let count = 1 + rng.below(8);
    let part = |_| Part { way: rng.below(6), work: [(); 3].map(|()| Work::random(rng, &mut next, 3)) };
    ((0..count).map(part).collect(), next)
}

fn spawn<'s, S: Spawn<'s>>(s: &S, part: &'s Part, total: &Handle<Vec<u64>, S::Brand>, away: &'s Runtime) {
    let add_all = |total: &mut Collected<'_>| part.work.iter().for_each(|work| work.add(total));
    let access = total.accumulate(Append);
    match part.way {
        0 => drop(s.spawn(access, move |mut total| add_all(&mut total))),
        1 => drop(s.nest(access, move |_, total| add_all(&mut total.acc()))),
        2 => drop(s.nest(access, move |s, total| {
            part.work[0].add(&mut total.acc());
            s.spawn(total.accumulate(), move |mut total| part.work[1].add(&mut total));
            s.nest(total.accumulate(), move |_, total| part.work[2].add(&mut total.acc()));
        })),
        // On a thread that is no worker.
        3 => drop(s.spawn(access, move |mut total| {
            thread::scope(|threads| threads.spawn(|| add_all(&mut total)).join()).expect("nothing panics");
        })),
        // By the workers of another runtime.
        4 => drop(s.spawn(access, move |mut total| away.scope(|_| add_all(&mut total)).expect("nothing fails"))),
        // A copy is moved away, and dropped elsewhere.
        _ => drop(s.nest(access, move |_, total| {
            let mut acc = total.acc();
            away.scope(|s| drop(s.spawn((), move |()| add_all(&mut acc)))).expect("nothing fails");
        })),
    }
}

/// With `deterministic`, numbers are appended in the order of the serial program.
#[test]
fn random_loops_and_joins_add_what_the_serial_program_adds() {
    for (turn, names) in Names::star().enumerate() {
        let what = format!("random additions, {names}");
        limit(120, what.clone(), || {
            let (rng, away) = (&mut Rng::new(turn as u64), runtime(2));
            for deterministic in [false, true] {
                let inline = rng.pick(&[Inline::Auto, Inline::Never, Inline::Always]);
                let workers = rng.pick(&[1, 2, 4]);
                let builder = builder(workers).inline(inline).deterministic(deterministic);
                let any = AnyRuntime::build(builder, names).expect("valid choices");
                for _ in 0..sized(6, 60) {
                    let (parts, end) = program(rng);
                    let total = Handle::new(vec![0]);
                    let result = on_runtime!(&any, rt => {
                        rt.scope(|s| parts.iter().for_each(|part| spawn(s, part, &total, &away)))
                    });
                    result.expect("nothing fails");
                    let mut total = total.into_inner().expect("produced");
                    if !deterministic {
                        total.sort_unstable();
                    }
                    let expected: Vec<u64> = (0..end).collect();
                    assert_eq!(total, expected, "{what}, {workers} workers, {inline:?}: {parts:?}");
                }
            }
        });
    }
}

/// Numbers whose sum depends on the order of the additions.
fn floats(depth: u32, at: f64, total: &mut Acc<'_, f64, Sum>) {
    total.add(at);
    if depth == 0 {
        return;
    }
    total.join(|total| floats(depth - 1, at * 1.1, total), |total| floats(depth - 1, at * 0.3 + 1e-9, total));
    total.for_each(0..777, |i, total| {
        work(100);
        total.add(at / (i + 1) as f64);
        if i % 100 == 0 {
            total.for_each(0..9, |k, total| total.add(at * k as f64));
        }
    });
}

#[test]
fn a_deterministic_loop_or_join_is_bitwise_the_same() {
    let mut totals = Vec::new();
    for names in Names::star() {
        for workers in [1, 4] {
            let builder = Runtime::builder().workers(workers).deterministic(true);
            let (rt, total) = (AnyRuntime::build(builder, names).expect("valid choices"), Handle::new(0.1));
            let result = on_runtime!(&rt, rt => rt.scope(|s| {
                for n in 0..3 {
                    s.spawn(total.accumulate(Sum), move |mut total| floats(3, f64::from(n), &mut total));
                    s.nest(total.accumulate(Sum), move |s, total| {
                        floats(3, f64::from(n) * 1e6, &mut total.acc());
                        s.spawn(total.accumulate(), move |mut total| floats(2, f64::from(n) * 1e-3, &mut total));
                    });
                }
            }));
            result.expect("nothing fails");
            totals.push(total.into_inner().expect("produced").to_bits());
        }
    }
    assert!(totals.iter().all(|total| *total == totals[0]), "{totals:?}");
}

/// Both halves of a join, and several items of a loop, add at the same time.
#[test]
fn threads_add_at_the_same_time() {
    /// Adds in several threads, and calls a function in each.
    type Adds = fn(&mut Acc<'_, u64, Sum>, &(dyn Fn() + Sync));
    /// Adds to the copy slowly: another thread that had it, too, would lose the addition.
    fn add_slowly(total: &mut Acc<'_, u64, Sum>, n: u64, pause: Duration) {
        let sum = total.partial();
        let before = *black_box(&mut *sum);
        thread::sleep(pause);
        *sum = before + n;
    }
    let ways: [Adds; 2] = [
        |total, note| {
            let half = |total: &mut Acc<'_, u64, Sum>| {
                add_slowly(total, 50, Duration::from_micros(300));
                note();
            };
            total.join(half, half);
        },
        |total, note| {
            total.for_each(0..100, |_, total| {
                add_slowly(total, 1, Duration::from_micros(50));
                note();
            })
        },
    ];
    limit(120, "additions at the same time", || {
        for rt in [false, true].into_iter().flat_map(runtimes).filter(|rt| rt.workers() > 1) {
            for adds in ways {
                let begun = Instant::now();
                loop {
                    let (threads, total) = (Mutex::new(HashSet::<ThreadId>::new()), Handle::new(0));
                    let note = || _ = threads.lock().insert(thread::current().id());
                    rt.scope(|s| drop(s.spawn(total.accumulate(Sum), move |mut total| adds(&mut total, &note))))
                        .expect("nothing fails");
                    assert_eq!(total.into_inner().expect("produced"), 100);
                    if threads.lock().len() > 1 {
                        break;
                    }
                    assert!(begun.elapsed() < Duration::from_secs(60), "no other thread took part");
                }
            }
        }
    });
}

/// Adds 2^depth times.
fn many(depth: u32, total: &mut Acc<'_, Counted, Counting<false>>) {
    match depth {
        0 => total.add(counted(1)),
        _ => _ = total.join(|total| many(depth - 1, total), |total| many(depth - 1, total)),
    }
}

/// Copies are combined once per thread, not once per join, item or loop.
#[test]
fn halves_and_items_share_copies() {
    for workers in [1, 2, 4] {
        let rt = Runtime::builder().workers(workers).inline(Inline::Never).build().expect("valid choices");
        let (combined, total) = (forever(AtomicUsize::new(0)), Handle::new(counted(0)));
        let tasks = sized(200, 2000);
        rt.scope(|s| {
            for n in 0..tasks {
                s.spawn(total.accumulate(Counting::<false>(combined)), move |mut total| match n % 2 {
                    0 => many(6, &mut total),
                    _ => total.for_each(0..64, |_, total| {
                        work(300);
                        total.add(counted(1));
                    }),
                });
            }
        })
        .expect("nothing fails");
        assert_eq!(total.into_inner().expect("produced").sum, 64 * tasks as u64);
        let (combined, most) = (combined.load(Ordering::Relaxed), if workers == 1 { 1 } else { 8 * workers });
        assert!(combined <= most, "{combined} combinations with {workers} workers");
    }
    // A leaf at its spawn adds to the value itself.
    let (combined, total) = (forever(AtomicUsize::new(0)), Handle::new(counted(0)));
    let result = on_runtime!(&at_spawn(), rt => rt.scope(|s| {
        s.spawn(total.accumulate(Counting::<false>(combined)), |mut total| {
            many(6, &mut total);
            total.for_each(0..64, |_, total| total.add(counted(1)));
        });
    }));
    result.expect("nothing fails");
    assert_eq!((total.into_inner().expect("produced").sum, combined.load(Ordering::Relaxed)), (128, 0));
}

/// Bodies, identities and combinations panic anywhere. Each value is dropped once, and the scope
/// fails if its total is lost.
#[test]
fn failures_in_halves_and_items_lose_nothing() {
    fn run(rt: &Runtime, most: u64, identities: i64, bad: usize) -> bool {
        let (live, identities) = (counter(0), counter(identities));
        let (reducer, total) = (Bounded::<false> { most, identities }, Handle::new(Live::new(0, live)));
        let add = |total: &mut Acc<'_, Live, Bounded<false>>, n: usize| {
            work(2_000);
            assert_ne!(n, bad, "expected from {n}");
            total.add(Live::new(1, live));
        };
        let join = |total: &mut Acc<'_, Live, Bounded<false>>, at: usize| {
            total.join(
                |total| _ = total.join(|total| add(total, at), |total| add(total, at + 1)),
                |total| _ = total.join(|total| add(total, at + 2), |total| add(total, at + 3)),
            );
        };
        let result = rt.scope(|s| {
            for n in [0, 1000, 2000] {
                s.spawn(total.accumulate(reducer), move |mut total| join(&mut total, n));
                s.spawn(total.accumulate(reducer), move |mut total| {
                    total.for_each(n + 4..n + 50, |n, total| add(total, n));
                });
                s.nest(total.accumulate(reducer), move |s, total| {
                    // A panic in it is caught, and the copy is used again.
                    let mut acc = total.acc();
                    let _ = catch_unwind(AssertUnwindSafe(|| acc.for_each(0..4, |n, total| add(total, 4000 + n))));
                    let _ = catch_unwind(AssertUnwindSafe(|| join(&mut acc, 4004)));
                    let _ = catch_unwind(AssertUnwindSafe(|| acc.add(Live::new(1, live))));
                    s.spawn(total.accumulate(), move |mut total| join(&mut total, n + 50));
                    std::mem::forget(acc);
                });
            }
        });
        let (is_ok, has_value) = (result.is_ok(), total.into_inner().is_ok());
        assert_eq!(is_ok, has_value, "{result:?}");
        assert_eq!(live.load(Ordering::Relaxed), 0, "most {most}, bad {bad}: each value is dropped once");
        is_ok
    }
    silence_expected_panics();
    limit(240, "failures in halves and items", || {
        for rt in runtimes(false).chain(runtimes(true)) {
            assert!(run(&rt, 1000, i64::MAX, usize::MAX));
            for bad in [0, 3, 1002, 2004, 1030, 2049, 1051] {
                assert!(!run(&rt, 1000, i64::MAX, bad));
            }
            for bad in 4000..4008 {
                assert!(run(&rt, 1000, i64::MAX, bad), "it is caught");
            }
            for most in [0, 1, 2, 5, 100] {
                assert!(!run(&rt, most, i64::MAX, usize::MAX));
            }
            for identities in [0, 1, 2, 3, 5, 8, 20, 50] {
                run(&rt, 1000, identities, usize::MAX);
            }
        }
    });
}

/// The drop of a part panics, too. The first failure is that of the task, and the process goes on.
#[test]
fn a_part_whose_drop_panics() {
    struct Bomb(bool);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!self.0, "expected from the drop");
        }
    }
    #[derive(Clone, Copy, PartialEq, Eq)]
    struct Arms;
    impl Reducer<Bomb> for Arms {
        fn identity(&self, _like: &Bomb) -> Bomb {
            Bomb(true)
        }
        fn combine(&self, _into: &mut Bomb, mut part: Bomb) {
            part.0 = false;
        }
    }
    silence_expected_panics();
    limit(120, "drops that panic", || {
        for rt in runtimes(false).chain(runtimes(true)) {
            for way in 0..4 {
                for _ in 0..sized(5, 50) {
                    let total = Handle::new(Bomb(false));
                    let result = rt.scope(|s| {
                        s.spawn(total.accumulate(Arms), move |mut total| match way {
                            0 => _ = total.join(|_| panic!("expected from a"), |_| work(10_000)),
                            1 => _ = total.join(|_| work(10_000), |_| panic!("expected from b")),
                            2 => total.for_each(0..200, |i, _| {
                                work(1_000);
                                assert_ne!(i, 150, "expected from an item");
                            }),
                            _ => _ = total.join(|_| work(10_000), |_| work(10_000)),
                        });
                    });
                    // Of a half that needs no part, the drop of the part is the failure.
                    let said = result.map_or_else(|error| error.to_string(), |()| String::new());
                    let known = ["expected from a", "expected from b", "expected from an item", ""][way];
                    assert!(said.contains(known) || said.contains("expected from the drop"), "{way}: {said}");
                    assert!(way == 3 || !said.is_empty());
                    drop(total);
                }
            }
        }
    });
}

/// A cancelled scope does not stop a loop that has begun. Its total is lost all the same.
#[test]
fn a_loop_in_a_cancelled_scope_ends() {
    for rt in runtimes(false).chain(runtimes(true)) {
        let (total, items) = (Handle::new(0_u64), AtomicUsize::new(0));
        let result = rt.scope(|s| {
            let (token, items) = (s.cancel_token(), &items);
            s.spawn(total.accumulate(Sum), move |mut total| {
                total.for_each(0..500, |_, total| {
                    token.cancel();
                    items.fetch_add(1, Ordering::Relaxed);
                    total.add(1);
                });
            });
            s.spawn(total.accumulate(Sum), |_| ());
        });
        assert_eq!(result.expect_err("cancelled").kind(), &Kind::Cancelled);
        assert!(matches!(items.into_inner(), 0 | 500));
    }
}
