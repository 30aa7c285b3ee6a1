//! When a simulation is given up, and why.

use super::{Machine, Processor, seconds};
use crate::config::Error;
use crate::program::Program;

/// The maximum expected number of refusals. Simulating them takes one to three minutes.
const MAX_REFUSALS: f64 = 1e9;

impl<P: Program> Machine<'_, P> {
    /// Fails if thieves will ask too often before all work is done, estimated from the share of
    /// work that is done. While one task prepares the work of all others, that share is too small.
    /// So another bound applies, too: no processor is idle for longer than p·D/Π
    /// ([DDS](crate#sources) §4).
    pub(super) fn check_refusals(&mut self) -> Result<(), Error> {
        (0..self.processors.len()).for_each(|number| self.catch_up(number));
        let (refused, latency, processors) =
            (self.outcome.failed_attempts, self.topology.least_latency(), self.processors.len() as f64);
        let share = seconds(self.tally.work).min(self.outcome.work_seconds) / self.outcome.work_seconds;
        let speed = self.capacity() / self.now;
        let by_span = |span: f64| processors * (processors * span / speed) / latency;
        let by_share = refused as f64 / share;
        let expected = self.outcome.span_seconds.map_or(by_share, |span| by_share.min(by_span(span)));
        if expected.max(refused as f64) <= MAX_REFUSALS {
            return Ok(());
        }
        Err(Error::Refused { refused, share, seconds: self.now, latency })
    }

    /// The possible work of all processors until now, in seconds at unit speed.
    pub(super) fn capacity(&mut self) -> f64 {
        let now = self.now;
        self.processors.iter_mut().map(|processor| processor.speed.capacity(now) / 1e9).sum()
    }

    /// No more events: the remaining work is held by a processor that has left, or its speed is not
    /// drawn any further.
    pub(super) fn stuck(&self) -> Error {
        if let Some(error) = self.restless() {
            return error;
        }
        let (seconds, processors) = (self.now, self.processors.len());
        let works = |processor: &Processor| processor.active.is_some();
        // Results may have arrived for the stacks of a processor that has left.
        let waits = |processor: &Processor| !processor.alive && !processor.suspended.is_empty();
        let holder = self.processors.iter().position(works).or_else(|| self.processors.iter().position(waits));
        match holder.filter(|_| self.processors.iter().any(|processor| processor.alive)) {
            Some(processor) => Error::Stuck { seconds, processor },
            None => Error::Deserted { seconds, processors, fault_below: self.config.fault_below },
        }
    }

    /// The error of a processor whose speed would need more changes than the maximum.
    pub(super) fn restless(&self) -> Option<Error> {
        let processor = self.processors.iter().position(|processor| processor.speed.is_exhausted())?;
        Some(Error::Restless { processor, changes: self.processors[processor].speed.pieces() })
    }
}
