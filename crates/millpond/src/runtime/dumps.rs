//! Dumps: the unfinished tasks of a runtime.

use super::{Builder, Runtime};
use crate::record::dump::{Dump, explain};
use crate::worker::engine::WorkerEngine;
use crate::worker::seats::Shared;

impl Builder {
    /// Tracks the tasks that are not complete, for [`Runtime::dump`]. Off by default, and then
    /// without cost.
    ///
    /// The dump uses the recording, so a runtime with dumps always records. To measure the cost,
    /// run `cargo test --profile max -p millpond --test it -- --ignored --nocapture
    /// dump::stress::cost`.
    ///
    /// | cost | |
    /// |---|---|
    /// | time per task | 0.3 to 0.5 µs |
    /// | independent tasks of 1 µs per second on two workers | 1 million instead of 1.6 million |
    /// | memory per unfinished task | a few hundred bytes |
    /// | memory per working thread | 48 KiB |
    pub fn dumps(mut self, dumps: bool) -> Self {
        self.config.dumps = dumps;
        self
    }
}

impl<E: crate::runtime::engine::Engine> Runtime<E> {
    /// Returns all unfinished tasks, closures of scopes, and sessions. For each it gives the state,
    /// what it waits for, and since when. See [`record::dump`](crate::record::dump).
    ///
    /// Any thread may call it at any time, also in a task. It stops no thread, and waits only for a
    /// worker that is handing over its event buffer. The dump has all earlier events, and perhaps
    /// some that happen during the call. So it may say that a task waits for another one that has
    /// just completed. Takes O(u log u) for u unfinished accesses. If a
    /// [`Sink`](crate::record::Sink) calls it, the dump lacks the events in transit to the sinks.
    ///
    /// Only a runtime built with [`dumps`](Builder::dumps) tracks unfinished tasks. Otherwise the
    /// dump says so, and has only the number of tasks run by each worker.
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

impl<E: WorkerEngine> Shared<E> {
    /// Everything that is unfinished now.
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
