//! Compact parents (`task::compact`). When the body of one runs, its scope and views are made in
//! the stack.
//!
//! ```text
//!   0    Frame
//!  64    ScopeState         its scope; nothing is written in the last line
//! 256    Datum × accesses   views of the data that it declared, with its parent's versions
//!   …    closures
//! ```
//!
//! A parent that is stolen, or that must not run, is expanded first (`TaskRef::expand`).

use std::ptr::NonNull;

use crate::depend::Mode;
use crate::depend::tracker::SchemeOps;
use crate::error::Error;
use crate::handle::version::State;
use crate::handle::{Datum, Version};
use crate::memory::LINE;
use crate::stack::StackEngine;
use crate::stack::in_order::InOrder;
use crate::stack::layout::frames::Frames;
use crate::stack::owner::inline_subtree::Begun;
use crate::task::{TaskRef, Uses, flag};
use crate::worker::Worker;
use crate::worker::complete::BodyStarted;
use crate::worker::nest_frame::outcome;
use crate::worker::scope_state::ScopeState;

/// The data of a beginning body.
pub(crate) struct Opened<'a> {
    pub(crate) scope_state: &'a ScopeState,
    /// The first of its views. There is one per access.
    pub(crate) views: NonNull<Datum>,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Datum>() == LINE && size_of::<ScopeState>().is_multiple_of(LINE));

/// Prepares a version for a beginning parent with this access to it.
#[inline(always)]
pub(in crate::stack) fn open_version(version: &Version, mode: Mode) {
    if mode == Mode::Write {
        // The old value is spent, but stays until it is overwritten. The parent uses the version
        // alone.
        version.set_state(State::Unset);
    }
}

/// Writes a parent's views of the versions of these accesses.
///
/// # Safety
///
/// There is room for a view per version, which no other code uses. The parent has these accesses,
/// and runs.
#[inline(always)]
unsafe fn write_views(views: NonNull<Datum>, uses: Uses<'_>) {
    for index in 0..uses.count() {
        open_version(uses.version(index), uses.mode(index));
        // SAFETY: as the caller promises.
        let at = unsafe { views.add(index) };
        // SAFETY: as above.
        unsafe { at.write(Datum::view(uses.at(index), SchemeOps::of::<InOrder>())) };
    }
}

impl Worker<StackEngine> {
    /// Opens the frame of a compact parent.
    ///
    /// # Safety
    ///
    /// The parent comes next in its stack, which this worker runs. The accesses are the parent's.
    #[inline(always)]
    pub(crate) unsafe fn open_parent<'a>(&self, task: TaskRef, uses: Uses<'_>) -> Opened<'a> {
        // SAFETY: the scope outlives its tasks.
        let scope: &ScopeState = unsafe { task.header().scope_state().as_ref() };
        let frames = scope.frames().expect("the stack that it lies in");
        let mut place: NonNull<ScopeState> = NonNull::dangling();
        let room = (size_of::<ScopeState>() + uses.count() * size_of::<Datum>()).next_multiple_of(LINE);
        let make = |at: NonNull<u8>| {
            place = at.cast();
            // SAFETY: there is room, which no other code uses.
            unsafe { ScopeState::nest_in_frame(place, scope, task, self.seat(), frames.cast()) };
            place
        };
        // SAFETY: stacks live as long as the runtime.
        unsafe { frames.as_ref() }.open_with(room, make);
        // SAFETY: it is inside that room.
        let views: NonNull<Datum> = unsafe { place.add(1) }.cast();
        // SAFETY: as above.
        unsafe { write_views(views, uses) };
        // SAFETY: it was made above, and stays until the frame is closed.
        Opened { scope_state: unsafe { place.as_ref() }, views }
    }

    /// Runs the body of the next closure, a compact parent, in a new frame of the stack. The
    /// closures of that frame come next. Returns false if the body must not run, and has not.
    #[inline]
    pub(in crate::stack) fn run_parent_here(&self, this: TaskRef, frames: &Frames) -> bool {
        let level = frames.level() + 1;
        let begun = if this.header().has(flag::PORTABLE) {
            frames.inline_subtrees.begin(&self.shared().config, level, || self.stack_for_bodies_until())
        } else {
            Begun::Usual
        };
        // SAFETY: it comes next, and no other thread runs it.
        let ran = unsafe { this.run_compact(self.erased()) };
        if begun != Begun::Usual {
            frames.inline_subtrees.end(begun, level, !matches!(ran, Err(None)));
        }
        let failed = match ran {
            Ok(()) => None,
            Err(None) => return false,
            Err(failed) => failed,
        };
        if let Begun::Measured(began) = begun {
            frames.frame().began.set(began);
        }
        // SAFETY: it is the parent's scope, in the frame that was just opened.
        let scope_state = unsafe { frames.frame().scope_state.as_ref() };
        if let Some(error) = failed {
            scope_state.set_own_failure(error);
        }
        self.combine_open(scope_state);
        frames.frame().live.set(false);
        true
    }

    /// A compact parent is complete. Its frame is the youngest, no longer uses any versions, and is
    /// closed here.
    #[inline]
    pub(in crate::stack) fn end_parent_here(&self, parent: TaskRef, frames: &Frames) {
        let at = frames.frame().scope_state;
        // SAFETY: a frame's scope exists as long as the frame.
        let scope_state = unsafe { at.as_ref() };
        let ended = if scope_state.is_usual() && !parent.has_unwritten() {
            Ok(())
        } else {
            Err(self.expanded_outcome(parent, scope_state))
        };
        // SAFETY: the scope is not used any more.
        unsafe { at.drop_in_place() };
        let began = frames.frame().began.get();
        if began != 0 {
            frames.inline_subtrees.note(frames.level(), began);
        }
        frames.close();
        if let Err((task, result, poison)) = ended {
            // A body that failed left no value.
            self.end_in_order(task, result, poison, if poison { BodyStarted::No } else { BodyStarted::Yes });
            self.free(task);
        }
    }

    /// Expands a parent in which something may have failed. Returns the task, its result, and
    /// whether it poisons its versions.
    #[cold]
    fn expanded_outcome(&self, parent: TaskRef, scope_state: &ScopeState) -> (TaskRef, Result<(), Error>, bool) {
        let task = parent.expand(|size| self.alloc(size));
        let error = outcome(task, scope_state, None);
        // A failure below was recorded in a generation of the body. Around the body, the
        // generations have other numbers.
        let own = task.records().iter().filter(|record| matches!(record.declared(), Mode::Write | Mode::Inout));
        own.for_each(|record| record.version().leave_failed_group());
        (task, error.map_or(Ok(()), Err), scope_state.own_failure().is_some())
    }
}
