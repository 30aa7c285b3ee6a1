//! A line on the terminal that says how far a long command is; nothing when stderr is no terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a command stays silent.
const PATIENCE: Duration = Duration::from_secs(1);

/// The line. It is shown by a thread of its own, which sleeps nearly all the time.
pub struct Progress(Option<(Sender<String>, JoinHandle<()>)>);

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

impl Progress {
    /// Starts to wait; the line appears after a second.
    pub fn new() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let (sender, receiver) = channel();
        Self(Some((sender, std::thread::spawn(move || show(&receiver)))))
    }

    /// What is being done now.
    pub fn say(&self, what: impl FnOnce() -> String) {
        if let Some((sender, _)) = &self.0 {
            // The thread is gone only if it could not draw; then there is nobody to tell.
            let _ = sender.send(what());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.0.take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}

fn show(receiver: &Receiver<String>) {
    let mut message = String::new();
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        match receiver.recv_timeout(deadline.saturating_duration_since(std::time::Instant::now())) {
            Ok(next) => message = next,
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
    let bar = ProgressBar::new_spinner().with_message(message);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(250));
    while let Ok(next) = receiver.recv() {
        bar.set_message(next);
    }
    bar.finish_and_clear();
}
