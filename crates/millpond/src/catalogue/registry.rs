//! The catalogue, and what a program adds to it.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use super::runtime::AnyRuntime;
use super::{MEMORY, Names, POOLS, Row, SCHEMES, TRACKERS};
use crate::depend::{AnyScheme, Scheme};
use crate::engine::{Choices, DEFAULT_SCHEME, DefaultMemory, DefaultPool};
use crate::memory::Memory;
use crate::memory::any::Chosen as ChosenMemory;
use crate::memory::variants::by_name as manager_of;
use crate::pool::Pool;
use crate::pool::any::Chosen as ChosenPool;
use crate::pool::params::Params;
use crate::pool::variants::by_name as pool_of;
use crate::runtime::{BuildError, Builder};

/// The named members of each family: those of the catalogue, and those that a program adds.
///
/// ```
/// use millpond::catalogue::{Names, Registry};
/// use millpond::{Runtime, on_runtime};
///
/// // Any scheme with any pool and any memory manager.
/// let names = Names { scheme: "tickets", pool: "dq3", memory: "bs" };
/// let any = Registry::default().build(Runtime::builder().workers(2), names)?;
/// assert_eq!((any.names(), on_runtime!(&any, rt => rt.workers())), (names, 2));
/// # Ok::<(), millpond::BuildError>(())
/// ```
#[derive(Clone)]
pub struct Registry {
    schemes: Vec<Entry<SchemeChoice>>,
    pools: Vec<Entry<PoolChoice>>,
    memory: Vec<Entry<ChosenMemory>>,
}

type PoolChoice = Arc<dyn Fn(Params) -> ChosenPool + Send + Sync>;

#[derive(Clone, Copy)]
enum SchemeChoice {
    Stack,
    Tracker(AnyScheme),
}

#[derive(Clone)]
struct Entry<C> {
    row: Row,
    choice: C,
    /// Where it was added; none for members of the catalogue.
    place: Option<&'static Location<'static>>,
}

/// A family has a member of that name already.
///
/// ```
/// use millpond::catalogue::{Registry, Row};
/// use millpond::pool::split::Split;
///
/// let row = Row::of_pool::<Split>("mine", "here");
/// let error = Registry::default().with_pool::<Split>(row).unwrap_err();
/// assert!(error.to_string().starts_with("there are two pools named `default`: one in millpond's catalogue, one added at "));
/// ```
#[derive(Clone, Debug)]
pub struct Taken {
    family: &'static str,
    name: &'static str,
    first: Option<&'static Location<'static>>,
    second: &'static Location<'static>,
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Taken { family, name, first, second } = self;
        write!(f, "there are two {family}s named `{name}`: one ")?;
        match first {
            None => write!(f, "in millpond's catalogue")?,
            Some(first) => write!(f, "added at {first}")?,
        }
        write!(f, ", one added at {second}")
    }
}

impl std::error::Error for Taken {}

/// What a message calls a family.
const SCHEME: &str = "scheme";
const POOL: &str = "pool";
const MANAGER: &str = "memory manager";

/// The catalogue, and nothing else.
impl Default for Registry {
    fn default() -> Self {
        let entry = |row: &Row| *row;
        let schemes = SCHEMES.iter().map(entry).map(|row| {
            let choice = TRACKERS.iter().find(|tracker| tracker.name() == row.name);
            let choice = choice.map_or(SchemeChoice::Stack, |&tracker| SchemeChoice::Tracker(tracker));
            Entry { row, choice, place: None }
        });
        let pools = POOLS.iter().map(entry).map(|row| {
            let choice: PoolChoice = Arc::new(move |params| pool_of(row.name, params).expect("a row of the catalogue"));
            Entry { row, choice, place: None }
        });
        let memory = MEMORY.iter().map(entry).map(|row| {
            let choice = manager_of(row.name).expect("a row of the catalogue");
            Entry { row, choice, place: None }
        });
        Registry { schemes: schemes.collect(), pools: pools.collect(), memory: memory.collect() }
    }
}

impl Registry {
    /// Adds a scheme, whose name is that of its type.
    ///
    /// # Errors
    ///
    /// [`Taken`], if there is a scheme of that name.
    #[track_caller]
    pub fn with_scheme<D: Scheme>(mut self, row: Row) -> Result<Self, Taken> {
        let row = Row { name: D::NAME, modes: Some(D::MODES), ..row };
        add(&mut self.schemes, SCHEME, row, SchemeChoice::Tracker(AnyScheme::of::<D>()))?;
        Ok(self)
    }

    /// Adds a pool with its default parameters.
    ///
    /// # Errors
    ///
    /// [`Taken`], if there is a pool of that name.
    #[track_caller]
    pub fn with_pool<P: Pool>(mut self, row: Row) -> Result<Self, Taken> {
        let row = Row { name: P::NAME, ..row };
        add(&mut self.pools, POOL, row, Arc::new(|_| ChosenPool::of::<P>(P::Choice::default())))?;
        Ok(self)
    }

