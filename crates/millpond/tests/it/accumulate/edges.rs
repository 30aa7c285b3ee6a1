//! Misuse, failures and cancellation.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicI64;
use std::thread;

use millpond::{Prod, all};

use super::*;

/// Runtimes on which ready leaves run at their spawn always, never and sometimes.
pub(super) fn runtimes(deterministic: bool) -> impl Iterator<Item = Runtime> {
    let choices = [(1, Inline::Always), (1, Inline::Never), (2, Inline::Auto), (4, Inline::Never)];
    choices.into_iter().map(move |(workers, inline)| {
        let builder = Runtime::builder().workers(workers).inline(inline).deterministic(deterministic);
        builder.build().expect("valid choices")
    })
}

/// A value that counts how many of its kind exist. Its combination can fail.
#[derive(Debug)]
pub(super) struct Live(pub(super) u64, &'static AtomicI64);

impl Live {
    pub(super) fn new(value: u64, count: &'static AtomicI64) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Live(value, count)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Adds. Panics if a sum would exceed a bound, or if an identity is asked for too often.
#[derive(Clone, Copy)]
pub(super) struct Bounded<const LARGE: bool> {
    pub(super) most: u64,
    pub(super) identities: &'static AtomicI64,
}

impl<const LARGE: bool> PartialEq for Bounded<LARGE> {
    fn eq(&self, other: &Self) -> bool {
        self.most == other.most
    }
}

impl<const LARGE: bool> Eq for Bounded<LARGE> {}

impl<const LARGE: bool> Reducer<Live> for Bounded<LARGE> {
    const LARGE: bool = LARGE;

    fn identity(&self, like: &Live) -> Live {
        assert!(self.identities.fetch_sub(1, Ordering::Relaxed) > 0, "expected: no further identity");
        Live::new(0, like.1)
    }

    fn combine(&self, into: &mut Live, part: Live) {
        assert!(into.0 + part.0 <= self.most, "expected: too much");
        into.0 += part.0;
    }
}

pub(super) fn counter(value: i64) -> &'static AtomicI64 {
    forever(AtomicI64::new(value))
}

#[test]
fn one_handle_twice_is_a_duplicate() {
    silence_expected_panics();
    for rt in runtimes(false) {
        for opens in [false, true] {
            let ran = AtomicUsize::new(0);
            let handles: Vec<_> = (0..6).map(|_| Handle::new(1_u64)).collect();
            let kinds = handles.iter().enumerate().map(|(case, h)| {
                let result = rt.scope(|s| {
                    if opens {
                        s.spawn(h.reduce(Sum), |part| *part += 1);
                    }
                    let ran = &ran;
                    let count = move || ran.fetch_add(1, Ordering::Relaxed);
                    match case {
                        0 => drop(s.spawn((h.accumulate(Sum), h.accumulate(Sum)), move |_| count())),
                        1 => drop(s.spawn((h.accumulate(Sum), h.reduce(Sum)), move |_| count())),
                        2 => drop(s.spawn((h.reduce(Sum), h.accumulate(Prod)), move |_| count())),
                        3 => drop(s.spawn((h.accumulate(Sum), h.inout()), move |_| count())),
                        4 => drop(s.spawn((h.read(), h.accumulate(Sum)), move |_| count())),
                        _ => drop(s.spawn((h.accumulate(Sum), h.read()), move |_| count())),
                    }
                });
                result.expect_err("misuse").kind().clone()
            });
            assert!(kinds.into_iter().all(|kind| kind == Kind::Duplicate { args: (0, 1) }));
            assert_eq!(ran.into_inner(), 0);
            assert!(handles.into_iter().all(|handle| handle.into_inner().is_err()));
        }
    }
}

/// Two threads use one handle in scopes of their own. One of them is told that it is busy, and
/// touches nothing of the other's.
#[test]
fn a_busy_total_belongs_to_one_scope() {
    silence_expected_panics();
    let dog = Watchdog::new(Duration::from_secs(60));
    dog.over(
        || "two scopes".to_owned(),
        || {
            let rt = Runtime::builder().workers(2).build().expect("valid choices");
            let (total, added) = (Handle::new(0_u64), AtomicU64::new(0));
            thread::scope(|threads| {
                for thread in 0..2_u64 {
                    let (rt, total, added) = (&rt, &total, &added);
                    threads.spawn(move || {
                        for round in 0..300 {
                            let other = Handle::new(0_u64);
                            let result = rt.scope(|s| {
                                for _ in 0..5 {
                                    match (thread + round) % 3 {
                                        0 => drop(s.spawn(total.accumulate(Sum), |mut total| total.add(1))),
                                        1 => drop(s.spawn(total.reduce(Sum), |total| *total += 1)),
                                        // Twice, and busy.
                                        _ => {
                                            drop(s.spawn((other.inout(), other.reduce(Sum), total.reduce(Sum)), |_| ()))
                                        }
                                    }
                                }
                                s.spawn(total.read(), |_| ());
                            });
                            if result.is_ok() {
                                added.fetch_add(5, Ordering::Relaxed);
                            }
                        }
                    });
                }
            });
            drop((total, added));
        },
    );
}

/// Leaves at their spawn that join a reduction which an earlier task began.
#[test]
fn a_leaf_at_its_spawn_joins_an_open_reduction() {
    silence_expected_panics();
    let rt = Runtime::builder().workers(1).inline(Inline::Always).build().expect("valid choices");
    let more: Vec<_> = (0..6).map(|_| Handle::new(0_u64)).collect();
    for fails in [false, true] {
        let total = Handle::new(0_u64);
        let result = rt.scope(|s| {
            // A parent never runs at its spawn.
            s.nest(total.accumulate(Sum), |_, total| total.add(1));
            s.spawn(total.accumulate(Sum), |mut total| total.add(10));
            s.spawn(total.reduce(Sum), |total| *total += 100);
            s.spawn(total.accumulate(Sum), |mut total| {
                total.add(1000);
                std::mem::forget(total);
            });
            s.spawn((all(&more, Handle::inout), total.accumulate(Sum)), |(_, mut total)| total.add(10_000));
            if fails {
                s.task("bad").spawn(total.accumulate(Sum), |mut total| {
                    std::mem::take(total.partial());
                    panic!("expected from 0");
                });
            }
            s.spawn(total.accumulate(Sum), |mut total| total.add(100_000));
        });
        match (fails, result, total.into_inner()) {
            (false, Ok(()), Ok(total)) => assert_eq!(total, 111_111),
            (true, Err(_), Err(error)) => {
                assert!(matches!(error.kind(), Kind::Poisoned { by } if by.name() == Some("bad")), "{error}");
            }
            (_, result, total) => panic!("{result:?}, {total:?}"),
        }
    }
}

/// A reducer fails anywhere. Each value is dropped once, and the scope fails.
#[test]
fn failing_reducers_lose_nothing() {
    fn run<const LARGE: bool>(rt: &Runtime, most: u64, identities: i64) -> bool {
        let (live, identities) = (counter(0), counter(identities));
        let reducer = Bounded::<LARGE> { most, identities };
        let (gate, total) = (Handle::unset(), Handle::new(Live::new(0, live)));
        let result = rt.scope(|s| {
            s.nest(gate.write(), |s, gate| s.set(&gate, ()));
            for n in 0..20_u64 {
                match n % 4 {
                    0 => drop(s.spawn((gate.read(), total.accumulate(reducer)), move |(_, mut total)| {
                        total.add(Live::new(1, live));
                    })),
                    1 => drop(s.spawn(total.reduce(reducer), |part| part.0 += 1)),
                    2 => drop(s.spawn(total.accumulate(reducer), move |mut total| total.partial().0 += 1)),
                    _ => drop(s.nest(total.accumulate(reducer), move |s, total| {
                        // The first may panic, and be caught.
                        let _ = catch_unwind(AssertUnwindSafe(|| total.add(Live::new(1, live))));
                        s.spawn(total.accumulate(), move |mut total| total.add(Live::new(1, live)));
                    })),
                }
            }
        });
        let (is_ok, has_value) = (result.is_ok(), total.into_inner().is_ok());
        assert_eq!(is_ok, has_value, "{result:?}");
        assert_eq!(live.load(Ordering::Relaxed), 0, "most {most}: each value is dropped once");
        is_ok
    }
    silence_expected_panics();
    for rt in runtimes(false).chain(runtimes(true)) {
        for most in [0, 1, 3, 7, 12, 1000] {
            let ended = (run::<false>(&rt, most, 1000), run::<true>(&rt, most, 1000));
            assert_eq!(ended, (most == 1000, most == 1000));
        }
        for identities in 0..4 {
            run::<false>(&rt, 1000, identities);
            run::<true>(&rt, 1000, identities);
        }
    }
}

/// The drop of a body whose reducer failed panics, too. The failure still belongs to the task.
#[test]
fn a_body_that_cannot_be_called_is_dropped_inside_its_task() {
    struct Thrower;
    impl Drop for Thrower {
        fn drop(&mut self) {
            if !thread::panicking() {
                panic!("expected from the drop");
            }
        }
    }
    silence_expected_panics();
    for rt in runtimes(false) {
        let total = Handle::new(Live::new(0, counter(0)));
        let result = rt.scope(|s| {
            let thrower = Thrower;
            let reducer = Bounded::<false> { most: 1000, identities: counter(0) };
            s.spawn(total.reduce(reducer), move |_| drop(thrower));
        });
        let said = result.expect_err("the identity panicked").to_string();
        assert!(said.contains("no further identity"), "{said}");
        assert!(total.into_inner().is_err());
    }
}

/// The position of an unwritten access counts the accesses that reduce before it.
#[test]
fn an_unwritten_access_has_its_position() {
    for rt in runtimes(false) {
        let (sum, out) = (Handle::new(0_u64), Handle::<u64>::unset());
        let unwritten = |result: Result<(), Error>| result.expect_err("nothing is written").kind().clone();
        let result = rt.scope(|s| drop(s.spawn((sum.reduce(Sum), out.write()), |(sum, _)| *sum += 1)));
        assert_eq!(unwritten(result), Kind::Unwritten { arg: 1 });
        let (sum, out) = (Handle::new(0_u64), Handle::<u64>::unset());
        let result = rt.scope(|s| drop(s.spawn((sum.accumulate(Sum), out.write()), |(mut sum, _)| sum.add(1))));
        assert_eq!(unwritten(result), Kind::Unwritten { arg: 1 });
        assert!(sum.into_inner().is_err());
    }
}

#[test]
fn an_error_that_is_returned_poisons_the_total() {
    for rt in runtimes(false).chain(runtimes(true)) {
        let (first, second) = (Handle::new(0_u64), Handle::new(0_u64));
        let result = rt.scope(|s| {
            s.try_spawn((first.accumulate(Sum), second.reduce(Sum)), |(mut first, _)| {
                first.add(1);
                Err::<(), _>("no")
            });
        });
        assert!(matches!(result.expect_err("a task failed").kind(), Kind::Failed));
        assert!(first.into_inner().is_err() && second.into_inner().is_err());
    }
}

/// A task may have several contributions, in any shape.
#[test]
fn contributions_in_tuples_lists_and_options() {
    for rt in runtimes(false).chain(runtimes(true)) {
        let (count, product) = (Handle::new(0_u64), Handle::new(1_u64));
        rt.scope(|s| {
            s.nest((count.accumulate(Sum), product.accumulate(Prod)), |s, (count, product)| {
                let own = s.handle(5_u64);
                s.spawn((own.read(), count.accumulate(), product.accumulate()), |(own, mut count, mut product)| {
                    count.add(*own);
                    product.add(2);
                });
                s.spawn(
                    (vec![count.accumulate(), count.accumulate()], Some(product.accumulate())),
                    |(mut counts, product)| {
                        counts.iter_mut().for_each(|count| count.add(10));
                        product.expect("it is there").add(3);
                    },
                );
                let (mut first, mut second) = (count.acc(), count.acc());
                *first.partial() += 100;
                *second.partial() += 1000;
            });
        })
        .expect("nothing fails");
        let totals = (count.into_inner().expect("produced"), product.into_inner().expect("produced"));
        assert_eq!(totals, (1125, 6));
    }
}

/// A cancelled scope ends while contributions wait.
#[test]
fn a_cancelled_scope_poisons_its_totals() {
    for rt in runtimes(false).chain(runtimes(true)) {
        let (gate, total) = (Handle::unset(), Handle::new(0_u64));
        let result = rt.scope(|s| {
            s.nest(gate.write(), |s, gate| s.set(&gate, ()));
            let token = s.cancel_token();
            s.nest((gate.read(), total.accumulate(Sum)), move |s, (_, total)| {
                for n in 0..50 {
                    s.spawn(total.accumulate(), move |mut total| total.add(n));
                    if n == 25 {
                        token.cancel();
                    }
                }
            });
        });
        assert!(result.is_err());
        assert!(total.into_inner().is_err());
    }
}

/// A session's totals, from several spawns at different times.
#[test]
fn a_session_accumulates() {
    for rt in runtimes(false).chain(runtimes(true)) {
        let (session, total) = (rt.session(), Handle::new(0_u64));
        for n in 0..100 {
            session.spawn(total.accumulate(Sum), move |mut total| total.add(n));
            session.nest(total.accumulate(Sum), move |s, total| {
                s.spawn(total.accumulate(), move |mut total| total.add(n));
            });
        }
        session.close().wait().expect("nothing fails");
        assert_eq!(total.into_inner().expect("produced"), 2 * 4950);
    }
}

/// Recorded tasks and dumps see members of a reduction only.
#[test]
fn recorded_tasks_accumulate() {
    let rt = Runtime::builder().workers(2).dumps(true).build().expect("valid choices");
    let total = Handle::new(0_u64);
    rt.scope(|s| {
        s.nest(total.accumulate(Sum), |s, total| {
            for n in 0..20 {
                s.spawn(total.accumulate(), move |mut total| total.add(n));
            }
            assert!(rt.dump().kept);
        });
        s.spawn(total.accumulate(Sum), |mut total| total.add(1));
    })
    .expect("nothing fails");
    assert!(rt.dump().unfinished.is_empty());
    assert_eq!(total.into_inner().expect("produced"), 191);
}
