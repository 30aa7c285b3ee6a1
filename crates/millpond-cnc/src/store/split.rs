//! Hashed keys: a split-ordered list (O. Shalev, N. Shavit, *Split-ordered lists: lock-free extensible hash tables*, JACM
//! 53(3), 2006; FP §V), which grows without moving anything.
//!
//! All entries are in one list, in the order of their hashes' bits read backwards. *Buckets* are shortcuts into it. When
//! their number doubles, the entries of an old bucket and those of the new one that is split from it stand one behind the
//! other already: the new bucket begins at a *dummy* between them, which who first asks for that bucket puts there.
//!
//! Nothing is removed while there is a graph, so a link changes only when an entry is put behind it. Links are places in an
//! append-only arena.
//!
//! 1. *Find* takes the key's bucket, of as many as there are just now (any number will do: more make the way shorter), and
//!    loads the place of its dummy (acquire).
//! 2. If nobody has put that dummy, it does: it finds the dummy of the bucket that this one is split from (1, 2), goes on
//!    from there to the new one's order as for a key (3, 4), and notes the place (release). Who does the same at once
//!    finds the same dummy, and notes the same place.
//! 3. From the dummy on it follows the links (acquire), past all that are of a lower order, and of the same one, until an
//!    entry is the key's.
//! 4. If there is none, it makes an entry, whose link is what comes next, and puts that into the link before by a
//!    compare-and-swap (acquire and release). If it fails, somebody has put an entry there: back to 3, from the same link.
//!    Two that put the same key meet at one link, behind all entries of their order, so the second one finds the first.
//! 5. Who has put a key counts it. If there are too many for the buckets, there are twice as many buckets from now on.
//!
//! So there is one entry a key in the list. Who loses a race for it leaves an entry in the arena that is in no list.

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
    /// How many entries there are, and some more.
    count: AtomicUsize,
    /// How many buckets are in use, a power of 2.
    size: AtomicUsize,
    /// Places of the buckets' dummies, plus 1; 0 of one that nobody has asked for. The first block has bucket 0, each
    /// other one as many as there are before it.
    buckets: [OnceLock<Box<[AtomicU32]>>; BLOCKS],
}

struct Entry<K, S> {
    /// The bits of the hash, read backwards; odd, and even of a dummy.
    order: u64,
    next: AtomicU32,
    /// `None` of a dummy.
    item: Option<(K, S)>,
}

const NONE: u32 = u32::MAX;

/// Blocks of buckets: as many entries as there may be have fewer.
const BLOCKS: usize = if cfg!(loom) { 4 } else { 32 };

/// Entries for each bucket, before there are more buckets.
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
            // If it fails, somebody else has seen the same.
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

    /// The slots of keys, and some for which there was another one.
    pub(crate) fn slots(&self) -> impl Iterator<Item = &S> {
        self.entries.iter().filter_map(|entry| entry.item.as_ref().map(|(_, slot)| slot))
    }

    fn item(&self, place: usize) -> &(K, S) {
        self.entry(place as u32).item.as_ref().expect("no dummy has a key")
    }

    fn entry(&self, place: u32) -> &Entry<K, S> {
        self.entries.at(place)
    }

    /// Where a bucket's dummy is noted.
    fn bucket(&self, bucket: usize) -> &AtomicU32 {
        let block = bucket.checked_ilog2().map_or(0, |log| log as usize + 1);
        let first = if block == 0 { 0 } else { 1 << (block - 1) };
        let make = || (0..first.max(1)).map(|_| AtomicU32::new(0)).collect();
        &self.buckets[block].get_or_init(make)[bucket - first]
    }

    /// The place of a bucket's dummy, put there if need be.
    fn start(&self, bucket: usize) -> u32 {
        match self.bucket(bucket).load(Ordering::Acquire) {
            0 => self.split(bucket),
            known => known - 1,
        }
    }

    /// A bucket is asked for that was not: its dummy goes behind that of the bucket it is split from.
    #[cold]
    fn split(&self, bucket: usize) -> u32 {
        let parent = bucket & !(1 << bucket.ilog2());
        let order = (bucket as u64).reverse_bits();
        let (place, _) = self.find_or_put(self.start(parent), order, |entry| entry.item.is_none(), || None);
        self.bucket(bucket).store(place + 1, Ordering::Release);
        place
    }

    /// The place of the entry of this order that `is` the one; if there is none, of one that is made. And whether it was.
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
