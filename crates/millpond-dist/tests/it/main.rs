//! The integration tests of portable tasks. They are one binary, so they are linked once. Each module is a subject; the
//! programs of `ui` are in `tests/ui`, and `twice` must be a binary of its own.

mod at_spawn;
mod common;
mod fallible;
mod inline_subtrees;
mod portable;
mod ui;
