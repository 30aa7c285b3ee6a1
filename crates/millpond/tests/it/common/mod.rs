//! Helpers for the tests of several subjects.
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

/// Joins threads one by one. Passes on the first panic with its message.
pub fn join_all(threads: Vec<thread::ScopedJoinHandle<'_, ()>>) {
    threads.into_iter().for_each(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
}

/// For a body that must not run. It does not panic, since the scope reports only its first failure.
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

/// Returns the smaller size in unoptimized code, so that `cargo test` stays short. A sanitizer
/// makes code several times as slow, so there the large sizes are divided by 4.
pub fn sized(debug: usize, release: usize) -> usize {
    match debug {
        1000.. if cfg!(any(millpond_tsan, millpond_asan)) => debug / 4,
        _ if cfg!(debug_assertions) => debug,
        _ => release,
    }
}

/// Returns the larger size if `MILLPOND_DEEP` is set. `.ci/deep` sets it.
pub fn deep(usual: usize, deep: usize) -> usize {
    if std::env::var_os("MILLPOND_DEEP").is_some() { deep } else { usual }
}

/// The number of tasks that a test counts, each with its own mark: `MILLPOND_TASKS`, or 10^5. In
/// unoptimized code it is smaller.
pub fn tasks() -> usize {
    std::env::var("MILLPOND_TASKS")
        .map_or(sized(10_000, 100_000), |tasks| tasks.parse().expect("MILLPOND_TASKS is a number"))
}

/// Makes a value that is never freed. Leak checkers see it here.
pub fn forever<T>(value: T) -> &'static T {
    static KEPT: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let value = Box::leak(Box::new(value));
    KEPT.lock().push((&raw const *value).expose_provenance());
    value
}

/// The number in an environment variable, if the variable is set.
pub fn number(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is {text}, must be a number")),
        Err(_) => otherwise,
    }
}
