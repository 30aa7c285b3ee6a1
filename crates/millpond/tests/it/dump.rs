//! Dumps show each state and what it waits for. When everything is complete, they are empty.

mod latch;
mod programs;
mod signal;
mod stress;
mod watchdog;

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use crate::common::{builder, join_all, limit};
use latch::{after, empty, find, latch, until};
use millpond::depend::Mode;
use millpond::record::dump::{Dump, State, Unfinished};
use millpond::record::{Cause, Role};
use millpond::{Handle, Inline, Runtime, Spawn};

fn dumping(workers: usize) -> Runtime {
    builder(workers).inline(Inline::Never).dumps(true).build().unwrap()
}

#[test]
#[cfg_attr(millpond_scheme = "stack", ignore = "a stack leaves values where they are")]
fn tasks_that_wait_for_data() {
    limit(20, "data", || {
        let (rt, (body, latch)) = (dumping(2), latch());
        let a = Handle::new(0);
        rt.scope(|s| {
            let latch = latch;
            s.task("first").priority(1).spawn(a.inout(), move |_| body());
            latch.entered();
            for i in 0..5 {
                s.task("look").index([i]).spawn(a.read(), |_| ());
            }
            s.task("change").spawn((s.handle(0).inout(), a.inout()), |_| ());
            s.task("again").nest(a.write(), |s, a| s.set(&a, 3));
            s.task("last").spawn(a.read(), |_| ());
            s.set(&a, 4);
            s.task("other").nest(a.inout(), |_, _| ());
            let dump = rt.dump();
            for i in 0..5 {
                let look = find(&dump, &format!("look({i})"));
                assert_eq!((look.state, after(look)), (State::Data, "0: first".to_owned()));
                assert_eq!((look.waits_for.len(), look.waits_for[0].mode), (1, Some(Mode::Read)));
            }
            let change = find(&dump, "change");
            assert_eq!((change.state, after(change)), (State::Data, "1: look(0) look(1) look(2) and 2".to_owned()));
            assert!(change.to_string().contains(": after look(0), look(1), look(2) and 2 more"), "{change}");
            assert_eq!(find(&dump, "again").state, State::Ready, "a new version");
            assert_eq!(after(find(&dump, "last")), "0: again");
            assert_eq!(find(&dump, "other").state, State::Ready, "the scope has set the datum");
            latch.open();
        })
        .unwrap();
        empty(&rt);
    });
}

#[test]
#[cfg_attr(millpond_scheme = "stack", ignore = "a stack leaves values where they are")]
fn tasks_on_a_new_version_while_the_old_one_is_read() {
    limit(20, "two versions", || {
        let (rt, (body, latch)) = (dumping(2), latch());
        let a = Handle::new(0);
        rt.scope(|s| {
            let latch = latch;
            s.task("old").priority(1).spawn(a.read(), move |_| body());
            latch.entered();
            s.wait(s.task("write").spawn(a.write(), |a| a.set(1))).unwrap();
            s.task("new").spawn(a.inout(), |a| *a += 1);
            assert_eq!(find(&rt.dump(), "new").state, State::Ready);
            s.task("newer").spawn(a.read(), |_| ());
            assert_eq!(after(find(&rt.dump(), "newer")), "0: new");
            latch.open();
        })
        .unwrap();
        empty(&rt);
    });
}

#[test]
fn tasks_that_wait_for_the_combination_of_a_reduction() {
    limit(20, "combination", || {
        let (rt, (body, latch)) = (dumping(2), latch());
        let sum = Handle::new(0);
        rt.scope(|s| {
            let latch = latch;
            s.task("add").priority(1).spawn(sum.reduce(millpond::Sum), move |_| body());
            latch.entered();
            s.task("use").spawn(sum.read(), |_| ());
            let dump = rt.dump();
            let combine = dump.unfinished.iter().find(|body| body.role == Some(Role::Combine)).unwrap();
            assert_eq!((combine.state, after(combine)), (State::Data, "0: add".to_owned()));
            let user = find(&dump, "use");
            assert_eq!((user.state, user.waits_for[0].tasks[0].id), (State::Data, combine.id));
            latch.open();
        })
        .unwrap();
        empty(&rt);
    });
}

