//! Hashed keys: open tables of words, by shards of the hash. Who finds a key takes no lock and no atomic read-modify-write;
//! who makes a slot takes its shard's lock.
//!
//! 1. *Find* loads the number of the shard's table (acquire), and from the key's home on the words of that table
//!    (acquire), until one is the key's, or empty.
//! 2. If it is empty, it clones the key, and takes the shard's lock. If meanwhile the word was stored, or there is a newer table,
//!    it gives the lock back and looks again (1).
//! 3. Otherwise it makes the slot, and stores the word (release).
//! 4. A table that has become three quarters full is copied, under the lock, into one four times as large, whose number
//!    is stored then (release). The old one stays as it is: who still looks through it finds what is there, or takes the
//!    lock. No table is ever full, so every look ends.
//!
//! A key's word goes where the first empty one is, from its home on. So if the word at which 1 has ended is empty still, nobody
//! has stored the key's, and there is one slot a key. Under the lock no method of a key is called, which may do anything:
//! compare by what it puts into the same collection, say.
//! Who finds a word sees the slot it
//! stands for: by the word itself (3), or by the number of the table that it was copied into (4). Old tables together are
//! a third as large as the newest one, and a key is copied a third of a time.

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

/// A power of 2, a multiple of the threads that are likely.
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
        // Who has seen that it is the key's has its slot: an arena is asked once.
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

/// Numbers, by the hashes of what they stand for: one shard.
pub(super) struct Index {
    /// The number of the newest table.
    newest: AtomicUsize,
    /// Std's in models too: the number alone is to say that a table is there.
    tables: [OnceLock<Box<[AtomicU64]>>; TABLES],
    /// How many there are.
    count: Mutex<usize>,
}

/// Tables of 8 words, 32, ...
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

    /// The number that `is` the key's; if there is none, one that is made of what was prepared. Only `make` is called under the
    /// lock.
    #[inline]
    pub(super) fn find<N>(
        &self,
        hash: u32,
        is: impl Fn(u32) -> bool,
        prepare: impl FnOnce() -> N,
        make: impl FnOnce(N) -> u32,
    ) -> u32 {
        let table = self.newest();
        match look(table, hash, &is) {
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
            free = match look(table, hash, &is) {
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
            if let Err(free) = look(larger, (word >> 32) as u32, |_| false) {
                larger[free].store(word, Ordering::Relaxed);
            }
        }
        self.newest.store(next, Ordering::Release);
    }
}

/// Looks for a number in a table; where it would be, if it is not there.
#[inline]
fn look(table: &[AtomicU64], hash: u32, is: impl Fn(u32) -> bool) -> Result<u32, usize> {
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
