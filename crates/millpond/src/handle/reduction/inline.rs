//! The parts of a leaf that runs at its spawn ([`runtime::spawn::inline_leaf`]).
//!
//! Nothing is issued for such a leaf. If no reduction is open, its value is free. Then the part is
//! on the spawner's stack, and is combined into the value as soon as the body has ended. Only small
//! parts are made there: a reduction keeps the storage of large ones for the next task. If a
//! reduction is open, the part is one of its parts, and is combined into a copy.
//!
//! [`runtime::spawn::inline_leaf`]: crate::runtime::spawn

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::slice;

use super::combining::Spare;
use super::erased::ReducerRef;
use super::{Reducer, Reduction};
use crate::depend::Mode;
use crate::handle::Datum;
use crate::handle::access::Visitor;
use crate::handle::version::Dropped;
use crate::panics::catch;
use crate::task::Record;

impl Reduction {
    /// Returns a copy for a leaf that runs at its spawn. Only for the issuer. Panics if the reducer
    /// does.
    pub(crate) fn issuers_copy(&self) -> NonNull<()> {
        self.own_copy.take().unwrap_or_else(|| self.new_copy())
    }

    /// Takes back what [`issuers_copy`](Reduction::issuers_copy) returned.
    pub(crate) fn put_issuers_copy_back(&self, copy: NonNull<()>) {
        self.own_copy.set(Some(copy));
    }

    /// Returns a part for a leaf that runs at its spawn. Only for the issuer. Panics if the reducer
    /// does.
    fn part_at_spawn(&self) -> NonNull<()> {
        self.own_part.take().unwrap_or_else(|| self.part())
    }

    /// Takes that part back. Combines it into a copy, unless the leaf failed.
    fn end_at_spawn(&self, part: NonNull<()>, combines: bool) -> Dropped {
        if !combines {
            self.discard(part, true);
            return Ok(());
        }
        let copy = catch(|| self.issuers_copy()).inspect_err(|_| self.discard(part, true))?;
        // SAFETY: the leaf has the copy and the part alone, and gives the part up.
        let combined = unsafe { self.operator.get().combine(copy, part) };
        self.put_issuers_copy_back(copy);
        match combined {
            Ok(Spare::Identity(part)) => self.own_part.set(Some(part)),
            Ok(spare) => self.parts.keep(spare),
            Err(caught) => {
                self.discard(part, false);
                return Err(caught);
            }
        }
        Ok(())
    }
}

/// Rooms for parts, one for each access of a leaf.
pub(crate) type Rooms<const N: usize> = [MaybeUninit<Room>; N];

#[derive(Debug)]
#[repr(align(16))]
pub(crate) struct Room {
    _bytes: [u8; 64],
}

/// Whether a leaf at its spawn may make a part of this type.
pub(super) const fn is_small<T, O: Reducer<T>>() -> bool {
    !O::LARGE && size_of::<T>() <= size_of::<Room>() && align_of::<T>() <= align_of::<Room>()
}

/// Makes the parts, and puts the address of each into the link of its record. Panics if a reducer
/// does.
pub(crate) struct MakeParts<'a> {
    records: slice::Iter<'a, Record>,
    rooms: slice::IterMut<'a, MaybeUninit<Room>>,
}

impl<'a> MakeParts<'a> {
    /// Makes the parts of these records. There are at least as many rooms.
    pub(crate) fn new(records: &'a [Record], rooms: &'a mut [MaybeUninit<Room>]) -> Self {
        MakeParts { records: records.iter(), rooms: rooms.iter_mut() }
    }
}

impl Visitor for MakeParts<'_> {
    fn access(&mut self, _datum: NonNull<Datum>, _mode: Mode) {
        self.records.next();
    }

    fn reduce(&mut self, datum: NonNull<Datum>, reducer: ReducerRef<'_>) {
        let record = self.records.next().expect("one for each access");
        let own = self.rooms.next().expect("one for each record");
        if !record.is_part_at_spawn() {
            // The body adds to the value, or to a copy.
            return;
        }
        let part = open(datum).map_or_else(|| make(record, own, reducer), Reduction::part_at_spawn);
        record.set_link(part.as_ptr());
    }
}

/// The open reduction of a datum. It stays open while the leaf runs.
fn open<'a>(datum: NonNull<Datum>) -> Option<&'a Reduction> {
    // SAFETY: the access token borrows the handle.
    let open = unsafe { datum.as_ref() }.reduction();
    // SAFETY: it lives until its combine task, which the scope issues later.
    open.map(|open| unsafe { open.as_ref() })
}

/// Makes a part on the spawner's stack.
fn make(record: &Record, room: &mut MaybeUninit<Room>, reducer: ReducerRef<'_>) -> NonNull<()> {
    let room = NonNull::from(room).cast();
    // SAFETY: only this leaf uses the value. The room is empty and large enough, and no other code
    // knows it.
    unsafe { reducer.identity(record.version_at_spawn().value(), room) }
    room
}

/// Combines the parts, or drops them.
pub(crate) struct EndParts<'a> {
    records: slice::Iter<'a, Record>,
    combines: bool,
    result: Dropped,
}

impl<'a> EndParts<'a> {
    pub(crate) fn new(records: &'a [Record], combines: bool) -> Self {
        EndParts { records: records.iter(), combines, result: Ok(()) }
    }

    /// The first panic of a reducer, or of the drop of a part.
    pub(crate) fn result(self) -> Dropped {
        self.result
    }
}

impl Visitor for EndParts<'_> {
    fn access(&mut self, _datum: NonNull<Datum>, _mode: Mode) {
        self.records.next();
    }

    fn reduce(&mut self, datum: NonNull<Datum>, reducer: ReducerRef<'_>) {
        let record = self.records.next().expect("one for each access");
        let part = if record.is_part_at_spawn() { NonNull::new(record.link()) } else { None };
        // There is no part if a reducer panicked before this one was made.
        let Some(part) = part else { return };
        let combines = self.combines && self.result.is_ok();
        let ended = match open(datum) {
            Some(reduction) => reduction.end_at_spawn(part, combines),
            None => end(record, part, reducer, combines),
        };
        if self.result.is_ok() {
            self.result = ended;
        }
    }
}

/// Ends a part on the spawner's stack.
fn end(record: &Record, part: NonNull<()>, reducer: ReducerRef<'_>, combines: bool) -> Dropped {
    if !combines {
        // SAFETY: only this leaf uses the part, which holds a value.
        let _has_failed_already = unsafe { reducer.drop_value(part) };
        return Ok(());
    }
    // SAFETY: as above, and of the value.
    match unsafe { reducer.combine(record.version_at_spawn().value(), part) }? {
        Spare::Empty(_) => Ok(()),
        // SAFETY: the part still holds a value.
        Spare::Identity(_) => unsafe { reducer.drop_value(part) },
    }
}
