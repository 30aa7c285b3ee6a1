//! The registered data of a task, and its conversion to bytes and back.

use std::any::{Any, type_name};
use std::fmt;

use super::access::{AccessKind, Declared, Value};
use super::error::Error;
use super::task::{Portable, PortableParent, Registered};

/// Whether a portable task is a leaf or a parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// It implements [`Portable`].
    Leaf,
    /// It implements [`PortableParent`].
    Parent,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Leaf => "leaf",
            Role::Parent => "parent",
        })
    }
}

/// Where a task was registered. Displayed as `file:line`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The source file, as given to the compiler.
    pub file: &'static str,
    /// The line of the `portable!`.
    pub line: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A registered portable task; see [`Registry::get`](super::Registry::get).
///
/// Displayed like `fib.sum (leaf: read u64, read u64, write u64)`.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    name: &'static str,
    place: Place,
    role: Role,
    accesses: &'static [AccessKind],
    size: usize,
    of: fn() -> &'static str,
    decode: fn(&[u8]) -> Result<Box<dyn Any + Send>, String>,
}

inventory::collect!(Entry);

impl Entry {
    const fn of<P: Value, D: Declared>(role: Role) -> Self {
        let place = Place { file: "", line: 0 };
        Entry {
            name: "",
            place,
            role,
            accesses: D::KINDS,
            size: size_of::<P>(),
            of: type_name::<P>,
            decode: decode::<P>,
        }
    }

    #[doc(hidden)]
    pub const fn at(self, name: &'static str, file: &'static str, line: u32) -> Self {
        assert!(!name.is_empty(), "a portable task needs a name");
        Entry { name, place: Place { file, line }, ..self }
    }

    /// Its registered name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The place of its registration.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Whether it is a leaf or a parent.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Its declared accesses, in order.
    pub fn accesses(&self) -> &'static [AccessKind] {
        self.accesses
    }

    /// The size of the struct in memory, in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The struct's name, for messages. It may differ between two builds of a program.
    pub fn type_name(&self) -> &'static str {
        (self.of)()
    }

    /// Makes a task from the bytes of [`encode`].
    ///
    /// # Errors
    ///
    /// [`Error::Decode`] if they are not the bytes of such a task.
    pub fn decode(&'static self, bytes: &[u8]) -> Result<Decoded, Error> {
        match (self.decode)(bytes) {
            Ok(task) => Ok(Decoded { entry: self, task }),
            Err(reason) => Err(Error::Decode { name: self.name, bytes: bytes.len(), reason }),
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.name, self.role)?;
        let mut before = ": ";
        for access in self.accesses {
            write!(f, "{before}{access}")?;
            before = ", ";
        }
        f.write_str(")")
    }
}

fn decode<P: Value>(bytes: &[u8]) -> Result<Box<dyn Any + Send>, String> {
    match P::from_bytes(bytes) {
        Ok((task, [])) => Ok(Box::new(task)),
        Ok((_, rest)) => Err(format!("it ends {} bytes before they do", rest.len())),
        Err(postcard::Error::DeserializeUnexpectedEnd) => Err("they end before it does".into()),
        Err(reason) => Err(reason.to_string()),
    }
}

/// Turns a task into its name and bytes. [`Registry::decode`](super::Registry::decode) turns these
/// into a task again.
///
/// The format is [postcard](https://postcard.jamesmunns.com), the same on every machine. It has no
/// version, so both processes must be built from the same structs.
///
/// # Errors
///
/// [`Error::Encode`] if the task's own `Serialize` fails.
///
/// ```standalone_crate
/// # use millpond::Out;
/// # use millpond_dist::portable::{self, Portable, R, W};
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Serialize, Deserialize)]
/// # struct Sum {
/// #     scale: u64,
/// # }
/// # impl Portable for Sum {
/// #     type Access = (R<u64>, R<u64>, W<u64>);
/// #     fn run(self, (a, b, r): (&u64, &u64, Out<u64>)) {
/// #         r.set((a + b) * self.scale);
/// #     }
/// # }
/// # millpond_dist::portable!(Sum, "fib.sum");
/// let (name, bytes) = portable::encode(&Sum { scale: 2 })?;
/// let task = portable::registry()?.decode(name, &bytes)?;
/// assert_eq!(task.entry().to_string(), "fib.sum (leaf: read u64, read u64, write u64)");
/// assert_eq!(task.downcast::<Sum>().unwrap().scale, 2);
/// # Ok::<(), portable::Error>(())
/// ```
pub fn encode<P: Registered + Value>(task: &P) -> Result<(&'static str, Vec<u8>), Error> {
    let name = P::ENTRY.name;
    match task.to_bytes() {
        Ok(bytes) => Ok((name, bytes)),
        Err(reason) => Err(Error::Encode { name, reason: reason.to_string() }),
    }
}

/// A task made from bytes.
#[derive(Debug)]
pub struct Decoded {
    entry: &'static Entry,
    task: Box<dyn Any + Send>,
}

impl Decoded {
    /// Its registered data.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// The task given to [`encode`].
    ///
    /// # Errors
    ///
    /// Returns `self` if the task is not a `P`.
    pub fn downcast<P: Registered + Value>(self) -> Result<P, Self> {
        let Decoded { entry, task } = self;
        task.downcast().map(|task| *task).map_err(|task| Decoded { entry, task })
    }
}

/// Implemented with one parameter for leaves and another for parents. So the compiler infers the
/// kind of a task, and refuses a task of both kinds.
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
    const ENTRY: Entry = Entry::of::<P, P::Access>(Role::Leaf);
}

#[diagnostic::do_not_recommend]
impl<P: PortableParent> LeafOrParent<IsParent> for P {
    const ENTRY: Entry = Entry::of::<P, P::Access>(Role::Parent);
}
