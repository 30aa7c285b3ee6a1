//! What the other crates of this repository need beyond the public items. It is not for programs: it
//! may change in every version.

pub use crate::runtime::outcome::Tried;
pub use crate::runtime::spawn::Options as SpawnOptions;
#[cfg(feature = "stack")]
pub use crate::stack::policy::{Victims, conflicts};
pub use crate::worker::current::{mark, replace_mark};
