//! What the tests have in common.

/// Runs a test that must not hang; two minutes are far more than any needs.
pub fn limited(test: impl FnOnce() + Send + 'static) {
    let (done, waits) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        test();
        // No thread listens any more only if the limit has passed.
        let _ = done.send(());
    });
    if let Err(std::sync::mpsc::RecvTimeoutError::Timeout) = waits.recv_timeout(std::time::Duration::from_secs(120)) {
        panic!("the test hangs");
    }
    if let Err(payload) = thread.join() {
        std::panic::resume_unwind(payload);
    }
}
