//! The integration tests of the collections. They are one binary, so they are linked once. Each
//! module is a subject.

// The library has the models. They cover only the item tables, since a graph needs a runtime.
#![cfg(not(loom))]

#[path = "../../../millpond/tests/it/common/alone.rs"]
mod alone;
mod behaviour;
mod checks;
mod common;
mod failures;
mod graphs;
mod keys;
mod nested;
mod random;
mod replays;
#[path = "../../../millpond/tests/it/common/rng.rs"]
mod rng;
mod stacks;
mod stress;
mod transitions;
