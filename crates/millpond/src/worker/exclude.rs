//! A task's exclusions. A task takes them in ascending order of address (`handle::exclusion`).

use std::ptr::{self, NonNull};

use super::Worker;
use crate::depend::Mode;
use crate::handle::Version;
use crate::pool::Put;
use crate::task::{Record, TaskRef, flag};
use crate::worker::engine::WorkerEngine;

#[cfg(all(test, loom))]
mod loom_tests;

/// The record with the next exclusion, in order of address, after the version at `after`.
fn next_after(task: TaskRef, after: *const Version) -> Option<NonNull<Record>> {
    let mut next: Option<&Record> = None;
    for record in task.records() {
        let version = ptr::from_ref(record.version());
        let is_first = next.is_none_or(|next| version < ptr::from_ref(next.version()));
        if record.mode() == Mode::Commutative && version > after && is_first {
            next = Some(record);
        }
    }
    next.map(NonNull::from)
}

/// Takes the exclusions that come after `after`. Returns false if the task waits for one: a later
/// release hands it over.
fn acquire_after(task: TaskRef, mut after: *const Version) -> bool {
    while let Some(record) = next_after(task, after) {
        // SAFETY: the task waits for nothing yet, so it has not run, and its block with its records
        // is alive.
        let record = unsafe { record.as_ref() };
        let version = record.version();
        // Set before `acquire`: once the record waits, the task may run and be freed.
        after = version;
        if !version.exclusion.acquire(record) {
            return false;
        }
    }
    true
}

/// Takes all exclusions. Returns false if the task waits for one: a later release hands it over.
pub(super) fn acquire_all(task: TaskRef) -> bool {
    !task.header().has(flag::COMMUTATIVE) || acquire_after(task, ptr::null())
}

/// Gives an exclusion back. If a task waits for it, the task gets it, `handed` is called, and the
/// task continues with its next ones. Returns the task if it has all.
fn hand_over(version: &Version, handed: impl FnOnce(&Record)) -> Option<TaskRef> {
    let record = version.exclusion.release()?;
    // SAFETY: the record's task waits, so it is alive. This thread owns it now.
    let record = unsafe { record.as_ref() };
    let task = record.task();
    handed(record);
    acquire_after(task, record.version()).then_some(task)
}

impl<E: WorkerEngine> Worker<E> {
    /// Gives back an exclusion of task `by`. The task that gets it continues with its next ones, or
    /// goes into the pool.
    pub(super) fn release_exclusion(&self, by: TaskRef, version: &Version) {
        let note = |record: &Record| {
            if record.task().header().has(flag::RECORDED) {
                self.log.handed(record, by);
            }
        };
        if let Some(task) = hand_over(version, note) {
            self.put(task, Put::Released);
        }
    }

    /// Takes all exclusions, or none if one is not free.
    pub(crate) fn try_exclude_all(&self, task: TaskRef) -> bool {
        E::try_exclude_all(self, task)
    }

    /// Gives back all exclusions of a task.
    pub(crate) fn release_exclusions(&self, task: TaskRef) {
        E::release_exclusions(self, task);
    }

    pub(crate) fn try_exclude_all_here(&self, task: TaskRef) -> bool {
        let records = task.records();
        for (place, record) in records.iter().enumerate() {
            if record.mode() == Mode::Commutative && !record.version().exclusion.try_acquire() {
                self.release_exclusions_of(task, &records[..place]);
                return false;
            }
        }
        true
    }

    pub(crate) fn release_exclusions_here(&self, task: TaskRef) {
        self.release_exclusions_of(task, task.records());
    }

    fn release_exclusions_of(&self, task: TaskRef, records: &[Record]) {
        for record in records {
            if record.mode() == Mode::Commutative {
                self.release_exclusion(task, record.version());
            }
        }
    }
}
