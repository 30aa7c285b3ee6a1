//! The common promises of all pools, and the differences of the paper's pools.

use super::any::{AnyLocal, AnyPool, Chosen};
use super::testing::{number, own_task as task};
use super::*;
use crate::conformance::pool::each_task_once;
use crate::limit::limit;
use crate::pool::paper::named::{Named, Variant, Wake};
use crate::pool::paper::params::{Filling, LockKind, Params, Share};
use crate::pool::paper::variants::{ROWS, by_name, for_each_variant};

/// The pools of the tables, each with several sets of parameters. (`conformance::pool` tests the
/// default pool.)
fn all() -> impl Iterator<Item = Chosen> {
    let params = [
        Params::default(),
        Params {
            queues: 1,
            threshold: 9,
            filling: Filling::Greedy,
            share: Share::Half,
            lock: LockKind::Spin,
            capacity: 7,
        },
        Params { share: Share::Workers, ..Params::default() },
        Params { share: Share::Constant(3), ..Params::default() },
    ];
    params.into_iter().flat_map(|params| ROWS.iter().map(move |row| by_name(row.name, params).unwrap()))
}

/// The pool of a row of the table.
fn pool(name: &str, seats: usize) -> (AnyPool, Vec<AnyLocal>) {
    pool_with(name, seats, Params::default())
}

fn pool_with(name: &str, seats: usize, params: Params) -> (AnyPool, Vec<AnyLocal>) {
    AnyPool::with(seats, &by_name(name, params).unwrap())
}

fn put_all(pool: &AnyPool, local: &mut AnyLocal, tasks: std::ops::RangeInclusive<usize>) -> Vec<bool> {
    tasks.map(|n| pool.put(local, task(n), Put::Spawned)).collect()
}

fn take_all(pool: &AnyPool, local: &mut AnyLocal) -> Vec<usize> {
    std::iter::from_fn(|| pool.take(local)).map(number).collect()
}

fn steal_all(pool: &AnyPool, local: &mut AnyLocal) -> Vec<usize> {
    std::iter::from_fn(|| pool.take(local).or_else(|| pool.steal(local))).map(number).collect()
}

#[test]
fn the_tables_are_the_papers() {
    let names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
    let [sq1, sq2, sq3, sq4, sdq1, rq1, rq2, rq3] = ["sq1", "sq2", "sq3", "sq4", "sdq1", "rq1", "rq2", "rq3"];
    let [dq1, dq2, dq3, dq4, dq5] = ["dq1", "dq2", "dq3", "dq4", "dq5"];
    let [dq6, dq7, dq8, dq9, dq10] = ["dq6", "dq7", "dq8", "dq9", "dq10"];
    let all = [sq1, sq2, sq3, sq4, dq1, dq2, dq3, dq4, dq5, dq6, dq7, dq8, dq9, dq10, sdq1, rq1, rq2, rq3];
    assert_eq!(names, all);
}

#[test]
fn the_pool_of_a_name_has_the_parts_of_its_row() {
    fn check<V: Variant>() {
        let (chosen, (pool, _)) = (by_name(V::NAME, Params::default()).unwrap(), pool(V::NAME, 1));
        assert_eq!((chosen.name(), pool.waits_busily()), (Named::<V>::NAME, <V::Wake as Wake>::BUSY));
    }
    for_each_variant!(check);
}

/// 1, 2, 3 and 8 threads put, take and steal, as workers do.
#[test]
fn each_task_is_taken_once() {
    limit(300, "each task once", || {
        for choice in all() {
            for seats in [1, 2, 3, 8] {
                each_task_once::<AnyPool>(&choice, seats, choice.name());
            }
        }
    });
}

#[test]
fn the_order_in_which_a_worker_takes_its_own() {
    for row in ROWS {
        let (pool, mut locals) = pool(row.name, 1);
        put_all(&pool, &mut locals[0], 1..=100);
        let mut taken = take_all(&pool, &mut locals[0]);
        match row.name {
            "sq3" | "sq4" => {}
            // Each take may use another of several queues.
            "dq4" | "rq1" | "rq2" | "rq3" => taken.sort_unstable(),
            _ => taken.reverse(),
        }
        assert_eq!(taken, (1..=100).collect::<Vec<_>>(), "{}", row.name);
    }
}

#[test]
fn a_pool_without_balance_keeps_its_tasks_until_the_seat_is_left() {
    for name in ["dq1", "dq3"] {
        let (pool, mut locals) = pool(name, 2);
        let [owner, other] = &mut locals[..] else { unreachable!() };
        assert!(!put_all(&pool, owner, 1..=10).contains(&true) && !pool.has_work());
        assert!(!pool.leave(owner, Leave::Body) && steal_all(&pool, other).is_empty(), "{name}");
        assert!(pool.leave(owner, Leave::Seat) && pool.has_work(), "{name}");
        assert!(!pool.leave(owner, Leave::Seat), "{name}: nothing is left");
        assert_eq!(steal_all(&pool, other).len(), 10, "{name}");
        assert!(!pool.has_work() && take_all(&pool, owner).is_empty(), "{name}");
    }
}

