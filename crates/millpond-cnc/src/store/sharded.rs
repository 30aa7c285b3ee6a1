//! Hashed keys: tables of places, each under a lock, over one arena whose slots stay where they are.

use std::hash::BuildHasher;

use crossbeam_utils::CachePadded;
use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::arenas::Arenas;
use crate::key::Key;
use crate::sync::{Mutex, lock};

/// See the [module](self).
pub(crate) struct Sharded<K, S> {
    state: FixedState,
    shards: Shards,
    slots: Arenas<(K, S)>,
}

impl<K: Key, S: Default> Sharded<K, S> {
    pub(crate) fn new() -> Self {
        Sharded { state: FixedState::default(), shards: Shards::new(), slots: Arenas::new() }
    }

    pub(crate) fn find(&self, key: &K) -> (usize, &S) {
        let make = || self.slots.push((key.clone(), S::default()));
        let place = self.shards.find(self.state.hash_one(key), |place| self.slots.at(place).0 == *key, make) as usize;
        (place, self.at(place))
    }

    pub(crate) fn at(&self, place: usize) -> &S {
        &self.slots.at(place as u32).1
    }

    pub(crate) fn key(&self, place: usize) -> K {
        self.slots.at(place as u32).0.clone()
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = &S> {
        self.slots.iter().map(|(_, slot)| slot)
    }
}

/// A power of 2, a multiple of the threads that are likely.
const SHARDS: usize = if cfg!(loom) { 2 } else { 64 };

/// The places of slots, by the hashes of their keys.
pub(super) struct Shards([CachePadded<Mutex<HashTable<Entry>>>; SHARDS]);

/// With its hash, so that a table grows without a look at the slots.
struct Entry {
    hash: u64,
    place: u32,
}

impl Shards {
    pub(super) fn new() -> Self {
        Shards(std::array::from_fn(|_| CachePadded::new(Mutex::new(HashTable::new()))))
    }

    /// The place that `is` the key's; if there is none, one that is made.
    pub(super) fn find(&self, hash: u64, is: impl Fn(u32) -> bool, make: impl FnOnce() -> u32) -> u32 {
        // The table uses the low bits, and the highest seven.
        let mut table = lock(&self.0[(hash >> 48) as usize % SHARDS]);
        let same = |entry: &Entry| entry.hash == hash && is(entry.place);
        table.entry(hash, same, |entry| entry.hash).or_insert_with(|| Entry { hash, place: make() }).get().place
    }
}
