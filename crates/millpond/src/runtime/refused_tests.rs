//! A scheme that does not order every mode. Tasks that declare another mode fail, and what they
//! would have changed is poisoned.

use crate::depend::{List, Mode, Released, Scheme};
use crate::task::{Record, TaskRef};
use crate::{DefaultMemory, DefaultPool, Handle, Kind, Parts, Runtime, Spawn, Sum};

type ListMeta = <List as Scheme>::Meta;

/// The list scheme for a model without our extensions of the paper's modes, and without reductions.
struct Strict;

// SAFETY: as for the list scheme, because this is a part of it.
unsafe impl Scheme for Strict {
    type Meta = ListMeta;
    type Local = ();
    type Shared = ();

    const NAME: &'static str = "strict";
    const MODES: &'static [Mode] = &[Mode::Read, Mode::Inout];

    fn is_idle(meta: &ListMeta) -> bool {
        List::is_idle(meta)
    }

    fn is_ready(meta: &ListMeta, mode: Mode) -> bool {
        List::is_ready(meta, mode)
    }

    fn prefetch(meta: &ListMeta, record: &Record) {
        List::prefetch(meta, record);
    }

    unsafe fn issue(local: &mut (), meta: &ListMeta, record: &Record) -> bool {
        // SAFETY: the caller's; also below.
        unsafe { List::issue(local, meta, record) }
    }

    unsafe fn enter(shared: &(), task: TaskRef, waiting: usize) -> bool {
        // SAFETY: as above.
        unsafe { List::enter(shared, task, waiting) }
    }

    unsafe fn granted(record: &Record) -> bool {
        // SAFETY: as above.
        unsafe { List::granted(record) }
    }

    unsafe fn release(shared: &(), local: &mut (), meta: &ListMeta, record: &Record) -> Released {
        // SAFETY: as above.
        unsafe { List::release(shared, local, meta, record) }
    }

    unsafe fn retire(meta: &ListMeta) -> bool {
        // SAFETY: as above.
        unsafe { List::retire(meta) }
    }
}

fn runtime(workers: usize) -> Runtime<Parts<DefaultMemory, DefaultPool, Strict>> {
    Runtime::builder().workers(workers).build_with().expect("every choice is in its range")
}

#[test]
fn a_mode_that_the_scheme_does_not_order_is_refused() {
    for mode in [Mode::Write, Mode::Commutative, Mode::Concurrent, Mode::Reduce] {
        let (rt, n) = (runtime(2), Handle::new(1_u64));
        let result = rt.scope(|s| {
            let task = s.task("sum").index([3]);
            match mode {
                Mode::Write => drop(task.spawn(n.write(), |n| n.set(2))),
                Mode::Commutative => drop(task.spawn(n.commutative(), |n| *n = 2)),
                Mode::Concurrent => drop(task.spawn(n.concurrent(), |_| ())),
                _ => drop(task.spawn(n.reduce(Sum), |n| *n = 2)),
            }
            s.wait(s.spawn(n.read(), |n| *n))
        });
        let error = result.unwrap_err();
        assert_eq!(error.kind(), &Kind::Refused { scheme: "strict", mode, arg: 0 });
        let text = format!("task `sum(3)` declares `{mode}` (access 0), which scheme `strict` does not order");
        assert_eq!(error.to_string(), text);
        // The value that it would have changed is missing.
        let read = n.into_inner().unwrap_err();
        assert!(matches!(read.kind(), Kind::Poisoned { .. }), "{read}");
    }
}

#[test]
fn what_it_orders_runs() {
    let (rt, n) = (runtime(2), Handle::new(1_u64));
    let read = rt.scope(|s| {
        (0..100).for_each(|_| drop(s.spawn(n.inout(), |n| *n += 1)));
        s.wait(s.spawn(n.read(), |n| *n))
    });
    assert_eq!(read.unwrap().unwrap(), 101);
}
