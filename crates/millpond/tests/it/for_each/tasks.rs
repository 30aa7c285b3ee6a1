//! Loops as tasks: with each member of each family, in each kind of scope.

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use millpond::catalogue::{AnyRuntime, Names};
use millpond::{Error, Handle, Inline, Spawn, each, for_each, on_runtime};

use super::work;
use crate::common::{builder, limit, runtime, sized};

const ROWS: usize = 60;
const COLUMNS: usize = 50;

/// The data of a program whose loops depend on each other.
struct Data<B> {
    matrix: Handle<Vec<u64>, B>,
    x: Handle<Box<[u64]>, B>,
    y: Handle<Vec<u64>, B>,
    hits: Handle<AtomicU64, B>,
}

impl<B> Data<B> {
    fn new<'s, S: Spawn<'s, Brand = B>>(s: &S) -> Self {
        Data {
            matrix: s.handle(vec![1; ROWS * COLUMNS]),
            x: s.handle(vec![2; COLUMNS].into()),
            y: s.handle(vec![0; ROWS]),
            hits: s.handle(AtomicU64::new(0)),
        }
    }

    /// One step of the program.
    fn step<'s, S: Spawn<'s, Brand = B>>(&self, s: &S) {
        s.for_each(each::indexed(self.matrix.chunks_mut(COLUMNS)), |(i, row)| {
            work(200);
            row.iter_mut().for_each(|a| *a += i as u64);
        });
        s.for_each((each::zip(self.y.inout(), self.matrix.chunks(COLUMNS)), self.x.read()), |((y, row), x)| {
            *y = row.iter().zip(x).map(|(a, x)| a.wrapping_mul(*x)).fold(*y, u64::wrapping_add);
        });
        s.task("hits").for_each((0..COLUMNS, self.x.read(), self.hits.concurrent()), |(i, x, hits)| {
            work(100);
            hits.fetch_add(x[i], Relaxed);
        });
        s.for_each((self.x.inout(), self.y.read()), |(x, y)| *x = x.wrapping_add(y[7]));
    }

    fn sum<'s, S: Spawn<'s, Brand = B>>(&self, s: &S) -> Result<u64, Error> {
        let all = (self.matrix.read(), self.x.read(), self.y.read(), self.hits.read());
        s.wait(s.spawn(all, |(matrix, x, y, hits)| {
            let sum = |numbers: &[u64]| numbers.iter().fold(0, |sum: u64, n| sum.rotate_left(3) ^ n);
            sum(matrix) ^ sum(x) ^ sum(y) ^ hits.load(Relaxed)
        }))
    }
}

fn program<'s, S: Spawn<'s>>(s: &S, steps: usize) -> u64 {
    let data = Data::new(s);
    (0..steps).for_each(|_| data.step(s));
    data.sum(s).unwrap()
}

#[test]
fn with_each_member_of_each_family() {
    let steps = sized(3, 30);
    let one = builder(1).inline(Inline::Always).build().unwrap();
    let expected = one.scope(|s| program(s, steps)).unwrap();
    for names in Names::star() {
        for (workers, inline) in [(1, Inline::Never), (2, Inline::Auto), (3, Inline::Never), (4, Inline::Always)] {
            eprintln!("loops, {names}, {workers} workers");
            limit(60, format!("loops, {names}, {workers} workers"), || {
                let any = AnyRuntime::build(builder(workers).inline(inline), names).unwrap();
                on_runtime!(&any, rt => {
                    assert_eq!(rt.scope(|s| program(s, steps)).unwrap(), expected);
                    // In a parent, and with plain loops in its children.
                    let nested = rt.scope(|s| s.wait(s.nest((), move |s, ()| program(s, steps)))).unwrap();
                    assert_eq!(nested.unwrap(), expected);
                    let mut cells = vec![0; 300];
                    rt.scope(|_| for_each(&mut cells, |cell| {
                        work(2_000);
                        *cell += 1;
                    }))
                    .unwrap();
                    assert_eq!(cells, [1; 300]);
                });
            });
        }
    }
}

/// Every access to a slice gives items: the loop does to each element what a leaf does to the
/// slice.
#[test]
fn with_each_kind_of_access() {
    limit(20, "loops by every access", || {
        for rt in [1, 2, 4].map(runtime) {
            let (log, cells) = (Handle::new(vec![0; 200]), Handle::new([const { AtomicU64::new(0) }; 200]));
            let (array, boxed) = (Handle::new([1; 200]), Handle::new(vec![2; 200].into_boxed_slice()));
            rt.scope(|s| {
                for _ in 0..10 {
                    s.for_each(log.commutative(), |n| {
                        work(50);
                        *n += 1;
                    });
                    s.for_each(cells.concurrent(), |cell| _ = cell.fetch_add(1, Relaxed));
                }
                s.for_each(each::zip(array.inout(), boxed.read()), |(a, b)| *a += b);
                s.for_each((each::zip(boxed.inout(), log.read()), cells.read()), |((b, n), cells)| {
                    *b += n + cells[3].load(Relaxed);
                });
            })
            .unwrap();
            assert_eq!(array.into_inner().unwrap(), [3; 200]);
            assert_eq!(*boxed.into_inner().unwrap(), [22; 200]);
        }
    });
}

