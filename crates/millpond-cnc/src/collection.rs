//! The common parts of all kinds of item collections.

use std::any::Any;

use millpond::Precondition;

use crate::current::SlotId;
use crate::error::ItemName;
use crate::key::Key;
use crate::origin::StepId;

/// A collection of items under keys `K`: [`Items`](crate::Items),
/// [`CountedItems`](crate::CountedItems).
pub trait Collection<'x, K: Key>: Sealed<'x, K> {
    /// The result of a get.
    type Got;

    /// The future of a get.
    type Get: Future<Output = Self::Got> + Send;

    /// Returns a future of the item.
    fn getting(self, key: K) -> Self::Get;
}

/// A graph's view of a collection.
#[doc(hidden)]
pub trait Sealed<'x, K>: Copy {
    /// The slot of a key, if the collection belongs to this graph and the key is within its bounds.
    fn slot(self, graph: u64, key: &K) -> Option<SlotId>;

    /// The slot of a key, unless the item was put.
    fn missing(self, key: &K) -> Option<SlotId>;

    /// Makes a precondition wait for the item, unless it was put.
    fn hold(self, key: &K, hold: impl FnOnce() -> Precondition);

    /// The name of an item, for reports.
    fn item_name(self, key: &K) -> ItemName;

    /// Records that a step collection puts items here.
    fn add_producer(self, step: StepId);
}

/// A collection with its types erased.
pub(crate) trait AnyItems: Any + Send + Sync {
    fn name(&self) -> &'static str;
    fn key(&self, place: usize) -> String;
    fn wait(&self, place: usize, precondition: Precondition);
    /// Wakes all waiters of all items.
    fn release(&self);
    fn producers(&self) -> Vec<StepId>;
    fn memory(&self) -> ItemMemory;
}

/// The memory of a collection's items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemMemory {
    /// The collection.
    pub collection: &'static str,
    /// The number of put items.
    pub put: usize,
    /// The number of these still in memory. A counted collection frees an item after its last use.
    pub there: usize,
    /// The bytes of these, without pointees.
    pub bytes: usize,
}
