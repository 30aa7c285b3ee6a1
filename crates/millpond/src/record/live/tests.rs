//! Tests of the table, with tracks that are read in any order.

use std::collections::VecDeque;

use super::*;
use crate::limit::limit;

fn id(track: u32, number: u64) -> Id {
    (u64::from(track) << NUMBER_BITS) + number
}

fn spawned(role: Role, task: Id, spawner: Id, order: u64) -> What {
    What::Spawned { role, task, spawner, order, place: Location::caller() }
}

/// A scope on track 0 has a parent, a leaf that waits for the parent, and a combination. The
/// combination was spawned while the leaf was prepared. The parent has a child on track 1.
fn tracks() -> [Vec<What>; 3] {
    let (scope, parent, leaf, combine, child) = (id(0, 1), id(0, 2), id(0, 3), id(0, 4), id(1, 1));
    let access = |mode| What::Declared { mode, datum: 7 };
    let granted = |task, by| What::Granted { task, by, access: 0 };
    let place = Location::caller();
    [
        vec![
            What::Opened { scope, within: 0, place },
            spawned(Role::Parent, parent, scope, 1),
            What::Named { name: "parent" },
            access(Mode::Reduce),
            spawned(Role::Combine, combine, scope, 2),
            access(Mode::Inout),
            spawned(Role::Leaf, leaf, scope, 3),
            What::Indexed { count: 1, indices: [7, 0, 0, 0] },
            access(Mode::Inout),
            What::Waits { body: scope, cause: Cause::Datum, on: 7 },
            What::Resumed { body: scope },
            What::Ended { body: scope, ok: true },
            What::Completed { body: scope },
        ],
        vec![
            What::Started { task: parent },
            spawned(Role::Leaf, child, parent, 1),
            What::Ended { body: parent, ok: true },
            granted(leaf, combine),
            What::Started { task: leaf },
            What::Ended { body: leaf, ok: false },
            What::Granted { task: scope, by: leaf, access: Event::WAIT },
        ],
        vec![
            What::Started { task: child },
            What::Ended { body: child, ok: true },
            What::Completed { body: parent },
            granted(combine, parent),
            What::Started { task: combine },
            What::Ended { body: combine, ok: true },
        ],
    ]
}

fn live() -> Live {
    let live = Live::default();
    (0..3).for_each(|number| live.expect(track(number)));
    live
}

fn track(number: u32) -> Track {
    Track { number, worker: Some(number) }
}

fn take(live: &Live, number: usize, what: &[What]) {
    let events: Vec<_> = what.iter().map(|&what| Event { at: 0, what }).collect();
    live.take(track(number as u32), &events);
}

/// Calls `each` with all orders in which the parts of the tracks can be read.
fn in_all_orders(read: &mut Vec<usize>, left: [usize; 3], each: &mut impl FnMut(&[usize])) {
    if left == [0; 3] {
        return each(read);
    }
    for at in 0..3 {
        if left[at] > 0 {
            let mut less = left;
            less[at] -= 1;
            read.push(at);
            in_all_orders(read, less, each);
            read.pop();
        }
    }
}

#[test]
fn nothing_is_left_whatever_is_read_first() {
    limit(60, "all orders of tracks", || {
        // Each part has several events, so that there are few enough orders.
        let tracks = tracks().map(|track| track.chunks(3).map(<[What]>::to_vec).collect::<VecDeque<_>>());
        let (mut orders, left) = (0, [0, 1, 2].map(|at| tracks[at].len()));
        in_all_orders(&mut Vec::new(), left, &mut |order| {
            let (live, mut left) = (live(), tracks.clone());
            order.iter().for_each(|&at| take(&live, at, &left[at].pop_front().unwrap()));
            let table = live.0.lock();
            assert!(
                table.entries.is_empty() && table.tracks.values().all(|track| track.to_come.is_empty()),
                "{order:?}"
            );
            orders += 1;
        });
        assert_eq!(orders, 10 * 9 * 8 * 7 * 6 / 120 * 10);
    });
}

#[test]
fn what_is_early_is_kept() {
    let (live, [first, second, third]) = (live(), tracks());
    take(&live, 1, &second[..3]);
    let known: Vec<_> = live.copy().bodies.into_iter().map(|(id, _)| id).collect();
    assert_eq!((known, live.0.lock().entries.len()), (vec![id(1, 1)], 2), "the spawn of the parent was not read");
    take(&live, 2, &third[..3]);
    take(&live, 0, &first[..4]);
    let left: Vec<_> = live.copy().bodies.into_iter().map(|(id, _)| id).collect();
    assert_eq!(left, [id(0, 1)], "the parent is complete, its scope is not");
}

/// A worker completes a session that another thread has opened. The worker's event buffer is read
/// first.
#[test]
fn the_completion_of_a_session_before_its_opening() {
    for first in [0, 1] {
        let (live, scope) = (live(), id(0, 1));
        let tracks = [What::Session { scope, place: Location::caller() }, What::Completed { body: scope }];
        take(&live, first, &tracks[first..=first]);
        take(&live, 1 - first, &tracks[1 - first..=1 - first]);
        assert!(live.0.lock().entries.is_empty());
    }
}

#[test]
fn grants_before_their_accesses() {
    let (live, [first, second, _]) = (live(), tracks());
    take(&live, 1, &second[3..4]);
    take(&live, 0, &first[..9]);
    let bodies = live.copy().bodies;
    let leaf = &bodies.iter().find(|(other, _)| *other == id(0, 3)).unwrap().1;
    assert_eq!((leaf.accesses.len(), leaf.accesses[0].datum, leaf.accesses[0].granted), (1, 7, true));
    assert!(leaf.label().to_string().ends_with("(7)"));
}

#[test]
fn other_runtimes_are_none_of_its_business() {
    let (live, [first, second, _]) = (Live::default(), tracks());
    live.expect(track(1));
    take(&live, 0, &first);
    take(&live, 1, &second);
    let left: Vec<_> = live.copy().bodies.into_iter().map(|(id, _)| id).collect();
    assert_eq!(left, [id(1, 1)]);
}

#[test]
fn sets_are_forgotten() {
    let live = live();
    let scope = id(0, 1);
    take(&live, 0, &[What::Opened { scope, within: 0, place: Location::caller() }]);
    for datum in 1..10_000 {
        take(&live, 0, &[What::Set { body: scope, order: 2 * datum, datum }]);
    }
    assert!(live.0.lock().sets.len() <= 64);
}
