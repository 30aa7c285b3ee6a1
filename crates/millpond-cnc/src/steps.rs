//! Step collections: the computation of a graph. Each tag gives one step, an instance of its
//! collection.

use std::fmt::{self, Debug, Display, Formatter};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use bumpalo::Bump;
use millpond::ScopeHandle;

use crate::collection::{AnyItems, Collection};
use crate::key::Key;
use crate::modes::{Blocked, Limit, Preconditions, Settings};
use crate::need::Need;
use crate::origin::StepId;
use crate::shared::Shared;

/// A step collection of a graph: a handle, `Copy`.
pub struct Steps<'x, K> {
    core: &'x (dyn Prescribed<'x, K> + 'x),
}

impl<K> Clone for Steps<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Steps<'_, K> {}

impl<'x, K> Steps<'x, K> {
    pub(crate) fn core(self) -> &'x (dyn Prescribed<'x, K> + 'x) {
        self.core
    }
}

impl<K> Debug for Steps<'_, K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Steps").field(&self.core.name()).finish()
    }
}

/// A step collection with its closures erased.
pub(crate) trait Prescribed<'x, K>: Sync {
    fn name(&self) -> &'static str;

    /// Prescribes a step with this tag.
    fn prescribe(&'x self, tag: K);
}

/// The result of a body: nothing, or a `Result` whose error fails the graph.
pub trait Outcome: Send {
    /// The error's text, if it is an error.
    fn failure(self) -> Option<String>;
}

impl Outcome for () {
    fn failure(self) -> Option<String> {
        None
    }
}

impl<E: Display + Send> Outcome for Result<(), E> {
    fn failure(self) -> Option<String> {
        self.err().map(|error| error.to_string())
    }
}

/// The shared data of the parts of a graph.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'x> {
    pub(crate) shared: &'x Shared,
    pub(crate) collections: &'x boxcar::Vec<Box<dyn AnyItems>>,
    pub(crate) scope_handle: &'x OnceLock<ScopeHandle<'x>>,
}

/// The data of a step collection. Its arena drops nothing, so this must not need a drop.
pub(crate) struct StepsCore<'x, K, P, F> {
    pub(crate) around: Surroundings<'x>,
    pub(crate) id: StepId,
    pub(crate) name: &'static str,
    pub(crate) settings: Settings,
    pub(crate) priority: Option<Priority<'x, K>>,
    pub(crate) preconditions: P,
    pub(crate) body: F,
    /// Whether a step of this collection is likely to wait in the middle of its body.
    pub(crate) waits: AtomicBool,
}

