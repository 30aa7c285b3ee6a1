//! Counted item collections: each item has a number of uses, and is freed after the last one.

use std::fmt::{self, Debug, Formatter};
use std::ops::Deref;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};

use millpond::Precondition;
use millpond::item::{self, CountedItem, Got};

use crate::collection::{AnyItems, Collection, ItemMemory, Sealed};
use crate::current::{self, Done, SlotId};
use crate::error::{By, ItemName, Kind};
use crate::key::Key;
use crate::modes::Table;
use crate::origin::{Origin, StepId};
use crate::shared::Shared;
use crate::store::Store;

/// A counted item collection of a graph: a handle, `Copy`.
///
/// ```
/// use millpond::Runtime;
/// use millpond_cnc::graph;
///
/// let sum = graph(&Runtime::new()?, |g| {
///     // Each tile is used once: by the step that updates it in place.
///     let tiles = g.counted_items::<(u32, u32), Vec<u64>>("tile", |_| 1);
///     let tags = g.tags("updates");
///     tags.prescribes(g.steps::<(u32, u32)>("update").execute(move |(tile, round)| async move {
///         let mut own = tiles.get((tile, round)).await.take().expect("its last use");
///         own.iter_mut().for_each(|value| *value += 1);
///         tiles.put((tile, round + 1), own);
///         if round < 9 {
///             tags.put((tile, round + 1));
///         }
///     }));
///     for tile in 0..4 {
///         tiles.put((tile, 0), vec![0; 100]);
///         tags.put((tile, 0));
///     }
///     (0..4).map(|tile| g.get(tiles, (tile, 10)).unwrap().iter().sum::<u64>()).sum::<u64>()
/// })?;
/// assert_eq!(sum, 4000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CountedItems<'x, K, V> {
    core: &'x CountedCore<K, V>,
}

impl<K, V> Clone for CountedItems<'_, K, V> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K, V> Copy for CountedItems<'_, K, V> {}

/// The data of a counted collection.
pub(crate) struct CountedCore<K, V> {
    graph: Arc<Shared>,
    id: u32,
    name: &'static str,
    store: Store<K, Slot<V>>,
    uses: Box<dyn Fn(&K) -> u32 + Send + Sync>,
    producers: Mutex<Vec<StepId>>,
}

/// An item, and the step that put it. The origin outlives the item.
struct Slot<V> {
    item: CountedItem<V>,
    origin: OnceLock<Origin>,
}

impl<V> Default for Slot<V> {
    fn default() -> Self {
        Slot { item: CountedItem::new(), origin: OnceLock::new() }
    }
}

impl<K: Key, V: Send + Sync + 'static> CountedCore<K, V> {
    pub(crate) fn new(
        graph: Arc<Shared>,
        id: u32,
        name: &'static str,
        table: Table,
        uses: Box<dyn Fn(&K) -> u32 + Send + Sync>,
    ) -> Self {
        CountedCore { graph, id, name, store: Store::hashed(table), uses, producers: Mutex::default() }
    }

    fn find(&self, key: &K) -> (usize, &Slot<V>) {
        self.store.find(key).expect("hashed keys have no bounds")
    }

    fn item(&self, key: &K) -> ItemName {
        ItemName { collection: self.name.to_owned(), key: format!("{key:?}") }
    }

    fn slot(&self, place: usize) -> SlotId {
        SlotId { collection: self.id, slot: place }
    }

    #[cold]
    fn used_up(&self, key: &K) {
        let by = current::by(self.graph.id());
        self.graph.fail(Kind::UsedUp { item: self.item(key), uses: (self.uses)(key), by });
    }

    #[cold]
    fn put_again(&self, key: &K, slot: &Slot<V>, second: &Origin) {
        // The first put sets the origin before it puts the item.
        let first = slot.origin.get().map_or(By::Environment, |first| self.graph.by(first));
        self.graph.fail(Kind::SecondPut { item: self.item(key), first, second: self.graph.by(second) });
    }
}

impl<'x, K: Key, V: Send + Sync + 'static> CountedItems<'x, K, V> {
    pub(crate) fn new(core: &'x CountedCore<K, V>) -> Self {
        CountedItems { core }
    }

    /// Puts an item. A second put under the same key fails the graph and drops the value.
    pub fn put(self, key: K, value: V) {
        let core = self.core;
        let (place, slot) = core.find(&key);
        let stepped = current::with_own(core.graph.id(), |polled| {
            polled.note(Done::Put(core.slot(place)));
            Origin::step(polled.step, &polled.tag)
        });
        let origin = stepped.unwrap_or_else(|| {
            current::note(core.graph.id(), |_| Done::Outside(format!("put item {}", core.item(&key)).into()));
            Origin::Environment
        });
        if slot.origin.set(origin.clone()).is_err() {
            return core.put_again(&key, slot, &origin);
        }
        let put = slot.item.put(value, (core.uses)(&key));
        debug_assert!(put.is_ok(), "whose origin it has, puts it");
    }

    /// One use of an item: a step awaits it. It is ready once the item has been put.
    pub fn get(self, key: K) -> CountedGet<'x, K, V> {
        CountedGet { core: self.core, key }
    }

    /// The collection's name.
    pub fn name(self) -> &'static str {
        self.core.name
    }
}

