//! The thread that prints dumps on a signal.
//!
//! The signal's handler, which `signal-hook` installs beside those of others, writes a byte into a pipe of the runtime.
//! The thread at its other end has a weak reference, and follows it under a lock. While it makes a dump, it keeps what the
//! workers share. Once the runtime has begun to go, it finds none there, and the pipe is closed, which ends the thread. It is
//! never joined: it may be stuck in an error output that is not read.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use signal_hook::SigId;
use signal_hook::consts::{FORBIDDEN, SIGBUS, SIGTRAP};
use signal_hook::low_level::{pipe, signal_name, unregister};

use super::{BuildError, Builder};
use crate::engine::Engine;
use crate::record::dump::Dump;
use crate::sync::Mutex;
use crate::worker::seats::Shared;
use crate::worker::threads;

impl Builder {
    /// Prints a [dump](crate::Runtime::dump) to the error output whenever the process gets this signal, by its number: say
    /// `SIGUSR1`, 10 on most machines. Then [`dumps`](Builder::dumps) are on, whatever else is said.
    ///
    /// Needs the Cargo feature `signal`.
    ///
    /// ```
    /// use millpond::Runtime;
    /// use signal_hook::consts::SIGUSR1;
    /// use signal_hook::low_level::raise;
    ///
    /// let rt = Runtime::builder().workers(2).dump_on_signal(SIGUSR1).build()?;
    /// // As `kill -USR1` does it, from a virtual frame.
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

/// Finds the runtime, as long as it is there, to dump it.
type Dumps = Box<dyn Fn() -> Option<Box<dyn FnOnce() -> Dump>> + Send>;

/// The runtime whose dumps are printed, as long as they are.
type Printed = Arc<Mutex<Option<Dumps>>>;

/// Prints dumps on a signal, until it is dropped, which is before its runtime is.
pub(crate) struct OnSignal {
    handler: SigId,
    printed: Printed,
}

/// Whether dumps can be printed on the signal that was asked for, if one was.
pub(super) fn check(signal: Option<i32>) -> Result<(), BuildError> {
    match signal.filter(|&signal| !can_be_taken(signal)) {
        None => Ok(()),
        Some(signal) => {
            let error = io::Error::new(ErrorKind::InvalidInput, "no handler may take it");
            Err(BuildError::Signal { signal, error })
        }
    }
}

/// Begins to print dumps of a runtime, if that was asked for.
pub(super) fn begin<E: Engine>(shared: &Arc<Shared<E>>) -> Result<Option<OnSignal>, BuildError> {
    let Some(signal) = shared.config.dump_signal else { return Ok(None) };
    let weak = Arc::downgrade(shared);
    let dumps = move || -> Option<Box<dyn FnOnce() -> Dump>> {
        let shared = weak.upgrade()?;
        Some(Box::new(move || shared.dump()))
    };
    OnSignal::new(signal, Box::new(dumps)).map(Some).map_err(|error| BuildError::Signal { signal, error })
}

impl OnSignal {
    fn new(signal: i32, dumps: Dumps) -> io::Result<Self> {
        let (mut told, tell) = UnixStream::pair()?;
        let printed = Arc::new(Mutex::new(Some(dumps)));
        // Dropped on an error of the next step, which closes the pipe.
        let this = OnSignal { handler: pipe::register(signal, tell)?, printed: Arc::clone(&printed) };
        let listen = move || while was_told(&mut told) && print(&printed) {};
        threads::start("millpond-dump".to_owned(), listen)?;
        Ok(this)
    }
}

impl Drop for OnSignal {
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
fn print(printed: &Printed) -> bool {
    let dump = { printed.lock().as_ref().and_then(|dumps| dumps()) };
    let Some(dump) = dump else { return false };
    // Without the lock: a dump gives events to the sinks of others.
    let dump = dump();
    // As one piece, since others may print too. There is no place to report a failure to.
    let _ = io::stderr().write_all(format!("{dump}\n").as_bytes());
    true
}

/// Whether a handler may take a signal, and the program go on: not one that is never delivered, nor one that says that
/// an instruction cannot go on.
fn can_be_taken(signal: i32) -> bool {
    !FORBIDDEN.contains(&signal) && ![SIGBUS, SIGTRAP].contains(&signal)
}

/// The number and the name, if it has one.
pub(super) fn name_of(signal: i32) -> String {
    signal_name(signal).map_or_else(|| signal.to_string(), |name| format!("{signal} ({name})"))
}
