//! Helpers of the tests: a limit against hangs, and runtimes.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use millpond::Runtime;

/// Runs a test that must not hang. The limit is three minutes, far more than any test needs, plus
/// ten milliseconds per requested random case.
pub fn limited(test: impl FnOnce() + Send + 'static) {
    let limit = 180 + std::env::var("MILLPOND_CASES").map_or(0, |cases| cases.parse().unwrap_or(0)) / 100;
    let (done, waits) = channel();
    let thread = std::thread::spawn(move || {
        test();
        // The receiver is gone only if the limit has passed.
        let _ = done.send(());
    });
    assert_ne!(waits.recv_timeout(Duration::from_secs(limit)), Err(RecvTimeoutError::Timeout), "the test hangs");
    if let Err(payload) = thread.join() {
        std::panic::resume_unwind(payload);
    }
}

pub fn runtime(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).build().expect("a runtime")
}
