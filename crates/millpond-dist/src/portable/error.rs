//! The errors of portable tasks.

use super::entry::Place;

/// Why a program's portable tasks are unusable, or a task cannot be made from bytes. The message is
/// one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Several tasks were registered under one name.
    #[error("portable task `{name}` is registered {} times, at {}: register each under its own name", places.len(), list(places, "and"))]
    Twice {
        /// The name.
        name: &'static str,
        /// The places of registration, in the order of files and lines.
        places: Vec<Place>,
    },
    /// No task has the name.
    #[error("no portable task is named `{name}`: {}", hint(nearest))]
    Unknown {
        /// The requested name.
        name: String,
        /// Similar names: at most three, nearest first.
        nearest: Vec<&'static str>,
    },
    /// The bytes are no such task.
    #[error("portable task `{name}` cannot be made from {bytes} bytes: {reason}")]
    Decode {
        /// The task's name.
        name: &'static str,
        /// The number of bytes.
        bytes: usize,
        /// The flaw in the bytes.
        reason: String,
    },
    /// The task cannot be converted to bytes.
    #[error("portable task `{name}` cannot be turned into bytes: {reason}")]
    Encode {
        /// The task's name.
        name: &'static str,
        /// The error of its `Serialize`.
        reason: String,
    },
}

fn hint(nearest: &[&str]) -> String {
    if nearest.is_empty() {
        return "none is registered in this program".into();
    }
    let quoted: Vec<_> = nearest.iter().map(|name| format!("`{name}`")).collect();
    format!("the nearest valid: {}", list(&quoted, "or"))
}

/// Formats a list like `a, b and c`.
fn list(items: &[impl ToString], last: &str) -> String {
    let mut items: Vec<_> = items.iter().map(ToString::to_string).collect();
    match items.pop() {
        Some(end) if !items.is_empty() => format!("{} {last} {end}", items.join(", ")),
        only => only.unwrap_or_default(),
    }
}
