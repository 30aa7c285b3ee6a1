//! The slots of an item collection, found by key. The first request for a key makes its slot, which
//! stays until the graph ends.

use crate::key::Key;
use crate::modes::Table;

mod arenas;
mod dense;
mod near;
mod open;
mod sharded;
mod split;

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;

pub use dense::Bounds;
use dense::Dense;
use open::Open;
use sharded::Sharded;
use split::Split;

/// The slots of one collection. Each slot has an index.
pub(crate) enum Store<K, S> {
    Dense(Dense<K, S>),
    Sharded(Box<Sharded<K, S>>),
    Split(Box<Split<K, S>>),
    Open(Open<K, S>),
}

/// A key outside the declared bounds.
#[derive(Debug)]
pub(crate) struct Outside(pub(crate) String);

impl<K: Key, S: Default> Store<K, S> {
    pub(crate) fn hashed(table: Table) -> Self {
        match table {
            Table::Sharded => Store::Sharded(Box::new(Sharded::new())),
            Table::SplitOrdered => Store::Split(Box::new(Split::new())),
            Table::Open => Store::Open(Open::new()),
        }
    }

    pub(crate) fn dense(bounds: K) -> Self
    where
        K: Bounds,
    {
        Store::Dense(Dense::new(bounds))
    }

    /// A key's slot and its index, made if there is none. Amortized constant time.
    #[inline]
    pub(crate) fn find(&self, key: &K) -> Result<(usize, &S), Outside> {
        match self {
            Store::Dense(dense) => dense.find(key),
            Store::Sharded(sharded) => Ok(sharded.find(key)),
            Store::Split(split) => Ok(split.find(key)),
            Store::Open(open) => Ok(open.find(key)),
        }
    }

    /// The slot at an index from `find`.
    #[inline]
    pub(crate) fn at(&self, place: usize) -> &S {
        match self {
            Store::Dense(dense) => dense.at(place),
            Store::Sharded(sharded) => sharded.at(place),
            Store::Split(split) => split.at(place),
            Store::Open(open) => open.at(place),
        }
    }

    /// The key of this slot.
    pub(crate) fn key(&self, place: usize) -> K {
        match self {
            Store::Dense(dense) => dense.key(place),
            Store::Sharded(sharded) => sharded.key(place),
            Store::Split(split) => split.key(place),
            Store::Open(open) => open.key(place),
        }
    }

    /// All requested slots; of a dense store, all slots.
    pub(crate) fn slots(&self) -> Box<dyn Iterator<Item = &S> + '_> {
        match self {
            Store::Dense(dense) => Box::new(dense.slots()),
            Store::Sharded(sharded) => Box::new(sharded.slots()),
            Store::Split(split) => Box::new(split.slots()),
            Store::Open(open) => Box::new(open.slots()),
        }
    }
}

/// The slots of hashed keys alone, for benchmarks against other tables.
pub struct Slots<K, S>(Store<K, S>);

impl<K: Key, S: Default> Slots<K, S> {
    /// No slots.
    pub fn new(table: Table) -> Self {
        Slots(Store::hashed(table))
    }

    /// The slot of a key, made if there is none.
    #[inline]
    pub fn slot(&self, key: &K) -> &S {
        self.0.find(key).expect("hashed keys have no bounds").1
    }
}

impl<K, S> std::fmt::Debug for Slots<K, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slots").finish_non_exhaustive()
    }
}
