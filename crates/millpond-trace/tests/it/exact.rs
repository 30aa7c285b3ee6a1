//! Work and span of programs that have known ones, on a clock that only their bodies advance. The
//! report has exactly these values, whatever the schedule was.

use std::cell::Cell;

use millpond::record::Recorder;
use millpond::{Handle, Inline, Root, Runtime, Scope, Spawn, Sum};
use millpond_trace::{Class, Profile, Report};

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

/// The work of a body, in nanoseconds.
fn works(ns: u64) {
    NOW.set(NOW.get() + ns);
}

/// Runs a program on 1, 2 and 8 workers, with its leaves inline or not. Checks work and span in
/// nanoseconds.
fn check(work: u64, span: u64, program: impl for<'s> Fn(&'s Scope<'s, '_, Root>)) -> Report {
    let mut last = None;
    for workers in [1, 2, 8] {
        for inline in [Inline::Never, Inline::Auto, Inline::Always] {
            for _ in 0..3 {
                let recorder = Recorder::with_clock(|| NOW.get());
                let builder = Runtime::builder().workers(workers).inline(inline).recorder(&recorder);
                let rt = builder.build().unwrap();
                let report = rt.profile(|s| program(s)).unwrap();
                let ns = |seconds: f64| (seconds * 1e9).round() as u64;
                assert_eq!((ns(report.work), ns(report.span)), (work, span), "{workers} workers, {inline:?}");
                last = Some(report);
            }
        }
    }
    last.unwrap()
}

#[test]
fn independent_tasks() {
    let report = check(50 * 7, 7, |s| (0..50).for_each(|_| s.spawn((), |()| works(7)).apart()));
    assert_eq!((report.tasks, report.leaves, report.class), (50, 50, Class::Independent));
}

/// A join that the program does not wait for.
trait Apart {
    fn apart(self);
}
impl<T> Apart for T {
    fn apart(self) {}
}

#[test]
fn a_chain() {
    let x = Handle::new(0);
    let report = check(40 * 5, 40 * 5, |s| {
        for _ in 0..40 {
            s.spawn(x.inout(), |x| {
                works(5);
                *x += 1;
            });
        }
    });
    assert_eq!((report.tasks, report.class), (40, Class::Any));
    assert_eq!(report.labels[0].stretches, 40);
}

fn tree<'s, S: Spawn<'s>>(s: &S, depth: u32) {
    works(3);
    if depth == 0 {
        return works(11);
    }
    s.nest((), move |s, ()| tree(s, depth - 1));
    works(2);
    s.nest((), move |s, ()| tree(s, depth - 1));
    works(1);
}

#[test]
fn a_tree() {
    // Each inner body works for 6, each leaf for 14. The second child starts at 5, and is the
    // longest path down.
    let report = check(31 * 6 + 32 * 14, 5 * 5 + 14, |s| tree(s, 5));
    assert_eq!((report.tasks, report.leaves, report.class), (62, 32, Class::Hierarchical));
}

#[test]
fn a_grid() {
    const N: usize = 12;
    let cells: Vec<Vec<Handle<u64>>> = (0..N).map(|_| (0..N).map(|_| Handle::new(1)).collect()).collect();
    check((N * N) as u64 * 9, (2 * N as u64 - 1) * 9, |s| {
        for i in 0..N {
            for j in 0..N {
                let before: Vec<_> = [i.checked_sub(1).map(|i| (i, j)), j.checked_sub(1).map(|j| (i, j))]
                    .into_iter()
                    .flatten()
                    .map(|(i, j)| cells[i][j].read())
                    .collect();
                s.spawn((before, cells[i][j].inout()), |(before, cell)| {
                    works(9);
                    *cell = before.into_iter().sum::<u64>() % 1000;
                });
            }
        }
    });
}

#[test]
fn cholesky_with_fixed_times() {
    const NT: usize = 8;
    let (potrf, trsm, syrk, gemm) = (10, 7, 5, 12);
    let tiles: Vec<Vec<Handle<u8>>> = (0..NT).map(|_| (0..NT).map(|_| Handle::new(0)).collect()).collect();
    let n = NT as u64;
    let work = n * potrf + n * (n - 1) / 2 * (trsm + syrk) + n * (n - 1) * (n - 2) / 6 * gemm;
    // Along the diagonal. No other path is longer, since gemm is not longer than potrf and syrk.
    let span = n * potrf + (n - 1) * (trsm + syrk);
    let report = check(work, span, |s| {
        for k in 0..NT {
            s.task("potrf").spawn(tiles[k][k].inout(), move |_| works(potrf));
            for i in k + 1..NT {
                s.task("trsm").spawn((tiles[k][k].read(), tiles[i][k].inout()), move |_| works(trsm));
            }
            for i in k + 1..NT {
                s.task("syrk").spawn((tiles[i][k].read(), tiles[i][i].inout()), move |_| works(syrk));
                for j in k + 1..i {
                    s.task("gemm")
                        .spawn((tiles[i][k].read(), tiles[j][k].read(), tiles[i][j].inout()), move |_| works(gemm));
                }
            }
        }
    });
    let on_path = |name: &str| {
        let label = report.labels.iter().find(|label| label.label == name).unwrap();
        (label.stretches, (label.on_critical_path * 1e9).round() as u64)
    };
    assert_eq!(on_path("potrf"), (n, n * potrf));
    assert_eq!((on_path("trsm").0, on_path("syrk").0, on_path("gemm").0), (n - 1, n - 1, 0));
}

