//! A time limit for tests and for the functions of `conformance`: a hang is a failure. Integration
//! tests include this file.

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Runs a test under a time limit, so that a hang is a failure with a name. Aborts the process,
/// because hanging threads cannot be ended otherwise.
pub fn limit<R>(seconds: u64, name: impl Into<String>, test: impl FnOnce() -> R) -> R {
    let seconds = if cfg!(any(millpond_tsan, millpond_asan)) { 10 * seconds } else { seconds };
    let (name, (ended, end)) = (name.into(), channel::<()>());
    let watchdog = thread::spawn(move || {
        if end.recv_timeout(Duration::from_secs(seconds)) == Err(RecvTimeoutError::Timeout) {
            // Not `eprintln`: the harness captures its text, and the abort loses it.
            let _ = writeln!(std::io::stderr(), "test `{name}` did not end within {seconds} s");
            std::process::abort();
        }
    });
    // `ended` is dropped on a panic, too, which ends the watchdog.
    let result = test();
    drop(ended);
    watchdog.join().expect("the watchdog ends when the test has");
    result
}
