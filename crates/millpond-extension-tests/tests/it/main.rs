//! The tests of this crate, one binary.

mod broken;
mod conformance;
mod parts;
