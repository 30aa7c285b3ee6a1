//! Tasks that accumulate: how often the runtime combines, who may share copies, and failures.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use millpond::catalogue::{AnyRuntime, Names};
use millpond::{Accumulator, Builder, Error, Handle, Inline, Kind, Reducer, Runtime, Spawn, Sum, on_runtime};

use crate::common::rng::Rng;
use crate::common::watchdog::Watchdog;
use crate::common::{forever, number, silence_expected_panics};

mod branches;
mod edges;
mod nested;

/// A number, and whether it is a copy that a reducer made.
#[derive(Debug)]
struct Counted {
    sum: u64,
    is_copy: bool,
    /// The height of the tree of combinations that made it.
    height: usize,
}

fn counted(sum: u64) -> Counted {
    Counted { sum, is_copy: false, height: 0 }
}

/// Adds, and counts how often copies are combined.
#[derive(Clone, Copy)]
struct Counting<const LARGE: bool>(&'static AtomicUsize);

impl<const LARGE: bool> PartialEq for Counting<LARGE> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl<const LARGE: bool> Eq for Counting<LARGE> {}

impl<const LARGE: bool> Reducer<Counted> for Counting<LARGE> {
    const LARGE: bool = LARGE;

    fn identity(&self, _like: &Counted) -> Counted {
        Counted { is_copy: true, ..counted(0) }
    }

    fn combine(&self, into: &mut Counted, part: Counted) {
        into.sum += part.sum;
        if part.is_copy {
            into.height = into.height.max(part.height) + 1;
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Accumulates 0 to `tasks - 1` in tasks that wait for one value, so none runs at its spawn.
/// Returns the sum, the number of combinations, and the height of their tree.
fn total<const LARGE: bool>(rt: &Runtime, tasks: u64) -> (u64, usize, usize) {
    let combined = forever(AtomicUsize::new(0));
    let (gate, total) = (Handle::unset(), Handle::new(counted(0)));
    rt.scope(|s| {
        s.nest(gate.write(), |s, gate| s.set(&gate, ()));
        for n in 0..tasks {
            let accesses = (gate.read(), total.accumulate(Counting::<LARGE>(combined)));
            s.spawn(accesses, move |(_, mut total)| total.add(counted(n)));
        }
    })
    .expect("nothing fails");
    let Counted { sum, height, .. } = total.into_inner().expect("produced");
    (sum, combined.load(Ordering::Relaxed), height)
}

#[test]
fn a_generation_combines_once_per_worker() {
    let tasks = if std::env::var_os("MILLPOND_DEEP").is_some() { 100_000 } else { 20_000 };
    for workers in [1, 2, 4] {
        let rt = Runtime::builder().workers(workers).build().expect("valid choices");
        let (sum, combined, _) = total::<false>(&rt, tasks);
        assert_eq!(sum, tasks * (tasks - 1) / 2);
        assert!(combined <= 2 * workers, "{combined} combinations with {workers} workers");
        let (sum, combined, height) = total::<true>(&rt, tasks);
        assert_eq!(sum, tasks * (tasks - 1) / 2);
        assert!(combined <= 2 * workers, "{combined} combinations with {workers} workers");
        // A tree over the copies, and the combination into the value.
        let depth = combined.max(1).next_power_of_two().ilog2() as usize;
        assert!(height <= depth + 1, "height {height} for {combined} copies");
    }
}

/// A runtime on which ready leaves run at their spawn, also if the default scheme is another one.
fn at_spawn() -> AnyRuntime {
    let names = Names { scheme: "parked", ..Names::default() };
    AnyRuntime::build(Runtime::builder().workers(1).inline(Inline::Always), names).expect("valid choices")
}

#[test]
fn a_leaf_at_its_spawn_adds_to_the_value() {
    let (combined, total) = (forever(AtomicUsize::new(0)), Handle::new(counted(1)));
    let result = on_runtime!(&at_spawn(), rt => rt.scope(|s| {
        for n in 0..10 {
            s.spawn(total.accumulate(Counting::<false>(combined)), move |mut total| total.add(counted(n)));
        }
    }));
    result.expect("nothing fails");
    assert_eq!((total.into_inner().expect("produced").sum, combined.load(Ordering::Relaxed)), (46, 0));
}

/// A body that forgets its copy loses nothing, and no later body gets that copy.
#[test]
fn a_forgotten_copy_is_combined() {
    let rt = Runtime::builder().workers(2).inline(Inline::Never).build().expect("valid choices");
    let total = Handle::new(0);
    rt.scope(|s| {
        for n in 0..100 {
            s.spawn(total.accumulate(Sum), move |mut total| {
                total.add(n);
                if n % 3 == 0 {
                    std::mem::forget(total);
                }
            });
        }
        s.nest(total.accumulate(Sum), |_, total| {
            let mut first = total.acc();
            let mut second = total.acc();
            first.add(1000);
            second.add(2000);
            std::mem::forget(first);
            total.add(3000);
        });
    })
    .expect("nothing fails");
    assert_eq!(total.into_inner().expect("produced"), 4950 + 6000);
}

/// Tasks that reduce and tasks that accumulate by equal reducers are one generation. Another
/// reducer begins the next one.
#[test]
fn reducing_and_accumulating_tasks_are_one_generation() {
    for deterministic in [false, true] {
        let rt = Runtime::builder().workers(2).deterministic(deterministic).build().expect("valid choices");
        let (gate, total) = (Handle::unset(), Handle::new(1_u64));
        rt.scope(|s| {
            s.nest(gate.write(), |s, gate| s.set(&gate, ()));
            for n in 0..10 {
                s.spawn((gate.read(), total.accumulate(Sum)), move |(_, mut total)| total.add(n));
                s.spawn((gate.read(), total.reduce(Sum)), move |(_, total)| *total += n);
            }
            for _ in 0..3 {
                s.spawn((gate.read(), total.accumulate(millpond::Prod)), |(_, mut total)| total.add(2));
            }
            s.spawn(total.accumulate(Sum), |mut total| total.add(5));
        })
        .expect("nothing fails");
        assert_eq!(total.into_inner().expect("produced"), 91 * 8 + 5);
    }
}

/// A failed member poisons the datum for what follows its generation, wherever it ran.
#[test]
fn a_failed_body_poisons_the_total() {
    silence_expected_panics();
    for (workers, inline) in [(1, Inline::Always), (1, Inline::Never), (4, Inline::Auto)] {
        let rt = Runtime::builder().workers(workers).inline(inline).build().expect("valid choices");
        for reduces in [false, true] {
            let (total, ran) = (Handle::new(0), AtomicUsize::new(0));
            let result = rt.scope(|s| {
                let fails = |part: &mut u64| {
                    *part += 1;
                    panic!("expected from 0")
                };
                match reduces {
                    false => drop(s.task("bad").spawn(total.accumulate(Sum), move |mut total| fails(total.partial()))),
                    true => drop(s.task("bad").spawn(total.reduce(Sum), fails)),
                }
                // Members of the same generation run, others do not.
                s.spawn(total.accumulate(Sum), |_| ran.fetch_add(1, Ordering::Relaxed));
                s.spawn(total.reduce(Sum), |_| ran.fetch_add(1, Ordering::Relaxed));
                s.spawn(total.accumulate(millpond::Prod), |_| ran.fetch_add(100, Ordering::Relaxed));
                s.spawn(total.read(), |_| ran.fetch_add(100, Ordering::Relaxed));
            });
            assert_eq!(result.expect_err("a task failed").task().name(), Some("bad"));
            assert_eq!(ran.load(Ordering::Relaxed), 2, "{workers} workers, {inline:?}, reduces: {reduces}");
            let error = total.into_inner().expect_err("poisoned");
            assert!(matches!(error.kind(), Kind::Poisoned { by } if by.name() == Some("bad")), "{error}");
        }
    }
}

/// A reducer whose parts panic where it says.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Fails {
    in_identity: bool,
}

impl Reducer<Arc<u64>> for Fails {
    fn identity(&self, _like: &Arc<u64>) -> Arc<u64> {
        assert!(!self.in_identity, "expected from 1");
        Arc::new(0)
    }
    fn combine(&self, _into: &mut Arc<u64>, _part: Arc<u64>) {
        panic!("expected from 2")
    }
}

/// Nothing is lost or dropped twice if the reducer of a leaf at its spawn panics.
#[test]
fn a_reducer_fails_at_a_spawn() {
    silence_expected_panics();
    for in_identity in [false, true] {
        let (value, second) = (Arc::new(1), Arc::new(2));
        let (total, other) = (Handle::new(value.clone()), Handle::new(second.clone()));
        let error = on_runtime!(&at_spawn(), rt => rt.scope(|s| {
            let accesses = (other.reduce(Sums), total.reduce(Fails { in_identity }));
            s.spawn(accesses, |(other, _)| *Arc::get_mut(other).expect("one owner") += 1);
        }));
        let said = format!("{}", error.expect_err("the reducer panicked"));
        assert!(said.contains(if in_identity { "expected from 1" } else { "expected from 2" }), "{said}");
        assert!(total.into_inner().is_err() && other.into_inner().is_err());
        assert_eq!((Arc::strong_count(&value), Arc::strong_count(&second)), (1, 1));
    }
}

/// Adds.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Sums;

impl Reducer<Arc<u64>> for Sums {
    fn identity(&self, _like: &Arc<u64>) -> Arc<u64> {
        Arc::new(0)
    }
    fn combine(&self, into: &mut Arc<u64>, part: Arc<u64>) {
        *into = Arc::new(**into + *part);
    }
}

/// Parts that have no room on the spawner's stack.
#[test]
fn parts_may_have_any_size_and_alignment() {
    #[derive(Clone, Copy)]
    #[repr(align(128))]
    struct Aligned([u64; 100]);
    #[derive(Clone, Copy, PartialEq, Eq)]
    struct Adds;
    impl Reducer<Aligned> for Adds {
        fn identity(&self, _like: &Aligned) -> Aligned {
            Aligned([0; 100])
        }
        fn combine(&self, into: &mut Aligned, part: Aligned) {
            into.0.iter_mut().zip(part.0).for_each(|(into, part)| *into += part);
        }
    }
    for deterministic in [false, true] {
        let rt = Runtime::builder().workers(1).inline(Inline::Always).deterministic(deterministic);
        let (rt, total) = (rt.build().expect("valid choices"), Handle::new(Aligned([1; 100])));
        rt.scope(|s| {
            for n in 0..10 {
                s.spawn(total.reduce(Adds), move |part| {
                    assert!((&raw const *part).addr() % 128 == 0 && part.0 == [0; 100]);
                    part.0[n] = 5;
                });
            }
        })
        .expect("nothing fails");
        let total = total.into_inner().expect("produced").0;
        assert!(total[..10] == [6; 10] && total[10..] == [1; 90]);
    }
}