#[test]
fn thieves_take_from_the_end_that_the_row_says() {
    for (name, first) in [("dq2", 6), ("dq5", 1), ("dq6", 1), ("dq7", 6), ("dq9", 6), ("dq10", 6)] {
        let (pool, mut locals) = pool(name, 3);
        put_all(&pool, &mut locals[1], 1..=6);
        assert_eq!(pool.steal(&mut locals[0]).map(number), Some(first), "{name}");
        assert_eq!(take_all(&pool, &mut locals[0]), [], "{name}: one is taken");
        let half = Params { share: Share::Half, ..Params::default() };
        let (pool, mut locals) = pool_with(name, 3, half);
        put_all(&pool, &mut locals[1], 1..=6);
        pool.steal(&mut locals[0]);
        assert_eq!(take_all(&pool, &mut locals[0]).len(), 2, "{name}");
        assert_eq!(take_all(&pool, &mut locals[1]).len(), 3, "{name}");
    }
}

#[test]
fn what_a_put_wakes() {
    let woken = |name: &str| {
        let (pool, mut locals) = pool(name, 2);
        put_all(&pool, &mut locals[0], 1..=5)
    };
    for row in ROWS {
        let expected = match row.name {
            "dq1" | "dq3" | "dq10" => [false; 5],
            // The fifth task begins another block.
            "dq8" | "sdq1" => [false, false, false, false, true],
            "dq9" => [true, false, false, false, false],
            _ => [true; 5],
        };
        assert_eq!(woken(row.name), expected, "{}", row.name);
    }
    let busy = |name: &str| pool(name, 1).0.waits_busily();
    assert!(ROWS.iter().all(|row| busy(row.name) == (row.name == "dq10")) && !busy("default"));
}

#[test]
fn blocks_of_four_are_shared_and_the_newest_kept() {
    for filling in [Filling::Generous, Filling::Greedy] {
        let (pool, mut locals) = pool_with("dq8", 2, Params { filling, ..Params::default() });
        let [owner, other] = &mut locals[..] else { unreachable!() };
        let shown = put_all(&pool, owner, 1..=20).into_iter().filter(|shown| *shown).count();
        // A generous worker shows blocks 1 to 4 of five; a greedy worker shows one at a time.
        assert_eq!(shown, if filling == Filling::Greedy { 1 } else { 4 });
        let first = pool.steal(other).map(number).unwrap();
        assert_eq!(first, if filling == Filling::Greedy { 4 } else { 16 });
        assert_eq!(take_all(&pool, other).len(), 3);
        let mine = take_all(&pool, owner);
        assert_eq!((mine[..4].to_vec(), mine.len()), (vec![20, 19, 18, 17], 16));
    }
}

#[test]
fn what_exceeds_the_threshold_is_for_all() {
    let (pool, mut locals) = pool_with("sdq1", 2, Params { threshold: 6, ..Params::default() });
    let [owner, other] = &mut locals[..] else { unreachable!() };
    let shown = put_all(&pool, owner, 1..=8);
    assert_eq!(shown.iter().position(|shown| *shown), Some(6));
    assert_eq!(take_all(&pool, other), [4, 3, 2, 1]);
    assert_eq!(take_all(&pool, owner), [8, 7, 6, 5]);
    put_all(&pool, owner, 1..=6);
    assert!(pool.leave(owner, Leave::Body) && !pool.leave(owner, Leave::Body));
    assert_eq!(take_all(&pool, other).len(), 6);
}

/// Under every pool, a worker can take back the task that it has just put. A fork does this.
#[test]
fn the_task_at_the_working_end_is_taken_if_it_is_wanted() {
    for choice in all().filter(|choice| !["sq3", "sq4"].contains(&choice.name())) {
        let (pool, mut locals) = AnyPool::with(2, &choice);
        let local = &mut locals[0];
        put_all(&pool, local, 1..=9);
        for n in [10, 11] {
            pool.put(local, task(n), Put::Spawned);
            assert_eq!(pool.take_if(local, |_| false).0, None, "{}", choice.name());
            if n == 11 {
                pool.leave(local, Leave::Body);
            }
            let back = pool.take_if(local, |task| number(task) == n).0;
            assert_eq!(back.map(number), Some(n), "{}", choice.name());
        }
        assert_eq!(take_all(&pool, local).len(), 9, "{}", choice.name());
    }
}

/// A local part holds its pool. A task that is put with it comes out of that pool, even if the call
/// names another pool.
#[test]
fn a_local_part_of_another_row_reaches_its_own_pool() {
    let ((one, mut ones), (other, mut others)) = (pool("dq1", 1), pool("dq2", 1));
    one.put(&mut others[0], task(7), Put::Spawned);
    assert_eq!(one.take(&mut ones[0]).map(number), None);
    assert_eq!(other.take(&mut others[0]).map(number), Some(7));
}
