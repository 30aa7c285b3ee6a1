//! The parts of this crate run, and pass the conformance tests. `broken` must be a binary of its
//! own.

mod conformance;
mod parts;
