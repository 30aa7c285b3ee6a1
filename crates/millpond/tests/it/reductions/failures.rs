//! Reducers that panic, at each place and at each of their calls. Checks which task fails, and that
//! nothing is leaked or dropped twice.

use std::panic::resume_unwind;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use super::runtimes;
use crate::common::{Mutex, limit};
use millpond::{Error, Handle, Kind, Reducer, Runtime, Spawn};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Identity,
    Absorb,
    Combine,
    /// The drop of a part.
    Drop,
}

/// The place of the next panic, and the number of calls before it.
static NEXT: Mutex<Option<(Place, u32)>> = Mutex::new(None);
static LIVE: AtomicI64 = AtomicI64::new(0);
/// One test at a time uses them.
static ALONE: Mutex<()> = Mutex::new(());

/// Panics quietly: without the message of the hook.
fn pass(place: Place) {
    let mut next = NEXT.lock();
    match *next {
        Some((at, 0)) if at == place => *next = None,
        Some((at, calls)) if at == place => return *next = Some((at, calls - 1)),
        _ => return,
    }
    drop(next);
    resume_unwind(Box::new(format!("{place:?}")));
}

/// A number that counts its live copies.
struct Counted {
    sum: u64,
    is_part: bool,
    _on_heap: Box<u64>,
}

impl Counted {
    fn new(sum: u64, is_part: bool) -> Self {
        LIVE.fetch_add(1, SeqCst);
        Counted { sum, is_part, _on_heap: Box::new(sum) }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, SeqCst);
        if self.is_part && !thread::panicking() {
            pass(Place::Drop);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Adds<const LARGE: bool, const ABSORBS: bool>;

impl<const LARGE: bool, const ABSORBS: bool> Reducer<Counted> for Adds<LARGE, ABSORBS> {
    const LARGE: bool = LARGE;

    fn identity(&self, _like: &Counted) -> Counted {
        pass(Place::Identity);
        Counted::new(0, true)
    }
    fn combine(&self, into: &mut Counted, part: Counted) {
        pass(Place::Combine);
        into.sum += part.sum;
    }
    fn absorb(&self, into: &mut Counted, part: &mut Counted) -> bool {
        pass(Place::Absorb);
        if ABSORBS {
            into.sum += std::mem::take(&mut part.sum);
        }
        ABSORBS
    }
}

const TASKS: u64 = 6;

/// Leaves and parents add 1 each. Returns the scope's error, the sum, and whether a task that reads
/// the sum has run.
fn reduce<O: Reducer<Counted>>(rt: &Runtime, reducer: O) -> (Result<(), Error>, Option<u64>, bool) {
    let (sum, read) = (Handle::new(Counted::new(0, false)), Handle::new(false));
    let result = rt.scope(|s| {
        for task in 0..TASKS {
            if task % 2 == 0 {
                s.task("leaf").spawn(sum.reduce(reducer), |part| part.sum += 1);
            } else {
                s.task("parent").nest(sum.reduce(reducer), |s, part| {
                    s.spawn(part.inout(), |part| part.sum += 1);
                });
            }
        }
        s.task("reader").spawn((sum.read(), read.inout()), |(_, read)| *read = true);
    });
    let read = read.into_inner().unwrap_or(false);
    (result, sum.into_inner().ok().map(|sum| sum.sum), read)
}

fn fail_at_each_call<O: Reducer<Counted>>(deterministic: bool, reducer: O) {
    for rt in runtimes(deterministic) {
        for place in [Place::Identity, Place::Absorb, Place::Combine, Place::Drop] {
            for calls in 0..2 * TASKS as u32 {
                *NEXT.lock() = Some((place, calls));
                let (result, sum, read) = reduce(&rt, reducer);
                let failed = NEXT.lock().take().is_none();
                assert_eq!(LIVE.load(SeqCst), 0, "{place:?} at call {calls}: as many drops as values");
                if !failed {
                    assert_eq!((result.is_ok(), sum, read), (true, Some(TASKS), true));
                    break;
                }
                let error = result.expect_err("a thread was told");
                if place == Place::Drop {
                    // The error of a spare part does not affect the sum.
                    assert_eq!(sum.is_some(), read);
                    assert!(sum.is_none_or(|sum| sum == TASKS));
                } else {
                    assert_eq!((sum, read), (None, false), "{place:?} at call {calls}");
                }
                assert_eq!(error.kind(), &Kind::Panicked(format!("{place:?}")), "{place:?} at call {calls}: {error}");
            }
        }
    }
}

#[test]
fn reducers_that_fail_as_parts_come() {
    let _alone = ALONE.lock();
    limit(60, "failures as parts come", || {
        fail_at_each_call(false, Adds::<false, false>);
        fail_at_each_call(false, Adds::<false, true>);
    });
}

#[test]
fn reducers_that_fail_in_order() {
    let _alone = ALONE.lock();
    limit(60, "failures in order", || {
        fail_at_each_call(true, Adds::<false, false>);
        fail_at_each_call(true, Adds::<false, true>);
    });
}

#[test]
fn reducers_that_fail_in_a_tree() {
    let _alone = ALONE.lock();
    limit(60, "failures in a tree", || {
        fail_at_each_call(true, Adds::<true, false>);
        fail_at_each_call(true, Adds::<true, true>);
    });
}

/// Refuses to combine a part that starts with one of two members.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Refuses;

impl Reducer<Vec<u32>> for Refuses {
    const LARGE: bool = true;

    fn identity(&self, _like: &Vec<u32>) -> Vec<u32> {
        Vec::new()
    }
    fn combine(&self, into: &mut Vec<u32>, mut part: Vec<u32>) {
        if let [first @ (4 | 10)] = into[..] {
            resume_unwind(Box::new(format!("at {first}")));
        }
        into.append(&mut part);
    }
}

#[test]
fn in_a_tree_the_combine_task_fails_with_the_first() {
    limit(20, "the first failure of a tree", || {
        for rt in runtimes(true) {
            for _ in 0..10 {
                let list = Handle::new(Vec::new());
                let result = rt.scope(|s| {
                    for member in 0..16 {
                        s.task("part")
                            .index([member])
                            .spawn(list.reduce(Refuses), move |part| part.push(member as u32));
                    }
                });
                assert_eq!(result.unwrap_err().to_string(), "task `part(0)` panicked: at 4");
                assert!(list.into_inner().is_err());
            }
        }
    });
}

/// A spawn that is misuse ends the generation in the middle of a reduction.
#[test]
fn members_after_misuse() {
    limit(20, "misuse within a reduction", || {
        for deterministic in [false, true] {
            for rt in runtimes(deterministic) {
                let sum = Handle::new(0);
                let result = rt.scope(|s| {
                    (0..3).for_each(|_| drop(s.spawn(sum.reduce(millpond::Sum), |part| *part += 1)));
                    s.spawn((sum.reduce(millpond::Sum), sum.reduce(millpond::Prod)), |_| ());
                    (0..3).for_each(|_| drop(s.spawn(sum.reduce(millpond::Sum), |part| *part += 1)));
                });
                assert!(matches!(result.unwrap_err().kind(), Kind::Duplicate { .. }));
                assert!(sum.into_inner().is_err());
            }
        }
    });
}
