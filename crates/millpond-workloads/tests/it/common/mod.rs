//! Helpers of the tests.

/// Runs a test that must not hang. The limit is two minutes, far more than any test needs.
pub fn limited(test: impl FnOnce() + Send + 'static) {
    let (done, waits) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        test();
        // The receiver is gone only if the limit has passed.
        let _ = done.send(());
    });
    if let Err(std::sync::mpsc::RecvTimeoutError::Timeout) = waits.recv_timeout(std::time::Duration::from_secs(120)) {
        panic!("the test hangs");
    }
    if let Err(payload) = thread.join() {
        std::panic::resume_unwind(payload);
    }
}