impl<'x, K: Key, V: Send + Sync + 'static> Sealed<'x, K> for CountedItems<'x, K, V> {
    fn slot(self, graph: u64, key: &K) -> Option<SlotId> {
        let (place, _) = self.core.find(key);
        (self.core.graph.id() == graph).then(|| self.core.slot(place))
    }

    fn missing(self, key: &K) -> Option<SlotId> {
        let (place, slot) = self.core.find(key);
        (!slot.item.is_put()).then(|| self.core.slot(place))
    }

    fn hold(self, key: &K, hold: impl FnOnce() -> Precondition) {
        let (_, Slot { item, .. }) = self.core.find(key);
        if !item.is_put() {
            item.wait(hold());
        }
    }

    fn item_name(self, key: &K) -> ItemName {
        self.core.item(key)
    }

    fn add_producer(self, step: StepId) {
        self.core.producers.lock().unwrap_or_else(PoisonError::into_inner).push(step);
    }
}

impl<'x, K: Key, V: Send + Sync + 'static> Collection<'x, K> for CountedItems<'x, K, V> {
    type Got = Use<'x, V>;
    type Get = CountedGet<'x, K, V>;

    fn getting(self, key: K) -> CountedGet<'x, K, V> {
        self.get(key)
    }
}

impl<K: Key, V: Send + Sync + 'static> AnyItems for CountedCore<K, V> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn key(&self, place: usize) -> String {
        format!("{:?}", self.store.key(place))
    }

    fn wait(&self, place: usize, precondition: Precondition) {
        self.store.at(place).item.wait(precondition);
    }

    fn release(&self) {
        self.store.slots().for_each(|slot| slot.item.release());
    }

    fn producers(&self) -> Vec<StepId> {
        self.producers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn memory(&self) -> ItemMemory {
        let items = || self.store.slots().map(|slot| &slot.item);
        let (put, there) =
            (items().filter(|item| item.is_put()).count(), items().filter(|item| item.is_there()).count());
        ItemMemory { collection: self.name, put, there, bytes: there * size_of::<V>() }
    }
}

impl<K, V> Debug for CountedItems<'_, K, V> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CountedItems").field(&self.core.name).finish()
    }
}

/// A future of one use of an item; see [`CountedItems::get`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct CountedGet<'x, K, V> {
    core: &'x CountedCore<K, V>,
    key: K,
}

impl<K, V> Unpin for CountedGet<'_, K, V> {}

impl<'x, K: Key, V: Send + Sync + 'static> Future for CountedGet<'x, K, V> {
    type Output = Use<'x, V>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Use<'x, V>> {
        let core = self.core;
        let (place, Slot { item, .. }) = core.find(&self.key);
        if core.graph.checks_gets() && current::refuses(core.graph.id(), core.slot(place)) {
            return Poll::Pending;
        }
        loop {
            match item.get() {
                Got::Use(one) => {
                    let (graph, slot) = (core.graph.id(), core.slot(place));
                    return Poll::Ready(Use { one: Some(one), graph, slot });
                }
                Got::UsedUp => {
                    core.used_up(&self.key);
                    return Poll::Pending;
                }
                Got::Missing => {}
            }
            let notes = current::with_own(core.graph.id(), |polled| {
                polled.missing.push(core.slot(place));
                polled.notes
            });
            if notes == Some(true) || item.wake(context.waker()) {
                return Poll::Pending;
            }
        }
    }
}

impl<K: Debug, V> Debug for CountedGet<'_, K, V> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("CountedGet").field("collection", &self.core.name).field("key", &self.key).finish()
    }
}

/// One use of an item. The use ends when this is dropped. The last one frees the item.
pub struct Use<'x, V> {
    /// `Some`, until it is taken or dropped.
    one: Option<item::Use<'x, V>>,
    graph: u64,
    slot: SlotId,
}

impl<V> Use<'_, V> {
    /// Takes the value itself, if this is its last use. The step may change it and put it under
    /// another key.
    ///
    /// If an item has several uses, the order of the steps decides which is the last. A step whose
    /// result must not depend on this order copies the value if `take` is refused.
    ///
    /// # Errors
    ///
    /// Returns this use if another one has not begun, or has not ended.
    pub fn take(mut self) -> Result<V, Self> {
        match self.one.take().map(item::Use::take) {
            Some(Ok(value)) => {
                self.note();
                Ok(value)
            }
            Some(Err(one)) => {
                self.one = Some(one);
                Err(self)
            }
            None => unreachable!("it is there until here"),
        }
    }

    /// Tells the running step that a use has ended.
    fn note(&self) {
        current::note(self.graph, |own| match own {
            true => Done::Used(self.slot),
            false => Done::Outside("used up an item of an enclosing graph".into()),
        });
    }
}

impl<V> Deref for Use<'_, V> {
    type Target = V;

    fn deref(&self) -> &V {
        self.one.as_ref().expect("it is there until it is dropped")
    }
}

impl<V> Drop for Use<'_, V> {
    fn drop(&mut self) {
        let Some(one) = self.one.take() else { return };
        if current::with_enclosed(self.graph, |polled| polled.drops) == Some(true) {
            return one.give_back();
        }
        drop(one);
        self.note();
    }
}

impl<V: Debug> Debug for Use<'_, V> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Use").field(&**self).finish()
    }
}
