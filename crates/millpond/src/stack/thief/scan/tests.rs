//! Which closures a scan takes from a frame, by their places in it.

use super::*;
use crate::handle::access::Root;
use crate::stack::frames_of;
use crate::task::GUARD;
use crate::{Handle, Inline, Runtime, Scope, Spawn, StackEngine};
use std::iter;

type OnStack<'s, 'env> = Scope<'s, 'env, Root, StackEngine>;

/// The places of the tasks that each of the scans takes, one scan after the other.
fn stolen<'env, const N: usize>(
    requests: [Request; N],
    spawn: impl for<'s> FnOnce(&OnStack<'s, 'env>),
) -> [Vec<usize>; N] {
    let builder = Runtime::builder().workers(1).inline(Inline::Never);
    let rt: Runtime<StackEngine> = builder.build_with().unwrap();
    rt.scope(|s| {
        spawn(s);
        // SAFETY: the scope is open.
        let frames = unsafe { frames_of(s.scope_state()) }.unwrap();
        let all: Vec<_> = frames.ranges(frames.seen()).flat_map(|(_, at, _, end)| link::closures(at, end)).collect();
        let place = |task: TaskRef| all.iter().position(|other| *other == task).unwrap();
        let all_of = |batch: Batch| {
            let rest = iter::from_fn(|| batch.rest.and_then(|rest| frames.batches.begin_next(rest)));
            iter::once(batch.first).chain(rest).collect()
        };
        let scan = |request| steal(frames, End::Oldest, request).map_or(Vec::new(), all_of);
        let stolen = requests.map(|request| frames.owner_lock().alone(|| scan(request)));
        // Undoes the thefts: the owner runs the closures after all.
        all.iter().for_each(|closure| closure.header().theft().store(GUARD, Relaxed));
        stolen.map(|found| found.into_iter().map(place).collect())
    })
    .unwrap()
}

/// The same for `count` leaves that wait for nothing.
fn leaves<const N: usize>(requests: [Request; N], count: usize) -> [Vec<usize>; N] {
    stolen(requests, |s| (0..count).for_each(|_| drop(s.spawn((), |()| ()))))
}

#[test]
fn of_what_lies_ahead_as_many_are_spared() {
    assert_eq!(leaves([Request::first(3)], 8), [[0, 1, 2]]);
    assert_eq!(leaves([Request::ahead(3)], 8), [[3, 4, 5]]);
    assert_eq!(leaves([Request::ahead(3)], 4), [[3]]);
    // If there are too few closures, the scan spares half of them, and never all.
    assert_eq!(leaves([Request::ahead(3)], 3), [[1, 2]]);
    assert_eq!(leaves([Request::ahead(3)], 1), [[0]]);
    assert_eq!(leaves([Request::ahead(1)], 8), [[0]]);
    assert_eq!(leaves([Request::ahead(3)], 0), [[0; 0]]);
}

/// Each scan resumes where the one before ended.
#[test]
fn scans_after_one_another() {
    let requests = || [Request::ahead(40), Request::ahead(40), Request::first(10)];
    let [first, second, third] = leaves(requests(), 400);
    assert!(first.into_iter().eq(40..80));
    assert!(second.into_iter().eq(80..120));
    assert!(third.into_iter().eq(120..130));
}

#[test]
fn a_parent_comes_alone() {
    let mixed = |request| {
        stolen([request], |s| {
            drop(s.spawn((), |()| ()));
            drop(s.spawn((), |()| ()));
            drop(s.nest((), |_, ()| ()));
            drop(s.spawn((), |()| ()));
        })
    };
    assert_eq!(mixed(Request::first(3)), [[0, 1]]);
    assert_eq!(mixed(Request::ahead(3)), [[2]]);
    let parents = |request| stolen([request], |s| (0..3).for_each(|_| drop(s.nest((), |_, ()| ()))));
    assert_eq!(parents(Request::ahead(3)), [[0]]);
}

#[test]
fn a_batch_may_wait_for_itself_only() {
    let (x, y) = (Handle::new(0), Handle::new(0));
    let of_two = |request| {
        stolen([request], |s| {
            (0..2).for_each(|_| drop(s.spawn(x.inout(), |x| *x += 1)));
            (0..2).for_each(|_| drop(s.spawn(y.inout(), |y| *y += 1)));
            drop(s.spawn((x.read(), y.read()), |_| ()));
        })
    };
    assert_eq!(of_two(Request::first(9)), [[0, 1, 2, 3, 4]]);
    // The first two are the owner's, and the last one waits for them.
    assert_eq!(of_two(Request::ahead(2)), [[2, 3]]);
    // Of the two that are ready, one is the owner's.
    assert_eq!(of_two(Request::ahead(4)), [[2, 3]]);
}

#[test]
fn what_a_thief_has_reserved_comes_last() {
    let requests = || [Request::first(3), Request::first(3), Request::first(3), Request::by_owner(3, true)];
    let place = |spawns: usize| {
        let rt: Runtime<StackEngine> = Runtime::builder().workers(1).inline(Inline::Never).build_with().unwrap();
        rt.scope(|s| {
            (0..spawns).for_each(|_| drop(s.spawn((), |()| ())));
            // SAFETY: the scope is open.
            let frames = unsafe { frames_of(s.scope_state()) }.unwrap();
            let all: Vec<_> =
                frames.ranges(frames.seen()).flat_map(|(_, at, _, end)| link::closures(at, end)).collect();
            let scan = |request| frames.owner_lock().alone(|| steal(frames, End::Oldest, request));
            let batches = requests().map(scan);
            let left = batches[0].and_then(|batch| frames.batches.begin_next(batch.rest?));
            all.iter().for_each(|closure| closure.header().theft().store(GUARD, Relaxed));
            let place = |task: TaskRef| all.iter().position(|other| *other == task).unwrap();
            (batches.map(|batch| batch.map(|batch| (place(batch.first), batch.count))), left.map(place))
        })
        .unwrap()
    };
    // The third scan takes a reserved closure, which ends that batch. The fourth one takes another.
    let (found, left) = place(4);
    assert_eq!(found, [Some((0, 3)), Some((3, 1)), Some((1, 1)), Some((2, 1))]);
    assert_eq!(left, None);
}

/// All times are those of the clock, or later ones, so it does not matter when this thread runs.
#[test]
fn short_tasks_are_left_alone_unless_their_owner_is_in_a_long_body() {
    let rt: Runtime<StackEngine> = Runtime::builder().workers(1).build_with().unwrap();
    rt.scope(|s| {
        // SAFETY: the scope is open.
        let frames = unsafe { frames_of(s.scope_state()) }.unwrap();
        let now = clock::ticks();
        assert!(frames.is_due(now));
        frames.rest(THEFT);
        assert!(!frames.is_due(now) && !frames.is_due(now + LONG));
        // The body has run for so long that a thief costs its owner nothing.
        assert!(frames.is_due(now + LONG + 1));
        // Something has just begun, and the rest is over.
        let then = clock::ticks() + REST * THEFT;
        frames.search.since.store(then, Relaxed);
        assert!(frames.is_due(then));
        // A short rest does not end a long one.
        frames.search.rest(then, THEFT);
        frames.search.rest(then, 1);
        assert!(!frames.is_due(then + REST));
    })
    .unwrap();
}
