//! Parallel loops: each item runs once, the result is the serial loop's, and idle workers join at
//! any time.

mod failures;
mod random;
mod tasks;
mod trying;

use std::collections::HashSet;
use std::hint::{black_box, spin_loop};
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use millpond::{Idle, Joiner, Runtime, Spawn, each, for_each, join};

use crate::common::rng::Rng;
use crate::common::{Mutex, builder, limit, runtime, sized};

/// Takes about a nanosecond or more for each step.
fn work(steps: usize) {
    for step in 0..steps {
        black_box(step);
    }
}

/// How the cost of the items is spread.
#[derive(Clone, Copy, Debug)]
enum Costs {
    Even,
    /// The first item alone is long; or the last.
    First,
    Last,
    /// They rise from zero.
    Triangle,
    /// One in a hundred is long.
    Rare,
    /// Some of the items wait for the processor.
    Yielding,
}

/// A loop: its number of items, and what they cost.
#[derive(Clone, Copy, Debug)]
struct Plan {
    items: usize,
    steps: usize,
    costs: Costs,
}

impl Plan {
    fn random(rng: &mut Rng) -> Self {
        let costs = [Costs::Even, Costs::First, Costs::Last, Costs::Triangle, Costs::Rare, Costs::Yielding];
        let items = match rng.below(4) {
            0 => rng.below(5),
            1 => rng.below(40),
            2 => rng.below(1_000),
            _ => rng.below(sized(4_000, 40_000)),
        };
        let bits = rng.below(11);
        let steps = rng.below(1 << bits);
        Plan { items, steps, costs: rng.pick(&costs) }
    }

    fn cost(&self, item: usize) {
        let long = sized(5_000, 50_000);
        match self.costs {
            Costs::Even => work(self.steps),
            Costs::First if item == 0 => work(long),
            Costs::Last if item + 1 == self.items => work(long),
            Costs::Triangle => work(self.steps * item / self.items),
            Costs::Rare if item % 100 == 50 => work(long / 10),
            Costs::Yielding if item % 64 == 1 => thread::yield_now(),
            _ => {}
        }
    }
}

/// What the serial loop leaves in element `i`, if it had `before`.
fn after(i: usize, before: u64) -> u64 {
    (before ^ i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17)
}

/// Runs a plan in one of the ways to write a loop. Each item changes its element, or the elements
/// of its chunk, once.
fn run(plan: Plan, way: usize, data: &mut Vec<u64>) {
    let (size, other) = (1 + plan.steps % 7, vec![7_u64; plan.items + plan.steps % 3]);
    match way {
        0 => for_each(each::indexed(&mut *data), |(i, x)| {
            plan.cost(i);
            *x = after(i, *x);
        }),
        1 => for_each(each::indexed(each::chunks_mut(data, size)), |(chunk, part)| {
            plan.cost(chunk * size);
            part.iter_mut().enumerate().for_each(|(k, x)| *x = after(chunk * size + k, *x));
        }),
        2 => for_each(each::zip(0..plan.items, each::zip(data.as_mut_slice(), &other)), |(i, (x, other))| {
            plan.cost(i);
            *x = after(i, *x) + other - 7;
        }),
        3 => for_each((each::indexed(&mut *data), &other, 7), |((i, x), other, seven)| {
            plan.cost(i);
            *x = after(i, *x) + other[i] - seven;
        }),
        _ => {
            let cells: Vec<_> = data.iter().map(|x| Mutex::new(*x)).collect();
            for_each(0..plan.items, |i| {
                plan.cost(i);
                let mut x = cells[i].lock();
                *x = after(i, *x);
            });
            let seen = AtomicUsize::new(0);
            for_each(each::chunks(&cells, size), |part| _ = seen.fetch_add(part.len(), SeqCst));
            assert_eq!(seen.into_inner(), plan.items);
            data.iter_mut().zip(&cells).for_each(|(x, cell)| *x = *cell.lock());
        }
    }
}

fn check(plan: Plan, way: usize) {
    let before: Vec<u64> = (0..plan.items as u64).map(|i| i * i).collect();
    let mut data = before.clone();
    run(plan, way, &mut data);
    let expected: Vec<u64> = before.iter().enumerate().map(|(i, x)| after(i, *x)).collect();
    assert_eq!(data, expected, "{plan:?}, way {way}");
}