#[test]
#[cfg_attr(millpond_scheme = "stack", ignore = "a stack keeps commutative accesses in order")]
fn tasks_that_wait_for_their_turn() {
    limit(20, "turn", || {
        let (rt, (body, latch)) = (dumping(2), latch());
        let (a, b) = (Handle::new(0), Handle::new(0));
        rt.scope(|s| {
            let latch = latch;
            s.task("holder").priority(1).spawn((b.commutative(), a.commutative()), move |_| body());
            latch.entered();
            s.task("other").spawn(a.commutative(), |_| ());
            let dump = rt.dump();
            assert!(matches!(find(&dump, "holder").state, State::Running { worker: Some(1) }));
            let other = find(&dump, "other");
            assert_eq!((other.state, after(other)), (State::Turn, "0: holder".to_owned()));
            assert!(other.to_string().contains("waits for its turn"), "{other}");
            latch.open();
        })
        .unwrap();
        empty(&rt);
    });
}

#[test]
#[cfg_attr(millpond_scheme = "stack", ignore = "a stack keeps commutative accesses in order")]
fn the_first_that_could_has_the_turn() {
    limit(20, "the first turn", || {
        let (rt, a) = (dumping(1), Handle::new(0));
        rt.scope(|s| {
            for i in 0..3 {
                s.task("turn").index([i]).spawn(a.commutative(), |_| ());
            }
            let dump = rt.dump();
            assert_eq!(find(&dump, "turn(0)").state, State::Ready);
            assert_eq!(
                (find(&dump, "turn(2)").state, after(find(&dump, "turn(2)"))),
                (State::Turn, "0: turn(0)".into())
            );
        })
        .unwrap();
        empty(&rt);
    });
}

#[test]
fn pending_and_ready_tasks() {
    limit(20, "pending", || {
        let rt = dumping(1);
        rt.scope(|s| {
            let made = s.external().task("message").index([3]).pending(|| ());
            let held = made.hold();
            drop(made);
            assert_eq!(find(&rt.dump(), "message(3)").state, State::Pending);
            held.satisfy();
            assert_eq!(find(&rt.dump(), "message(3)").state, State::Ready);
            drop(s.external().task("nested").pending_nest(|_| ()).hold());
        })
        .unwrap_err();
        empty(&rt);
    });
}

#[test]
fn bodies_that_run_and_for_how_long() {
    limit(20, "running", || {
        let (rt, (body, latch)) = (dumping(2), latch());
        rt.scope(|s| {
            let latch = latch;
            let place = line!() + 1;
            s.task("long").priority(1).spawn((), move |()| body());
            latch.entered();
            let before = find(&rt.dump(), "long").since;
            thread::sleep(Duration::from_millis(120));
            let dump = rt.dump();
            let long = find(&dump, "long");
            assert_eq!((long.state, long.role), (State::Running { worker: Some(1) }, Some(Role::Leaf)));
            assert!(long.since >= before + Duration::from_millis(119), "{:?}", long.since);
            let busy = dump.busy.iter().find(|busy| busy.body.label.name() == Some("long")).expect("it runs");
            assert_eq!((busy.worker, busy.is_closure, busy.suspended), (Some(1), false, 0));
            assert!(busy.since >= long.since, "{:?}", busy.since);
            assert!(dump.to_string().contains("worker 1 has been in `long` for "), "{dump}");
            assert_eq!((long.place.line(), long.place.file()), (place, file!()));
            let scope = dump.unfinished.iter().find(|body| body.role.is_none()).unwrap();
            assert!(matches!(scope.state, State::Running { .. }) && scope.parent.is_none());
            assert_eq!(long.parent.unwrap().id, scope.id);
            assert_eq!(dump.workers.len(), 2);
            latch.open();
        })
        .unwrap();
        empty(&rt);
    });
}

#[test]
fn bodies_that_wait_for_tasks() {
    limit(20, "waiting for a task", || {
        let (rt, (body, latch)) = (dumping(2), latch());
        rt.scope(|s| {
            let latch = latch;
            s.task("parent").priority(1).nest((), |s, ()| {
                let join = s.task("child").priority(1).spawn((), move |()| body());
                s.wait(join).unwrap();
            });
            latch.entered();
            let dump = until(&rt, |dump| matches!(find(dump, "parent").state, State::Waiting { .. }));
            let parent = find(&dump, "parent");
            assert!(matches!(parent.state, State::Waiting { cause: Cause::Join, .. }));
            assert_eq!(after(parent), "body: child");
            assert_eq!(find(&dump, "child").parent.unwrap().label, parent.label);
            latch.open();
        })
        .unwrap();
        empty(&rt);
    });
}

