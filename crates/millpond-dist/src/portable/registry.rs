//! The registry of a program's portable tasks.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::entry::{Decoded, Entry};
use super::error::Error;

/// Registers a portable task under a name: `portable!(Sum, "fib.sum");`.
///
/// Write it once per struct, next to the struct. Only this macro implements
/// [`Registered`](crate::Registered). Other processes know the task by this name. Begin it with the
/// name of the program's part, such as `fib.`, so that it is unique.
/// [`check`](crate::portable::check) finds duplicates.
///
/// A generic struct cannot be registered, but its instances can: `portable!(Scale<f64>,
/// "scale.f64");`.
///
/// ```
/// use millpond::Out;
/// use millpond_dist::{Portable, R, W, portable};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Sum {
///     scale: u64,
/// }
///
/// impl Portable for Sum {
///     type Access = (R<u64>, R<u64>, W<u64>);
///
///     fn run(self, (a, b, r): (&u64, &u64, Out<u64>)) {
///         r.set((a + b) * self.scale);
///     }
/// }
///
/// portable!(Sum, "fib.sum");
/// ```
#[macro_export]
macro_rules! portable {
    ($task:ty, $name:expr $(,)?) => {
        impl $crate::portable::Registered for $task {
            const ENTRY: $crate::portable::Entry = {
                // The compiler infers which of the two the task is.
                let entry = <$task as $crate::portable::private::LeafOrParent<_>>::ENTRY;
                entry.at($name, ::core::file!(), ::core::line!())
            };
        }
        $crate::portable::private::inventory::submit! {
            <$task as $crate::portable::Registered>::ENTRY
        }
    };
}

/// The portable tasks of a program, by name; see [`registry`].
#[derive(Debug)]
pub struct Registry {
    entries: BTreeMap<&'static str, &'static Entry>,
}

/// The number of names in an error about an unknown one.
const HINTS: usize = 3;

impl Registry {
    fn new(all: impl IntoIterator<Item = &'static Entry>) -> Result<Self, Error> {
        let mut by_name = BTreeMap::<_, Vec<_>>::new();
        for entry in all {
            by_name.entry(entry.name()).or_default().push(entry);
        }
        let mut entries = BTreeMap::new();
        for (name, found) in by_name {
            let &[entry] = found.as_slice() else {
                let mut places: Vec<_> = found.iter().map(|entry| entry.place()).collect();
                // The linker's order is arbitrary.
                places.sort();
                return Err(Error::Twice { name, places });
            };
            entries.insert(name, entry);
        }
        Ok(Registry { entries })
    }

    /// All tasks, in the order of their names.
    ///
    /// ```standalone_crate
    /// for task in millpond_dist::portable::registry()?.iter() {
    ///     println!("{task}");
    /// }
    /// # Ok::<(), millpond_dist::portable::Error>(())
    /// ```
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'static Entry> {
        self.entries.values().copied()
    }

    /// The task with this name.
    ///
    /// ```standalone_crate
    /// let error = millpond_dist::portable::registry()?.get("fib.sum").err();
    /// assert!(error.is_some(), "this program has no such task");
    /// # Ok::<(), millpond_dist::portable::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] if there is none, with the nearest names.
    pub fn get(&self, name: &str) -> Result<&'static Entry, Error> {
        self.entries.get(name).copied().ok_or_else(|| Error::Unknown { name: name.into(), nearest: self.nearest(name) })
    }

    /// Makes a task from the result of [`encode`](super::encode).
    ///
    /// # Errors
    ///
    /// Like [`get`](Registry::get) and [`Entry::decode`].
    pub fn decode(&self, name: &str, bytes: &[u8]) -> Result<Decoded, Error> {
        self.get(name)?.decode(bytes)
    }

    /// The nearest names first, similar or not, so that an error always has a hint if there are
    /// tasks.
    fn nearest(&self, name: &str) -> Vec<&'static str> {
        let name = name.to_ascii_lowercase();
        let mut ranked: Vec<_> = self
            .entries
            .keys()
            .map(|&valid| (strsim::jaro_winkler(&name, &valid.to_ascii_lowercase()), valid))
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        ranked.into_iter().take(HINTS).map(|(_, valid)| valid).collect()
    }
}

/// The portable tasks of this program, from all its crates. The first call builds the registry.
///
/// # Errors
///
/// Like [`check`].
pub fn registry() -> Result<&'static Registry, Error> {
    static REGISTRY: OnceLock<Result<Registry, Error>> = OnceLock::new();
    REGISTRY.get_or_init(|| Registry::new(inventory::iter::<Entry>)).as_ref().map_err(Error::clone)
}

/// Checks that each portable task of this program has a unique name. Call it first in `main`.
/// [`registry`] does the same check.
///
/// # Errors
///
/// [`Error::Twice`], with all places that register the name. Of several such names, it has the
/// first in order.
///
/// ```standalone_crate
/// fn main() -> Result<(), millpond_dist::portable::Error> {
///     millpond_dist::portable::check()?;
///     // …
///     Ok(())
/// }
/// ```
pub fn check() -> Result<(), Error> {
    registry().map(drop)
}

#[cfg(test)]
mod tests;
