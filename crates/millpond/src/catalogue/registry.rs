//! The catalogue, and the parts that a program adds to it.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use super::runtime::AnyRuntime;
use super::{MEMORY, Names, POOLS, Row, SCHEMES, TRACKERS};
use crate::depend::{AnyScheme, Scheme};
use crate::memory::params::Params as MemoryParams;
use crate::memory::variants::by_name_with as manager_of;
use crate::memory::{Chosen as ChosenMemory, Memory};
use crate::pool::params::Params;
use crate::pool::variants::by_name as pool_of;
use crate::pool::{Chosen as ChosenPool, Pool};
use crate::runtime::engine::DEFAULT_SCHEME;
use crate::runtime::{BuildError, Builder};
use crate::worker::engine::Choices;
use crate::{DefaultMemory, DefaultPool};

/// The named members of each family: from the catalogue, or added by a program.
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
    memory: Vec<Entry<MemoryChoice>>,
}

type PoolChoice = Arc<dyn Fn(Params) -> ChosenPool + Send + Sync>;
type MemoryChoice = Arc<dyn Fn(MemoryParams) -> ChosenMemory + Send + Sync>;

#[derive(Clone, Copy)]
enum SchemeChoice {
    Stack,
    Tracker(AnyScheme),
}

#[derive(Clone)]
struct Entry<C> {
    row: Row,
    choice: C,
    /// Where the program added it. `None` for members of the catalogue.
    place: Option<&'static Location<'static>>,
}

/// Why a part cannot be added to a [`Registry`].
///
/// ```
/// use millpond::catalogue::{Registry, Row};
/// use millpond::pool::Split;
///
/// let row = Row::of_pool::<Split>("mine", "here");
/// let error = Registry::default().with_pool::<Split>(row).unwrap_err();
/// assert!(error.to_string().starts_with("there are two pools named `default`: one in millpond's catalogue, one added at "));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RegistryError {
    /// The family already has a member of this name.
    Taken {
        /// The name of the family.
        family: &'static str,
        /// The name.
        name: &'static str,
        /// Where the first member was added. `None` for a member of the catalogue.
        first: Option<&'static Location<'static>>,
        /// Where the program tried to add the second one.
        second: &'static Location<'static>,
    },
    /// The name cannot be the value of a command-line option.
    BadName {
        /// The name of the family.
        family: &'static str,
        /// The name.
        name: &'static str,
        /// Where the program tried to add the part.
        place: &'static Location<'static>,
    },
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegistryError::Taken { family, name, first, second } => {
                write!(f, "there are two {family}s named `{name}`: one ")?;
                match first {
                    None => write!(f, "in millpond's catalogue")?,
                    Some(first) => write!(f, "added at {first}")?,
                }
                write!(f, ", one added at {second}")
            }
            RegistryError::BadName { family, name, place } => {
                let rule =
                    "a name consists of ASCII letters, digits, `-` and `_`, is not empty, and does not start with `-`";
                write!(f, "the {family} added at {place} cannot have the name {name:?}: {rule}")
            }
        }
    }
}

impl std::error::Error for RegistryError {}

/// The names of the families in messages.
const SCHEME: &str = "scheme";
const POOL: &str = "pool";
const MANAGER: &str = "memory manager";

/// The catalogue without additions.
impl Default for Registry {
    fn default() -> Self {
        let entry = |row: &Row| *row;
        let schemes = SCHEMES.iter().map(entry).map(|row| {
            let choice = TRACKERS.iter().find(|(of, _)| of.name == row.name);
            let choice = choice.map_or(SchemeChoice::Stack, |&(_, tracker)| SchemeChoice::Tracker(tracker));
            Entry { row, choice, place: None }
        });
        let pools = POOLS.iter().map(entry).map(|row| {
            let choice: PoolChoice = Arc::new(move |params| pool_of(row.name, params).expect("a row of the catalogue"));
            Entry { row, choice, place: None }
        });
        let memory = MEMORY.iter().map(entry).map(|row| {
            let choice: MemoryChoice =
                Arc::new(move |params| manager_of(row.name, params).expect("a row of the catalogue"));
            Entry { row, choice, place: None }
        });
        Registry { schemes: schemes.collect(), pools: pools.collect(), memory: memory.collect() }
    }
}