#[test]
fn bodies_that_wait_for_data() {
    limit(20, "waiting for a datum", || {
        let (rt, [(first, one), (second, other)]) = (dumping(3), [(); 2].map(|()| latch()));
        let a = Handle::new(0);
        rt.scope(|s| {
            let (one, other) = (one, other);
            s.task("parent").priority(1).nest(a.inout(), |s, mut a| {
                s.task("change").spawn(a.inout(), |a| *a += 1);
                s.task("look").index([0]).spawn(a.read(), move |_| first());
                s.task("look").index([1]).spawn(a.read(), move |_| second());
                assert_eq!(*s.wait_on(&mut a).unwrap(), 1);
            });
            let dump = until(&rt, |dump| {
                let stands = matches!(find(dump, "parent").state, State::Waiting { cause: Cause::Datum, .. });
                stands && !dump.unfinished.iter().any(|body| body.label.name() == Some("change"))
            });
            let parent = find(&dump, "parent");
            assert_eq!((after(parent), parent.waits_for[0].mode), ("body: look(0) look(1)".into(), Some(Mode::Inout)));
            assert!(parent.to_string().contains("its body waits for a datum, on worker"), "{parent}");
            assert!(parent.to_string().contains(": after look(0), look(1)"), "{parent}");
            one.open();
            other.open();
        })
        .unwrap();
        empty(&rt);
    });
}

/// The closure of the inner scope waits for a task of the outer scope.
#[test]
fn closures_that_wait_for_data_of_a_scope_further_out() {
    limit(20, "waiting for a datum of another scope", || {
        let (rt, (body, latch), mut x) = (dumping(2), latch(), Handle::new(0));
        let standing = |dump: &Dump| {
            let datum = |body: &&Unfinished| matches!(body.state, State::Waiting { cause: Cause::Datum, .. });
            dump.unfinished.iter().find(datum).map(after)
        };
        let dumps = thread::scope(|t| {
            let dumps = t.spawn(|| {
                let dump = until(&rt, |dump| standing(dump).is_some());
                latch.open();
                standing(&dump)
            });
            rt.scope(|s| {
                s.task("slow").priority(1).spawn(x.inout(), move |_| body());
                rt.scope(|_| _ = s.wait_on(&mut x).unwrap()).unwrap();
            })
            .unwrap();
            dumps.join().unwrap()
        });
        assert_eq!(dumps.unwrap(), "body: slow");
        empty(&rt);
    });
}

#[test]
fn closures_that_wait_for_room() {
    limit(20, "window", || {
        let rt = builder(2).window(1).inline(Inline::Never).dumps(true).build().unwrap();
        let (body, latch) = latch();
        thread::scope(|threads| {
            let watch = threads.spawn(|| {
                latch.entered();
                let full = |body: &Unfinished| matches!(body.state, State::Waiting { cause: Cause::Window, .. });
                let dump = until(&rt, |dump| dump.unfinished.iter().any(full));
                assert!(
                    dump.unfinished.iter().all(|body| full(body) == body.role.is_none()),
                    "the scope's closure: {dump}"
                );
                latch.open();
            });
            rt.scope(|s| {
                s.task("held").priority(1).spawn((), move |()| body());
                s.spawn((), |()| ());
            })
            .unwrap();
            join_all(vec![watch]);
        });
        empty(&rt);
    });
}

