//! Dumps: the account of unfinished tasks, and the thread that prints it on a signal.
//!
//! The signal's handler, which `signal-hook` installs beside those of others, writes a byte into a pipe of the runtime.
//! The thread at its other end keeps no runtime alive: it has a weak reference, follows it under a lock, and finds
//! none there once the runtime has begun to go. Then the pipe is closed, which ends the thread. Nobody joins it: it may
//! be stuck in an error output that nobody reads.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Weak};
use std::thread;

use signal_hook::SigId;
use signal_hook::consts::{FORBIDDEN, SIGBUS, SIGTRAP};
use signal_hook::low_level::{pipe, signal_name, unregister};

use super::shared::Shared;
use super::{Builder, Runtime};
use crate::engine::Engine;
use crate::record::dump::{Dump, explain};
use crate::sync::Mutex;

impl Builder {
    /// Keeps account of the tasks that are not complete, for [`Runtime::dump`]. Off by default.
    ///
    /// The account is made of what the runtime records, so a runtime with dumps records all the time. That takes some
    /// 0.3 to 0.5 µs a task: two workers run about 1 million independent tasks with a body of 1 µs in a second, in
    /// place of 1.6 million (`cargo test --release -p millpond --test dump -- --ignored --nocapture cost`). It takes
    /// memory for what is unfinished, a few hundred bytes a task, and 48 KiB a thread that works. While it is off, it
    /// costs nothing.
    pub fn dumps(mut self, dumps: bool) -> Self {
        self.config.dumps = dumps;
        self
    }

    /// Prints a [dump](Runtime::dump) to the error output whenever the process gets this signal, by its number: say
    /// `SIGUSR1`, 10 on most machines. Then [`dumps`](Builder::dumps) are on, whatever else is said.
    ///
    /// ```
    /// use millpond::Runtime;
    /// use signal_hook::consts::SIGUSR1;
    /// use signal_hook::low_level::raise;
    ///
    /// let rt = Runtime::builder().workers(2).dump_on_signal(SIGUSR1).build()?;
    /// // As `kill -USR1` does it, from a shell.
    /// raise(SIGUSR1)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Any number of runtimes may ask for the same signal, each prints its own; a handler that was there before is
    /// called too. A thread for each runtime does it, and ends with it. Afterwards the signal stays caught, without
    /// effect, so that one that comes late does not end the process. Signals that come while one is printed count as
    /// one.
    ///
    /// A signal that no handler may take, `SIGKILL` or `SIGSEGV` say, makes [`build`](Builder::build) fail. Of two
    /// calls the last holds.
    pub fn dump_on_signal(mut self, signal: i32) -> Self {
        self.config.dump_signal = Some(signal);
        self
    }
}

impl<E: Engine> Runtime<E> {
    /// What is unfinished: every task, with its state, what it waits for, and since when; so are the closures of
    /// scopes, and sessions. See [`record::dump`](crate::record::dump).
    ///
    /// For any thread, a task's too, at any time. It stops nobody, and waits for nobody but a worker that hands its
    /// tape over: what happened before is in the dump, what happens meanwhile may be in it in part. So a task may be
    /// said to wait for another one that has just ended. Takes time O(u log u) for u unfinished accesses. Not for a
    /// [`Sink`](crate::record::Sink), which is called while tapes are locked.
    ///
    /// Only a runtime built with [`dumps`](Builder::dumps) knows what is unfinished. What another one dumps says so,
    /// and how many tasks each worker has run.
    ///
    /// ```
    /// # use millpond::{Runtime, Spawn};
    /// let rt = Runtime::builder().workers(1).build()?;
    /// assert!(rt.dump().to_string().contains("`Runtime::builder().dumps(true)`"));
    /// # Ok::<(), millpond::BuildError>(())
    /// ```
    pub fn dump(&self) -> Dump {
        self.shared().dump()
    }
}

impl<E: Engine> Shared<E> {
    /// What is unfinished now.
    pub(crate) fn dump(&self) -> Dump {
        let unfinished = self.live().map(|live| {
            self.recorder.drain();
            explain(live, &self.recorder)
        });
        Dump { kept: unfinished.is_some(), unfinished: unfinished.unwrap_or_default(), workers: self.counts() }
    }
}

/// The runtime whose dumps are printed, as long as they are.
type Printed<E> = Arc<Mutex<Option<Weak<Shared<E>>>>>;

/// Prints dumps on a signal, until it is dropped, which is before its runtime is.
pub(crate) struct OnSignal<E: Engine> {
    handler: SigId,
    printed: Printed<E>,
}

impl<E: Engine> OnSignal<E> {
    pub(crate) fn new(signal: i32, shared: &Arc<Shared<E>>) -> io::Result<Self> {
        let (mut told, tell) = UnixStream::pair()?;
        let printed = Arc::new(Mutex::new(Some(Arc::downgrade(shared))));
        // Dropped on an error of the next step, which closes the pipe.
        let this = OnSignal { handler: pipe::register(signal, tell)?, printed: Arc::clone(&printed) };
        let listen = move || while was_told(&mut told) && print(&printed) {};
        thread::Builder::new().name("millpond-dump".to_owned()).spawn(listen)?;
        Ok(this)
    }
}

impl<E: Engine> Drop for OnSignal<E> {
    fn drop(&mut self) {
        *self.printed.lock() = None;
        // Drops the handler's end of the pipe.
        unregister(self.handler);
    }
}

/// Waits for a signal, or several; false if there will be none.
fn was_told(told: &mut UnixStream) -> bool {
    loop {
        match told.read(&mut [0; 64]) {
            Ok(bytes) => return bytes > 0,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
}

/// False if the runtime is gone.
fn print<E: Engine>(printed: &Printed<E>) -> bool {
    let dump = printed.lock().as_ref().and_then(Weak::upgrade).map(|shared| shared.dump());
    let Some(dump) = dump else { return false };
    // As one piece, since others may print too. Nobody can be told that it failed.
    let _ = io::stderr().write_all(format!("{dump}\n").as_bytes());
    true
}

/// Whether a handler may take a signal, and the program go on: not one that is never delivered, nor one that says that
/// an instruction cannot go on.
pub(crate) fn can_be_taken(signal: i32) -> bool {
    !FORBIDDEN.contains(&signal) && ![SIGBUS, SIGTRAP].contains(&signal)
}

/// The number and the name, if it has one.
pub(crate) fn name_of(signal: i32) -> String {
    signal_name(signal).map_or_else(|| signal.to_string(), |name| format!("{signal} ({name})"))
}
