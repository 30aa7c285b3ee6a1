//! Where a `write` goes. It gets its own version. If that is forbidden or needs too much memory, it
//! goes in place of the old version, after all uses of it. The result is the same.

use std::panic::resume_unwind;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::thread;

use crate::common::{Mutex, builder, join_all, limit, must_not_run, sized};
use millpond::{Builder, Error, Handle, Inline, Kind, Out, Root, Runtime, Scope, Spawn, Sum};

const INLINES: [Inline; 3] = [Inline::Auto, Inline::Never, Inline::Always];

fn builders() -> impl Iterator<Item = Builder> {
    [1, 2, 8].into_iter().flat_map(|workers| INLINES.map(|inline| builder(workers).inline(inline)))
}

fn runtimes() -> impl Iterator<Item = Runtime> {
    builders().map(|builder| builder.build().unwrap())
}

/// Fails quietly: a panic without the message of the hook.
fn fail() {
    resume_unwind(Box::new("fails"));
}

fn place<T>(value: &T) -> usize {
    ptr::from_ref(value).addr()
}

fn set_and_place(out: Out<'_, u64>, value: u64) -> usize {
    place(out.insert(value))
}

fn await_flag(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        thread::yield_now();
    }
}

/// A runtime on which a leaf may wait for another.
fn at_once(builder: Builder) -> Runtime {
    builder.workers(2).inline(Inline::Never).build().unwrap()
}

/// A reader of both data waits until the write of `free` has run, so that write waits for nothing.
/// The write of `bound` runs after the reader.
fn only_the_first_is_renamed(rt: &Runtime, free: &Handle<u64>, bound: &Handle<u64>) {
    let (written, read) = (&AtomicBool::new(false), &AtomicBool::new(false));
    rt.scope(|s| {
        s.spawn((free.read(), bound.read()), |(a, b)| {
            let before = (*a, *b);
            await_flag(written);
            assert_eq!((*a, *b), before);
            read.store(true, SeqCst);
        });
        s.spawn(free.write(), |out| {
            out.set(1);
            written.store(true, SeqCst);
        });
        s.spawn(bound.write(), |out| {
            assert!(read.load(SeqCst));
            out.set(2);
        });
        s.spawn((free.read(), bound.read()), |(a, b)| assert_eq!((*a, *b), (1, 2)));
    })
    .unwrap();
}

#[test]
#[cfg_attr(millpond_scheme = "stack", ignore = "a stack leaves values where they are")]
fn a_write_in_place_waits_for_readers() {
    limit(20, "in place", || {
        for _ in 0..100 {
            let (free, bound) = (Handle::new(7), Handle::new(8).in_place());
            only_the_first_is_renamed(&at_once(builder(2)), &free, &bound);
        }
    });
}

#[test]
fn a_value_in_place_stays_where_it_is() {
    limit(20, "one place", || {
        for rt in runtimes() {
            let value = Handle::new(0_u64).in_place();
            let (reads, places) = (&AtomicU64::new(0), &Mutex::new(Vec::new()));
            rt.scope(|s| {
                for round in 1..=50 {
                    for _ in 0..3 {
                        s.spawn(value.read(), move |value| {
                            assert_eq!(*value, round - 1);
                            places.lock().push(place(value));
                            thread::yield_now();
                            reads.fetch_add(1, SeqCst);
                        });
                    }
                    // It is overwritten in its turn, and no task reads it.
                    s.spawn(value.write(), |out| places.lock().push(set_and_place(out, 1000)));
                    s.spawn(value.write(), move |out| {
                        assert_eq!(reads.load(SeqCst), 3 * round);
                        places.lock().push(set_and_place(out, round));
                    });
                }
            })
            .unwrap();
            let mut places = places.lock().clone();
            places.dedup();
            assert_eq!(places.len(), 1);
            let mut value = value;
            assert_eq!(place(value.get_mut().unwrap()), places[0]);
            assert_eq!(value.into_inner().unwrap(), 50);
        }
    });
}

