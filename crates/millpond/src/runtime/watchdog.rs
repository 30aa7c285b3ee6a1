//! The watchdog: a thread that tells which bodies keep workers for long.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{BuildError, Builder};
use crate::engine::Engine;
use crate::record::dump::{Dump, State};
use crate::record::{Cause, Id};
use crate::sync::{Condvar, Mutex, fork};
use crate::worker::seats::Shared;
use crate::worker::threads;

/// It looks so often in the time after which it tells.
const LOOKS: u32 = 4;

impl Builder {
    /// Prints a line to the error output for each body that keeps a worker for so long, and again whenever that time has doubled:
    /// "worker 1 has been in `solve(3)` for 5.1 s while it holds 3 suspended bodies". If no body runs for so long though some are
    /// unfinished, and none of them waits for a future or a precondition, it prints a [dump](crate::Runtime::dump) once.
    ///
    /// Off by default. With it [`dumps`](Builder::dumps) are on, at their cost. A thread looks four times in that time while a scope
    /// or a session is open; otherwise it sleeps. The shortest time is one millisecond.
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

/// Whether there is anything to watch. CallerContexts share their runtime's.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    watched: Mutex<Watched>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Watched {
    /// Scopes and sessions that are open.
    open: usize,
    /// The watchdog looks at the runtime just now.
    looks: bool,
    /// The runtime ends.
    ended: bool,
}

impl Watch {
    /// A scope or a session is open until the guard is dropped.
    pub(crate) fn open(self: &Arc<Self>) -> Open {
        self.change(|watched| watched.open += 1);
        Open { watch: Arc::clone(self), generation: fork::generation() }
    }

    fn change(&self, change: impl FnOnce(&mut Watched)) {
        change(&mut self.watched.lock());
        // While the watchdog looks, it does not wait: so one thread waits at most.
        self.changed.notify_one();
    }

    /// Waits until something is open, and then for that time; then the watchdog looks. False if the runtime ends.
    fn sleep(&self, time: Duration) -> bool {
        let mut watched = self.watched.lock();
        while watched.open == 0 && !watched.ended {
            watched = self.changed.wait(watched);
        }
        let mut woken = true;
        // What is opened and closed meanwhile wakes it, too.
        let until = Instant::now() + time;
        while woken && !watched.ended {
            let left = until.saturating_duration_since(Instant::now());
            (watched, woken) = self.changed.wait_for(watched, left);
        }
        watched.looks = !watched.ended;
        watched.looks
    }

    /// The runtime ends; waits for a look that has begun.
    fn end(&self) {
        self.change(|watched| watched.ended = true);
        let mut watched = self.watched.lock();
        while watched.looks {
            watched = self.changed.wait(watched);
        }
    }
}

/// A scope or a session that is open.
#[derive(Debug)]
pub(crate) struct Open {
    watch: Arc<Watch>,
    generation: u32,
}

impl Drop for Open {
    fn drop(&mut self) {
        // In the child of a fork there is no watchdog, and it may have held the lock.
        if self.generation == fork::generation() {
            self.watch.change(|watched| watched.open -= 1);
        }
    }
}

/// The thread looks at the runtime until this is dropped, which is before its runtime is. It is not joined: while it prints, it may
/// wait for whoever reads the error output.
#[derive(Debug)]
pub(crate) struct Watchdog(Arc<Watch>);

/// Begins to watch a runtime, if that was asked for.
pub(super) fn begin<E: Engine>(shared: &Arc<Shared<E>>) -> Result<Option<Watchdog>, BuildError> {
    let (Some(after), Some(watch)) = (shared.config.watchdog, shared.config.watch.clone()) else { return Ok(None) };
    let (weak, watched) = (Arc::downgrade(shared), Arc::clone(&watch));
    let look = move || {
        let mut told = Told::new(after);
        while watched.sleep(after / LOOKS) {
            let dump = weak.upgrade().map(|shared| shared.dump());
            watched.change(|watched| watched.looks = false);
            let Some(dump) = dump else { return };
            // As one piece, since others may print too. There is no place to report a failure to.
            let _ = io::stderr().write_all(told.look(&dump).as_bytes());
        }
    };
    drop(threads::start("millpond-watchdog".to_owned(), look).map_err(BuildError::Thread)?);
    Ok(Some(Watchdog(watch)))
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// What was told already.
struct Told {
    after: Duration,
    /// When each body is told of again.
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

    /// Whether no body runs, and none that is unfinished waits for somebody outside.
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
