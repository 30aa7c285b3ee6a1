//! Interactions that once failed.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::common::{builder, join_all, limit, runtime};
use millpond::{Handle, Inline, Kind, Spawn, Sum};

/// Combine tasks and external tasks complete on the owner's worker, which has not counted their
/// spawns.
#[test]
fn counts_may_pass_below_zero() {
    limit(20, "counts below zero", || {
        for workers in [1, 2] {
            let rt = runtime(workers);
            let ran = AtomicU32::new(0);
            let mut sum = Handle::new(0);
            rt.scope(|s| {
                let mut own = s.handle(0);
                for i in 0..4 {
                    s.spawn(own.reduce(Sum), move |part| *part += i);
                }
                assert_eq!(*s.wait_on(&mut own).unwrap(), 6);
                let join = s.nest((), |_, ()| ());
                drop(s.external().pending(|| _ = ran.fetch_add(1, Relaxed)));
                s.wait(join).unwrap();
                s.spawn(sum.inout(), |sum| *sum += 1);
            })
            .unwrap();
            assert_eq!((*sum.get_mut().unwrap(), ran.load(Relaxed)), (1, 1));
        }
    });
}

/// A leaf that runs at its spawn holds its data, though the scheme has issued nothing. A scope in
/// it cannot claim them.
#[test]
fn a_scope_in_an_inline_leaf_finds_its_data_busy() {
    limit(20, "a scope in an inline leaf", || {
        for inline in [Inline::Always, Inline::Never] {
            let rt = builder(1).inline(inline).build().unwrap();
            let number = Handle::new(0);
            rt.scope(|s| {
                s.spawn(number.inout(), |outer| {
                    let inner = rt.scope(|s| drop(s.spawn(number.inout(), |inner| *inner += 10)));
                    assert_eq!(inner.unwrap_err().kind(), &Kind::Busy { arg: 0 });
                    *outer += 1;
                });
            })
            .unwrap();
            assert_eq!(number.into_inner().unwrap(), 1);
        }
    });
}

/// More callers than seats: the others use caller contexts, and reuse them.
#[test]
fn callers_beyond_the_seats() {
    limit(20, "callers beyond the seats", || {
        let rt = runtime(1);
        let ran = AtomicU32::new(0);
        std::thread::scope(|threads| {
            join_all(
                (0..16)
                    .map(|_| {
                        threads.spawn(|| {
                            for _ in 0..50 {
                                rt.scope(|s| _ = s.spawn((), |()| _ = ran.fetch_add(1, Relaxed))).unwrap();
                                // A stray token: `park` may also return without one.
                                std::thread::current().unpark();
                            }
                        })
                    })
                    .collect(),
            );
        });
        assert_eq!(ran.into_inner(), 800);
    });
}

/// A handle that moves away while its reduction is open is busy until the combine task has ended.
#[test]
fn a_reduction_keeps_its_handle_busy() {
    limit(60, "a busy reduction", || {
        let rt = runtime(2);
        for _ in 0..300 {
            let got = rt.scope(|s| {
                let sum = Handle::new(0_u64);
                for i in 1..=4 {
                    s.spawn(sum.reduce(Sum), move |part| *part += i);
                }
                s.nest((), move |_, ()| {
                    let mut sum = sum;
                    for _ in 0..200 {
                        match sum.get_mut() {
                            Ok(sum) => return assert_eq!(*sum, 10),
                            Err(error) => assert_eq!(error.kind(), &Kind::Busy { arg: 0 }),
                        }
                        std::thread::yield_now();
                    }
                });
            });
            got.unwrap();
        }
    });
}
