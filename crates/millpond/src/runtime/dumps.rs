//! Dumps: the account of unfinished tasks.

use super::{Builder, Runtime};
use crate::engine::Engine;
use crate::record::dump::{Dump, explain};
use crate::worker::seats::Shared;

impl Builder {
    /// Keeps account of the tasks that are not complete, for [`Runtime::dump`]. Off by default.
    ///
    /// The account is made of what the runtime records, so a runtime with dumps records all the time. That takes some
    /// 0.3 to 0.5 µs a task: two workers run about 1 million independent tasks with a body of 1 µs in a second, in
    /// place of 1.6 million (`cargo test --profile max -p millpond --test it -- --ignored --nocapture dump::stress::cost`).
    /// It takes memory for what is unfinished, a few hundred bytes a task, and 48 KiB a thread that works. While it is
    /// off, it costs nothing.
    pub fn dumps(mut self, dumps: bool) -> Self {
        self.config.dumps = dumps;
        self
    }
}

impl<E: Engine> Runtime<E> {
    /// What is unfinished: every task, with its state, what it waits for, and since when; so are the closures of
    /// scopes, and sessions. See [`record::dump`](crate::record::dump).
    ///
    /// For any thread, a task's too, at any time. It stops nobody, and waits for nobody but a worker that hands its
    /// tape over: what happened before is in the dump, what happens meanwhile may be in it in part. So a task may be
    /// said to wait for another one that has just ended. Takes time O(u log u) for u unfinished accesses. A
    /// [`Sink`](crate::record::Sink) that dumps does not see what is on its way to the sinks.
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
        let known = self.live().filter(|_| !self.is_forked()).map(|live| {
            self.recorder.drain();
            explain(live, &self.recorder)
        });
        let kept = known.is_some();
        let (unfinished, busy) = known.unwrap_or_default();
        Dump { kept, unfinished, busy, workers: self.counts() }
    }
}
