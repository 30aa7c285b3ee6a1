//! Engines: the parts of a runtime, as one type.

use std::marker::PhantomData;

#[cfg(feature = "catalogue")]
pub(crate) mod catalogue;
pub(crate) mod linked;
pub(crate) mod store;

#[cfg(feature = "catalogue")]
pub use self::catalogue::Catalogue;
use crate::depend::Scheme;
use crate::depend::tracker::{Of, Tracker};
use crate::memory::Memory;
use crate::memory::slab::Slabs;
use crate::pool::Pool;
use crate::pool::split::Split;
#[cfg(feature = "stack")]
pub use crate::stack::StackEngine;
use linked::Linked;
use store::{InPool, TaskStore};

/// The default memory manager.
pub type DefaultMemory = Slabs;
/// The default pool.
pub type DefaultPool = Split;
/// The default dependence scheme.
pub type DefaultScheme = chosen::Scheme;
/// The scheme of the default engine, by name.
#[cfg(feature = "catalogue")]
pub(crate) const DEFAULT_SCHEME: &str =
    if cfg!(millpond_scheme = "stack") { StackEngine::NAME } else { <DefaultScheme as Scheme>::NAME };
/// The engine of the default parts. Scopes, sessions and external tasks use it, unless the program
/// names another.
pub type DefaultEngine = chosen::Engine;

/// The default scheme is `parked`. A build that tests another scheme as the default names it
/// (CONTRIBUTING.md).
mod chosen {
    #[cfg(millpond_scheme = "embedded-graph")]
    pub use crate::depend::graph::EmbeddedGraph as Scheme;
    #[cfg(millpond_scheme = "graph")]
    pub use crate::depend::graph::Graph as Scheme;
    #[cfg(millpond_scheme = "embedded-hypergraph")]
    pub use crate::depend::hypergraph::EmbeddedHypergraph as Scheme;
    #[cfg(millpond_scheme = "hypergraph")]
    pub use crate::depend::hypergraph::Hypergraph as Scheme;
    #[cfg(millpond_scheme = "list")]
    pub use crate::depend::list::List as Scheme;
    #[cfg(not(any(
        millpond_scheme = "embedded-graph",
        millpond_scheme = "graph",
        millpond_scheme = "embedded-hypergraph",
        millpond_scheme = "hypergraph",
        millpond_scheme = "list",
        millpond_scheme = "tickets",
        millpond_scheme = "two-lock-list",
    )))]
    pub use crate::depend::parked::Parked as Scheme;
    #[cfg(millpond_scheme = "tickets")]
    pub use crate::depend::tickets::Tickets as Scheme;
    #[cfg(millpond_scheme = "two-lock-list")]
    pub use crate::depend::two_locks::TwoLocks as Scheme;

    #[cfg(not(millpond_scheme = "stack"))]
    pub type Engine = super::DefaultParts;
    #[cfg(millpond_scheme = "stack")]
    pub type Engine = crate::stack::StackEngine;
}

/// The parts of a runtime. A program is compiled once for each engine that it uses.
///
/// | engine | parts |
/// |---|---|
/// | [`DefaultEngine`] | the default ones, called directly |
/// | [`Parts<M, P, D>`](Parts) | any memory manager, pool and scheme that the program names as types, called directly |
/// | `Catalogue` (Cargo feature `catalogue`) | any, chosen by name at run time, called through tables of functions |
/// | `StackEngine` (Cargo feature `stack`) | the dataflow stack, which replaces all three |
///
/// A function is generic over the engine if [`Spawn`](crate::Spawn) is not enough: it names a
/// [`Scope`](crate::Scope), a [`Session`](crate::Session) or an
/// [`ExternalTasks`](crate::ExternalTasks) of any runtime:
///
/// ```
/// use millpond::{ExternalTasks, Engine, Precondition, Runtime};
///
/// fn twice<'s, E: Engine>(external: ExternalTasks<'s, E>, body: fn()) -> [Precondition; 2] {
///     let pending = external.pending(body);
///     [pending.hold(), pending.hold()]
/// }
/// Runtime::new()?.scope(|s| twice(s.external(), || ()).map(Precondition::satisfy))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Engine: Linked + Sized + 'static {
    /// Where task blocks come from.
    type Memory: Memory;
    /// Where ready tasks wait.
    type Pool: Pool;
    /// How the engine reaches its scheme.
    #[doc(hidden)]
    type Tracker: Tracker;
    /// Where the tasks of a scope stay until they run.
    #[doc(hidden)]
    type Tasks: TaskStore<Self>;
}

/// The engine of the default parts: like [`Parts`] with these types, but compiled in this crate.
/// Never a value.
#[derive(Debug)]
pub enum DefaultParts {}

impl Engine for DefaultParts {
    type Memory = DefaultMemory;
    type Pool = DefaultPool;
    type Tracker = Of<DefaultScheme>;
    type Tasks = InPool;
}

/// The engine made of these three parts, called directly. Never a value.
///
/// ```
/// use millpond::depend::list::List;
/// use millpond::{DefaultMemory, DefaultPool, Parts, Runtime, Session};
///
/// type OnList = Parts<DefaultMemory, DefaultPool, List>;
/// struct Server {
///     session: Session<OnList>,
/// }
/// let rt: Runtime<OnList> = Runtime::builder().build_with()?;
/// Server { session: rt.session() }.session.close().wait()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Parts<M, P, D>(PhantomData<fn() -> (M, P, D)>);

impl<M: Memory, P: Pool, D: Scheme> Engine for Parts<M, P, D> {
    type Memory = M;
    type Pool = P;
    type Tracker = Of<D>;
    type Tasks = InPool;
}

/// The choices that the types of an engine leave open.
pub(crate) struct Choices<E: Engine> {
    pub(crate) memory: <E::Memory as Memory>::Choice,
    pub(crate) pool: <E::Pool as Pool>::Choice,
    pub(crate) tracker: E::Tracker,
}

impl<E: Engine> Default for Choices<E> {
    fn default() -> Self {
        Choices { memory: Default::default(), pool: Default::default(), tracker: Default::default() }
    }
}

impl<E: Engine> Clone for Choices<E> {
    fn clone(&self) -> Self {
        Choices { memory: self.memory.clone(), pool: self.pool.clone(), tracker: self.tracker }
    }
}
