//! Treats a hang as a failure: prints the case that hangs and ends the process.

use std::io::Write;
use std::process::abort;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::lock::Mutex;

/// The current case, and when it started.
type Running = Mutex<Option<(Instant, Box<dyn Fn() -> String + Send>)>>;

/// Watches cases, one after the other.
pub struct Watchdog {
    running: Arc<Running>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// `limit` is the time for one case: far more than it needs on a busy machine.
    pub fn new(limit: Duration) -> Self {
        let limit = if cfg!(any(millpond_tsan, millpond_asan)) { 10 * limit } else { limit };
        let running = Arc::new(Running::default());
        let ended = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let (running, ended) = (Arc::clone(&running), Arc::clone(&ended));
            move || watch(&running, &ended, limit)
        });
        Watchdog { running, ended, thread: Some(thread) }
    }

    /// Runs one case. `show` describes it if it does not end.
    pub fn over<R>(&self, show: impl Fn() -> String + Send + 'static, case: impl FnOnce() -> R) -> R {
        self.set(Some((Instant::now(), Box::new(show))));
        let result = case();
        self.set(None);
        result
    }

    fn set(&self, to: Option<(Instant, Box<dyn Fn() -> String + Send>)>) {
        *self.running.lock() = to;
    }
}

fn watch(running: &Running, ended: &AtomicBool, limit: Duration) {
    while !ended.load(Ordering::Relaxed) {
        thread::park_timeout(Duration::from_millis(500));
        let running = running.lock();
        if let Some((since, show)) = &*running
            && since.elapsed() > limit
        {
            // `eprintln` would not do: the harness captures and loses its output.
            let _ = writeln!(std::io::stderr(), "does not end:\n{}", show());
            abort();
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            thread.join().expect("the watchdog does not panic");
        }
    }
}
