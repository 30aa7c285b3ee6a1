//! Engines: the parts of a runtime, as one type.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use super::Inner;
use super::join::Join;
use super::outcome::Outcome;
use super::scope::Scope;
use super::spawn::Options;
use super::spawn::body::{Code, ParentCode, payload};
use super::spawn::issue::{ByScheme, Plan};
use crate::depend::Scheme;
use crate::depend::tracker::Of;
use crate::handle::access::{Accesses, ArgsOf, In};
use crate::memory::{DefaultMemory, Memory};
use crate::pool::{DefaultPool, Pool};
use crate::worker::engine::WorkerEngine;
use crate::worker::engine::store::InPool;

/// The default dependence scheme.
pub type DefaultScheme = chosen::Scheme;
/// The scheme of the default engine, by name.
#[cfg(feature = "catalogue")]
pub(crate) const DEFAULT_SCHEME: &str =
    if cfg!(millpond_scheme = "stack") { "stack" } else { <DefaultScheme as Scheme>::NAME };
/// The engine of the default parts. Scopes, sessions and external tasks use it unless the program
/// names another.
pub type DefaultEngine = chosen::Engine;

/// The default scheme is `parked`. A build that tests another scheme as the default names it
/// (CONTRIBUTING.md).
mod chosen {
    #[cfg(millpond_scheme = "embedded-graph")]
    pub use crate::depend::EmbeddedGraph as Scheme;
    #[cfg(millpond_scheme = "embedded-hypergraph")]
    pub use crate::depend::EmbeddedHypergraph as Scheme;
    #[cfg(millpond_scheme = "graph")]
    pub use crate::depend::Graph as Scheme;
    #[cfg(millpond_scheme = "hypergraph")]
    pub use crate::depend::Hypergraph as Scheme;
    #[cfg(millpond_scheme = "list")]
    pub use crate::depend::List as Scheme;
    #[cfg(not(any(
        millpond_scheme = "embedded-graph",
        millpond_scheme = "graph",
        millpond_scheme = "embedded-hypergraph",
        millpond_scheme = "hypergraph",
        millpond_scheme = "list",
        millpond_scheme = "tickets",
        millpond_scheme = "two-lock-list",
    )))]
    pub use crate::depend::Parked as Scheme;
    #[cfg(millpond_scheme = "tickets")]
    pub use crate::depend::Tickets as Scheme;
    #[cfg(millpond_scheme = "two-lock-list")]
    pub use crate::depend::TwoLocks as Scheme;

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
pub trait Engine: WorkerEngine + LinkedRuntime {
    /// How a spawn gets to the place where the tasks of a scope stay.
    #[doc(hidden)]
    type Spawns: SpawnStore<Self>;
}

/// How a scope spawns.
pub trait SpawnStore<E: Engine> {
    /// Spawns a leaf.
    fn spawn_leaf<'s, 'env, B, A, F, O, R>(
        scope: &Scope<'s, 'env, B, E>,
        options: Options,
        accesses: A,
        body: F,
    ) -> Join<'s, B, O>
    where
        A: Accesses<'s, B>,
        O: Send + 's,
        R: Outcome<O>,
        F: for<'t> FnOnce(<A as ArgsOf<'t>>::Leaf) -> R + Send + 's;

    /// Spawns a parent.
    fn spawn_parent<'s, 'env, B, A, F, O, R>(
        scope: &Scope<'s, 'env, B, E>,
        options: Options,
        accesses: A,
        body: F,
    ) -> Join<'s, B, O>
    where
        A: Accesses<'s, B>,
        O: Send + 's,
        R: Outcome<O>,
        F: for<'t> FnOnce(&Scope<'s, 'env, In<'t>, E>, <A as ArgsOf<'t>>::Held) -> R + Send + 's;
}

