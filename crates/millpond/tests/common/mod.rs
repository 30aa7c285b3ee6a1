//! What several test programs share.
#![allow(dead_code, reason = "each test program uses a part")]

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use millpond::{Builder, Runtime};

/// Runs a test under a time limit: a hang must be a failure, with a name. Aborts, since threads that hang cannot be
/// ended otherwise.
pub fn limit<R>(seconds: u64, name: &'static str, test: impl FnOnce() -> R) -> R {
    let seconds = if cfg!(any(millpond_tsan, millpond_asan)) { 10 * seconds } else { seconds };
    let (ended, end) = channel::<()>();
    let watchdog = thread::spawn(move || {
        if end.recv_timeout(Duration::from_secs(seconds)) == Err(RecvTimeoutError::Timeout) {
            eprintln!("test `{name}` did not end within {seconds} s");
            std::process::abort();
        }
    });
    // Dropped on a panic, too, which ends the watchdog.
    let result = test();
    drop(ended);
    watchdog.join().expect("the watchdog ends when the test has");
    result
}

/// Joins threads one by one: ThreadSanitizer does not see the join at the end of `thread::scope`.
pub fn join_all(threads: Vec<thread::ScopedJoinHandle<'_, ()>>) {
    threads.into_iter().for_each(|thread| thread.join().expect("the thread's own test passed"));
}

pub fn builder(workers: usize) -> Builder {
    Runtime::builder().workers(workers)
}

pub fn runtime(workers: usize) -> Runtime {
    builder(workers).build().expect("the choices are in range")
}

/// The smaller size where the code is not optimised: the whole of `cargo test` must stay short.
pub fn sized(debug: usize, release: usize) -> usize {
    if cfg!(debug_assertions) { debug } else { release }
}
