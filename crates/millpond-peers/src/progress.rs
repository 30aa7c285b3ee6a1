//! A line on the terminal with the progress of the bench. It exists only if stderr is a terminal.
//!
//! The line of the `millpond` command is drawn by its own thread during a run. Here such a thread
//! would take time from the measured peers.

use std::io::{IsTerminal, Write, stderr};

/// The line. The measuring thread writes it between runs, so that no other thread wakes up for it.
pub struct Progress(bool);

impl Progress {
    /// Shows nothing yet.
    pub fn new() -> Self {
        Self(stderr().is_terminal())
    }

    /// Sets the text of the line.
    pub fn say(&self, what: impl FnOnce() -> String) {
        if self.0 {
            // Goes to the start of the line and clears an earlier text. A failed write is no
            // failure.
            let _ = write!(stderr(), "\r\x1b[K{}", what()).and_then(|()| stderr().flush());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.say(String::new);
    }
}
