//! `Handle::get` lends a value by shared reference while no scope uses the handle. These tests
//! check what scopes see meanwhile.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, LazyLock};
use std::{mem, thread};

use crate::common::{builder, limit, must_not_run, on_stack, runtime, silence_expected_panics, sized};
use crate::conformance::on_every_row;
use millpond::{Append, Engine, Error, Handle, Inline, Kind, Lent, Reducer, Runtime, Spawn, Sum};

const LENT: Kind = Kind::Lent { arg: 0 };
const BUSY: Kind = Kind::Busy { arg: 0 };

fn kind<T>(result: Result<T, Error>) -> Kind {
    result.err().expect("it fails").kind().clone()
}

#[test]
fn a_value_between_scopes() {
    for (workers, inline) in [(1, Inline::Never), (2, Inline::Auto), (8, Inline::Always)] {
        on_every_row!(60, "between scopes", builder(workers).inline(inline), rt => {
            let list = Handle::new(vec![0]);
            assert_eq!(*list.get().unwrap(), [0], "before the first scope");
            for n in 1..10 {
                rt.scope(|s| {
                    s.spawn(list.inout(), move |list| list.push(n));
                    s.nest(list.inout(), |s, list| drop(s.spawn(list.inout(), |list| list.reverse())));
                    s.spawn(list.reduce(Append), |part| part.push(100));
                })
                .unwrap();
                let (one, other) = (list.get().unwrap(), list.get().unwrap());
                assert!(std::ptr::eq(&*one, &*other), "lent twice");
                assert_eq!((one.len(), other.last()), (1 + 2 * n, Some(&100)));
                assert_eq!(format!("{one:?}"), format!("{:?}", *one));
            }
            // A renamed value.
            rt.scope(|s| {
                s.nest(list.read(), |s, list| drop(s.spawn(list.read(), |_| ())));
                s.spawn(list.write(), |out| out.set(vec![7]));
            })
            .unwrap();
            assert_eq!(*list.get().unwrap(), [7]);
            assert_eq!(list.into_inner().unwrap(), [7]);
        });
    }
}

#[test]
fn no_value_is_an_error_and_ends_the_loan() {
    silence_expected_panics();
    on_every_row!(60, "no value to lend", builder(2), rt => {
        let (unset, failed) = (Handle::<u32>::unset(), Handle::new(1));
        let error = unset.get().unwrap_err();
        assert_eq!(error.kind(), &Kind::NeverWritten { arg: 0 });
        assert!(error.task().to_string().contains("lending.rs:"), "{error}");
        let result = rt.scope(|s| {
            s.task("fails").spawn(failed.inout(), |_| resume_unwind(Box::new("expected")));
        });
        assert!(result.is_err());
        match failed.get().unwrap_err().kind() {
            Kind::Poisoned { by } => assert_eq!(by.name(), Some("fails")),
            other => panic!("{other}"),
        }
        // Neither handle is lent now.
        rt.scope(|s| {
            s.spawn((unset.write(), failed.write()), |(a, b)| {
                a.set(2);
                b.set(3);
            });
        })
        .unwrap();
        assert_eq!((*unset.get().unwrap(), *failed.get().unwrap()), (2, 3));
    });
}

/// Every use of a lent handle in a scope is refused, and changes nothing.
fn refused<E: Engine>(rt: &Runtime<E>) {
    let (value, other) = (Handle::new(1), Handle::new(5));
    rt.scope(|s| drop(s.spawn(value.inout(), |value| *value = 2))).unwrap();
    let lent = value.get().unwrap();
    let result = rt.scope(|s| {
        s.task("reader").spawn((other.write(), value.read()), |_| must_not_run());
    });
    let text = "task `reader` uses a handle whose value is lent by `get` (access 1)";
    assert_eq!(result.unwrap_err().to_string(), text);
    assert!(matches!(kind(other.get()), Kind::Poisoned { .. }), "what it would have written");
    assert_eq!(kind(rt.scope(|s| drop(s.spawn(value.inout(), |_| must_not_run())))), LENT);
    assert_eq!(kind(rt.scope(|s| drop(s.spawn(value.write(), |_| must_not_run())))), LENT);
    assert_eq!(kind(rt.scope(|s| drop(s.spawn(value.commutative(), |_| must_not_run())))), LENT);
    assert_eq!(kind(rt.scope(|s| drop(s.spawn(value.reduce(Sum), |_| must_not_run())))), LENT);
    assert_eq!(kind(rt.scope(|s| drop(s.nest(value.read(), |_, _| must_not_run())))), LENT);
    assert_eq!(kind(rt.scope(|s| s.set(&value, 7))), LENT);
    let session = rt.session();
    assert_eq!(kind(session.wait(session.spawn(value.read(), |_| must_not_run()))), LENT);
    assert_eq!(kind(session.close().wait()), LENT);
    assert_eq!(*lent, 2);
    drop(lent);
    rt.scope(|s| drop(s.spawn(value.inout(), |value| *value += 1))).unwrap();
    assert_eq!(value.into_inner().unwrap(), 3);
}