#[test]
fn in_a_session() {
    limit(60, "loops in a session", || {
        let rt = runtime(2);
        for _ in 0..sized(10, 100) {
            let (session, numbers) = (rt.session(), Handle::new(vec![1_u64; 2_000]));
            session.for_each(numbers.inout(), |n| {
                work(100);
                *n += 1;
            });
            session.task("again").for_each(numbers.chunks_mut(64), |chunk| chunk.iter_mut().for_each(|n| *n *= 10));
            let sum = session.spawn(numbers.read(), |numbers| numbers.iter().sum::<u64>());
            assert_eq!(session.wait(sum).unwrap(), 40_000);
            session.close().wait().unwrap();
        }
    });
}

/// An access with pieces is an access: a leaf gets the slice or the chunks, a parent the handle.
#[test]
fn pieces_in_leaves_and_parents() {
    limit(20, "pieces as accesses", || {
        for rt in [1, 2].map(runtime) {
            let numbers = Handle::new(vec![3, 1, 2, 9, 8]);
            rt.scope(|s| {
                s.spawn(numbers.inout(), |numbers| numbers.sort());
                s.spawn((numbers.chunks_mut(2), 0..3), |(chunks, three)| {
                    assert_eq!(three.len(), 3);
                    for_each(chunks, |chunk| chunk.reverse());
                });
                s.nest(each::zip(numbers.chunks_mut(2), 5..6), |s, (numbers, five)| {
                    s.spawn(numbers.inout(), move |numbers| numbers.push(five.start));
                });
                s.nest(numbers.chunks(4), |s, numbers| drop(s.for_each(numbers.read(), |n| assert!(*n > 0))));
            })
            .unwrap();
            assert_eq!(numbers.into_inner().unwrap(), [2, 1, 8, 3, 9, 5]);
        }
    });
}

/// A later task on the data waits for all items, also for those on other threads.
#[test]
fn a_later_task_waits_for_all_items() {
    limit(60, "a reader behind a loop", || {
        for workers in 2..=4 {
            let rt = builder(workers).inline(Inline::Never).build().unwrap();
            for _ in 0..sized(10, 100) {
                let (numbers, mut copy) = (Handle::new(vec![0; 400]), Handle::unset());
                rt.scope(|s| {
                    s.for_each(each::indexed(numbers.inout()), |(i, n)| {
                        if i % 50 == 0 {
                            thread::yield_now();
                        }
                        work(1_000);
                        *n = i;
                    });
                    s.spawn((numbers.read(), copy.write()), |(numbers, copy)| copy.set(numbers.clone()));
                    s.for_each(numbers.inout(), |n| *n = 0);
                    assert!(s.wait_on(&mut copy).unwrap().iter().copied().eq(0..400));
                })
                .unwrap();
            }
        }
    });
}

/// Data that borrow, and values that are not numbers.
#[test]
fn borrowed_data() {
    limit(20, "loops over borrowed data", || {
        let (rt, text) = (runtime(2), "mill pond heron reed".to_owned());
        let mut numbers = vec![1; 100];
        let (halves, words) = (numbers.chunks_mut(50).map(Handle::new), Handle::new(vec![""; 4]));
        let halves: Vec<_> = halves.collect();
        rt.scope(|s| {
            halves.iter().for_each(|half| drop(s.for_each(half.inout(), |n| *n += 1)));
            s.for_each(each::indexed(words.inout()), |(i, word)| *word = text.split(' ').nth(i).unwrap());
        })
        .unwrap();
        drop(halves);
        assert_eq!(words.into_inner().unwrap().concat(), "millpondheronreed");
        assert_eq!(numbers, [2; 100]);
    });
}

#[test]
fn chunks_of_a_datum_have_elements() {
    let numbers = Handle::new(vec![1]);
    for wrong in [|n: &Handle<Vec<i32>>| drop(n.chunks(0)), |n: &Handle<Vec<i32>>| drop(n.chunks_mut(0))] {
        let panic = catch_unwind(std::panic::AssertUnwindSafe(|| wrong(&numbers))).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"chunk size must be non-zero"));
    }
}
