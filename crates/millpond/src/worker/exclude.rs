//! A task's exclusions, in ascending order of address (`handle::exclusion`).

use std::ptr::{self, NonNull};

use super::Worker;
use crate::depend::Mode;
use crate::engine::Engine;
use crate::handle::Version;
use crate::pool::Put;
use crate::task::{Record, TaskRef, flag};

#[cfg(all(test, loom))]
mod loom_tests;

/// The record whose exclusion comes after that of the version at `after`.
fn next_after(task: TaskRef, after: *const Version) -> Option<NonNull<Record>> {
    let commutative = task.records().iter().filter(|record| record.mode() == Mode::Commutative);
    commutative
        .filter(|record| ptr::from_ref(record.version()) > after)
        .min_by_key(|record| ptr::from_ref(record.version()))
        .map(NonNull::from)
}

/// Takes the exclusions from `after` on; false if the task waits for one, and will be handed it.
fn acquire_after(task: TaskRef, mut after: *const Version) -> bool {
    while let Some(record) = next_after(task, after) {
        // SAFETY: the task waits for nothing yet, so it has not run, and its block with its records is there.
        let record = unsafe { record.as_ref() };
        let version = record.version();
        // Read before: once the record waits, the task may run and be gone.
        after = version;
        if !version.exclusion.acquire(record) {
            return false;
        }
    }
    true
}

/// Takes all exclusions; false if the task waits for one, and will be handed it.
pub(super) fn acquire_all(task: TaskRef) -> bool {
    !task.header().has(flag::COMMUTATIVE) || acquire_after(task, ptr::null())
}

/// Gives an exclusion back; the task that is handed it, of which `handed` is told, goes on to its next ones, and is
/// returned if it has all.
fn hand_over(version: &Version, handed: impl FnOnce(&Record)) -> Option<TaskRef> {
    let record = version.exclusion.release()?;
    // SAFETY: the record's task waits, so it is alive; it is ours now.
    let record = unsafe { record.as_ref() };
    let task = record.task();
    handed(record);
    acquire_after(task, record.version()).then_some(task)
}

impl<E: Engine> Worker<E> {
    /// Gives an exclusion of task `by` back; the task that is handed it goes on to its next ones, or into the pool.
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

    /// Takes all exclusions if they are free, else none.
    pub(crate) fn try_exclude_all(&self, task: TaskRef) -> bool {
        E::try_exclude_all(self, task)
    }

    /// Gives all exclusions of a task back.
    pub(crate) fn release_exclusions(&self, task: TaskRef) {
        E::release_exclusions(self, task);
    }

    pub(crate) fn try_exclude_all_here(&self, task: TaskRef) -> bool {
        let commutative = || task.records().iter().filter(|record| record.mode() == Mode::Commutative);
        let taken = commutative().take_while(|record| record.version().exclusion.try_acquire()).count();
        let all = taken == commutative().count();
        if !all {
            commutative().take(taken).for_each(|record| self.release_exclusion(task, record.version()));
        }
        all
    }

    pub(crate) fn release_exclusions_here(&self, task: TaskRef) {
        let commutative = task.records().iter().filter(|record| record.mode() == Mode::Commutative);
        commutative.for_each(|record| self.release_exclusion(task, record.version()));
    }
}
