//! The integration tests of the runtime. They are one binary, so they are linked once. Each module
//! is a subject.
//!
//! The tests of a binary share a process. A test that counts threads, measures memory or raises
//! signals runs itself in its own process (`common::alone`).

mod accepted;
mod accumulate;
mod alignment;
mod callers;
mod cancel;
mod common;
mod compound;
mod conformance;
mod dump;
mod errors;
mod events;
mod examples;
mod failures;
mod figure1;
mod for_each;
mod forks;
mod futures;
mod fuzz;
mod going_on;
mod grid;
mod isolation;
mod joins;
mod lending;
mod lifecycle;
mod locks;
mod misuse;
mod names;
mod options;
mod pipelines;
mod process_forks;
mod protocols;
mod reductions;
mod renaming;
mod serial_equivalence;
mod session_ends;
mod session_shared;
mod sessions;
mod stack;
mod stack_compact;
mod stack_parents;
mod stack_thefts;
mod stacks_of_bodies;
mod stage;
mod starvation;
mod stress;
mod table1;
mod taskpool;
mod user_code;
mod visits;
mod wait_all;
