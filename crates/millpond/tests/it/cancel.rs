//! Cancellation. A datum has its serial value if its task finished; otherwise its task was
//! cancelled or read a cancelled datum.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Barrier, OnceLock};
use std::thread;

use crate::common::{builder, limit, must_not_run, runtime};
use millpond::{CancelToken, Handle, Inline, Kind, Spawn};

fn wait_for(token: &CancelToken) {
    while !token.is_cancelled() {
        thread::yield_now();
    }
}

#[test]
fn from_another_thread() {
    limit(20, "cancelled from a thread", || {
        for rt in [1, 2, 8].map(runtime) {
            let (a, started) = (Handle::new(0), &Arc::new(Barrier::new(2)));
            let result = rt.scope(|s| {
                let (token, seen) = (s.cancel_token(), s.cancel_token());
                let canceller = thread::spawn({
                    let started = Arc::clone(started);
                    move || {
                        started.wait();
                        token.cancel();
                    }
                });
                let first = s.spawn(a.inout(), move |a| {
                    started.wait();
                    wait_for(&seen);
                    *a += 1;
                    *a
                });
                for _ in 0..10 {
                    s.spawn(a.inout(), |a| *a += 1);
                }
                assert_eq!(s.wait(first).unwrap(), 1, "a body that runs goes on");
                canceller.join().unwrap();
            });
            let error = result.unwrap_err();
            assert_eq!(error.kind(), &Kind::Cancelled);
            assert!(error.to_string().ends_with("` was cancelled before it started"), "{error}");
            assert!(a.into_inner().is_err());
        }
    });
}

#[test]
fn from_within_a_leaf() {
    limit(20, "cancelled by a leaf", || {
        for (workers, inline) in [(1, Inline::Auto), (2, Inline::Never), (8, Inline::Always)] {
            let rt = builder(workers).inline(inline).build().unwrap();
            let (a, b, ran) = (Handle::new(0), Handle::new(0), AtomicU32::new(0));
            let result = rt.scope(|s| {
                let token = s.cancel_token();
                s.spawn(b.inout(), |b| *b += 1);
                s.spawn((b.read(), a.inout()), move |(b, a)| {
                    *a += 1 + *b;
                    token.cancel();
                });
                for _ in 0..100 {
                    s.spawn(a.inout(), |_| _ = ran.fetch_add(1, SeqCst));
                }
            });
            assert_eq!(result.unwrap_err().kind(), &Kind::Cancelled);
            assert_eq!(ran.into_inner(), 0, "each of them follows the leaf that cancelled");
            assert_eq!(b.into_inner().unwrap(), 1);
        }
    });
}

#[test]
fn the_error_names_what_was_cancelled() {
    limit(20, "a scope cancelled after its tasks", || {
        for rt in [1, 2].map(runtime) {
            let all_ran = rt.scope(|s| {
                let task = s.spawn((), |()| ());
                s.wait(task).unwrap();
                s.cancel_token().cancel();
            });
            let text = all_ran.unwrap_err().to_string();
            assert!(text.starts_with("scope `") && text.ends_with("` was cancelled"), "{text}");

            let skipped = Handle::new(0);
            let result = rt.scope(|s| {
                s.cancel_token().cancel();
                s.task("left out").spawn(skipped.inout(), |_| must_not_run());
            });
            assert_eq!(result.unwrap_err().to_string(), "task `left out` was cancelled before it started");
            let text = skipped.into_inner().unwrap_err().to_string();
            assert!(text.contains("poisoned: task `left out` was cancelled before it started"), "{text}");
        }
    });
}

#[test]
fn a_nested_scope_alone() {
    limit(20, "cancelled nested scope", || {
        for rt in [1, 2, 8].map(runtime) {
            let (a, b) = (Handle::new(0), Handle::new(0));
            let result = rt.scope(|s| {
                s.nest(a.inout(), |s, a| {
                    let token = s.cancel_token();
                    s.spawn(a.inout(), move |a| {
                        *a += 1;
                        token.cancel();
                    });
                    s.task("child").spawn(a.inout(), |a| *a += 1);
                });
                for _ in 0..10 {
                    s.spawn(b.inout(), |b| *b += 1);
                }
                s.spawn(a.write(), |a| a.set(7));
            });
            let error = result.unwrap_err();
            assert_eq!((error.kind(), error.task().name()), (&Kind::Cancelled, Some("child")));
            assert_eq!((a.into_inner().unwrap(), b.into_inner().unwrap()), (7, 10));
        }
    });
}

#[test]
fn nested_scopes_with_their_parent() {
    limit(20, "cancelled from above", || {
        for rt in [1, 2, 8].map(runtime) {
            let (a, seen) = (Handle::new(0), OnceLock::new());
            let result = rt.scope(|s| {
                let token = s.cancel_token();
                let seen = &seen;
                s.nest(a.inout(), move |s, a| {
                    s.nest(a.inout(), move |s, mut a| {
                        token.cancel();
                        s.spawn(a.inout(), |_| must_not_run());
                        let failed = s.wait_on(&mut a).is_err();
                        seen.set((failed, s.cancel_token().is_cancelled())).expect("it runs once");
                    });
                });
            });
            assert_eq!(result.unwrap_err().kind(), &Kind::Cancelled);
            assert_eq!(seen.get(), Some(&(true, false)), "it is the scope around it that was cancelled");
        }
    });
}

#[test]
fn after_everything_has_run() {
    limit(20, "cancelled late", || {
        for rt in [1, 2, 8].map(runtime) {
            let a = Handle::new(0);
            let mut kept = None;
            let result = rt.scope(|s| {
                let join = s.spawn(a.inout(), |a| *a += 1);
                s.wait(join).unwrap();
                kept = Some(s.cancel_token());
                s.cancel_token().cancel();
                s.cancel_token().cancel();
            });
            assert_eq!(result.unwrap_err().kind(), &Kind::Cancelled);
            assert_eq!(a.into_inner().unwrap(), 1);
            // A token outlives its scope. Then it does nothing.
            kept.unwrap().cancel();
            rt.scope(|s| drop(s.spawn((), |()| ()))).unwrap();
        }
    });
}

#[test]
fn a_session() {
    limit(20, "cancelled session", || {
        let rt = runtime(2);
        let session = rt.session();
        let a = Handle::new(0);
        let token = session.cancel_token();
        let first = session.spawn(a.inout(), move |_| token.cancel());
        let second = session.spawn(a.inout(), |a| *a += 1);
        session.wait(first).unwrap();
        assert_eq!(session.wait(second).unwrap_err().kind(), &Kind::Cancelled);
        assert_eq!(session.close().wait().unwrap_err().kind(), &Kind::Cancelled);
    });
}

#[test]
fn waiting_tasks_of_a_cancelled_scope_end() {
    limit(20, "cancelled while waiting", || {
        for rt in [1, 2, 8].map(runtime) {
            let (a, b) = (Handle::new(0), Handle::new(0));
            let result = rt.scope(|s| {
                let token = s.cancel_token();
                let pending = s.external().pending(|| must_not_run());
                let held = pending.hold();
                drop(pending);
                let canceller = s.spawn((a.commutative(), b.commutative()), move |_| token.cancel());
                for _ in 0..20 {
                    s.spawn((b.commutative(), a.commutative()), |_| ());
                }
                s.wait(canceller).unwrap();
                held.satisfy();
            });
            assert!(matches!(result, Err(error) if error.kind() == &Kind::Cancelled));
        }
    });
}
