//! Which closures a scan takes from a frame, by their places in it.

use super::*;
use crate::handle::access::Root;
use crate::stack::frames_of;
use crate::task::GUARD;
use crate::{Handle, Inline, Runtime, Scope, Spawn, StackEngine};

type OnStack<'s, 'env> = Scope<'s, 'env, Root, StackEngine>;

/// The places of the tasks that each of the scans takes, one scan after the other.
fn stolen<'env, const N: usize>(
    all_stolen: [StolenTasks; N],
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
        let scan = |stolen_tasks| {
            steal(frames, End::Oldest, stolen_tasks).map_or(Vec::new(), |stolen_tasks| stolen_tasks.found)
        };
        let stolen = all_stolen.map(|stolen_tasks| frames.owner_lock().alone(|| scan(stolen_tasks)));
        // Undoes the thefts: the owner runs the closures after all.
        all.iter().for_each(|closure| closure.header().theft().store(GUARD, Relaxed));
        stolen.map(|found| found.into_iter().map(place).collect())
    })
    .unwrap()
}

/// The same for `count` leaves that wait for nothing.
fn leaves<const N: usize>(all_stolen: [StolenTasks; N], count: usize) -> [Vec<usize>; N] {
    stolen(all_stolen, |s| (0..count).for_each(|_| drop(s.spawn((), |()| ()))))
}

#[test]
fn of_what_lies_ahead_as_many_are_spared() {
    assert_eq!(leaves([StolenTasks::first(3)], 8), [[0, 1, 2]]);
    assert_eq!(leaves([StolenTasks::ahead(3)], 8), [[3, 4, 5]]);
    // If there are too few closures, the scan spares half of them, and never all.
    assert_eq!(leaves([StolenTasks::ahead(3)], 4), [[2, 3]]);
    assert_eq!(leaves([StolenTasks::ahead(3)], 3), [[1, 2]]);
    assert_eq!(leaves([StolenTasks::ahead(3)], 1), [[0]]);
    assert_eq!(leaves([StolenTasks::ahead(1)], 8), [[0]]);
    assert_eq!(leaves([StolenTasks::ahead(3)], 0), [[0; 0]]);
}

/// Each scan resumes where the one before ended, and spares as many closures there.
#[test]
fn walks_after_one_another() {
    let all_stolen = || [StolenTasks::ahead(40), StolenTasks::ahead(40), StolenTasks::first(10)];
    let [first, second, third] = leaves(all_stolen(), 400);
    assert!(first.into_iter().eq(40..80));
    assert!(second.into_iter().eq(120..160));
    assert!(third.into_iter().eq(160..170));
}

#[test]
fn a_parent_comes_alone() {
    let mixed = |stolen_tasks| {
        stolen([stolen_tasks], |s| {
            drop(s.spawn((), |()| ()));
            drop(s.spawn((), |()| ()));
            drop(s.nest((), |_, ()| ()));
            drop(s.spawn((), |()| ()));
        })
    };
    assert_eq!(mixed(StolenTasks::first(3)), [[0, 1]]);
    assert_eq!(mixed(StolenTasks::ahead(3)), [[1]]);
    let parents = |stolen_tasks| stolen([stolen_tasks], |s| (0..3).for_each(|_| drop(s.nest((), |_, ()| ()))));
    assert_eq!(parents(StolenTasks::ahead(3)), [[0]]);
}

#[test]
fn what_waits_is_passed_over() {
    let (x, y) = (Handle::new(0), Handle::new(0));
    let of_two = |stolen_tasks| {
        stolen([stolen_tasks], |s| {
            (0..2).for_each(|_| drop(s.spawn(x.inout(), |x| *x += 1)));
            (0..2).for_each(|_| drop(s.spawn(y.inout(), |y| *y += 1)));
        })
    };
    assert_eq!(of_two(StolenTasks::first(3)), [[0, 2]]);
    assert_eq!(of_two(StolenTasks::ahead(3)), [[2]]);
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
        frames.rest();
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
