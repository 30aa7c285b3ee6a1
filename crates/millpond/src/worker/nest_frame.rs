//! A parent's frame: its scope's counts, and its view of the data that it declared.

use std::cell::Cell;
use std::ptr::NonNull;

use crate::depend::Mode;
use crate::depend::tracker::SchemeOps;
use crate::error::{Error, Kind};
use crate::handle::Datum;
use crate::handle::claim;
use crate::handle::datum::Whole;
use crate::handle::version::{Allocation, Dropped, State, Version};
use crate::task::{FRAME_ALIGN, FRAME_HEAD, HELD_STRIDE, Record, TaskRef};
use crate::worker::complete::panicked;
use crate::worker::scope_state::ScopeState;

/// The part of a block that only a parent has. One [`Whole`] for each of its accesses follows it.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct NestFrame {
    scope_state: ScopeState,
    task: TaskRef,
    scheme: &'static SchemeOps,
    /// How many data have been made. Each is made when the body's handle is made.
    held: Cell<usize>,
}

const _: () = assert!(size_of::<NestFrame>() <= FRAME_HEAD && align_of::<NestFrame>() <= FRAME_ALIGN);

impl TaskRef {
    /// The place of a parent's frame.
    pub(crate) fn nest_frame_at(self) -> NonNull<NestFrame> {
        self.frame_at().cast()
    }
}

impl NestFrame {
    /// Puts a frame into a block.
    ///
    /// # Safety
    ///
    /// `task` is a parent that is about to run, on the worker of seat `seat`; `scheme` orders what
    /// its body spawns.
    pub(crate) unsafe fn open<'a>(task: TaskRef, seat: usize, scheme: &'static SchemeOps) -> &'a NestFrame {
        let at = task.nest_frame_at();
        // SAFETY: the scope that spawned a task outlives it.
        let scope_state = ScopeState::nested(unsafe { task.header().scope_state().as_ref() }, task, seat);
        let frame = NestFrame { scope_state, task, scheme, held: Cell::new(0) };
        // SAFETY: the block has room for the frame, and no other code uses it yet.
        unsafe { at.write(frame) };
        // SAFETY: just written; it stays until the task is complete.
        unsafe { at.as_ref() }
    }

    pub(crate) fn scope_state(&self) -> &ScopeState {
        &self.scope_state
    }

    fn datum_at(&self, index: usize) -> NonNull<Datum> {
        let behind = self.task.frame_at();
        // SAFETY: `Shape::block_size` made room behind the frame for one datum per access.
        unsafe { behind.add(FRAME_HEAD + index * HELD_STRIDE) }.cast()
    }

    /// Makes the datum through which the body sees its access `index`. The value is at `value`.
    pub(crate) fn hold(&self, index: usize, record: &Record, value: NonNull<()>) -> NonNull<Datum> {
        debug_assert_eq!(index, self.held.get(), "data are made in order");
        let parent = record.version();
        let at = self.datum_at(index);
        // SAFETY: the place is reserved for this datum and not used yet.
        unsafe { at.cast().write(Whole::held(parent, value, claim::NESTED, self.scheme)) };
        // SAFETY: just written, and it does not move: the block stays until the task is complete.
        unsafe { Datum::make_first_current(at) };
        self.held.set(index + 1);
        // SAFETY: just written.
        let first = unsafe { Datum::first(at) };
        if record.declared() == Mode::Write {
            // The old value is spent, but stays until it is overwritten.
            first.set_full(parent.is_full());
        } else {
            first.set_full(true);
            first.set_state(State::Produced);
        }
        at
    }

    /// Makes no datum for access `index`: the body accumulates, and has no view of the datum.
    pub(crate) fn hold_nothing(&self, index: usize) {
        debug_assert_eq!(index, self.held.get(), "data are made in order");
        self.held.set(index + 1);
    }

    /// Gives the versions of the descendants to the parent's versions. Returns the task's error, if
    /// there is one.
    ///
    /// # Safety
    ///
    /// The body and all its descendants are complete. This is called once.
    pub(crate) unsafe fn hand_back(&self) -> Option<Error> {
        let records = self.task.records();
        let mut dropped = Ok(());
        for (index, record) in records.iter().enumerate().take(self.held.get()) {
            // SAFETY: that many data were made, and nothing below the body runs any more.
            dropped = dropped.and(unsafe { self.hand_back_one(index, record) });
        }
        let dropped = dropped.err().map(|caught| panicked(self.task, &caught));
        outcome(self.task, &self.scope_state, dropped)
    }

    /// # Safety
    ///
    /// As for [`hand_back`](NestFrame::hand_back), and datum `index` was made.
    unsafe fn hand_back_one(&self, index: usize, record: &Record) -> Dropped {
        if record.accumulates() {
            return Ok(());
        }
        // SAFETY: the datum was made and lives as long as the frame.
        let at = self.datum_at(index);
        // SAFETY: as above.
        let datum = unsafe { at.as_ref() };
        // SAFETY: as above.
        let first = unsafe { Datum::first(at) };
        datum.forget_accesses();
        match record.declared() {
            Mode::Read => {
                first.set_state(State::Unset);
                Ok(())
            }
            Mode::Concurrent => {
                if let State::Failed(error) = datum.version().state() {
                    record.version().fail_in_group(record.group(), &error);
                }
                first.set_state(State::Unset);
                Ok(())
            }
            Mode::Reduce => {
                let part = Version::new(record.version().kind(), Allocation::Held, first.value());
                // SAFETY: nothing below runs any more, and only this task uses the private copy.
                let dropped = unsafe { Datum::hand_back(at, &part) };
                if let State::Failed(error) = part.state() {
                    record.version().fail_in_group(record.group(), &error);
                    record.discard_part(part.is_full());
                }
                part.set_state(State::Unset);
                dropped
            }
            Mode::Commutative => {
                let parent = record.version();
                if let State::Failed(error) = datum.version().state() {
                    parent.fail_in_group(record.group(), &error);
                    datum.version().set_state(State::Produced);
                }
                let before = parent.state();
                // SAFETY: nothing below runs any more, and this task holds the exclusion.
                let dropped = unsafe { Datum::hand_back(at, parent) };
                if matches!(before, State::Failed(_)) {
                    parent.set_state(before);
                }
                dropped
            }
            // SAFETY: nothing below runs any more; an `inout` or `write` has its version alone.
            Mode::Inout | Mode::Write => unsafe { Datum::hand_back(at, record.version()) },
        }
    }
}

/// The error of a parent whose descendants have ended, if there is one. Then the unwritten versions
/// that the parent should have written become failed.
pub(crate) fn outcome(task: TaskRef, scope_state: &ScopeState, dropped: Option<Error>) -> Option<Error> {
    let unset = |record: &&Record| record.declared() == Mode::Write && matches!(record.version().state(), State::Unset);
    let unwritten = || {
        let arg = task.records().iter().position(|record| unset(&record))?;
        Some(Error::new(task.label(), Kind::Unwritten { arg }))
    };
    // In reference order, the body's own failure comes after those of its children. Causes come
    // before consequences.
    let failures = [scope_state.first_failure(), scope_state.own_failure().cloned(), dropped];
    let cause = failures.iter().flatten().find(|error| !error.is_consequence()).cloned();
    let error = cause.or_else(|| failures.into_iter().flatten().next()).or_else(unwritten);
    if let Some(error) = &error {
        let failed = || State::Failed(error.root().clone());
        task.records().iter().filter(unset).for_each(|record| record.version().set_state(failed()));
    }
    error
}
