//! What all kinds of item collections have in common.

use std::any::Any;

use millpond::Precondition;

use crate::current::SlotId;
use crate::error::ItemName;
use crate::key::Key;
use crate::origin::StepId;

/// A collection of items under keys `K`: [`Items`](crate::Items), [`CountedItems`](crate::CountedItems).
pub trait Collection<'x, K: Key>: Sealed<'x, K> {
    /// What one gets.
    type Got;

    /// What is awaited for that.
    type Get: Future<Output = Self::Got> + Send;

    /// An item, once it was put.
    fn getting(self, key: K) -> Self::Get;
}

/// What a collection does for its graph.
#[doc(hidden)]
pub trait Sealed<'x, K>: Copy {
    /// The slot of a key, if the collection is one of that graph and the key within its bounds.
    fn slot(self, graph: u64, key: &K) -> Option<SlotId>;

    /// The slot of a key, unless the item is there.
    fn missing(self, key: &K) -> Option<SlotId>;

    /// Lets a precondition wait, unless the item is there.
    fn hold(self, key: &K, hold: impl FnOnce() -> Precondition);

    /// An item's name.
    fn item_name(self, key: &K) -> ItemName;

    /// A step collection says that it puts items here.
    fn add_producer(self, step: StepId);
}

/// A collection whose types are not known.
pub(crate) trait AnyItems: Any + Send + Sync {
    fn name(&self) -> &'static str;
    fn key(&self, place: usize) -> String;
    fn wait(&self, place: usize, precondition: Precondition);
    /// Lets everybody go on who waits for an item.
    fn release(&self);
    fn producers(&self) -> Vec<StepId>;
    fn memory(&self) -> ItemMemory;
}

/// What the items of a collection take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemMemory {
    /// The collection.
    pub collection: &'static str,
    /// Items that were put.
    pub put: usize,
    /// Those of them that are there: of a counted collection, whose uses have not all ended.
    pub there: usize,
    /// Bytes of these, without what they point to.
    pub bytes: usize,
}