fn fib<'s, S: Spawn<'s>>(s: &S, n: u64) -> u64 {
    if n < 2 {
        works(4);
        return n;
    }
    let left = s.nest((), move |s, ()| fib(s, n - 1));
    let right = s.nest((), move |s, ()| fib(s, n - 2));
    let sum = s.wait(left).unwrap() + s.wait(right).unwrap();
    works(3);
    sum
}

/// Work and span of `fib`.
fn fib_times(n: u64) -> (u64, u64) {
    if n < 2 {
        return (4, 4);
    }
    let (left, right) = (fib_times(n - 1), fib_times(n - 2));
    (left.0 + right.0 + 3, left.1.max(right.1) + 3)
}

#[test]
fn nested_tasks_that_are_waited_for() {
    let (work, span) = fib_times(10);
    check(work, span, |s| assert_eq!(fib(s, 10), 55));
}

fn forks(n: u64) -> u64 {
    if n < 2 {
        works(4);
        return n;
    }
    let (left, right) = millpond::join(|| forks(n - 1), || forks(n - 2));
    works(3);
    left + right
}

#[test]
fn forks_have_work_and_span_too() {
    let (work, span) = fib_times(10);
    check(work, span, |_| assert_eq!(forks(10), 55));
    // In a leaf, too.
    check(work, span, |s| s.spawn((), |()| assert_eq!(forks(10), 55)).apart());
}

#[test]
fn readers_and_writers() {
    let x = Handle::new(0);
    // Concurrent readers, then the writer, then readers.
    check(3 + 5 * 4 + 3 + 4, 3 + 4 + 3 + 4, |s| {
        s.spawn(x.inout(), |_| works(3));
        (0..5).for_each(|_| s.spawn(x.read(), |_| works(4)).apart());
        s.spawn(x.inout(), |_| works(3));
        s.spawn(x.read(), |_| works(4));
    });
}

#[test]
fn the_slowest_of_a_generation_counts() {
    let x = Handle::new(0);
    check(1 + 2 + 30 + 5 + 6, 30 + 6, |s| {
        [1, 2, 30, 5].into_iter().for_each(|ns| s.spawn(x.read(), move |_| works(ns)).apart());
        s.spawn(x.inout(), |_| works(6));
    });
}

#[test]
fn a_write_never_waits() {
    let x = Handle::new(0);
    check(100 + 5 + 6, 100, |s| {
        s.spawn(x.read(), |_| works(100));
        s.spawn(x.write(), |x| {
            works(5);
            x.set(1);
        });
        s.spawn(x.read(), |_| works(6));
    });
}

#[test]
fn commutative_tasks_exclude_one_another() {
    let (x, y) = (Handle::new(0), Handle::new(0));
    check(6 * 5 + 2, 6 * 5 + 2, |s| {
        (0..6).for_each(|_| s.spawn(x.commutative(), |_| works(5)).apart());
        s.spawn(x.read(), |_| works(2));
    });
    // A late task lets the others go first.
    check(50 + 4 * 10 + 3, 50 + 10 + 3, |s| {
        s.spawn(y.inout(), |_| works(50));
        s.spawn((y.read(), x.commutative()), |_| works(10));
        (0..3).for_each(|_| s.spawn(x.commutative(), |_| works(10)).apart());
        s.spawn(x.read(), |_| works(3));
    });
}

#[test]
fn concurrent_tasks_and_reductions_run_at_once() {
    let (x, total) = (Handle::new(0), Handle::new(0));
    check(8 * 5 + 2, 5 + 2, |s| {
        (0..8).for_each(|_| s.spawn(x.concurrent(), |_| works(5)).apart());
        s.spawn(x.inout(), |_| works(2));
    });
    check(8 * 5 + 2, 5 + 2, |s| {
        (0..8).for_each(|_| {
            s.spawn(total.reduce(Sum), |part| {
                works(5);
                *part += 1;
            })
            .apart();
        });
        s.spawn(total.read(), |_| works(2));
    });
}