    /// Adds a memory manager with its default parameters.
    ///
    /// # Errors
    ///
    /// [`Taken`], if there is a memory manager of that name.
    #[track_caller]
    pub fn with_memory<M: Memory>(mut self, row: Row) -> Result<Self, Taken> {
        let row = Row { name: M::NAME, ..row };
        add(&mut self.memory, MANAGER, row, ChosenMemory::of::<M>(M::Choice::default()))?;
        Ok(self)
    }

    /// The rows of the schemes, those of the catalogue first.
    pub fn schemes(&self) -> impl Iterator<Item = &Row> {
        self.schemes.iter().map(|entry| &entry.row)
    }

    /// The rows of the pools, those of the catalogue first.
    pub fn pools(&self) -> impl Iterator<Item = &Row> {
        self.pools.iter().map(|entry| &entry.row)
    }

    /// The rows of the memory managers, those of the catalogue first.
    pub fn memory(&self) -> impl Iterator<Item = &Row> {
        self.memory.iter().map(|entry| &entry.row)
    }

    /// Builds a runtime of the parts of these names.
    ///
    /// # Errors
    ///
    /// As [`Builder::build`]; [`BuildError::NoSuch`], which names the valid ones; and [`BuildError::BesideStack`], if a
    /// pool or a memory manager is to serve the stack.
    pub fn build(&self, builder: Builder, names: Names<'_>) -> Result<AnyRuntime, BuildError> {
        self.build_of(builder, names, Params::default())
    }

    /// As [`build`](Registry::build), with parameters of the pool, if it has some ([`Row::params`]).
    ///
    /// # Errors
    ///
    /// As [`build`](Registry::build).
    pub fn build_of(&self, builder: Builder, names: Names<'_>, params: Params) -> Result<AnyRuntime, BuildError> {
        let scheme = find(&self.schemes, SCHEME, names.scheme)?;
        let pool = find(&self.pools, POOL, names.pool)?;
        let memory = find(&self.memory, MANAGER, names.memory)?;
        let parts = (pool.row.name, memory.row.name);
        let are_default = parts == (DefaultPool::NAME, DefaultMemory::NAME);
        if scheme.row.name == DEFAULT_SCHEME && are_default {
            return builder.build().map(AnyRuntime::Default);
        }
        match scheme.choice {
            SchemeChoice::Stack if are_default => builder.build_with().map(AnyRuntime::Stack),
            SchemeChoice::Stack => {
                let (family, name) =
                    if pool.row.name == DefaultPool::NAME { (MANAGER, memory.row.name) } else { (POOL, pool.row.name) };
                Err(BuildError::BesideStack { family, name: name.to_owned() })
            }
            SchemeChoice::Tracker(tracker) => {
                let choices = Choices { memory: memory.choice.clone(), pool: (pool.choice)(params), tracker };
                builder.build_of(choices).map(AnyRuntime::Catalogue)
            }
        }
    }

    /// The pool of a name, with parameters if it has some: for a [`TaskPool`](crate::taskpool::TaskPool).
    ///
    /// # Errors
    ///
    /// [`BuildError::NoSuch`].
    pub fn pool(&self, name: &str, params: Params) -> Result<ChosenPool, BuildError> {
        find(&self.pools, POOL, name).map(|entry| (entry.choice)(params))
    }

    /// The memory manager of a name: for a [`TaskPool`](crate::taskpool::TaskPool).
    ///
    /// # Errors
    ///
    /// [`BuildError::NoSuch`].
    pub fn memory_manager(&self, name: &str) -> Result<ChosenMemory, BuildError> {
        find(&self.memory, MANAGER, name).map(|entry| entry.choice.clone())
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |rows: &mut dyn Iterator<Item = &Row>| rows.map(|row| row.name).collect::<Vec<_>>();
        f.debug_struct("Registry")
            .field("schemes", &names(&mut self.schemes()))
            .field("pools", &names(&mut self.pools()))
            .field("memory", &names(&mut self.memory()))
            .finish()
    }
}

#[track_caller]
fn add<C>(entries: &mut Vec<Entry<C>>, family: &'static str, row: Row, choice: C) -> Result<(), Taken> {
    let second = Location::caller();
    if let Some(entry) = entries.iter().find(|entry| entry.row.name == row.name) {
        return Err(Taken { family, name: row.name, first: entry.place, second });
    }
    entries.push(Entry { row, choice, place: Some(second) });
    Ok(())
}

fn find<'a, C>(entries: &'a [Entry<C>], family: &'static str, name: &str) -> Result<&'a Entry<C>, BuildError> {
    entries.iter().find(|entry| entry.row.name == name).ok_or_else(|| BuildError::NoSuch {
        family,
        given: name.to_owned(),
        valid: entries.iter().map(|entry| entry.row.name).collect(),
    })
}