/// Without `in_place` it moves: the tests above could fail.
#[test]
#[cfg_attr(millpond_scheme = "stack", ignore = "a stack leaves values where they are")]
fn a_value_moves_if_it_may() {
    let rt = builder(1).build().unwrap();
    let mut value = Handle::new(0_u64);
    let before = place(value.get_mut().unwrap());
    rt.scope(|s| {
        s.nest(value.read(), |_, _| ());
        s.spawn(value.write(), |out| out.set(1));
    })
    .unwrap();
    let after = place(value.get_mut().unwrap());
    assert_ne!(after, before);
    // From then on it stays there.
    let mut value = value.in_place();
    rt.scope(|s| {
        s.nest(value.read(), |_, _| ());
        s.spawn(value.write(), |out| out.set(2));
    })
    .unwrap();
    assert_eq!(place(value.get_mut().unwrap()), after);
}

#[test]
fn a_failed_write_in_place_produces_nothing_and_the_next_one_clears_the_error() {
    limit(20, "failures in place", || {
        for rt in runtimes() {
            let value = Handle::new(1).in_place();
            let poisoned = |error: Error, name| match error.kind() {
                Kind::Poisoned { by } => assert_eq!(by.name(), Some(name)),
                other => panic!("{other:?}"),
            };
            rt.scope(|s| {
                s.nest(value.read(), |s, value| {
                    s.spawn(value.read(), |value| assert_eq!(*value, 1));
                });
                let early = s.task("early").spawn(value.write(), |_out| fail());
                let after_early = s.spawn(value.read(), |_| must_not_run());
                let forgets = s.task("forgets").spawn(value.write(), |_out| ());
                let after_forgets = s.spawn(value.inout(), |_| must_not_run());
                let heals = s.spawn(value.write(), |out| out.set(2));
                let reads = s.nest(value.read(), |s, value| s.wait(s.spawn(value.read(), |value| *value)));
                let late = s.task("late").spawn(value.write(), |out| {
                    out.set(3);
                    fail();
                });
                let after_late = s.spawn(value.commutative(), |_| must_not_run());
                s.spawn(value.write(), |out| out.set(4));
                assert_eq!(s.wait(early).unwrap_err().kind(), &Kind::Panicked("fails".to_owned()));
                poisoned(s.wait(after_early).unwrap_err(), "early");
                assert_eq!(s.wait(forgets).unwrap_err().kind(), &Kind::Unwritten { arg: 0 });
                poisoned(s.wait(after_forgets).unwrap_err(), "forgets");
                s.wait(heals).unwrap();
                assert_eq!(s.wait(reads).unwrap().unwrap(), 2);
                assert!(s.wait(late).is_err());
                poisoned(s.wait(after_late).unwrap_err(), "late");
            })
            .unwrap_err();
            assert_eq!(value.into_inner().unwrap(), 4);
        }
    });
}

#[test]
fn a_datum_in_place_may_start_without_a_value() {
    for rt in runtimes() {
        let value = Handle::<u64>::unset().in_place();
        rt.scope(|s| {
            let missing = s.nest(value.read(), |_, _| must_not_run());
            s.spawn(value.write(), |out| out.set(1));
            assert_eq!(s.wait(missing).unwrap_err().kind(), &Kind::NeverWritten { arg: 0 });
        })
        .unwrap_err();
        assert_eq!(value.into_inner().unwrap(), 1);
    }
}

#[test]
fn what_is_cancelled_writes_nothing_in_place() {
    for rt in runtimes() {
        let value = Handle::new(1).in_place();
        rt.scope(|s| {
            s.spawn(value.read(), |value| assert_eq!(*value, 1));
            s.cancel_token().cancel();
            s.spawn(value.write(), |_| must_not_run());
        })
        .unwrap_err();
        assert!(value.into_inner().is_err());
    }
}

