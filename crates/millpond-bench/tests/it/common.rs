//! Runs the program, and checks its output and files.

#[path = "../../../millpond-cli/tests/it/common/program.rs"]
mod program;

pub use program::{Dir, fails, json, words};

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_millpond-bench");
