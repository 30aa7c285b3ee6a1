//! What the tests of several subjects share.
#![allow(dead_code, unused_imports, reason = "the tests of other crates share it, and use a part")]

use std::io::Write;
use std::thread;

use millpond::{Builder, Runtime, StackEngine};

mod alone;
#[path = "../../../src/limit.rs"]
mod limit;
pub mod lock;
mod panics;
pub mod rng;
pub mod watchdog;
pub use alone::alone;
pub use limit::limit;
pub use lock::Mutex;
pub use panics::silence_expected_panics;

/// Joins threads one by one: ThreadSanitizer does not see the join at the end of `thread::scope`.
pub fn join_all(threads: Vec<thread::ScopedJoinHandle<'_, ()>>) {
    threads.into_iter().for_each(|thread| thread.join().expect("the thread's own test passed"));
}

/// In a body that must not run. Not a panic: the scope would keep to itself whatever fails after what it reports.
pub fn must_not_run() -> ! {
    let _ = writeln!(std::io::stderr(), "a body ran that must not: {}", std::backtrace::Backtrace::force_capture());
    std::process::abort();
}

pub fn builder(workers: usize) -> Builder {
    Runtime::builder().workers(workers)
}

pub fn runtime(workers: usize) -> Runtime {
    builder(workers).build().expect("the choices are in range")
}

/// A runtime of the dataflow stack.
pub type OnStack = Runtime<StackEngine>;

pub fn on_stack(workers: usize) -> OnStack {
    builder(workers).build_with().expect("the choices are in range")
}

/// The smaller size where the code is not optimised: the whole of `cargo test` must stay short.
pub fn sized(debug: usize, release: usize) -> usize {
    if cfg!(debug_assertions) { debug } else { release }
}

/// How many tasks are counted, each with its own mark: `MILLPOND_TASKS`, or 10^5, or fewer if not optimized.
pub fn tasks() -> usize {
    let few = if cfg!(any(millpond_tsan, millpond_asan)) { 5_000 } else { sized(20_000, 100_000) };
    std::env::var("MILLPOND_TASKS").map_or(few, |tasks| tasks.parse().expect("MILLPOND_TASKS is a number"))
}
