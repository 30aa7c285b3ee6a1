//! What a runtime is made of: one member of each family.

use std::marker::PhantomData;

use crate::depend::Scheme;
use crate::memory::Memory;
use crate::memory::slab::Slabs;
use crate::pool::Pool;
use crate::pool::split::Split;

/// The default memory manager.
pub type DefaultMemory = Slabs;
/// The default pool.
pub type DefaultPool = Split;
/// The default dependence scheme.
pub type DefaultScheme = chosen::Scheme;

/// `parked`; a build that tests another scheme as the default one names it (CONTRIBUTING.md).
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
        millpond_scheme = "stack",
        millpond_scheme = "tickets",
        millpond_scheme = "two-lock-list",
    )))]
    pub use crate::depend::parked::Parked as Scheme;
    #[cfg(millpond_scheme = "stack")]
    pub use crate::depend::stack::Stack as Scheme;
    #[cfg(millpond_scheme = "tickets")]
    pub use crate::depend::tickets::Tickets as Scheme;
    #[cfg(millpond_scheme = "two-lock-list")]
    pub use crate::depend::two_locks::TwoLocks as Scheme;
}

/// The engine of the default parts: what a scope, a session or a door is of unless it says otherwise.
pub type DefaultEngine = Parts<DefaultMemory, DefaultPool, DefaultScheme>;

/// One member of each family, as types: everything is dispatched statically.
///
/// Implemented by [`Parts`]. A function is generic over it where [`Spawn`](crate::Spawn) is not enough, since it names
/// a [`Scope`](crate::Scope), a [`Session`](crate::Session) or a [`Door`](crate::Door) of any runtime:
///
/// ```
/// use millpond::{Door, Engine, Precondition, Runtime};
///
/// fn twice<'s, E: Engine>(door: Door<'s, E>, body: fn()) -> [Precondition; 2] {
///     let pending = door.pending(body);
///     [pending.hold(), pending.hold()]
/// }
/// Runtime::new()?.scope(|s| twice(s.door(), || ()).map(Precondition::satisfy))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Engine: 'static {
    /// Where task blocks come from.
    type Memory: Memory;
    /// Where ready tasks wait.
    type Pool: Pool;
    /// When a task is ready.
    type Scheme: Scheme;
}

/// The engine made of these three parts: that of a [`Runtime<M, P, D>`](crate::Runtime). Never a value.
///
/// ```
/// use millpond::memory::Memory;
/// use millpond::{DefaultPool, DefaultScheme, Parts, Runtime, Session};
///
/// struct Server<M: Memory> {
///     session: Session<Parts<M, DefaultPool, DefaultScheme>>,
/// }
/// Server { session: Runtime::new()?.session() }.session.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Parts<M, P, D>(PhantomData<fn() -> (M, P, D)>);

impl<M: Memory, P: Pool, D: Scheme> Engine for Parts<M, P, D> {
    type Memory = M;
    type Pool = P;
    type Scheme = D;
}

/// What the types of an engine leave to choose.
pub(crate) struct Choices<E: Engine> {
    pub(crate) memory: <E::Memory as Memory>::Choice,
    pub(crate) pool: <E::Pool as Pool>::Choice,
}

impl<E: Engine> Clone for Choices<E> {
    fn clone(&self) -> Self {
        Choices { memory: self.memory.clone(), pool: self.pool.clone() }
    }
}