impl Registry {
    /// Adds a scheme, named by its type.
    ///
    /// # Errors
    ///
    /// [`RegistryError`], if a scheme has that name already, or the name is not valid.
    #[track_caller]
    pub fn with_scheme<D: Scheme>(mut self, row: Row) -> Result<Self, RegistryError> {
        let row = Row { name: D::NAME, modes: Some(D::MODES), ..row };
        add(&mut self.schemes, SCHEME, row, SchemeChoice::Tracker(AnyScheme::of::<D>()))?;
        Ok(self)
    }

    /// Adds a pool with its default parameters. The pool supports none of the [`Params`]. For a
    /// pool that supports some, see [`with_tuned_pool`](Registry::with_tuned_pool).
    ///
    /// # Errors
    ///
    /// [`RegistryError`], if a pool has that name already, or the name is not valid.
    #[track_caller]
    pub fn with_pool<P: Pool>(self, row: Row) -> Result<Self, RegistryError> {
        self.with_tuned_pool::<P>(Row { params: &[], ..row }, |_| P::Choice::default())
    }

    /// Adds a pool that supports some of the [`Params`]. [`Row::params`] names them, and `choose`
    /// converts them to the pool's own parameters. The command rejects an option for any other
    /// parameter.
    ///
    /// ```
    /// use millpond::catalogue::{Registry, RegistryError, Row};
    /// use millpond::pool::Pool;
    ///
    /// /// Adds a pool whose own parameter is the number of its queues.
    /// fn with_queues<P: Pool<Choice = usize>>(registry: Registry) -> Result<Registry, RegistryError> {
    ///     let row = Row { params: &["queues"], ..Row::of_pool::<P>("a pool with queues", "here") };
    ///     registry.with_tuned_pool::<P>(row, |params| params.queues)
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// The same as [`with_pool`](Registry::with_pool).
    #[track_caller]
    pub fn with_tuned_pool<P: Pool>(
        mut self,
        row: Row,
        choose: impl Fn(&Params) -> P::Choice + Send + Sync + 'static,
    ) -> Result<Self, RegistryError> {
        let row = Row { name: P::NAME, ..row };
        add(&mut self.pools, POOL, row, Arc::new(move |params| ChosenPool::of::<P>(choose(&params))))?;
        Ok(self)
    }

    /// Adds a memory manager with its default parameters.
    ///
    /// # Errors
    ///
    /// [`RegistryError`], if a memory manager has that name already, or the name is not valid.
    #[track_caller]
    pub fn with_memory<M: Memory>(mut self, row: Row) -> Result<Self, RegistryError> {
        let row = Row { name: M::NAME, params: &[], ..row };
        add(&mut self.memory, MANAGER, row, Arc::new(|_| ChosenMemory::of::<M>(M::Choice::default())))?;
        Ok(self)
    }

    /// The rows of the schemes. Those of the catalogue come first.
    pub fn schemes(&self) -> impl Iterator<Item = &Row> {
        self.schemes.iter().map(|entry| &entry.row)
    }

    /// The rows of the pools. Those of the catalogue come first.
    pub fn pools(&self) -> impl Iterator<Item = &Row> {
        self.pools.iter().map(|entry| &entry.row)
    }

    /// The rows of the memory managers. Those of the catalogue come first.
    pub fn memory(&self) -> impl Iterator<Item = &Row> {
        self.memory.iter().map(|entry| &entry.row)
    }

    /// Builds a runtime of the parts with these names.
    ///
    /// # Errors
    ///
    /// The errors of [`Builder::build`]. [`BuildError::NoSuch`], which lists the valid names.
    /// [`BuildError::NotWithStack`], if a pool or a memory manager is named with the scheme
    /// `stack`.
    pub fn build(&self, builder: Builder, names: Names<'_>) -> Result<AnyRuntime, BuildError> {
        self.build_of(builder, names, Params::default())
    }

