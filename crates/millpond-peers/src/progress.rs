//! A line on the terminal that says how far the bench is; nothing where stderr is no terminal.

use std::io::{IsTerminal, Write, stderr};

/// The line. It is written between runs, on the thread that measures: no other thread wakes up for it.
pub struct Progress(bool);

impl Progress {
    /// No line yet.
    pub fn new() -> Self {
        Self(stderr().is_terminal())
    }

    /// What is being done now.
    pub fn say(&self, what: impl FnOnce() -> String) {
        if self.0 {
            // Back to the start of the line; what is right of it is of an earlier text. Nobody to tell is no failure.
            let _ = write!(stderr(), "\r\x1b[K{}", what()).and_then(|()| stderr().flush());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.say(String::new);
    }
}
