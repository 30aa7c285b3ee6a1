//! How a starting task reaches its accesses.

use std::ptr::NonNull;

use super::In;
use crate::handle::reduction::{Path, Reduction};
use crate::handle::{Datum, Handle, Version};
use crate::mode::Mode;
use crate::task::{Record, Uses, without_mode};
use crate::worker::nest_frame::NestFrame;

/// Iterates over the accesses of a starting task.
#[doc(hidden)]
#[derive(Debug)]
pub struct Args<'t> {
    accesses: Walked<'t>,
    frame: Option<&'t NestFrame>,
    index: usize,
}

/// The accesses of a task, in one of its forms.
#[derive(Debug)]
enum Walked<'t> {
    Records(std::slice::Iter<'t, Record>),
    Compact(std::slice::Iter<'t, NonNull<Version>>),
    /// Of a compact task whose type does not fix the modes (`task::with_mode`).
    WithModes(std::slice::Iter<'t, NonNull<Version>>),
    /// Of a parent that is a compact task: its view of the datum of the next access.
    Views(NonNull<Datum>),
}

impl<'t> Args<'t> {
    pub(crate) fn new(records: &'t [Record], frame: Option<&'t NestFrame>) -> Self {
        Args { accesses: Walked::Records(records.iter()), frame, index: 0 }
    }

    /// The accesses of a leaf that is a compact task.
    #[inline(always)]
    pub(crate) fn compact(uses: Uses<'t>) -> Self {
        let accesses = match uses.words() {
            (versions, false) => Walked::Compact(versions.iter()),
            (words, true) => Walked::WithModes(words.iter()),
        };
        Args { accesses, frame: None, index: 0 }
    }

    /// The accesses of a parent that is a compact task.
    ///
    /// # Safety
    ///
    /// Each of its accesses has a view, and the views are contiguous. They live as long as the
    /// parent and its descendants run.
    #[inline(always)]
    pub(crate) unsafe fn views(first: NonNull<Datum>) -> Self {
        Args { accesses: Walked::Views(first), frame: None, index: 0 }
    }

    #[inline(always)]
    pub(super) fn next(&mut self) -> &'t Record {
        self.index += 1;
        match &mut self.accesses {
            Walked::Records(records) => records.next().expect("a task has a record for each access"),
            _ => unreachable!("a compact task and a view have no records"),
        }
    }

    /// The version of the next access, which is not a reduction.
    #[inline(always)]
    pub(super) fn version(&mut self) -> &'t Version {
        match &mut self.accesses {
            Walked::Records(_) | Walked::Views(_) => self.next().own_version(),
            Walked::Compact(versions) => {
                let version = versions.next().expect("a task has a version for each access");
                // SAFETY: the task has the version in use (`Uses`).
                unsafe { version.as_ref() }
            }
            Walked::WithModes(words) => {
                let word = words.next().expect("a task has a version for each access");
                // SAFETY: as above.
                unsafe { without_mode(*word).as_ref() }
            }
        }
    }

    /// The address of the next access's value: the version's storage, or a private copy.
    pub(super) fn place(&mut self) -> (&'t Record, NonNull<()>) {
        let record = self.next();
        if record.is_part_at_spawn() {
            return (record, NonNull::new(record.link()).expect("made before the body runs"));
        }
        match record.reduction() {
            Some(reduction) => {
                let part = reduction.part();
                record.set_link(part.as_ptr());
                (record, part)
            }
            None => (record, record.own_version().value()),
        }
    }

    /// The value of the next access, if the leaf accumulates in the value itself.
    #[inline(always)]
    pub(super) fn value_at_spawn(&mut self) -> Option<NonNull<()>> {
        let Walked::Records(records) = &self.accesses else { return None };
        let record = records.as_slice().first()?;
        (record.declared() == Mode::Inout).then(|| self.next().own_version().value())
    }

    /// Passes the next access over and returns its reduction, if it accumulates in a shared copy,
    /// and whether the leaf runs at its spawn.
    pub(super) fn shared_reduction(&mut self) -> Option<(&'t Reduction, bool)> {
        let Walked::Records(records) = &mut self.accesses else { return None };
        let record = records.as_slice().first()?;
        let reduction = record.reduction().filter(|reduction| reduction.has_copies())?;
        self.next();
        Some((reduction, !record.accumulates()))
    }

    /// The reduction of the next access, which a parent passes on to its tasks, and the path of
    /// this member.
    pub(super) fn pass_on(&mut self) -> (&'t Reduction, Option<NonNull<Path>>) {
        let index = self.index;
        let record = self.next();
        let reduction = record.reduction().expect("a parent accumulates only as a member");
        self.frame.expect("a parent has a frame").hold_nothing(index);
        (reduction, reduction.path_of_member(record.member()))
    }

    #[inline]
    pub(super) fn handle<T, R>(&mut self) -> Handle<T, In<'t>, R> {
        if let Walked::Views(view) = &mut self.accesses {
            let this = *view;
            // SAFETY: the views are contiguous (`views`).
            *view = unsafe { view.add(1) };
            return Handle::held(this);
        }
        self.handle_in_frame()
    }

    fn handle_in_frame<T, R>(&mut self) -> Handle<T, In<'t>, R> {
        let index = self.index;
        let (record, value) = self.place();
        let frame = self.frame.expect("a parent has a frame");
        Handle::held(frame.hold(index, record, value))
    }
}
