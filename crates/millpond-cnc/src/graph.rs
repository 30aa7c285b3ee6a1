//! A graph: its collections, its environment, and its end.

use std::any::Any;
use std::fmt::{self, Debug, Formatter};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};

use bumpalo::Bump;
use millpond::{Engine, Root, Runtime, Scope, Spawn};

use crate::collection::{AnyItems, Collection, ItemMemory};
use crate::counted::{CountedCore, CountedItems};
use crate::error::{Deadlock, Error, ItemName, Kind};
use crate::items::{Items, ItemsCore};
use crate::key::Key;
use crate::modes::Settings;
use crate::shared::Shared;
use crate::steps::{NoPreconditions, StepsBuilder, Surroundings};
use crate::store::{Bounds, Store};
use crate::tags::{Tags, TagsCore};

/// A graph that is built and run: the argument of its closure. The closure is the *environment*. It
/// makes collections, puts the first items and tags, and gets results.
pub struct Graph<'g, 'x, 'env: 'x> {
    around: Surroundings<'x>,
    shared: Arc<Shared>,
    bump: &'x Bump,
    settings: Settings,
    scope: &'g dyn Environment,
    _lives: PhantomData<fn(&'env ()) -> &'env ()>,
}

/// The scope of a graph, whatever the engine.
trait Environment {
    fn quiesce(&self);
    /// Whether the future became ready.
    fn wait(&self, future: Pin<&mut dyn Future<Output = ()>>) -> bool;
    fn held(&self) -> u64;
}

impl<E: Engine> Environment for Scope<'_, '_, Root, E> {
    fn quiesce(&self) {
        Scope::quiesce(self);
    }

    fn wait(&self, future: Pin<&mut dyn Future<Output = ()>>) -> bool {
        self.block_on_or_quiesce(future).is_some()
    }