#[test]
fn parents_work_in_place() {
    limit(20, "parents in place", || {
        for rt in runtimes() {
            let mut value = Handle::new(1_u64).in_place();
            let home = place(value.get_mut().unwrap());
            let stays = move |value: &u64| assert_eq!(place(value), home);
            rt.scope(|s| {
                s.nest(value.read(), move |s, value| {
                    s.spawn(value.read(), stays);
                });
                s.nest(value.write(), move |s, value| {
                    for round in 0..5 {
                        s.spawn(value.write(), move |out| stays(out.insert(round)));
                    }
                });
                s.nest(value.inout(), move |s, mut value| {
                    for round in 10..15 {
                        s.spawn(value.read(), stays);
                        s.nest(value.write(), move |s, value| s.set(&value, round));
                    }
                    s.spawn(value.read(), stays);
                    s.set(&value, 20);
                    let mut value = s.wait_on(&mut value).unwrap();
                    stays(&value);
                    *value += 1;
                });
                s.spawn(value.inout(), move |value| {
                    stays(value);
                    *value += 1;
                });
            })
            .unwrap();
            assert_eq!(place(value.get_mut().unwrap()), home);
            assert_eq!(value.into_inner().unwrap(), 22);
        }
    });
}

#[test]
fn a_parent_that_does_not_write_in_place_leaves_nothing() {
    limit(20, "parents that fail in place", || {
        for rt in runtimes() {
            let value = Handle::new(1).in_place();
            rt.scope(|s| {
                s.spawn(value.read(), |_| thread::yield_now());
                let forgets = s.task("forgets").nest(value.write(), |_, _| ());
                let reads = s.spawn(value.read(), |_| must_not_run());
                let child = s.task("parent").nest(value.write(), |s, value| {
                    s.spawn(value.write(), |out| out.set(2));
                    s.task("child").spawn(value.write(), |_| fail());
                });
                let reads_child = s.spawn(value.read(), |_| must_not_run());
                assert_eq!(s.wait(forgets).unwrap_err().kind(), &Kind::Unwritten { arg: 0 });
                assert!(matches!(s.wait(reads).unwrap_err().kind(), Kind::Poisoned { .. }));
                assert_eq!(s.wait(child).unwrap_err().task().name(), Some("child"));
                match s.wait(reads_child).unwrap_err().kind() {
                    Kind::Poisoned { by } => assert_eq!(by.name(), Some("child")),
                    other => panic!("{other:?}"),
                }
                s.nest(value.write(), |s, value| s.set(&value, 3));
            })
            .unwrap_err();
            assert_eq!(value.into_inner().unwrap(), 3);
        }
    });
}

/// In a scope's closure, and in a session, which belongs to no worker.
#[test]
fn a_set_in_place_waits() {
    limit(20, "set in place", || {
        fn program<'s, S: Spawn<'s, Brand = Root>>(s: &S, value: &mut Handle<u64>) {
            let (home, reads) = (place(&*s.wait_on(value).unwrap()), Arc::new(AtomicU64::new(0)));
            for round in 1..20 {
                for _ in 0..3 {
                    let reads = reads.clone();
                    s.spawn(value.read(), move |value| {
                        thread::yield_now();
                        assert_eq!(*value, round - 1);
                        reads.fetch_add(1, SeqCst);
                    });
                }
                s.set(value, round);
                assert_eq!(reads.load(SeqCst), 3 * round);
            }
            assert_eq!(place(&*s.wait_on(value).unwrap()), home);
        }
        for rt in runtimes() {
            let (mut value, mut other) = (Handle::new(0).in_place(), Handle::new(0).in_place());
            rt.scope(|s| program(s, &mut value)).unwrap();
            let session = rt.session();
            program(&session, &mut other);
            session.close().wait().unwrap();
            assert_eq!((value.into_inner().unwrap(), other.into_inner().unwrap()), (19, 19));
        }
    });
}

