//! The integration tests of portable tasks. They are one binary, so they are linked once. Each
//! module is a subject. `tests/ui` has the programs of `ui`. `twice` must be a separate binary.

mod at_spawn;
mod common;
mod fallible;
mod inline_subtrees;
mod portable;
mod ui;
