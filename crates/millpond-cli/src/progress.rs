//! A line on the terminal with the progress of a long command. It exists only if stderr is a
//! terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The time from a command's start to the line's appearance.
const SILENT_TIME: Duration = Duration::from_secs(1);

/// The line. Its own thread shows it, and sleeps most of the time.
pub struct Progress(Option<(Sender<String>, JoinHandle<()>)>);

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

impl Progress {
    /// Starts the thread. The line appears after a second.
    pub fn new() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let (sender, receiver) = channel();
        Self(Some((sender, std::thread::spawn(move || show(&receiver)))))
    }

    /// Sets the text of the line.
    pub fn say(&self, what: impl FnOnce() -> String) {
        if let Some((sender, _)) = &self.0 {
            // The thread ends early only if it could not draw. Then the text is dropped.
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
    let deadline = std::time::Instant::now() + SILENT_TIME;
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