    fn held(&self) -> u64 {
        Scope::held(self)
    }
}

/// Builds a graph and runs it until no work is left. Steps may start as soon as they are
/// prescribed.
///
/// # Errors
///
/// The first [`Error`] found. After a graph has failed, no step begins.
///
/// # Panics
///
/// If the closure panics. The panic continues after all steps have ended.
#[track_caller]
pub fn graph<'env, E, F, R>(rt: &Runtime<E>, build: F) -> Result<R, Error>
where
    E: Engine,
    F: for<'g, 'x> FnOnce(&'g Graph<'g, 'x, 'env>) -> R,
{
    graph_with(rt, Settings::default(), build)
}

/// Like [`graph`], with default settings for all its step collections.
///
/// # Errors
///
/// Like [`graph`].
///
/// # Panics
///
/// Like [`graph`].
#[track_caller]
pub fn graph_with<'env, E, F, R>(rt: &Runtime<E>, settings: Settings, build: F) -> Result<R, Error>
where
    E: Engine,
    F: for<'g, 'x> FnOnce(&'g Graph<'g, 'x, 'env>) -> R,
{
    let (shared, collections) = (Arc::new(Shared::new()), boxcar::Vec::new());
    let (scope_handle, bump) = (OnceLock::new(), Bump::new());
    let (around, bump) =
        (Surroundings { shared: &shared, collections: &collections, scope_handle: &scope_handle }, &bump);
    // The scope's result is not used, because the scope fails if a step does not begin.
    let mut built = None;
    let ran = rt.scope(|s| {
        shared.set_cancel(s.cancel_token());
        scope_handle.set(s.scope_handle()).expect("set once");
        let graph = Graph { around, shared: shared.clone(), bump, settings, scope: s, _lives: PhantomData };
        let result = built.insert(catch_unwind(AssertUnwindSafe(|| build(&graph))));
        if result.is_err() {
            shared.stop();
        }
        graph.end(Vec::new());
    });
    match (built, shared.failure(), ran) {
        (Some(Err(payload)), ..) => resume_unwind(payload),
        (_, Some(error), _) => Err(error),
        (_, None, Err(error)) => Err(error.into()),
        (Some(Ok(value)), None, Ok(())) => Ok(value),
        (None, None, Ok(())) => unreachable!("a scope that has run has run its closure"),
    }
}

impl<'x> Graph<'_, 'x, '_> {
    /// Makes an item collection with hashed keys.
    ///
    /// # Panics
    ///
    /// At the first use of a key, if one thread has made 2<sup>28</sup> items of the collection.
    pub fn items<K: Key, V: Send + Sync + 'static>(&self, name: &'static str) -> Items<'x, K, V> {
        self.items_in(name, Store::hashed(self.settings.table))
    }

    /// Makes an item collection whose keys are integers, each below its bound. It allocates the
    /// slots of all keys at once. A lookup costs a fraction of a lookup with hashed keys.
    ///
    /// # Panics
    ///
    /// If there is not enough memory for all items, or `usize` cannot count them.
    pub fn dense_items<K: Bounds, V: Send + Sync + 'static>(&self, name: &'static str, bounds: K) -> Items<'x, K, V> {
        self.items_in(name, Store::dense(bounds))
    }

    fn items_in<K: Key, V: Send + Sync + 'static>(
        &self,
        name: &'static str,
        store: Store<K, millpond::item::Item<crate::items::Filled<V>>>,
    ) -> Items<'x, K, V> {
        let collections = self.around.collections;
        let make = |id| Box::new(ItemsCore::new(self.shared.clone(), id as u32, name, store)) as Box<dyn AnyItems>;
        let id = collections.push_with(make);
        let core: &dyn Any = &*collections[id];
        Items::new(core.downcast_ref().expect("just made"))
    }

    /// Makes a counted item collection. `uses` returns the number of gets of a key's item. The
    /// collection frees the item after the last of these uses has ended.
    ///
    /// # Panics
    ///
    /// Like [`items`](Graph::items).
    pub fn counted_items<K: Key, V: Send + Sync + 'static>(
        &self,
        name: &'static str,
        uses: impl Fn(&K) -> u32 + Send + Sync + 'static,
    ) -> CountedItems<'x, K, V> {
        let (collections, table, uses) = (self.around.collections, self.settings.table, Box::new(uses));
        let make = |id| {
            let core = CountedCore::<K, V>::new(self.shared.clone(), id as u32, name, table, uses);
            Box::new(core) as Box<dyn AnyItems>
        };
        let id = collections.push_with(make);
        let core: &dyn Any = &*collections[id];
        CountedItems::new(core.downcast_ref().expect("just made"))
    }

    /// Makes a tag collection.
    pub fn tags<K: Key>(&self, name: &'static str) -> Tags<'x, K> {
        Tags::new(self.bump.alloc(TagsCore::new(self.around.shared, name)))
    }

    /// Begins to describe a step collection.
    pub fn steps<K: Key>(&self, name: &'static str) -> StepsBuilder<'x, K, NoPreconditions<K>> {
        StepsBuilder::new(self.around, self.bump, name, self.settings)
    }

    /// Waits until no step runs or is ready. Some steps may still wait, for items yet to be put by
    /// the environment.
    ///
    /// # Errors
    ///
    /// If the graph has failed.
    pub fn wait(&self) -> Result<(), Error> {
        self.scope.quiesce();
        self.shared.failure().map_or(Ok(()), Err)
    }

    /// Waits for an item.
    ///
    /// # Errors
    ///
    /// If the graph has failed. Also if no step runs or is ready, and the item is missing. The
    /// error then reports the waiting steps.
    pub fn get<K: Key, C: Collection<'x, K>>(&self, items: C, key: K) -> Result<C::Got, Error> {
        let (wanted, mut got) = (key.clone(), None);
        let ready = self.scope.wait(pin!(async { got = Some(items.getting(wanted).await) }));
        if let Some(got) = got.filter(|_| ready) {
            return Ok(got);
        }
        self.end(vec![items.item_name(&key)]);
        Err(self.shared.failure().expect("the item is missing"))
    }

    /// Ends the graph early. Steps that have not begun do not run, and waiting ones end where they
    /// are. Use it if the result is known early, as in a search.
    ///
    /// ```
    /// use millpond::Runtime;
    /// use millpond_cnc::graph;
    ///
    /// let found = graph(&Runtime::new()?, |g| {
    ///     let (found, tags) = (g.items::<(), u64>("found"), g.tags("numbers"));
    ///     tags.prescribes(g.steps::<u64>("look").execute(move |n| async move {
    ///         if n * n == 1_522_756 {
    ///             found.put((), n);
    ///         }
    ///     }));
    ///     tags.put_all(0..100_000);
    ///     let found = g.get(found, ()).copied();
    ///     g.finish();
    ///     found
    /// })??;
    /// assert_eq!(found, 1234);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish(&self) {
        self.shared.finish();
    }

    /// The memory of the items now, per collection. It takes time for every item.
    pub fn memory(&self) -> Vec<ItemMemory> {
        self.around.collections.iter().map(|(_, items)| items.memory()).collect()
    }

    /// Waits until no work is left. When no step runs or is ready, each waiting step reports its
    /// missing items and ends. So does the `environment`, if it waits.
    fn end(&self, environment: Vec<ItemName>) {
        let mut environment = Some(environment).filter(|missing| !missing.is_empty());
        loop {
            self.scope.quiesce();
            if self.scope.held() == 0 && environment.is_none() {
                return;
            }
            if !self.shared.is_stopped() {
                self.shared.ask_for_reports();
            }
            while self.scope.held() != 0 {
                self.around.collections.iter().for_each(|(_, items)| items.release());
                self.scope.quiesce();
            }
            let (stuck, environment) = (self.shared.take_reports(), environment.take().unwrap_or_default());
            if !stuck.is_empty() || !environment.is_empty() {
                self.shared.fail(Kind::Deadlock(Deadlock { stuck, environment }));
            }
        }
    }
}

impl Debug for Graph<'_, '_, '_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("settings", &self.settings).finish_non_exhaustive()
    }
}