#[test]
fn unordered_accesses_end_before_a_write_in_place() {
    limit(20, "unordered accesses", || {
        for builder in builders() {
            let rt = builder.deterministic(true).build().unwrap();
            let (log, sum) = (Handle::new(Vec::new()).in_place(), Handle::new(0).in_place());
            rt.scope(|s| {
                for round in 0..10 {
                    for n in 0..5 {
                        s.spawn(log.commutative(), move |log| log.push(10 * round + n));
                        s.spawn(sum.reduce(Sum), move |part| *part += n);
                        s.spawn(sum.reduce(Sum), move |part| *part += n);
                    }
                    let seen = s.spawn((log.read(), sum.read()), |(log, sum)| (log.clone(), *sum));
                    s.spawn((log.write(), sum.write()), move |(log, sum)| {
                        log.set(vec![round]);
                        sum.set(round);
                    });
                    let start = [vec![], vec![round - 1]][usize::from(round > 0)].clone();
                    let log: Vec<_> = start.into_iter().chain((0..5).map(|n| 10 * round + n)).collect();
                    assert_eq!(s.wait(seen).unwrap(), (log, 20 + (round - 1).max(0)));
                }
            })
            .unwrap();
            assert_eq!((log.into_inner().unwrap(), sum.into_inner().unwrap()), (vec![9], 9));
        }
    });
}

/// Room for one version of a number.
const ONE: u64 = 128;

/// Whether a write gets its own version, on a runtime with one worker. If so, it runs at its spawn,
/// before the reader.
fn renames<B>(s: &Scope<'_, '_, B>, value: &Handle<u64, B>) -> bool {
    // A single worker runs a parent only when its scope waits.
    s.nest(value.read(), |_, _| ());
    let write = s.spawn(value.write(), |out| out.set(1));
    write.is_done()
}

fn renames_on(rt: &Runtime, value: &Handle<u64>) -> bool {
    rt.scope(|s| renames(s, value)).unwrap()
}

#[test]
#[cfg_attr(millpond_scheme = "stack", ignore = "a stack leaves values where they are")]
fn which_writes_rename() {
    let (unbounded, none) = (builder(1).build().unwrap(), builder(1).rename_bytes(0).build().unwrap());
    assert!(renames_on(&unbounded, &Handle::new(0)));
    assert!(!renames_on(&unbounded, &Handle::new(0).in_place()));
    assert!(!renames_on(&none, &Handle::new(0)));
}

#[test]
#[cfg_attr(millpond_scheme = "stack", ignore = "a stack leaves values where they are")]
fn what_does_not_fit_goes_in_place() {
    limit(20, "beyond the bound", || {
        let (rt, other) = {
            let builder = builder(1).rename_bytes(ONE);
            (builder.clone().build().unwrap(), builder.build().unwrap())
        };
        let (a, b, c) = (Handle::new(0), Handle::new(0), Handle::new(0));
        assert!(renames_on(&rt, &a));
        // Besides the current version of the one datum there is no room, even for its own next
        // version.
        assert!(!renames_on(&rt, &b) && !renames_on(&rt, &a));
        assert!(renames_on(&other, &c));
        // Until the handle is dropped, on any thread.
        thread::spawn(move || drop(a)).join().unwrap();
        assert!(renames_on(&rt, &b) && !renames_on(&rt, &Handle::new(0)));
        assert_eq!(b.into_inner().unwrap(), 1);
        let last = Handle::new(0);
        assert!(renames_on(&rt, &last));
        drop((rt, other));
        assert_eq!((last.into_inner().unwrap(), c.into_inner().unwrap()), (1, 1));
    });
}

#[test]
#[cfg_attr(millpond_scheme = "stack", ignore = "a stack leaves values where they are")]
fn bytes_are_given_back_after_the_last_use() {
    limit(20, "bytes given back", || {
        let rt = builder(1).rename_bytes(2 * ONE).build().unwrap();
        let (a, b) = (Handle::new(0), Handle::new(0));
        // The old and the new version at the same time.
        assert!((0..100).all(|_| renames_on(&rt, &a)));
        rt.scope(|s| {
            s.nest(a.read(), |_, _| ());
            s.spawn(a.write(), |_| fail());
        })
        .unwrap_err();
        rt.scope(|s| s.set(&a, 0)).unwrap();
        assert!(renames_on(&rt, &a) && renames_on(&rt, &b) && !renames_on(&rt, &a));
        // The value that a nested task leaves goes to the place of its parent's version.
        drop((a, b));
        let value = Handle::new(0);
        for _ in 0..100 {
            let join = rt.scope(|s| s.wait(s.nest(value.inout(), |s, value| renames(s, &value))));
            assert!(join.unwrap().unwrap());
        }
        let all: Vec<_> = (0..3).map(|_| Handle::new(0)).collect();
        assert_eq!(all.iter().filter(|value| renames_on(&rt, value)).count(), 2);
    });
}