#[test]
fn a_body_that_waits_for_a_datum() {
    let x = Handle::new(0);
    check(10 + 4 + 6, 10 + 4, |s| {
        s.nest(x.inout(), |s, mut x| {
            s.spawn(x.inout(), |_| works(10));
            s.spawn((), |()| works(6));
            s.wait_on(&mut x).unwrap();
            works(4);
        });
    });
}

#[test]
fn what_comes_after_a_wait_is_no_part_of_what_was_waited_for() {
    let x = Handle::new(0);
    check(9 + 16, 9 + 16, |s| {
        s.nest(x.inout(), |s, mut x| {
            s.spawn(x.read(), |_| works(9));
            s.wait_on(&mut x).unwrap();
            s.spawn(x.read(), |_| works(16));
        });
    });
}

#[test]
fn a_result_that_is_awaited() {
    check(10 + 4, 10 + 4, |s| {
        let join = s.spawn((), |()| works(10));
        s.block_on(join).unwrap();
        works(4);
    });
}

#[test]
fn a_parent_holds_its_data_until_its_descendants_are_complete() {
    let x = Handle::new(0);
    check(1 + 20 + 5, 1 + 20 + 5, |s| {
        s.nest(x.inout(), |s, _| {
            works(1);
            s.spawn((), |()| works(20));
        });
        s.spawn(x.read(), |_| works(5));
    });
}

#[test]
fn a_value_that_is_set_starts_a_version() {
    let x = Handle::new(0);
    check(100 + 5, 100, |s| {
        s.nest(x.inout(), |s, x| {
            s.spawn(x.read(), |_| works(100));
            s.set(&x, 1);
            s.spawn(x.read(), |_| works(5));
        });
    });
}

#[test]
fn pending_tasks_start_when_they_are_let_in() {
    check(30 + 5 + 50, 50, |s| {
        let pending = s.external().pending(|| works(5));
        let precondition = pending.hold();
        drop(pending);
        s.spawn((), move |()| {
            works(30);
            precondition.satisfy();
        });
        s.spawn((), |()| works(50));
    });
}

#[test]
fn a_scope_in_a_task() {
    for workers in [1, 2, 8] {
        let recorder = Recorder::with_clock(|| NOW.get());
        let rt = Runtime::builder().workers(workers).recorder(&recorder).build().unwrap();
        let report = rt.profile(|s| {
            s.spawn((), |()| {
                works(1);
                rt.scope(|s| (0..4).for_each(|_| s.spawn((), |()| works(10)).apart())).unwrap();
                works(2);
            });
        });
        let report = report.unwrap();
        let ns = |seconds: f64| (seconds * 1e9).round() as u64;
        assert_eq!((ns(report.work), ns(report.span)), (1 + 40 + 2, 1 + 10 + 2));
    }
}

#[test]
fn scopes_one_after_the_other_add_up() {
    let recorder = Recorder::with_clock(|| NOW.get());
    let rt = Runtime::builder().workers(2).recorder(&recorder).build().unwrap();
    let ((), recording) = rt.record(|| {
        for _ in 0..3 {
            rt.scope(|s| (0..4).for_each(|_| s.spawn((), |()| works(10)).apart())).unwrap();
        }
    });
    let report = recording.report().unwrap();
    let ns = |seconds: f64| (seconds * 1e9).round() as u64;
    assert_eq!((ns(report.work), ns(report.span)), (3 * 40, 3 * 10));
    assert_eq!((report.repeated, report.graphs.len()), (Some(true), 3));
}

#[test]
fn a_graph_that_changes_is_noticed() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let ((), recording) = rt.record(|| {
        for n in 3..5 {
            rt.scope(|s| (0..n).for_each(|_| s.spawn((), |()| ()).apart())).unwrap();
        }
    });
    assert_eq!(recording.report().unwrap().repeated, Some(false));
}

#[test]
fn a_set_in_a_session_starts_a_version() {
    for workers in [1, 2, 8] {
        let recorder = Recorder::with_clock(|| NOW.get());
        let rt = Runtime::builder().workers(workers).recorder(&recorder).build().unwrap();
        let x = Handle::new(0);
        let ((), recording) = rt.record(|| {
            let open = rt.session();
            open.spawn(x.inout(), |_| works(100));
            open.spawn(x.inout(), |_| works(10));
            open.set(&x, 1);
            open.spawn(x.inout(), |_| works(70));
            open.close().wait().unwrap();
        });
        let report = recording.report().unwrap();
        assert_eq!((report.work * 1e9, report.span * 1e9), (180.0, 110.0), "{workers} workers");
    }
}