#[test]
fn random_loops_give_the_result_of_the_serial_loop() {
    limit(240, "random loops", || {
        for (workers, idle) in
            [(1, Idle::Hybrid), (2, Idle::Hybrid), (2, Idle::Sleep), (3, Idle::Busy), (4, Idle::Hybrid)]
        {
            let rt = builder(workers).idle(idle).build().unwrap();
            let mut rng = Rng::new(workers as u64);
            for turn in 0..sized(300, 3_000) {
                let plan = Plan::random(&mut rng);
                match turn % 3 {
                    0 => rt.scope(|_| check(plan, turn % 5)),
                    1 => rt.scope(|s| drop(s.spawn((), move |()| check(plan, turn % 5)))),
                    _ => rt.scope(|s| drop(s.nest((), move |_, ()| check(plan, turn % 5)))),
                }
                .unwrap();
            }
        }
        // No runtime at all.
        let mut rng = Rng::new(0);
        (0..100).for_each(|turn| check(Plan::random(&mut rng), turn % 5));
    });
}

/// The same loop many times. The runtime knows its cost by then, and other workers look for work,
/// sleep, or are about to sleep.
#[test]
fn a_loop_again_and_again() {
    limit(120, "repeated loops", || {
        for workers in [2, 4] {
            let rt = runtime(workers);
            let mut rng = Rng::new(7);
            for items in [2, 10, 31, 32, 500] {
                let mut sums = vec![0_usize; items];
                for turn in 0..sized(200, 2_000) {
                    let steps = 1 << rng.below(14);
                    rt.scope(|_| {
                        for_each(&mut sums, |sum| {
                            work(steps);
                            *sum += 1;
                        })
                    })
                    .unwrap();
                    if turn % 16 == 0 {
                        thread::sleep(Duration::from_micros(rng.below(200) as u64));
                    }
                }
                assert!(sums.iter().all(|sum| *sum == sized(200, 2_000)));
            }
        }
    });
}

#[test]
fn outside_of_all_runtimes_it_is_a_plain_loop() {
    let (here, order) = (thread::current().id(), Mutex::new(Vec::new()));
    for_each(0..1_000, |i| {
        assert_eq!(thread::current().id(), here);
        order.lock().push(i);
    });
    assert_eq!(*order.lock(), (0..1_000).collect::<Vec<_>>());
}

#[test]
fn loops_without_items_and_with_one() {
    limit(20, "small loops", || {
        for rt in [1, 2].map(runtime) {
            rt.scope(|_| {
                for_each(0..0, |_| unreachable!());
                #[expect(clippy::reversed_empty_ranges, reason = "the test is about one")]
                for_each(9..3, |_| unreachable!());
                for_each(&[] as &[u8], |_| unreachable!());
                for_each(each::chunks(&[0; 0], 3), |_: &[u8]| unreachable!());
                for_each(each::zip(0..5, &mut [0; 0]), |(_, _): (usize, &mut u8)| unreachable!());
                let mut one = [1];
                for_each(&mut one, |x| *x += 1);
                for_each(each::chunks_mut(&mut one, usize::MAX), |chunk| chunk[0] += 1);
                assert_eq!(one, [3]);
                // Values without size, of which there may be very many.
                for_each(&mut vec![(); 1_000], |unit| *unit = ());
            })
            .unwrap();
        }
    });
}

#[test]
fn chunks_have_elements() {
    for wrong in [|| _ = each::chunks(&[1], 0), || _ = each::chunks_mut(&mut [1], 0)] {
        let panic = catch_unwind(wrong).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"chunk size must be non-zero"));
    }
}

