//! A runtime whose parts are selected by name.

use std::sync::OnceLock;

use super::engine::Catalogue;
use super::{Names, Registry};
use crate::memory::Memory;
use crate::pool::Pool;
use crate::runtime::engine::DEFAULT_SCHEME;
use crate::runtime::{BuildError, Builder, Runtime};
use crate::sync::process;
use crate::{DefaultMemory, DefaultPool, StackEngine};

/// A runtime whose parts are selected by name, at run time.
///
/// [`on_runtime!`](crate::on_runtime) runs an expression on it. That expression is compiled three
/// times: for the default parts, for the stack, and for all others together.
///
/// ```
/// use millpond::catalogue::{AnyRuntime, Names};
/// use millpond::{Runtime, Spawn, on_runtime};
///
/// let list = Names { scheme: "list", ..Names::default() };
/// let any = AnyRuntime::build(Runtime::builder().workers(2), list)?;
/// let six = on_runtime!(&any, rt => rt.scope(|s| s.wait(s.spawn((), |()| 6))))??;
/// assert_eq!((any.names(), six), (list, 6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub enum AnyRuntime {
    /// A runtime of the default parts.
    Default(Runtime),
    /// A runtime of the dataflow stack.
    Stack(Runtime<StackEngine>),
    /// A runtime of any other parts.
    Catalogue(Runtime<Catalogue>),
}

impl AnyRuntime {
    /// Builds a runtime of the parts with these names, all of them from the catalogue.
    /// [`Registry::build`] accepts other parts too.
    ///
    /// # Errors
    ///
    /// The same as [`Registry::build`].
    pub fn build(builder: Builder, names: Names<'_>) -> Result<Self, BuildError> {
        /// Built once: a runtime needs three of its members.
        static CATALOGUE: OnceLock<Registry> = OnceLock::new();
        process::once(&CATALOGUE, Registry::default).build(builder, names)
    }

    /// The names of its parts.
    pub fn names(&self) -> Names<'static> {
        let (pool, memory) = (DefaultPool::NAME, DefaultMemory::NAME);
        match self {
            AnyRuntime::Default(_) => Names { scheme: DEFAULT_SCHEME, pool, memory },
            AnyRuntime::Stack(_) => Names { scheme: StackEngine::NAME, pool, memory },
            AnyRuntime::Catalogue(runtime) => {
                let choices = runtime.choices();
                Names { scheme: choices.tracker.name(), pool: choices.pool.name(), memory: choices.memory.name() }
            }
        }
    }
}

/// Evaluates an expression with the runtime in an [`AnyRuntime`](crate::catalogue::AnyRuntime):
/// `on_runtime!(any, rt => …)`, where `any` is a reference. The expression is compiled three times:
/// for the default parts, for the stack, and for all others together.
///
/// ```
/// # use millpond::{Runtime, catalogue::{AnyRuntime, Names}, on_runtime};
/// let any = AnyRuntime::build(Runtime::builder().workers(3), Names::default())?;
/// assert_eq!(on_runtime!(&any, rt => rt.workers()), 3);
/// # Ok::<(), millpond::BuildError>(())
/// ```
#[macro_export]
macro_rules! on_runtime {
    ($any:expr, $rt:ident => $body:expr) => {
        match $any {
            $crate::catalogue::AnyRuntime::Default($rt) => $body,
            $crate::catalogue::AnyRuntime::Stack($rt) => $body,
            $crate::catalogue::AnyRuntime::Catalogue($rt) => $body,
        }
    };
}
