//! Hashed keys: open tables of words, sharded by the hash. Finding a key takes no lock and no
//! atomic read-modify-write. Making a slot takes the shard's lock.
//!
//! 1. *Find* loads the index of the shard's newest table (acquire). From the key's home on, it
//!    loads the words of that table (acquire), until one is the key's, or empty.
//! 2. If the word is empty, find clones the key and takes the shard's lock. If the word was stored
//!    meanwhile, or a newer table exists, it releases the lock and searches again (1).
//! 3. Otherwise it makes the slot, and stores the word (release).
//! 4. When a table has become three quarters full, the lock's holder copies it into one four times
//!    as large. Then it stores the new table's index (release). The old table stays as it is. A
//!    thread still searching the old table finds a key there, or takes the lock. No table is ever
//!    full, so every search ends.
//!
//! A key's word was stored in the first empty word from its home on. So if the word at which step 1
//! ended is still empty, no thread has stored the key's, and each key has one slot. No method of a
//! key is called under the lock, because it may do anything: for example, a comparison may put into
//! the same collection. A thread that finds a word sees the slot behind it. The word itself orders
//! that (3), or the index of the table into which the word was copied (4). All old tables together
//! are a third as large as the newest one. On average, a key is copied a third of a time.

use std::cell::Cell;
use std::sync::OnceLock;

use crossbeam_utils::CachePadded;

use super::arenas::Arenas;
use super::near;
use crate::key::Key;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Mutex, lock};

#[cfg(all(test, loom))]
mod loom_tests;

/// A power of 2, and a multiple of the likely numbers of threads.
const SHARDS: usize = if cfg!(loom) { 1 } else { 32 };

/// See the [module](self).
pub(crate) struct Open<K, S> {
    shards: Box<[CachePadded<Index>]>,
    slots: Arenas<(K, S)>,
}

impl<K: Key, S: Default> Open<K, S> {
    pub(crate) fn new() -> Self {
        let shards = std::iter::repeat_with(|| CachePadded::new(Index::new())).take(SHARDS).collect();
        Open { shards, slots: Arenas::new() }
    }

    #[inline]
    pub(crate) fn find(&self, key: &K) -> (usize, &S) {
        let (hash, found) = (near::hash(key), Cell::new(None));
        // If the word is the key's, `is` has loaded its slot, so the arena is accessed once.
        let is = |place| {
            let (other, slot) = self.slots.at(place);
            found.set(Some(slot));
            other == key
        };
        let prepare = || (key.clone(), S::default());
        let make = |slot| {
            found.set(None);
            self.slots.push(slot)
        };
        let place = self.shards[(hash >> 48) as usize % SHARDS].find(hash as u32, is, prepare, make);
        (place as usize, found.get().unwrap_or_else(|| &self.slots.at(place).1))
    }

    #[inline]
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

/// Numbers, found by the hashes of their keys: one shard.
pub(super) struct Index {
    /// The index of the newest table.
    newest: AtomicUsize,
    /// Std's `OnceLock` in models, too, because the index alone must order the access to a table.
    tables: [OnceLock<Box<[AtomicU64]>>; TABLES],
    /// The number of words in use.
    count: Mutex<usize>,
}

/// The tables have 8 words, 32, ...
const TABLES: usize = 15;
const FIRST: usize = if cfg!(loom) { 2 } else { 8 };
const GROWTH: usize = if cfg!(loom) { 2 } else { 4 };

impl Index {
    pub(super) fn new() -> Self {
        let index =
            Index { newest: AtomicUsize::new(0), tables: [const { OnceLock::new() }; TABLES], count: Mutex::new(0) };
        index.tables[0].get_or_init(|| empty(FIRST));
        index
    }

    /// The number of the key, for which `is` holds. If none exists, `make` makes one from the
    /// result of `prepare`. Only `make` is called under the lock.
    #[inline]
    pub(super) fn find<N>(
        &self,
        hash: u32,
        is: impl Fn(u32) -> bool,
        prepare: impl FnOnce() -> N,
        make: impl FnOnce(N) -> u32,
    ) -> u32 {
        let table = self.newest();
        match search(table, hash, &is) {
            Ok(number) => number,
            Err(free) => self.find_or_make(hash, is, (table, free), prepare, make),
        }
    }

    #[inline]
    fn newest(&self) -> &[AtomicU64] {
        self.tables[self.newest.load(Ordering::Acquire)].get().expect("made before its number is stored")
    }

    fn find_or_make<N>(
        &self,
        hash: u32,
        is: impl Fn(u32) -> bool,
        (mut table, mut free): (&[AtomicU64], usize),
        prepare: impl FnOnce() -> N,
        make: impl FnOnce(N) -> u32,
    ) -> u32 {
        let new = prepare();
        loop {
            let mut count = lock(&self.count);
            if std::ptr::eq(self.newest(), table) && table[free].load(Ordering::Relaxed) == 0 {
                let number = make(new);
                table[free].store((u64::from(hash) << 32) | (u64::from(number) + 1), Ordering::Release);
                *count += 1;
                if *count >= table.len() * 3 / 4 {
                    self.grow(table);
                }
                return number;
            }
            drop(count);
            table = self.newest();
            free = match search(table, hash, &is) {
                Ok(number) => return number,
                Err(free) => free,
            };
        }
    }

    #[cold]
    fn grow(&self, table: &[AtomicU64]) {
        let next = self.newest.load(Ordering::Relaxed) + 1;
        let larger = self
            .tables
            .get(next)
            .expect("a collection has fewer than 2^32 keys")
            .get_or_init(|| empty(GROWTH * table.len()));
        for word in table.iter().map(|word| word.load(Ordering::Relaxed)).filter(|&word| word != 0) {
            if let Err(free) = search(larger, (word >> 32) as u32, |_| false) {
                larger[free].store(word, Ordering::Relaxed);
            }
        }
        self.newest.store(next, Ordering::Release);
    }
}

/// Searches a table for a number. If it is missing, returns the index of the first empty word.
#[inline]
fn search(table: &[AtomicU64], hash: u32, is: impl Fn(u32) -> bool) -> Result<u32, usize> {
    let mut at = hash as usize & (table.len() - 1);
    loop {
        let word = table[at].load(Ordering::Acquire);
        if word == 0 {
            return Err(at);
        }
        let number = (word - 1) as u32;
        if (word >> 32) as u32 == hash && is(number) {
            return Ok(number);
        }
        at = (at + 1) & (table.len() - 1);
    }
}

fn empty(len: usize) -> Box<[AtomicU64]> {
    (0..len).map(|_| AtomicU64::new(0)).collect()
}
