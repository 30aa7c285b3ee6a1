//! What can go wrong between a name and a task.

use super::registry::Place;

/// Why a program's portable tasks cannot be used, or one cannot be made from bytes. One line, in full.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two tasks were registered under one name.
    #[error("portable task `{name}` is registered twice, at {} and at {}: register each under a name of its own", places.0, places.1)]
    Twice {
        /// The name.
        name: String,
        /// Where the two were registered.
        places: (Place, Place),
    },
    /// No task has the name.
    #[error("no portable task is named `{name}`{}", hint(closest, *registered))]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The names nearest to it, nearest first.
        closest: Vec<&'static str>,
        /// How many tasks are registered.
        registered: usize,
    },
    /// The bytes are not those of the task.
    #[error("portable task `{name}` cannot be made from {bytes} bytes: {reason}")]
    Decode {
        /// The task's name.
        name: &'static str,
        /// How many bytes there were.
        bytes: usize,
        /// What is wrong with them.
        reason: String,
    },
    /// The task has no bytes: its own `Serialize` failed.
    #[error("portable task `{name}` cannot be turned into bytes: {reason}")]
    Encode {
        /// The task's name.
        name: &'static str,
        /// What its `Serialize` said.
        reason: String,
    },
}

fn hint(closest: &[&str], registered: usize) -> String {
    match (closest, registered) {
        ([], 0) => ": none is registered in this program".into(),
        ([], n) => format!("; {n} others are registered"),
        (names, _) => {
            let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            format!(": did you mean {}?", names.join(" or "))
        }
    }
}