    /// Like [`build`](Registry::build), with parameters for the pool if it supports some
    /// ([`Row::params`]).
    ///
    /// # Errors
    ///
    /// The same as [`build`](Registry::build).
    pub fn build_of(&self, builder: Builder, names: Names<'_>, params: Params) -> Result<AnyRuntime, BuildError> {
        self.build_tuned(builder, names, params, MemoryParams::default())
    }

    /// Like [`build_of`](Registry::build_of), with parameters for the memory manager too.
    ///
    /// # Errors
    ///
    /// The same as [`build`](Registry::build).
    pub fn build_tuned(
        &self,
        builder: Builder,
        names: Names<'_>,
        params: Params,
        memory_params: MemoryParams,
    ) -> Result<AnyRuntime, BuildError> {
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
                Err(BuildError::NotWithStack { family, name: name.to_owned() })
            }
            SchemeChoice::Tracker(tracker) => {
                let choices = Choices { memory: (memory.choice)(memory_params), pool: (pool.choice)(params), tracker };
                builder.build_of(choices).map(AnyRuntime::Catalogue)
            }
        }
    }

    /// The pool with this name, with parameters if it supports some. For a
    /// [`TaskPool`](crate::taskpool::TaskPool).
    ///
    /// # Errors
    ///
    /// [`BuildError::NoSuch`].
    pub fn pool(&self, name: &str, params: Params) -> Result<ChosenPool, BuildError> {
        find(&self.pools, POOL, name).map(|entry| (entry.choice)(params))
    }

    /// The memory manager with this name. For a [`TaskPool`](crate::taskpool::TaskPool).
    ///
    /// # Errors
    ///
    /// [`BuildError::NoSuch`].
    pub fn memory_manager(&self, name: &str) -> Result<ChosenMemory, BuildError> {
        self.memory_manager_with(name, MemoryParams::default())
    }

    /// Like [`memory_manager`](Registry::memory_manager), with parameters if the manager supports
    /// some ([`Row::params`]).
    ///
    /// # Errors
    ///
    /// [`BuildError::NoSuch`].
    pub fn memory_manager_with(&self, name: &str, params: MemoryParams) -> Result<ChosenMemory, BuildError> {
        find(&self.memory, MANAGER, name).map(|entry| (entry.choice)(params))
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
fn add<C>(entries: &mut Vec<Entry<C>>, family: &'static str, row: Row, choice: C) -> Result<(), RegistryError> {
    let (name, place) = (row.name, Location::caller());
    if !is_valid(name) {
        return Err(RegistryError::BadName { family, name, place });
    }
    if let Some(entry) = entries.iter().find(|entry| entry.row.name == name) {
        return Err(RegistryError::Taken { family, name, first: entry.place, second: place });
    }
    entries.push(Entry { row, choice, place: Some(place) });
    Ok(())
}

/// Whether the name can be an option's value without quotes.
fn is_valid(name: &str) -> bool {
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !name.is_empty() && !name.starts_with('-') && name.bytes().all(valid)
}

fn find<'a, C>(entries: &'a [Entry<C>], family: &'static str, name: &str) -> Result<&'a Entry<C>, BuildError> {
    entries.iter().find(|entry| entry.row.name == name).ok_or_else(|| BuildError::NoSuch {
        family,
        given: name.to_owned(),
        valid: entries.iter().map(|entry| entry.row.name).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_catalogue_are_valid_and_others_name_the_rule_and_the_place() {
        let registry = Registry::default();
        let rows = registry.schemes().chain(registry.pools()).chain(registry.memory());
        assert!(rows.map(|row| row.name).chain(["My_pool-2"]).all(is_valid));
        for name in ["", "a/b", "a b", "a\n", "--pool", "-", "pöol", "a=b", "a,b"] {
            let line = line!() + 1;
            let error = add(&mut Vec::new(), POOL, Row::new(name, "", ""), ()).unwrap_err().to_string();
            let starts = format!("the pool added at {}:{line}:", file!());
            assert!(error.starts_with(&starts), "{error}");
            assert!(
                error.contains(&format!("cannot have the name {name:?}: a name consists of ASCII letters")),
                "{error}"
            );
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}