#[test]
fn a_lent_value_refuses_every_access() {
    for inline in [Inline::Never, Inline::Always] {
        on_every_row!(60, "every access is refused", builder(2).inline(inline), rt => refused(rt));
    }
}

#[test]
fn a_value_lent_on_another_thread() {
    on_every_row!(60, "lent on another thread", builder(2), rt => {
        let value = Handle::new(vec![1]);
        let (steps, gone) = (Barrier::new(2), AtomicBool::new(false));
        thread::scope(|threads| {
            threads.spawn(|| {
                let lent = value.get().unwrap();
                steps.wait();
                steps.wait();
                assert_eq!(*lent, [1]);
                // A third thread returns it.
                threads.spawn(|| {
                    assert_eq!(*lent, [1]);
                    drop(lent);
                    gone.store(true, SeqCst);
                });
            });
            steps.wait();
            let spawns = || rt.scope(|s| drop(s.spawn(value.inout(), |value| value.push(2))));
            assert_eq!(kind(spawns()), LENT);
            assert_eq!(*value.get().unwrap(), [1], "but it can be lent once more");
            steps.wait();
            while !gone.load(SeqCst) {
                thread::yield_now();
            }
            spawns().unwrap();
        });
        assert_eq!(value.into_inner().unwrap(), [1, 2]);
    });
}

/// A handle cannot be lent while accesses are outstanding, or while a scope of another thread or a
/// session uses it.
#[test]
fn a_busy_handle_is_not_lent() {
    on_every_row!(60, "busy handles", builder(2).inline(Inline::Never), rt => {
        let (value, sum) = (Handle::new(0), Handle::new(0));
        let (go, told) = channel::<()>();
        rt.scope(|s| {
            s.spawn(value.inout(), move |value| {
                told.recv().unwrap();
                *value = 1;
            });
            s.spawn(sum.reduce(Sum), |sum| *sum += 1);
            let error = value.get().unwrap_err();
            assert_eq!(error.kind(), &BUSY);
            assert!(error.task().to_string().contains("lending.rs:"), "{error}");
            assert_eq!(kind(sum.get()), BUSY, "an open reduction");
            thread::scope(|threads| {
                threads.spawn(|| assert_eq!(kind(value.get()), BUSY));
            });
            go.send(()).unwrap();
        })
        .unwrap();
        assert_eq!((*value.get().unwrap(), *sum.get().unwrap()), (1, 1));
        let session = rt.session();
        session.wait(session.spawn(value.inout(), |value| *value = 2)).unwrap();
        assert_eq!(kind(value.get()), BUSY, "a session keeps what it has used");
        session.close().wait().unwrap();
        assert_eq!(*value.get().unwrap(), 2);
    });
}

/// In the closure of a scope that has used the handle: the scope releases it, and claims it again.
#[test]
fn in_the_closure_of_its_scope() {
    for inline in [Inline::Never, Inline::Always] {
        on_every_row!(60, "in a closure", builder(2).inline(inline), rt => {
            let mut value = Handle::new(0);
            let result = rt.scope(|s| {
                for n in 1..4 {
                    s.spawn(value.inout(), |value| *value += 1);
                    assert_eq!(*s.wait_on(&mut value).unwrap(), n);
                    let lent = value.get().unwrap();
                    // No other thread could have changed it.
                    thread::scope(|threads| _ = threads.spawn(|| assert_eq!(*value.get().unwrap(), n)));
                    assert_eq!(*lent, n);
                    drop(lent);
                    let sum = s.spawn(value.read(), |value| *value);
                    assert_eq!(s.wait(sum).unwrap(), n);
                }
                s.wait_on(&mut value).unwrap();
                let lent = value.get().unwrap();
                s.task("refused").spawn(value.read(), |_| must_not_run());
                drop(lent);
                s.spawn(value.inout(), |value| *value *= 2);
            });
            assert_eq!(result.unwrap_err().to_string(), "task `refused` uses a handle whose value is lent by `get` (access 0)");
            assert_eq!(value.into_inner().unwrap(), 6);
        });
    }
}

/// A leaf that has access to the value, at its spawn or later, cannot lend the value to itself.
#[test]
fn in_the_body_that_has_the_value() {
    for inline in [Inline::Never, Inline::Auto, Inline::Always] {
        on_every_row!(60, "in a body", builder(1).inline(inline), rt => {
            let value = Handle::new(0);
            rt.scope(|s| {
                for _ in 0..20 {
                    s.spawn(value.inout(), |here| {
                        assert_eq!(kind(value.get()), BUSY);
                        *here += 1;
                    });
                }
            })
            .unwrap();
            assert_eq!(value.into_inner().unwrap(), 20);
        });
    }
}

static COMPARED: LazyLock<Handle<u64>> = LazyLock::new(|| Handle::new(0));
static LOOKS: AtomicUsize = AtomicUsize::new(0);

