//! Passes a prepared task to the recording. It visits the accesses a second time, so that an
//! unrecorded task pays nothing.

use std::ptr::NonNull;

use crate::depend::Mode;
use crate::handle::Datum;
use crate::handle::access::{Accesses, Visitor};
use crate::handle::reduction::ReducerRef;
use crate::record::What;
use crate::record::log::Log;
use crate::runtime::spawn::Options;
use crate::task::{Extras, Record, TaskRef};
use crate::worker::Worker;
use crate::worker::engine::WorkerEngine;
use crate::worker::scope_state::ScopeState;

impl<E: WorkerEngine> Worker<E> {
    /// Records that a body spawns a task; returns the extras of that task.
    #[cold]
    pub(in crate::runtime) fn begin_record(&self, scope_state: &ScopeState, options: &Options) -> Extras {
        self.log.note(What::Spawning { body: scope_state.record() });
        options.recorded(self.log.next_id())
    }

    /// Records that the task was prepared with these accesses.
    #[cold]
    pub(in crate::runtime) fn record_prepared<'s, B>(
        &self,
        task: TaskRef,
        scope_state: &ScopeState,
        accesses: &impl Accesses<'s, B>,
    ) {
        self.log.spawned(task, scope_state.record());
        let mut noter = Noter { log: &self.log, claim: scope_state.claim(), records: task.records().iter() };
        drop(accesses.visit(&mut noter));
        debug_assert!(noter.records.next().is_none(), "every record is of one of the accesses");
    }
}

/// Records the datum of each record of a task.
struct Noter<'a> {
    log: &'a Log,
    claim: u64,
    /// The records that were not recorded yet.
    records: std::slice::Iter<'a, Record>,
}

impl Noter<'_> {
    /// Records the datum of the next access, if the next record belongs to it. A misused access has
    /// no record. Another scope's datum must not be read.
    fn note(&mut self, datum: NonNull<Datum>) {
        // SAFETY: the access token borrows the handle.
        let datum = unsafe { datum.as_ref() };
        let Some(record) = self.records.as_slice().first().filter(|_| datum.is_claimed_by(self.claim)) else { return };
        // If two reductions are misused, the first has become an access to the version.
        let reduction = datum.reduction().map(|reduction| reduction.addr().get());
        if record.target() == datum.current().addr().get() || Some(record.target()) == reduction {
            self.log.declared(record.mode(), datum);
            self.records.next();
        }
    }
}

impl Visitor for Noter<'_> {
    fn access(&mut self, datum: NonNull<Datum>, _mode: Mode) {
        self.note(datum);
    }

    fn reduce(&mut self, datum: NonNull<Datum>, _reducer: ReducerRef<'_>) {
        self.note(datum);
    }
}
