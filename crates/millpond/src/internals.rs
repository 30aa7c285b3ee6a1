//! What the other crates of this repository need beyond the public items. It is not for programs:
//! it may change in every version.

pub use crate::runtime::outcome::Tried;
pub use crate::runtime::spawn::Options as SpawnOptions;
#[cfg(feature = "stack")]
pub use crate::stack::policy::{Victims, conflicts};
pub use crate::worker::current::{mark, replace_mark};

/// Is never called. With it, a debug build of this crate contains the code of a spawn that is the
/// same for all programs. Otherwise each program would compile and link its own copy of that code
/// (decision 31).
#[cfg(debug_assertions)]
pub fn compiled_once(runtime: &crate::Runtime, handle: &crate::Handle<()>) {
    use crate::Spawn;
    drop(runtime.scope(|s| drop(s.spawn(handle.inout(), |()| ()))));
}