#[test]
fn bodies_that_wait_for_futures_and_sessions() {
    limit(20, "futures", || {
        let (rt, (body, latch), go) = (dumping(2), latch(), &AtomicBool::new(false));
        rt.scope(|s| {
            let latch = latch;
            let session = rt.session();
            s.task("future").priority(1).nest((), move |s, ()| {
                s.block_on(poll_fn(|context| {
                    context.waker().wake_by_ref();
                    if go.load(Relaxed) { Poll::Ready(()) } else { Poll::Pending }
                }));
            });
            s.task("session").priority(1).nest((), move |_, ()| {
                session.wait(session.task("work").priority(1).spawn((), move |()| body())).unwrap();
            });
            latch.entered();
            let waits =
                |dump: &Dump, label| matches!(find(dump, label).state, State::Waiting { cause: Cause::Others, .. });
            until(&rt, |dump| waits(dump, "future"));
            let dump = until(&rt, |dump| waits(dump, "session"));
            let work = find(&dump, "work");
            assert!(matches!(work.state, State::Running { .. }));
            let session = dump.unfinished.iter().find(|body| body.id == work.parent.unwrap().id).unwrap();
            assert_eq!((session.state, session.role), (State::Ended { children: 1 }, None));
            go.store(true, Relaxed);
            latch.open();
        })
        .unwrap();
        // The session ends when its task is complete, after the join has the value.
        until(&rt, |dump| dump.unfinished.is_empty());
        empty(&rt);
    });
}

#[test]
fn parents_whose_children_are_left() {
    limit(20, "children", || {
        let (rt, (body, latch)) = (dumping(2), latch());
        rt.scope(|s| {
            let latch = latch;
            s.task("outer").priority(1).nest((), |s, ()| {
                s.task("inner").index([1, 2]).priority(1).nest((), |s, ()| {
                    s.task("leaf").priority(1).spawn((), move |()| body());
                });
            });
            latch.entered();
            let dump = until(&rt, |dump| {
                ["outer", "inner(1,2)"].iter().all(|name| matches!(find(dump, name).state, State::Ended { .. }))
            });
            assert_eq!(find(&dump, "inner(1,2)").state, State::Ended { children: 1 });
            assert_eq!(find(&dump, "inner(1,2)").parent.unwrap().label.to_string(), "outer");
            assert_eq!(find(&dump, "leaf").parent.unwrap().label.to_string(), "inner(1,2)");
            assert!(find(&dump, "outer").to_string().contains("its body has ended, 1 children are not complete"));
            latch.open();
        })
        .unwrap();
        empty(&rt);
    });
}

#[test]
fn sessions_and_their_tasks() {
    limit(20, "sessions", || {
        let (rt, (body, latch)) = (dumping(2), latch());
        let (session, a) = (rt.session(), Handle::new(0));
        session.task("first").spawn(a.inout(), move |_| body());
        let join = session.task("second").spawn(a.read(), |a| *a);
        latch.entered();
        let dump = rt.dump();
        assert_eq!(after(find(&dump, "second")), "0: first");
        let opened = dump.unfinished.iter().find(|body| body.role.is_none()).unwrap();
        assert_eq!(opened.state, State::Ended { children: 2 });
        latch.open();
        assert_eq!(session.wait(join).unwrap(), 0);
        session.close().wait().unwrap();
        empty(&rt);
    });
}

#[test]
fn halves_of_joins() {
    limit(20, "join", || {
        let rt = dumping(1);
        let half = |state| {
            let dump = rt.dump();
            let half = dump.unfinished.iter().find(|body| body.role == Some(Role::Fork)).unwrap();
            assert_eq!((half.state, half.parent.unwrap().id), (state, dump.unfinished[0].id), "{half}");
            assert!(half.to_string().contains("half of a join of "), "{half}");
        };
        rt.scope(|_| millpond::join(|| half(State::Ready), || half(State::Running { worker: Some(0) }))).unwrap();
        empty(&rt);
    });
}

#[test]
fn halves_that_others_run() {
    limit(20, "half of a join elsewhere", || {
        let (rt, seen) = (dumping(2), AtomicBool::new(false));
        while !seen.load(Relaxed) {
            rt.scope(|_| {
                let here = thread::current().id();
                let other = || {
                    if thread::current().id() == here {
                        return;
                    }
                    let waits = |dump: &Dump| matches!(dump.unfinished[0].state, State::Waiting { .. });
                    let dump = until(&rt, waits);
                    assert!(matches!(dump.unfinished[0].state, State::Waiting { cause: Cause::Join, .. }), "{dump}");
                    assert_eq!(dump.unfinished[0].waits_for[0].tasks[0].id, dump.unfinished[1].id);
                    seen.store(true, Relaxed);
                };
                millpond::join(|| thread::sleep(Duration::from_millis(1)), other);
            })
            .unwrap();
            empty(&rt);
        }
    });
}