/// Compares by reading a handle that the spawn of this comparison has prepared. It has a size,
/// because other reducers are equal without a comparison.
#[derive(Clone, Copy)]
struct Looks(u8);

impl PartialEq for Looks {
    fn eq(&self, other: &Self) -> bool {
        assert_eq!(kind(COMPARED.get()), BUSY);
        LOOKS.fetch_add(1, Relaxed);
        self.0 == other.0
    }
}

impl Eq for Looks {}

impl Reducer<u64> for Looks {
    fn identity(&self, _like: &u64) -> u64 {
        0
    }
    fn combine(&self, into: &mut u64, part: u64) {
        *into += part;
    }
}

#[test]
fn in_the_comparison_of_reducers() {
    limit(20, "in a comparison", || {
        let (rt, sum) = (runtime(2), Handle::new(0));
        rt.scope(|s| {
            for n in 0..10 {
                s.spawn((COMPARED.inout(), sum.reduce(Looks(0))), move |(value, part)| {
                    *value += n;
                    *part += n;
                });
            }
        })
        .unwrap();
        assert!(LOOKS.load(Relaxed) > 0);
        assert_eq!((*COMPARED.get().unwrap(), sum.into_inner().unwrap()), (45, 45));
    });
}

/// A forgotten loan breaks no rule: the handle stays lent until its owner has exclusive access.
#[test]
fn a_forgotten_loan() {
    fn forget<E: Engine>(rt: &Runtime<E>) {
        let mut value = Handle::new(vec![1]);
        mem::forget(value.get().unwrap());
        mem::forget(value.get().unwrap());
        let spawns = |value: &Handle<Vec<i32>>| rt.scope(|s| drop(s.spawn(value.inout(), |value| value.push(2))));
        assert_eq!(kind(spawns(&value)), LENT);
        assert_eq!(*value.get().unwrap(), [1]);
        assert_eq!(kind(spawns(&value)), LENT);
        assert_eq!(kind(rt.scope(|s| s.wait_on(&mut value).map(drop)).unwrap()), LENT);
        assert_eq!(value.get_mut().unwrap(), &[1]);
        spawns(&value).unwrap();
        mem::forget(value.get().unwrap());
        assert_eq!(value.into_inner().unwrap(), [1, 2]);
        let dropped = Handle::new(Arc::new(()));
        let count = Arc::clone(&*dropped.get().unwrap());
        mem::forget(dropped.get().unwrap());
        drop(dropped);
        assert_eq!(Arc::strong_count(&count), 1, "it goes with the handle");
    }
    on_every_row!(60, "forgotten loans", builder(2), rt => forget(rt));
}

/// A loan for as long as the handle is borrowed may leak its guard.
#[test]
#[cfg_attr(millpond_asan, ignore = "it leaks on purpose")]
fn a_leaked_guard() {
    limit(20, "a leaked guard", || {
        let (rt, value) = (runtime(1), Handle::new(1));
        let forever: &Lent<'_, i32> = Box::leak(Box::new(value.get().unwrap()));
        let number: &i32 = forever;
        assert_eq!(kind(rt.scope(|s| drop(s.spawn(value.inout(), |value| *value += 1)))), LENT);
        assert_eq!(*number, 1);
    });
}

/// Readers on several threads run against scopes on other threads, on two runtimes. No reader sees
/// a value while a task changes it.
fn contend<E: Engine>(rt: &Runtime<E>, rounds: usize) {
    let other = on_stack(1);
    let value = Handle::new([0_u64; 64]);
    let (ends, read, wrote) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let change = |value: &mut [u64; 64]| value.iter_mut().for_each(|word| *word += 1);
    let note = |result: Result<(), Error>| match result {
        Ok(()) => _ = wrote.fetch_add(1, Relaxed),
        Err(error) => assert!([LENT, BUSY].contains(error.kind()), "{error}"),
    };
    thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                while !ends.load(Relaxed) {
                    match value.get() {
                        Ok(words) => {
                            assert!(words.iter().all(|word| *word == words[0]), "{words:?}");
                            read.fetch_add(1, Relaxed);
                        }
                        Err(error) => assert_eq!(error.kind(), &BUSY),
                    }
                    thread::yield_now();
                }
            });
        }
        let both = [
            threads.spawn(|| (0..rounds).for_each(|_| note(rt.scope(|s| drop(s.spawn(value.inout(), change)))))),
            threads.spawn(|| (0..rounds).for_each(|_| note(other.scope(|s| drop(s.spawn(value.inout(), change)))))),
        ];
        both.into_iter().for_each(|thread| thread.join().unwrap());
        ends.store(true, Relaxed);
    });
    assert_eq!(*value.get().unwrap(), [wrote.into_inner() as u64; 64]);
}

#[test]
fn readers_and_scopes_exclude_each_other() {
    for inline in [Inline::Never, Inline::Always] {
        on_every_row!(60, "readers and scopes", builder(2).inline(inline), rt => contend(rt, sized(20, 100)));
    }
    limit(60, "readers and scopes", || contend(&runtime(2), sized(500, 20_000)));
}
