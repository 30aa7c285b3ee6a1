//! Item collections: values under keys. Each value is put once, and stays until the graph ends.

use std::fmt::{self, Debug, Formatter};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use millpond::Precondition;
use millpond::item::Item;

use crate::collection::{AnyItems, Collection, ItemMemory, Sealed};
use crate::current::{self, Done, SlotId};
use crate::error::{ItemName, Kind};
use crate::key::Key;
use crate::origin::{Origin, StepId};
use crate::shared::Shared;
use crate::store::Store;

/// An item collection of a graph: a handle, `Copy`.
pub struct Items<'x, K, V> {
    core: &'x ItemsCore<K, V>,
}

impl<K, V> Clone for Items<'_, K, V> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K, V> Copy for Items<'_, K, V> {}

/// The data of an item collection.
pub(crate) struct ItemsCore<K, V> {
    graph: Arc<Shared>,
    id: u32,
    name: &'static str,
    store: Store<K, Item<Filled<V>>>,
    producers: Mutex<Vec<StepId>>,
}

/// A value, and the step that put it.
pub(crate) struct Filled<V> {
    value: V,
    origin: Origin,
}

impl<K: Key, V: Send + Sync + 'static> ItemsCore<K, V> {
    pub(crate) fn new(graph: Arc<Shared>, id: u32, name: &'static str, store: Store<K, Item<Filled<V>>>) -> Self {
        ItemsCore { graph, id, name, store, producers: Mutex::default() }
    }

    /// A key's slot and its index. If the key is outside the bounds, the graph fails.
    #[inline]
    fn find(&self, key: &K) -> Option<(usize, &Item<Filled<V>>)> {
        self.store.find(key).map_err(|outside| self.refuse(key, outside.0)).ok()
    }

    #[cold]
    fn refuse(&self, key: &K, bounds: String) {
        let by = current::by(self.graph.id());
        self.graph.fail(Kind::OutOfBounds { item: self.item(key), bounds, by });
    }

    fn item(&self, key: &K) -> ItemName {
        ItemName { collection: self.name.to_owned(), key: format!("{key:?}") }
    }

    fn slot(&self, place: usize) -> SlotId {
        SlotId { collection: self.id, slot: place }
    }

    #[cold]
    fn put_again(&self, key: &K, refused: &Filled<V>, item: &Item<Filled<V>>) {
        let first = loop {
            match item.get() {
                Some(first) => break first,
                // Another put has not finished yet.
                None => std::thread::yield_now(),
            }
        };
        let (first, second) = (self.graph.by(&first.origin), self.graph.by(&refused.origin));
        self.graph.fail(Kind::SecondPut { item: self.item(key), first, second });
    }
}

impl<'x, K: Key, V: Send + Sync + 'static> Items<'x, K, V> {
    pub(crate) fn new(core: &'x ItemsCore<K, V>) -> Self {
        Items { core }
    }

    /// Puts an item. A second put under the same key fails the graph and drops the value.
    pub fn put(self, key: K, value: V) {
        let core = self.core;
        let Some((place, item)) = core.find(&key) else { return };
        let stepped = current::with_own(core.graph.id(), |polled| {
            polled.note(Done::Put(core.slot(place)));
            Origin::step(polled.step, &polled.tag)
        });
        let origin = stepped.unwrap_or_else(|| {
            current::note(core.graph.id(), |_| Done::Outside(format!("put item {}", core.item(&key)).into()));
            Origin::Environment
        });
        let filled = Filled { value, origin };
        if let Err(refused) = item.put(filled) {
            core.put_again(&key, &refused, item);
        }
    }

    /// The item: a step awaits it. It is ready once the item has been put.
    ///
    /// If a step drops this future before it is ready, as `select` does, the step learns that the
    /// item was late. Then its result depends on the order of steps.
    pub fn get(self, key: K) -> Get<'x, K, V> {
        Get { core: self.core, key, place: None }
    }

    /// The item, if it has been put: for the environment, and for threads outside the graph.
    ///
    /// The answer depends on the order of steps, unless [`Graph::wait`](crate::Graph::wait) was
    /// called first. In a step, `try_get` fails the graph with
    /// [`Kind::LookedInStep`](crate::Kind::LookedInStep) and returns `None`. A step awaits
    /// [`get`](Items::get) instead, so that all runs compute the same.
    ///
    /// ```
    /// use millpond::Runtime;
    /// use millpond_cnc::graph;
    ///
    /// let even = graph(&Runtime::new()?, |g| {
    ///     let (even, tags) = (g.items::<u32, ()>("even"), g.tags("numbers"));
    ///     tags.prescribes(g.steps::<u32>("sieve").execute(move |n| async move {
    ///         if n % 2 == 0 {
    ///             even.put(n, ());
    ///         }
    ///     }));
    ///     tags.put_all(0..10);
    ///     g.wait()?;
    ///     Ok::<_, millpond_cnc::Error>((0..10).filter(|n| even.try_get(n).is_some()).count())
    /// })??;
    /// assert_eq!(even, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_get(self, key: &K) -> Option<&'x V> {
        if let Some(step) = current::step(self.core.graph.id()) {
            self.core.graph.fail(Kind::LookedInStep { step, item: self.core.item(key) });
            return None;
        }
        let (_, item) = self.core.find(key)?;
        item.get().map(|filled| &filled.value)
    }

    /// The collection's name.
    pub fn name(self) -> &'static str {
        self.core.name
    }
}

