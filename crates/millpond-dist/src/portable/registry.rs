//! Which portable tasks a program has, and how they become bytes and tasks again.

use std::any::{Any, type_name};
use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

use super::access::{AccessKind, Declared, Value};
use super::error::Error;
use super::task::{Portable, PortableParent, Registered};

/// Registers a portable task under a name: `portable!(Sum, "fib.sum");`.
#[macro_export]
macro_rules! portable {
    ($task:ty, $name:expr $(,)?) => {
        impl $crate::portable::Registered for $task {
            const ENTRY: $crate::portable::Entry = {
                // The compiler finds out which of the two it is; it refuses both.
                let entry = <$task as $crate::portable::private::LeafOrParent<_>>::ENTRY;
                entry.at($name, ::core::file!(), ::core::line!())
            };
        }
        $crate::portable::private::inventory::submit! {
            <$task as $crate::portable::Registered>::ENTRY
        }
    };
}

/// Whether a portable task is a leaf or a parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// [`Portable`]
    Leaf,
    /// [`PortableParent`]
    Parent,
}

/// Where a task was registered: `file:line`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The source file, as the compiler was given it.
    pub file: &'static str,
    /// The line of the `portable!`.
    pub line: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A registered portable task.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    name: &'static str,
    place: Place,
    role: Role,
    accesses: &'static [AccessKind],
    size: usize,
    of: fn() -> &'static str,
    decode: fn(&[u8]) -> Result<Box<dyn Any + Send>, postcard::Error>,
}

inventory::collect!(Entry);

impl Entry {
    const fn of<P: Value>(role: Role, accesses: &'static [AccessKind]) -> Self {
        let place = Place { file: "", line: 0 };
        Entry { name: "", place, role, accesses, size: size_of::<P>(), of: type_name::<P>, decode: decode::<P> }
    }

    #[doc(hidden)]
    pub const fn at(self, name: &'static str, file: &'static str, line: u32) -> Self {
        assert!(!name.is_empty(), "a portable task needs a name");
        Entry { name, place: Place { file, line }, ..self }
    }

    /// The name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Where it was registered.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Leaf or parent.
    pub fn role(&self) -> Role {
        self.role
    }

    /// What it declares, in order.
    pub fn accesses(&self) -> &'static [AccessKind] {
        self.accesses
    }

    /// The bytes of the struct in memory.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The name of the struct, for people.
    pub fn type_name(&self) -> &'static str {
        (self.of)()
    }

    /// Makes a task from its bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Decode`] if the bytes are not those of such a task, or there are too many.
    pub fn decode(&'static self, bytes: &[u8]) -> Result<Decoded, Error> {
        match (self.decode)(bytes) {
            Ok(task) => Ok(Decoded { entry: self, task }),
            Err(reason) => Err(Error::Decode { name: self.name, bytes: bytes.len(), reason: reason.to_string() }),
        }
    }
}

/// As in `fib.sum (leaf: read u64, read u64, write u64)`.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = match self.role {
            Role::Leaf => "leaf",
            Role::Parent => "parent",
        };
        write!(f, "{} ({role}", self.name)?;
        for (i, access) in self.accesses.iter().enumerate() {
            write!(f, "{}{access}", if i == 0 { ": " } else { ", " })?;
        }
        f.write_str(")")
    }
}

fn decode<P: Value>(bytes: &[u8]) -> Result<Box<dyn Any + Send>, postcard::Error> {
    let (task, rest) = postcard::take_from_bytes::<P>(bytes)?;
    if rest.is_empty() { Ok(Box::new(task)) } else { Err(postcard::Error::DeserializeBadEncoding) }
}

/// Turns a task into the bytes that [`Registry::decode`] takes, with the name beside them.
///
/// # Errors
///
/// [`Error::Encode`] if the task's own `Serialize` fails.
pub fn encode<P: Registered + Value>(task: &P) -> Result<(&'static str, Vec<u8>), Error> {
    let name = P::ENTRY.name;
    match postcard::to_allocvec(task) {
        Ok(bytes) => Ok((name, bytes)),
        Err(reason) => Err(Error::Encode { name, reason: reason.to_string() }),
    }
}

/// A task that was made from bytes.
#[derive(Debug)]
pub struct Decoded {
    entry: &'static Entry,
    task: Box<dyn Any + Send>,
}

impl Decoded {
    /// What is registered of it.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// The task, if `P` is its type; else itself.
    ///
    /// # Errors
    ///
    /// Itself, if it is of another type.
    pub fn downcast<P: Registered + Value>(self) -> Result<P, Self> {
        let Decoded { entry, task } = self;
        task.downcast().map(|task| *task).map_err(|task| Decoded { entry, task })
    }
}

/// The portable tasks of a program, by name.
#[derive(Debug)]
pub struct Registry {
    entries: HashMap<&'static str, &'static Entry>,
}

impl Registry {
    fn new(all: impl IntoIterator<Item = &'static Entry>) -> Result<Self, Error> {
        let mut entries = HashMap::new();
        for entry in all {
            if let Some(other) = entries.insert(entry.name, entry) {
                let places = (other.place, entry.place);
                return Err(Error::Twice { name: entry.name.into(), places });
            }
        }
        Ok(Registry { entries })
    }

    /// The task of that name.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] if there is none.
    pub fn get(&self, name: &str) -> Result<&'static Entry, Error> {
        self.entries.get(name).copied().ok_or_else(|| Error::Unknown {
            name: name.into(),
            closest: Vec::new(),
            registered: self.entries.len(),
        })
    }

    /// Makes a task from its name and bytes.
    ///
    /// # Errors
    ///
    /// As [`get`](Registry::get) and [`Entry::decode`].
    pub fn decode(&self, name: &str, bytes: &[u8]) -> Result<Decoded, Error> {
        self.get(name)?.decode(bytes)
    }
}

/// The portable tasks of this program.
///
/// # Errors
///
/// As [`check`].
pub fn registry() -> Result<&'static Registry, Error> {
    static REGISTRY: OnceLock<Result<Registry, Error>> = OnceLock::new();
    REGISTRY.get_or_init(|| Registry::new(inventory::iter::<Entry>)).as_ref().map_err(Error::clone)
}

/// Whether all portable tasks of this program have names of their own: to be called first in `main`.
///
/// # Errors
///
/// [`Error::Twice`].
pub fn check() -> Result<(), Error> {
    registry().map(drop)
}

/// Implemented with one parameter for leaves and another for parents, so that the compiler can find out what a task is.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is registered, and is no portable task",
    label = "implements neither `Portable` nor `PortableParent`",
    note = "`impl Portable for {Self}` if it is a leaf, `impl PortableParent for {Self}` if it spawns"
)]
pub trait LeafOrParent<Kind> {
    const ENTRY: Entry;
}

#[doc(hidden)]
#[derive(Debug)]
pub enum IsLeaf {}

#[doc(hidden)]
#[derive(Debug)]
pub enum IsParent {}

#[diagnostic::do_not_recommend]
impl<P: Portable> LeafOrParent<IsLeaf> for P {
    const ENTRY: Entry = Entry::of::<P>(Role::Leaf, P::Access::KINDS);
}

#[diagnostic::do_not_recommend]
impl<P: PortableParent> LeafOrParent<IsParent> for P {
    const ENTRY: Entry = Entry::of::<P>(Role::Parent, P::Access::KINDS);
}
