//! Hashed keys: a split-ordered list, which grows without moving anything (O. Shalev, N. Shavit,
//! *Split-ordered lists: lock-free extensible hash tables*, JACM 53(3), 2006; [FP](crate#sources)
//! §V).
//!
//! All entries are in one list, sorted by the reversed bits of their hashes. *Buckets* are
//! shortcuts into it. When their number doubles, each old bucket is split in two. The entries of
//! the two halves are already consecutive in the list. The new bucket begins at a *dummy* between
//! them, put there by the first thread that asks for the bucket.
//!
//! Nothing is removed during a graph's life, so a link changes only when an entry is put behind it.
//! Links are indices into an append-only arena.
//!
//! 1. *Find* takes the key's bucket, from the current number of buckets. Any number is correct:
//!    more buckets make the search shorter. It loads the index of the bucket's dummy (acquire).
//! 2. If this dummy does not exist, find puts it. It finds the dummy of the bucket from which this
//!    one is split (1, 2). From there it searches the new dummy's position, as for a key (3, 4),
//!    and records the index (release). A thread that does the same at the same time finds the same
//!    dummy, and records the same index.
//! 3. From the dummy on it follows the links (acquire), past all entries of lower or the same
//!    order, until an entry is the key's.
//! 4. If there is none, it makes an entry linked to the next entry. It puts this into the previous
//!    link by a compare-and-swap (acquire and release). If that fails, another thread has put an
//!    entry there: back to 3, from the same link. Two threads that put the same key meet at one
//!    link, behind all entries of their order. So the second finds the first one's entry.
//! 5. The thread that has put a key counts it. If there are too many keys for the buckets, it
//!    doubles the number of buckets.
//!
//! So each key has one entry in the list. A thread that loses a race leaves an entry in the arena,
//! outside the list.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use super::arenas::Arenas;
use crate::key::Key;
use crate::sync::OnceLock;
use crate::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

#[cfg(all(test, loom))]
mod loom_tests;

/// See the [module](self).
pub(crate) struct Split<K, S> {
    state: FixedState,
    entries: Arenas<Entry<K, S>>,
    /// The number of entries, plus a few.
    count: AtomicUsize,
    /// The number of buckets in use, a power of 2.
    size: AtomicUsize,
    /// The indices of the buckets' dummies, plus 1; 0 if no thread has asked for the bucket. The
    /// first block has bucket 0. Each other block has as many buckets as all blocks before it.
    buckets: [OnceLock<Box<[AtomicU32]>>; BLOCKS],
}

struct Entry<K, S> {
    /// The reversed bits of the hash. Odd for a key, even for a dummy.
    order: u64,
    next: AtomicU32,
    /// `None` of a dummy.
    item: Option<(K, S)>,
}

const NONE: u32 = u32::MAX;

/// The number of blocks of buckets, enough for the largest number of entries.
const BLOCKS: usize = if cfg!(loom) { 4 } else { 32 };

/// Entries per bucket before the number of buckets doubles.
const LOAD: usize = if cfg!(loom) { 0 } else { 2 };

impl<K: Key, S: Default> Split<K, S> {
    pub(crate) fn new() -> Self {
        let this = Split {
            state: FixedState::default(),
            entries: Arenas::new(),
            count: AtomicUsize::new(0),
            size: AtomicUsize::new(1),
            buckets: std::array::from_fn(|_| OnceLock::new()),
        };
        let first = this.entries.push(Entry { order: 0, next: AtomicU32::new(NONE), item: None });
        this.bucket(0).store(first + 1, Ordering::Release);
        this
    }

    pub(crate) fn find(&self, key: &K) -> (usize, &S) {
        let hash = self.state.hash_one(key);
        let size = self.size.load(Ordering::Relaxed);
        let start = self.start(hash as usize & (size - 1));
        let order = hash.reverse_bits() | 1;
        let is = |entry: &Entry<K, S>| entry.item.as_ref().is_some_and(|(other, _)| other == key);
        let make = || Some((key.clone(), S::default()));
        let (place, new) = self.find_or_put(start, order, is, make);
        if new && self.count.fetch_add(1, Ordering::Relaxed) > LOAD * size {
            // If this fails, another thread has doubled it.
            _ = self.size.compare_exchange(size, 2 * size, Ordering::Relaxed, Ordering::Relaxed);
        }
        (place as usize, self.at(place as usize))
    }

    pub(crate) fn at(&self, place: usize) -> &S {
        &self.item(place).1
    }

    pub(crate) fn key(&self, place: usize) -> K {
        self.item(place).0.clone()
    }

    /// The slots of the keys, and of entries that lost a race.
    pub(crate) fn slots(&self) -> impl Iterator<Item = &S> {
        self.entries.iter().filter_map(|entry| entry.item.as_ref().map(|(_, slot)| slot))
    }

    fn item(&self, place: usize) -> &(K, S) {
        self.entry(place as u32).item.as_ref().expect("no dummy has a key")
    }

    fn entry(&self, place: u32) -> &Entry<K, S> {
        self.entries.at(place)
    }

    /// The word that records a bucket's dummy.
    fn bucket(&self, bucket: usize) -> &AtomicU32 {
        let block = bucket.checked_ilog2().map_or(0, |log| log as usize + 1);
        let first = if block == 0 { 0 } else { 1 << (block - 1) };
        let make = || (0..first.max(1)).map(|_| AtomicU32::new(0)).collect();
        &self.buckets[block].get_or_init(make)[bucket - first]
    }

    /// The index of a bucket's dummy, made if there is none.
    fn start(&self, bucket: usize) -> u32 {
        match self.bucket(bucket).load(Ordering::Acquire) {
            0 => self.split(bucket),
            known => known - 1,
        }
    }

    /// Puts the dummy of a new bucket behind the dummy of the bucket from which it is split.
    #[cold]
    fn split(&self, bucket: usize) -> u32 {
        let parent = bucket & !(1 << bucket.ilog2());
        let order = (bucket as u64).reverse_bits();
        let (place, _) = self.find_or_put(self.start(parent), order, |entry| entry.item.is_none(), || None);
        self.bucket(bucket).store(place + 1, Ordering::Release);
        place
    }

    /// The index of the entry of this order for which `is` holds, made if there is none, and
    /// whether it was made.
    #[inline]
    fn find_or_put(
        &self,
        start: u32,
        order: u64,
        is: impl Fn(&Entry<K, S>) -> bool,
        make: impl Fn() -> Option<(K, S)>,
    ) -> (u32, bool) {
        let (mut before, mut made) = (start, None);
        loop {
            let link = &self.entry(before).next;
            let at = link.load(Ordering::Acquire);
            if at != NONE {
                let entry = self.entry(at);
                if entry.order == order && is(entry) {
                    return (at, false);
                }
                if entry.order <= order {
                    before = at;
                    continue;
                }
            }
            let new = *made
                .get_or_insert_with(|| self.entries.push(Entry { order, next: AtomicU32::new(NONE), item: make() }));
            self.entry(new).next.store(at, Ordering::Relaxed);
            if link.compare_exchange(at, new, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return (new, true);
            }
        }
    }
}