impl<'x, K: Key, V: Send + Sync + 'static> Sealed<'x, K> for Items<'x, K, V> {
    fn slot(self, graph: u64, key: &K) -> Option<SlotId> {
        let (place, _) = self.core.find(key).filter(|_| self.core.graph.id() == graph)?;
        Some(self.core.slot(place))
    }

    fn missing(self, key: &K) -> Option<SlotId> {
        let (place, item) = self.core.find(key)?;
        item.get().is_none().then(|| self.core.slot(place))
    }

    fn hold(self, key: &K, hold: impl FnOnce() -> Precondition) {
        if let Some((_, item)) = self.core.find(key).filter(|(_, item)| item.get().is_none()) {
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

impl<'x, K: Key, V: Send + Sync + 'static> Collection<'x, K> for Items<'x, K, V> {
    type Got = &'x V;
    type Get = Get<'x, K, V>;

    fn getting(self, key: K) -> Get<'x, K, V> {
        self.get(key)
    }
}

impl<K: Key, V: Send + Sync + 'static> AnyItems for ItemsCore<K, V> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn key(&self, place: usize) -> String {
        format!("{:?}", self.store.key(place))
    }

    fn wait(&self, place: usize, precondition: Precondition) {
        self.store.at(place).wait(precondition);
    }

    fn release(&self) {
        self.store.slots().for_each(Item::release);
    }

    fn producers(&self) -> Vec<StepId> {
        self.producers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn memory(&self) -> ItemMemory {
        let put = self.store.slots().filter(|item| item.get().is_some()).count();
        ItemMemory { collection: self.name, put, there: put, bytes: put * size_of::<V>() }
    }
}

impl<K, V> Debug for Items<'_, K, V> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Items").field(&self.core.name).finish()
    }
}

/// A future of an item; see [`Items::get`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct Get<'x, K, V> {
    core: &'x ItemsCore<K, V>,
    key: K,
    place: Option<usize>,
}

impl<K, V> Unpin for Get<'_, K, V> {}

impl<'x, K: Key, V: Send + Sync + 'static> Future for Get<'x, K, V> {
    type Output = &'x V;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<&'x V> {
        let core = self.core;
        let known = self.place.map(|place| (place, core.store.at(place)));
        let Some((place, item)) = known.or_else(|| core.find(&self.key)) else {
            // The graph has failed, so this step does not continue.
            return Poll::Pending;
        };
        self.place = Some(place);
        if core.graph.checks_gets() && current::refuses(core.graph.id(), core.slot(place)) {
            return Poll::Pending;
        }
        if let Some(filled) = item.get() {
            return Poll::Ready(&filled.value);
        }
        let notes = current::with_own(core.graph.id(), |polled| {
            polled.missing.push(core.slot(place));
            polled.notes
        });
        if notes == Some(true) || item.wake(context.waker()) {
            return Poll::Pending;
        }
        Poll::Ready(&item.get().expect("it does not wait, so it is there").value)
    }
}

impl<K: Debug, V> Debug for Get<'_, K, V> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Get").field("collection", &self.core.name).field("key", &self.key).finish()
    }
}