/// Until the wanted number of threads has run items of one loop.
fn shared_by(wanted: usize, rt: &Runtime, each_loop: impl Fn(&(dyn Fn() + Sync)) + Sync) {
    let begun = Instant::now();
    loop {
        let threads = Mutex::new(HashSet::<ThreadId>::new());
        rt.scope(|_| each_loop(&|| _ = threads.lock().insert(thread::current().id()))).unwrap();
        if threads.lock().len() >= wanted {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{} of {wanted} threads", threads.lock().len());
    }
}

#[test]
fn all_workers_join_a_long_loop() {
    limit(240, "loops for all workers", || {
        for workers in [2, 3, 4] {
            let rt = runtime(workers);
            let sleep = || thread::sleep(Duration::from_micros(200));
            shared_by(workers, &rt, |note| {
                for_each(0..200, |_| {
                    sleep();
                    note();
                })
            });
            // Few long items. The runtime knows their cost from the second time on.
            shared_by(2, &rt, |note| {
                for_each(&[0; 4], |_| {
                    sleep();
                    note();
                })
            });
        }
    });
}

/// Almost all of the work is in a few consecutive items. The thread that claimed them shares them.
#[test]
fn a_piece_that_is_longer_than_expected_is_shared() {
    const ITEMS: usize = 20_000;
    limit(120, "an uneven loop", || {
        let rt = runtime(2);
        for heavy in [0, ITEMS / 3, ITEMS - 200] {
            shared_by(2, &rt, |note| {
                for_each(0..ITEMS, |i| {
                    if (heavy..heavy + 200).contains(&i) {
                        thread::sleep(Duration::from_micros(100));
                        note();
                    }
                })
            });
        }
    });
}

#[test]
fn loops_in_loops_and_in_joins() {
    fn both(joiner: &Joiner, depth: usize, counts: &[AtomicUsize]) {
        if depth == 0 {
            return for_each(counts, |count| {
                work(100);
                count.fetch_add(1, SeqCst);
            });
        }
        joiner.join(|joiner| both(joiner, depth - 1, counts), |joiner| both(joiner, depth - 1, counts));
    }
    limit(120, "nested loops", || {
        for workers in 1..=4 {
            let rt = runtime(workers);
            for _ in 0..sized(5, 50) {
                let counts: Vec<_> = (0..100).map(|_| AtomicUsize::new(0)).collect();
                let cells: Vec<_> = (0..40 * 50).map(|_| AtomicUsize::new(0)).collect();
                rt.scope(|_| {
                    join(
                        || Joiner::with(|joiner| both(joiner, 4, &counts)),
                        || {
                            for_each(0..40, |i| {
                                for_each(each::chunks(&cells[i * 50..][..50], 1 + i), |cells| {
                                    work(200);
                                    join(|| work(50), || cells.iter().for_each(|cell| _ = cell.fetch_add(1, SeqCst)));
                                });
                            })
                        },
                    )
                })
                .unwrap();
                assert!(counts.iter().all(|count| count.load(SeqCst) == 16));
                assert!(cells.iter().all(|cell| cell.load(SeqCst) == 1));
            }
        }
    });
}

/// A body keeps a lock over its loop. While it waits for the last items, its thread runs no task
/// that takes the lock.
#[test]
fn a_lock_over_a_loop() {
    limit(120, "a lock over a loop", || {
        for workers in [1, 2, 4] {
            let (rt, lock) = (runtime(workers), Mutex::new(0));
            for _ in 0..sized(10, 100) {
                let body = || {
                    let mut sum = lock.lock();
                    let items = AtomicUsize::new(0);
                    for_each(0..50, |i| {
                        work(if i % 10 == 0 { 20_000 } else { 500 });
                        items.fetch_add(1, SeqCst);
                    });
                    *sum += items.into_inner();
                };
                rt.scope(|s| (0..6).for_each(|_| drop(s.spawn((), |()| body())))).unwrap();
            }
            assert_eq!(*lock.lock(), sized(10, 100) * 6 * 50);
        }
    });
}

/// Items that open scopes and wait. Their threads lend their slots, so spare threads take part.
#[test]
fn items_that_wait() {
    limit(120, "items that wait", || {
        for workers in 1..=3 {
            let rt = runtime(workers);
            for _ in 0..sized(3, 30) {
                let sum = AtomicUsize::new(0);
                rt.scope(|_| {
                    for_each(0..60, |i| {
                        let value = rt.scope(|s| s.wait(s.nest((), move |s, ()| s.wait(s.spawn((), move |()| i)))));
                        sum.fetch_add(value.unwrap().unwrap().unwrap(), SeqCst);
                        let until = Instant::now() + Duration::from_micros(50);
                        while Instant::now() < until {
                            spin_loop();
                        }
                    })
                })
                .unwrap();
                assert_eq!(sum.into_inner(), 59 * 60 / 2);
            }
        }
    });
}

/// In the scope of another runtime, that runtime's workers join the loop.
#[test]
fn in_the_scope_of_another_runtime() {
    limit(60, "loops between runtimes", || {
        let (rt, away) = (runtime(2), runtime(2));
        for _ in 0..sized(20, 200) {
            let counts = [const { AtomicUsize::new(0) }; 64];
            rt.scope(|_| {
                for_each(&counts, |count| {
                    away.scope(|_| {
                        for_each(0..8, |_| {
                            work(1_000);
                            count.fetch_add(1, SeqCst);
                        })
                    })
                    .unwrap();
                })
            })
            .unwrap();
            assert!(counts.iter().all(|count| count.load(SeqCst) == 8));
        }
    });
}