/// There are more callers than seats, so some have caller contexts.
#[test]
#[cfg_attr(millpond_scheme = "stack", ignore = "a stack leaves values where they are")]
fn all_callers_share_the_bound() {
    limit(20, "callers", || {
        const CALLERS: usize = 12;
        let rt = &builder(1).rename_bytes(3 * ONE).build().unwrap();
        let (barrier, renamed) = (&Barrier::new(CALLERS), &AtomicU64::new(0));
        thread::scope(|threads| {
            let call = || {
                let value = Handle::new(0);
                rt.scope(|s| {
                    s.nest(value.read(), |_, _| ());
                    // No thread waits, and so runs a parent, before all have tried.
                    barrier.wait();
                    let write = s.spawn(value.write(), |out| out.set(1));
                    renamed.fetch_add(u64::from(write.is_done()), SeqCst);
                    barrier.wait();
                })
                .unwrap();
                assert_eq!(value.into_inner().unwrap(), 1);
            };
            join_all((0..CALLERS).map(|_| threads.spawn(call)).collect());
        });
        assert_eq!(renamed.load(SeqCst), 3);
        let all: Vec<_> = (0..CALLERS).map(|_| Handle::new(0)).collect();
        assert_eq!(all.iter().filter(|value| renames_on(rt, value)).count(), 3);
    });
}

/// A value whose live copies are counted.
struct Counted(#[expect(dead_code, reason = "counts itself")] Arc<()>, u64);

/// Every value is dropped once, whatever happens to its version. The count is correct.
#[test]
fn values_are_dropped_once() {
    limit(60, "drops", || {
        let rounds = sized(200, 2000) as u64;
        for (builder, bytes) in builders().flat_map(|builder| [0, 1000, u64::MAX].map(|n| (builder.clone(), n))) {
            let rt = builder.rename_bytes(bytes).build().unwrap();
            let alive = &Arc::new(());
            let new = |n| Counted(alive.clone(), n);
            let data: Vec<_> = (0..4).map(|n| Handle::new(new(n))).collect();
            let data: Vec<_> = data.into_iter().zip([false, true, false, true]).collect();
            let data: Vec<_> = data.into_iter().map(|(h, stays)| if stays { h.in_place() } else { h }).collect();
            let sum = &AtomicU64::new(0);
            rt.scope(|s| {
                for round in 1..=rounds {
                    let value = &data[round as usize % 4];
                    (0..2).for_each(|_| drop(s.spawn(value.read(), |value| _ = sum.fetch_add(value.1, SeqCst))));
                    match round % 16 {
                        3 => drop(s.spawn(value.write(), |_| fail())),
                        5 => drop(s.spawn(value.write(), |_| ())),
                        6 => drop(s.nest(value.write(), move |s, value| {
                            s.spawn(value.write(), move |out| out.set(new(0)));
                            s.set(&value, new(0));
                        })),
                        7 => drop(s.spawn(value.write(), move |out| {
                            out.set(new(0));
                            fail();
                        })),
                        8 => s.set(value, new(0)),
                        _ => {}
                    }
                    s.spawn(value.write(), move |mut out| {
                        let old = out.recycled().filter(|_| round % 3 == 0);
                        out.set(new(round));
                        drop(old);
                    });
                }
            })
            .unwrap_err();
            // Each is read twice, four rounds after its write.
            let first = (1..=4).map(|round| round % 4).sum::<u64>();
            assert_eq!(sum.load(SeqCst), 2 * (first + (1..=rounds - 4).sum::<u64>()));
            assert_eq!(Arc::strong_count(alive), 1 + data.len());
            drop(data);
            assert_eq!(Arc::strong_count(alive), 1);
        }
    });
}