/// For any engine: under the stack, tasks outside of frames also go to the pool.
impl<E: Engine> SpawnStore<E> for InPool {
    #[inline(always)]
    fn spawn_leaf<'s, 'env, B, A, F, O, R>(
        scope: &Scope<'s, 'env, B, E>,
        options: Options,
        accesses: A,
        body: F,
    ) -> Join<'s, B, O>
    where
        A: Accesses<'s, B>,
        O: Send + 's,
        R: Outcome<O>,
        F: for<'t> FnOnce(<A as ArgsOf<'t>>::Leaf) -> R + Send + 's,
    {
        let kind = Code::<'s, B, A, F, O, R>::LEAF;
        if !scope.runs_inline(kind) {
            return scope.spawn_task(options, accesses, body, kind, false);
        }
        match scope.try_run_inline(kind, &options, accesses, body) {
            Ok(result) => Join::ready(result, 0, scope.scope_state(), || options.label()),
            Err((accesses, body)) => scope.spawn_task(options, accesses, body, kind, true),
        }
    }

    #[inline(always)]
    fn spawn_parent<'s, 'env, B, A, F, O, R>(
        scope: &Scope<'s, 'env, B, E>,
        options: Options,
        accesses: A,
        body: F,
    ) -> Join<'s, B, O>
    where
        A: Accesses<'s, B>,
        O: Send + 's,
        R: Outcome<O>,
        F: for<'t> FnOnce(&Scope<'s, 'env, In<'t>, E>, <A as ArgsOf<'t>>::Held) -> R + Send + 's,
    {
        let (worker, scope_state) = (scope.worker(), scope.scope_state());
        worker.throttle(scope_state, options.bytes);
        let vtable = ParentCode::<'s, 'env, E, B, A, F, O, R>::NEST;
        let payload = payload::<A::Shape, F, O>();
        let plan = Plan { scope_state, options: &options, vtable, payload, may_run: false };
        scope.send(worker.prepare(ByScheme, plan, &accesses), body, &options)
    }
}

/// Like `worker::engine::linked`, for functions called only by the runtime's owner.
pub trait LinkedRuntime: Sized {
    /// # Safety
    ///
    /// Called once; `inner` is not used afterwards.
    unsafe fn drop_runtime(inner: &mut ManuallyDrop<Arc<Inner<Self>>>)
    where
        Self: Engine;
}

/// Links an engine's functions for its workers and for its runtime.
macro_rules! linked_engine {
    ($engine:ty $(, $($parameter:ident: $bound:ident),*)?) => {
        $crate::worker::engine::linked::linked!($engine $(, $($parameter: $bound),*)?);

        impl $(<$($parameter: $bound),*>)? $crate::runtime::engine::LinkedRuntime for $engine {
            unsafe fn drop_runtime(inner: &mut std::mem::ManuallyDrop<std::sync::Arc<$crate::runtime::Inner<Self>>>) {
                // In the child of a fork, the runtime is left as it is.
                if !inner.is_forked() {
                    inner.end();
                    // SAFETY: as the caller promises.
                    unsafe { std::mem::ManuallyDrop::drop(inner) }
                }
            }
        }
    };
}
pub(crate) use linked_engine;

linked_engine!(DefaultParts);
linked_engine!(Parts<M, P, D>, M: Memory, P: Pool, D: Scheme);

/// The engine of the default parts: like [`Parts`] with these types, but compiled in this crate.
/// Never a value.
#[derive(Debug)]
pub enum DefaultParts {}

impl WorkerEngine for DefaultParts {
    type Memory = DefaultMemory;
    type Pool = DefaultPool;
    type Tracker = Of<DefaultScheme>;
    type Tasks = InPool;
}

impl Engine for DefaultParts {
    type Spawns = InPool;
}

/// The engine made of these three parts, called directly. Never a value.
///
/// ```
/// use millpond::depend::List;
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

impl<M: Memory, P: Pool, D: Scheme> WorkerEngine for Parts<M, P, D> {
    type Memory = M;
    type Pool = P;
    type Tracker = Of<D>;
    type Tasks = InPool;
}

impl<M: Memory, P: Pool, D: Scheme> Engine for Parts<M, P, D> {
    type Spawns = InPool;
}
