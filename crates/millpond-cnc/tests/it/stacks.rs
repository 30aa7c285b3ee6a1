//! More steps wait than the system has stacks for.

use crate::alone::alone;
use crate::common::limited;
use millpond::{Runtime, WaitError};
use millpond_cnc::{Blocked, Kind, Preconditions, Settings, graph_with};

#[test]
fn stacks_run_out() {
    limited(|| _ = alone("stacks::steps_take_all_stacks", |_| false));
}

#[test]
#[ignore = "run by `stacks_run_out`, in a process of its own, whose stacks these are"]
fn steps_take_all_stacks() {
    let eager = Settings { preconditions: Preconditions::Eager, blocked: Blocked::Fiber, ..Settings::default() };
    let rt = Runtime::builder().workers(1).stack_size(128 << 10).build().expect("a runtime");
    let steps = 100_000;
    let error = graph_with(&rt, eager, |g| {
        let (items, tags) = (g.items::<u32, u32>("value"), g.tags("steps"));
        tags.prescribes(g.steps::<u32>("wait").execute(move |n| async move { _ = items.get(n).await }));
        tags.put_all(0..steps);
        _ = g.wait();
        (0..steps).for_each(|n| items.put(n, n));
    });
    // If the system allows that many mappings, there are stacks for all.
    if let Err(error) = error {
        let Kind::NotKept { step, why: WaitError::NoStack { waiting } } = error.kind() else { panic!("{error}") };
        assert_eq!(step.step, "wait");
        assert!(*waiting > 1000, "{error}");
    }
}
