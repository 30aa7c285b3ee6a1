//! Hashed keys: tables of indices, each under a lock, over one arena whose slots do not move.
//!
//! No method of a key is called under the lock, because it may do anything: for example, a
//! comparison may put into the same collection. So a table only returns, one by one, the indices of
//! keys with the same hash.

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
        let is = |place| self.slots.at(place).0 == *key;
        let (prepare, make) = (|| (key.clone(), S::default()), |slot| self.slots.push(slot));
        let place = self.shards.find(self.state.hash_one(key), is, prepare, make) as usize;
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

/// A power of 2, and a multiple of the likely numbers of threads.
const SHARDS: usize = if cfg!(loom) { 2 } else { 64 };

/// The indices of slots, found by the hashes of their keys.
pub(super) struct Shards([CachePadded<Mutex<HashTable<Entry>>>; SHARDS]);

/// It includes the hash, so that a table can grow without reading the slots.
struct Entry {
    hash: u64,
    place: u32,
}

impl Shards {
    pub(super) fn new() -> Self {
        Shards(std::array::from_fn(|_| CachePadded::new(Mutex::new(HashTable::new()))))
    }

    /// The index of the key, for which `is` holds. If none exists, `make` makes one from the result
    /// of `prepare`. Only `make` is called under the lock.
    pub(super) fn find<N>(
        &self,
        hash: u64,
        is: impl Fn(u32) -> bool,
        prepare: impl Fn() -> N,
        make: impl FnOnce(N) -> u32,
    ) -> u32 {
        // The table uses the low bits, and the seven highest ones.
        let shard = &self.0[(hash >> 48) as usize % SHARDS];
        // Keys with the same hash are rare, so this usually allocates nothing.
        let mut others = Vec::new();
        let mut new = None;
        loop {
            let mut table = lock(shard);
            let same = table.find(hash, |entry| entry.hash == hash && !others.contains(&entry.place));
            match (same.map(|entry| entry.place), new.take()) {
                (Some(place), prepared) => {
                    drop(table);
                    if is(place) {
                        return place;
                    }
                    new = prepared;
                    others.push(place);
                }
                (None, Some(prepared)) => {
                    let place = make(prepared);
                    table.insert_unique(hash, Entry { hash, place }, |entry| entry.hash);
                    return place;
                }
                (None, None) => {
                    drop(table);
                    new = Some(prepare());
                }
            }
        }
    }
}
