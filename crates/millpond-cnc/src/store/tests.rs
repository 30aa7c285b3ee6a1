//! Every table: threads ask for the same keys and for others, while the table grows.

use std::collections::HashMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::*;

const TABLES: [Table; 3] = [Table::Open, Table::Sharded, Table::SplitOrdered];

/// Threads ask for keys. Every key has one index, which keeps its key and its slot, and no two keys
/// have the same.
fn one_place_a_key<K: Key>(table: Table, threads: usize, asks: impl Fn(usize) -> Vec<K> + Sync) {
    let (store, start) = (Store::<K, AtomicUsize>::hashed(table), Barrier::new(threads));
    let thread = |thread| {
        let keys = asks(thread);
        start.wait();
        let place = |key: K| {
            let (place, slot) = store.find(&key).expect("hashed keys have no bounds");
            slot.fetch_add(1, Ordering::Relaxed);
            (key, place)
        };
        keys.into_iter().map(place).collect::<Vec<_>>()
    };
    let found: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|n| scope.spawn(move || thread(n))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    let mut asked = HashMap::<K, (usize, usize)>::new();
    for (key, place) in found {
        let (first, times) = asked.entry(key).or_insert((place, 0));
        *times += 1;
        assert_eq!(*first, place, "{table:?}");
    }
    for (key, &(place, times)) in &asked {
        assert_eq!((&store.key(place), store.at(place).load(Ordering::Relaxed)), (key, times), "{table:?}");
    }
    assert_eq!(store.slots().filter(|slot| slot.load(Ordering::Relaxed) != 0).count(), asked.len(), "{table:?}");
}

#[test]
fn the_same_keys() {
    for table in TABLES {
        let order = |thread, n| if thread % 2 == 0 { n } else { 19_999 - n };
        one_place_a_key(table, 4, |thread| (0..20_000_u64).map(|n| order(thread, n)).collect());
    }
}

#[test]
fn other_keys() {
    for table in TABLES {
        one_place_a_key(table, 4, |thread| (0..10_000).map(|n| (thread as u32, n % 100, n / 100)).collect());
    }
}

#[test]
fn some_keys_are_the_same() {
    for table in TABLES {
        let key = |thread: usize, n: usize| (n * 3 + thread / 2).to_string();
        one_place_a_key(table, 4, |thread| (0..5000).map(|n| key(thread, n)).collect());
    }
}

/// The smallest tables, many times: these grow often.
#[test]
fn few_keys() {
    for table in TABLES {
        for round in 0..300 {
            one_place_a_key(table, 2, |_| (round..round + 20).collect::<Vec<u64>>());
        }
    }
}

/// All keys have one hash, and so one home and one order.
#[test]
fn keys_of_one_hash() {
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct One(u32);
    impl std::hash::Hash for One {
        fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
    }
    // The time grows with the square of the number of keys.
    let most = if cfg!(debug_assertions) { 100 } else { 300 };
    for table in TABLES {
        one_place_a_key(table, 4, |thread| {
            (0..most).map(|n| One(if thread == 0 { n } else { most - 1 - n })).collect()
        });
    }
}
