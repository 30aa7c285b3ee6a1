//! What a recording is told of a task that is drafted. Its accesses are gone through once more, since those of a task
//! that is not recorded should not cost a thing.

use std::ptr::NonNull;

use super::domain::Domain;
use super::engine::Engine;
use super::spawn::Options;
use crate::access::{Accesses, Visitor};
use crate::depend::Mode;
use crate::handle::Datum;
use crate::handle::reduction::ReducerRef;
use crate::record::What;
use crate::record::log::Log;
use crate::task::{Extras, Record, TaskRef};
use crate::worker::Worker;

impl<E: Engine> Worker<E> {
    /// A body spawns a task that is recorded: its extras.
    #[cold]
    pub(super) fn begin_record(&self, domain: &Domain, options: &Options) -> Extras {
        self.log.note(What::Spawning { body: domain.record() });
        options.recorded(self.log.next_id())
    }

    /// The task was drafted, of these accesses.
    #[cold]
    pub(super) fn record_draft<'s, B>(&self, task: TaskRef, domain: &Domain, accesses: &impl Accesses<'s, B>) {
        self.log.spawned(task, domain.record());
        drop(accesses.visit(&mut Noter { log: &self.log, claim: domain.claim(), records: task.records().iter() }));
    }
}

/// Tells which datum each record of a task is of.
struct Noter<'a> {
    log: &'a Log,
    claim: u64,
    /// Those that were not told yet.
    records: std::slice::Iter<'a, Record>,
}

impl Noter<'_> {
    /// The datum of the next access, and what its record would point to: an access that was misuse has none.
    fn note<T>(&mut self, datum: &Datum, target: Option<NonNull<T>>) {
        let next = self.records.as_slice().first();
        if let (Some(record), Some(target)) = (next, target)
            && record.target() == target.addr().get()
        {
            self.log.declared(record.mode(), datum);
            self.records.next();
        }
    }
}

impl Visitor for Noter<'_> {
    fn access(&mut self, datum: NonNull<Datum>, _mode: Mode) {
        // SAFETY: the access token borrows the handle.
        let datum = unsafe { datum.as_ref() };
        // Another scope's must not be looked at.
        if datum.is_claimed_by(self.claim) {
            self.note(datum, Some(datum.current()));
        }
    }

    fn reduce(&mut self, datum: NonNull<Datum>, _reducer: ReducerRef<'_>) {
        // SAFETY: the access token borrows the handle.
        let datum = unsafe { datum.as_ref() };
        if datum.is_claimed_by(self.claim) {
            self.note(datum, datum.reduction());
        }
    }
}