/// A step's priority, by its tag.
pub(crate) type Priority<'x, K> = &'x (dyn Fn(&K) -> i8 + Send + Sync + 'x);

/// No declared preconditions.
pub(crate) type NoPreconditions<K> = fn(&K, &mut Need<'_>);

/// A step collection under construction; see [`Graph::steps`](crate::Graph::steps).
#[must_use = "a step collection is there once it can be executed"]
pub struct StepsBuilder<'x, K, P> {
    around: Surroundings<'x>,
    bump: &'x Bump,
    id: StepId,
    settings: Settings,
    priority: Option<Priority<'x, K>>,
    preconditions: P,
}

impl<'x, K: Key> StepsBuilder<'x, K, NoPreconditions<K>> {
    pub(crate) fn new(around: Surroundings<'x>, bump: &'x Bump, name: &'static str, settings: Settings) -> Self {
        let id = around.shared.add_step::<K>(name);
        StepsBuilder { around, bump, id, settings, priority: None, preconditions: |_, _| () }
    }

    /// Declares the items that a step gets, or some of them. The closure is called with the tag
    /// when the step is prescribed, unless preconditions are [`Eager`](Preconditions::Eager). It
    /// should have no other effect, because it may be called again.
    pub fn preconditions<P>(self, preconditions: P) -> StepsBuilder<'x, K, P>
    where
        P: Fn(&K, &mut Need<'_>) + Copy + Send + Sync + 'x,
    {
        let StepsBuilder { around, bump, id, settings, priority, .. } = self;
        StepsBuilder { around, bump, id, settings, priority, preconditions }
    }
}

impl<'x, K: Key, P> StepsBuilder<'x, K, P>
where
    P: Fn(&K, &mut Need<'_>) + Copy + Send + Sync + 'x,
{
    /// Sets the preconditions for which a step waits before its start, instead of the graph's
    /// setting.
    pub fn checked(mut self, preconditions: Preconditions) -> Self {
        self.settings.preconditions = preconditions;
        self
    }

    /// Sets the form of a waiting step, instead of the graph's setting.
    pub fn blocked(mut self, blocked: Blocked) -> Self {
        self.settings.blocked = blocked;
        self
    }

    /// Sets the number of preconditions for which a step waits, instead of the graph's setting.
    pub fn need(mut self, limit: Limit) -> Self {
        self.settings.limit = limit;
        self
    }

    /// Sets whether each get of a step is compared with its declarations, instead of the graph's
    /// setting. See [`Settings::check_gets`].
    ///
    /// ```
    /// use millpond::Runtime;
    /// use millpond_cnc::{Kind, Preconditions, graph};
    ///
    /// let error = graph(&Runtime::new()?, |g| {
    ///     let (items, tags) = (g.items::<u32, u32>("item"), g.tags("tags"));
    ///     let step = g.steps::<u32>("step").preconditions(move |&n, need| need.wait_on(items, n));
    ///     let step = step.checked(Preconditions::Strict).check_gets(true);
    ///     tags.prescribes(step.execute(move |n| async move {
    ///         // The second item is put but undeclared. Without the check this step would succeed.
    ///         assert_eq!(items.get(n).await + 1, *items.get(n + 1).await);
    ///     }));
    ///     items.put(1, 1);
    ///     items.put(2, 2);
    ///     tags.put(1);
    /// });
    /// assert!(matches!(error.unwrap_err().kind(), Kind::Undeclared { .. }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_gets(mut self, check: bool) -> Self {
        self.settings.check_gets = check;
        self
    }

    /// Sets the priority of each step. Among ready steps, positive priorities run before all
    /// others, the highest first. This holds in pools that honour priorities, such as the default.
    /// Such steps go through one queue, shared by all workers. If `priority` panics, the graph
    /// fails with [`Kind::Panicked`](crate::Kind::Panicked), which names the step.
    ///
    /// ```
    /// use millpond::Runtime;
    /// use millpond_cnc::graph;
    /// use std::sync::Mutex;
    ///
    /// let (rt, order) = (Runtime::builder().workers(1).build()?, Mutex::new(Vec::new()));
    /// graph(&rt, |g| {
    ///     let (start, tags, order) = (g.tags("start"), g.tags("letters"), &order);
    ///     let letters = g.steps::<char>("letter").priority(|&letter| (b'z' - letter as u8) as i8);
    ///     tags.prescribes(letters.execute(move |letter| async move { order.lock().unwrap().push(letter) }));
    ///     start.prescribes(g.steps::<()>("start").execute(move |()| async move { tags.put_all("pond".chars()) }));
    ///     start.put(());
    /// })?;
    /// assert_eq!(order.into_inner()?, ['d', 'n', 'o', 'p']);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn priority(mut self, priority: impl Fn(&K) -> i8 + Copy + Send + Sync + 'x) -> Self {
        self.priority = Some(self.bump.alloc(priority));
        self
    }

    /// Declares that these steps put items of this collection, for reports only.
    pub fn produces<'i, L: Key>(self, items: impl Collection<'i, L>) -> Self {
        items.add_producer(self.id);
        self
    }

    /// Sets the body of a step. Called with the step's tag, it returns a future that gets and puts
    /// items, and puts tags. The closure is `Copy`: it captures handles of collections, and
    /// references that outlive the graph.
    pub fn execute<F, Fut>(self, body: F) -> Steps<'x, K>
    where
        F: Fn(K) -> Fut + Copy + Send + Sync + 'x,
        Fut: Future<Output: Outcome> + Send + 'x,
    {
        let StepsBuilder { around, bump, id, settings, priority, preconditions } = self;
        let name = around.shared.step(id);
        if settings.checks() {
            around.shared.check_gets();
        }
        // If its declared items have been put, a step is unlikely to wait, until one step of the
        // collection has waited.
        let waits = AtomicBool::new(settings.preconditions == Preconditions::Eager);
        Steps { core: bump.alloc(StepsCore { around, id, name, settings, priority, preconditions, body, waits }) }
    }
}

impl<K, P> Debug for StepsBuilder<'_, K, P> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepsBuilder").field("name", &self.around.shared.step(self.id)).finish_non_exhaustive()
    }
}
