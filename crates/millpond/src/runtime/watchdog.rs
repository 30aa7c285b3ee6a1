//! The watchdog: a thread that reports bodies that keep workers for long.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use super::{BuildError, Builder};
use crate::record::dump::{Dump, State};
use crate::record::{Cause, Id};
use crate::runtime::engine::Engine;
use crate::worker::seats::Shared;
use crate::worker::threads;
use crate::worker::watched::Watch;

/// How many times it checks in the configured time.
const CHECKS_PER_PERIOD: u32 = 4;

impl Builder {
    /// Reports long-running bodies on the error output.
    ///
    /// The watchdog prints a line for each body that keeps a worker for this time, and again
    /// whenever that time doubles. For example: "worker 1 has been in `solve(3)` for 5.1 s while it
    /// holds 3 suspended bodies". It also detects a standstill: no body runs for this time, some
    /// are unfinished, and none of them waits for a future or a precondition. Then it prints a
    /// [dump](crate::Runtime::dump) once.
    ///
    /// Off by default. It turns [`dumps`](Builder::dumps) on, with their cost. A thread checks four
    /// times per period while a scope or a session is open; otherwise it sleeps. The shortest
    /// period is one millisecond.
    ///
    /// ```
    /// use std::time::Duration;
    /// use millpond::{Runtime, Spawn};
    ///
    /// let rt = Runtime::builder().workers(2).watchdog(Duration::from_secs(5)).build()?;
    /// assert_eq!(rt.scope(|s| s.wait(s.spawn((), |()| 42)))??, 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn watchdog(mut self, after: Duration) -> Self {
        self.config.watchdog = Some(after);
        self
    }
}

/// The thread watches the runtime until this is dropped, before the runtime. The thread is not
/// joined: while it prints, it may wait for the reader of the error output.
#[derive(Debug)]
pub(crate) struct Watchdog(Arc<Watch>);

/// Starts to watch a runtime, if the builder asked for it.
pub(super) fn begin<E: Engine>(shared: &Arc<Shared<E>>) -> Result<Option<Watchdog>, BuildError> {
    let (Some(after), Some(watch)) = (shared.config.watchdog, shared.config.watch.clone()) else { return Ok(None) };
    let (weak, watched) = (Arc::downgrade(shared), Arc::clone(&watch));
    let look = move || {
        let mut told = Told::new(after);
        while watched.sleep(after / CHECKS_PER_PERIOD) {
            let dump = weak.upgrade().map(|shared| shared.dump());
            watched.end_check();
            let Some(dump) = dump else { return };
            // In one write, because other threads may print too. A failure cannot be reported.
            let _ = io::stderr().write_all(told.look(&dump).as_bytes());
        }
    };
    drop(threads::start("millpond-watchdog".to_owned(), Box::new(look)).map_err(BuildError::Thread)?);
    Ok(Some(Watchdog(watch)))
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// What was reported already.
struct Told {
    after: Duration,
    /// When each body is reported again.
    bodies: Vec<(Id, Duration)>,
    stands: bool,
}

impl Told {
    fn new(after: Duration) -> Self {
        Told { after, bodies: Vec::new(), stands: false }
    }

    /// The text to print.
    fn look(&mut self, dump: &Dump) -> String {
        self.bodies.retain(|(id, _)| dump.busy.iter().any(|busy| busy.body.id == *id));
        let mut text = String::new();
        for busy in dump.busy.iter().filter(|busy| !busy.is_closure || busy.suspended > 0) {
            let at = self.bodies.iter().position(|(id, _)| *id == busy.body.id).unwrap_or_else(|| {
                self.bodies.push((busy.body.id, self.after));
                self.bodies.len() - 1
            });
            let next = &mut self.bodies[at].1;
            if busy.since >= *next {
                *next = busy.since * 2;
                text += &format!("millpond: {busy}\n");
            }
        }
        let stands = self.stands(dump);
        if stands && !self.stands {
            text += &format!("millpond: no body has run for {:.1?}\n{dump}\n", self.after);
        }
        self.stands = stands;
        text
    }

    /// Whether no body runs, and no unfinished one waits for something outside.
    fn stands(&self, dump: &Dump) -> bool {
        let mut tasks = dump.unfinished.iter().filter(|body| body.role.is_some()).peekable();
        let within = |state| match state {
            State::Pending | State::Running { .. } => false,
            State::Waiting { cause, .. } => cause != Cause::Others,
            State::Data | State::Turn | State::Ready | State::Ended { .. } => true,
        };
        dump.busy.is_empty()
            && tasks.peek().is_some()
            && tasks.all(|body| within(body.state) && body.since >= self.after)
    }
}
