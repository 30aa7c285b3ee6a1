//! The thread that prints dumps on a signal.
//!
//! `signal-hook` installs the handler in addition to earlier ones. The handler writes a byte into a
//! pipe of the runtime. The thread at the other end has a weak reference, which it upgrades under a
//! lock. While it makes a dump, it keeps the workers' shared state. Once the runtime has begun to
//! end, the thread cannot upgrade the reference, and the closed pipe ends it. It is never joined:
//! it may be blocked on an error output that no process reads.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use signal_hook::SigId;
use signal_hook::consts::{FORBIDDEN, SIGBUS, SIGTRAP};
use signal_hook::low_level::{pipe, signal_name, unregister};

use super::{BuildError, Builder};
use crate::record::dump::Dump;
use crate::runtime::engine::Engine;
use crate::sync::Mutex;
use crate::worker::seats::Shared;
use crate::worker::threads;

impl Builder {
    /// Prints a [dump](crate::Runtime::dump) to the error output whenever the process gets this
    /// signal. Give its number: `SIGUSR1` is 10 on most machines. This turns
    /// [`dumps`](Builder::dumps) on, whatever else is set.
    ///
    /// Needs the Cargo feature `signal`.
    ///
    /// ```
    /// use millpond::Runtime;
    /// use signal_hook::consts::SIGUSR1;
    /// use signal_hook::low_level::raise;
    ///
    /// let rt = Runtime::builder().workers(2).dump_on_signal(SIGUSR1).build()?;
    /// // Like `kill -USR1` from a shell.
    /// raise(SIGUSR1)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Any number of runtimes may use the same signal; each prints its own dump. An earlier handler
    /// is called, too. One thread per runtime prints, and ends with the runtime. Afterwards the
    /// signal stays caught, without effect, so that a late signal does not end the process. Signals
    /// that arrive while a dump is printed count as one.
    ///
    /// If no handler may take the signal, for instance `SIGKILL` or `SIGSEGV`,
    /// [`build`](Builder::build) fails. The last of several calls counts.
    pub fn dump_on_signal(mut self, signal: i32) -> Self {
        self.config.dump_signal = Some(signal);
        self
    }
}

/// Returns the runtime's dump function, as long as the runtime exists.
type Dumps = Box<dyn Fn() -> Option<Box<dyn FnOnce() -> Dump>> + Send>;

/// The runtime whose dumps are printed; `None` after it ends.
type Printed = Arc<Mutex<Option<Dumps>>>;

/// Prints dumps on a signal until it is dropped, before the runtime.
pub(crate) struct OnSignal {
    handler: SigId,
    printed: Printed,
}

/// Whether dumps can be printed on the requested signal, if any.
pub(super) fn check(signal: Option<i32>) -> Result<(), BuildError> {
    match signal.filter(|&signal| !can_be_taken(signal)) {
        None => Ok(()),
        Some(signal) => {
            let error = io::Error::new(ErrorKind::InvalidInput, "no handler may take it");
            Err(BuildError::Signal { signal, error })
        }
    }
}

/// Starts to print dumps of a runtime, if the builder asked for it.
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
        // If the next step fails, this is dropped, which closes the pipe.
        let this = OnSignal { handler: pipe::register(signal, tell)?, printed: Arc::clone(&printed) };
        let listen = move || while was_told(&mut told) && print(&printed) {};
        threads::start("millpond-dump".to_owned(), Box::new(listen))?;
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

/// Waits for one or more signals. Returns false if no more will come.
fn was_told(told: &mut UnixStream) -> bool {
    loop {
        match told.read(&mut [0; 64]) {
            Ok(bytes) => return bytes > 0,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
}

/// Returns false if the runtime has ended.
fn print(printed: &Printed) -> bool {
    let dump = { printed.lock().as_ref().and_then(|dumps| dumps()) };
    let Some(dump) = dump else { return false };
    // Without the lock: a dump passes events to the user's sinks.
    let dump = dump();
    // In one write, because other threads may print too. A failure cannot be reported.
    let _ = io::stderr().write_all(format!("{dump}\n").as_bytes());
    true
}

/// Whether a handler may take a signal and the program continue. Excludes signals that are never
/// delivered, and signals after which the instruction cannot continue.
fn can_be_taken(signal: i32) -> bool {
    !FORBIDDEN.contains(&signal) && ![SIGBUS, SIGTRAP].contains(&signal)
}

/// The number, and the name if there is one.
pub(super) fn name_of(signal: i32) -> String {
    signal_name(signal).map_or_else(|| signal.to_string(), |name| format!("{signal} ({name})"))
}
