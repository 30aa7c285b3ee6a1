//! A compact task of a stack (`stack::layout::push`). Data common to all tasks of its type are
//! stored with the type.
//!
//! The frame of a compact parent is made when the parent runs (`stack::owner::parent`).
//!
//! ```text
//!   0  Header                        its first word is not used, since such a task has no join
//!  56  the version × accesses        8 bytes each
//!   …  payload                       the closure and the shape of its accesses
//! ```

use std::alloc::Layout;
use std::ptr::NonNull;

use super::{Block, Header, NewTask, Record, Role, Shape, TaskRef, flag};
use crate::error::Error;
use crate::handle::Version;
use crate::mode::Mode;

/// The part of a vtable for compact tasks.
#[derive(Debug)]
pub(crate) struct CompactKind {
    /// Runs the body of the next task in reference order, so everything before it has finished. The
    /// worker is passed erased. If it fails without an error, the body must not run, and has not.
    pub(crate) run: unsafe fn(TaskRef, *const ()) -> Result<(), Option<Error>>,
    /// The payload's layout.
    pub(crate) payload: Layout,
    pub(crate) modes: Modes,
}

/// The modes of some accesses, each `read`, `write` or `inout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes {
    bits: u64,
    pub(crate) count: usize,
}

/// Bits of a mode.
const WIDTH: usize = 3;

impl Modes {
    /// The modes of no access.
    pub(crate) const NONE: Modes = Modes { bits: 0, count: 0 };

    /// The mode of one access. `None` if it is not one of these three modes.
    pub(crate) const fn of(mode: Mode) -> Option<Modes> {
        match mode {
            Mode::Read | Mode::Write | Mode::Inout => Some(Modes { bits: mode as u64, count: 1 }),
            _ => None,
        }
    }

    /// The modes of both. `None` if either is `None`, or if there is no room for all of them.
    pub(crate) const fn then(first: Option<Modes>, next: Option<Modes>) -> Option<Modes> {
        match (first, next) {
            (Some(first), Some(next)) if (first.count + next.count) * WIDTH < u64::BITS as usize => {
                Some(Modes { bits: first.bits | next.bits << (first.count * WIDTH), count: first.count + next.count })
            }
            _ => None,
        }
    }

    /// The mode of the access `index`.
    #[inline(always)]
    pub(crate) fn at(self, index: usize) -> Mode {
        Mode::of((self.bits >> (index * WIDTH)) as u32 & ((1 << WIDTH) - 1))
    }
}

/// The offset of the payload from the header in bytes, for a task with this many accesses.
#[inline(always)]
const fn payload_at(accesses: usize, align: usize) -> usize {
    (size_of::<Header>() + accesses * size_of::<NonNull<Version>>()).next_multiple_of(align)
}

/// The size of a task in bytes.
#[inline(always)]
pub(crate) const fn size(accesses: usize, payload: Layout) -> usize {
    payload_at(accesses, payload.align()) + payload.size()
}

impl TaskRef {
    /// Makes a compact task, except its versions and its payload. `stride` is the distance to the
    /// next closure.
    ///
    /// # Safety
    ///
    /// There is room for it, which no other code uses.
    #[inline(always)]
    pub(crate) unsafe fn place_at(at: NonNull<u8>, stride: usize, is_portable: bool, new: NewTask) -> TaskRef {
        let flags = match new.vtable.role {
            Role::Nest if is_portable => flag::COMPACT_PARENT | flag::PORTABLE,
            Role::Nest => flag::COMPACT_PARENT,
            _ => flag::COMPACT,
        };
        let header: NonNull<Header> = at.cast();
        // SAFETY: the caller provides the place, and it is large enough.
        unsafe { Header::place_at(header, stride as u32, flags, new) };
        TaskRef(header)
    }

    /// The compact form in the vtable of a compact task.
    #[inline(always)]
    fn compact(self) -> &'static CompactKind {
        debug_assert!(self.header().is_compact());
        // SAFETY: a compact task is made only of types that have this entry
        // (`stack::layout::push`).
        unsafe { self.header().vtable().compact.as_ref().unwrap_unchecked() }
    }

    /// Where the versions of a compact task are.
    #[inline(always)]
    pub(crate) fn compact_versions(self) -> NonNull<NonNull<Version>> {
        self.at(size_of::<Header>())
    }

    /// The accesses of a compact task.
    pub(crate) fn compact_accesses(self) -> impl Iterator<Item = (NonNull<Version>, Mode)> {
        let (versions, modes) = self.compact_uses();
        versions.iter().enumerate().map(move |(index, &version)| (version, modes.at(index)))
    }

    /// Its versions, and the mode of each access.
    #[inline(always)]
    pub(crate) fn compact_uses<'a>(self) -> (&'a [NonNull<Version>], Modes) {
        let CompactKind { modes, .. } = *self.compact();
        // SAFETY: this many versions were written, and stay.
        (unsafe { std::slice::from_raw_parts(self.compact_versions().as_ptr(), modes.count) }, modes)
    }

    /// Where the payload of a compact task is.
    #[inline(always)]
    pub(crate) fn compact_payload(self, accesses: usize, align: usize) -> NonNull<()> {
        self.at(payload_at(accesses, align))
    }

    /// Runs a compact task, as `CompactKind::run` does.
    ///
    /// # Safety
    ///
    /// It comes next in reference order, and no other thread runs it. The worker belongs to a
    /// runtime of its engine.
    #[inline(always)]
    pub(crate) unsafe fn run_compact(self, worker: *const ()) -> Result<(), Option<Error>> {
        // SAFETY: as the caller promises.
        unsafe { (self.compact().run)(self, worker) }
    }

    /// Expands a compact task: moves it into a block of the usual form from `alloc`, with its
    /// payload.
    #[cold]
    pub(crate) fn expand(self, alloc: impl FnOnce(usize) -> Block) -> TaskRef {
        let header = self.header();
        let &CompactKind { payload, modes: Modes { count: accesses, .. }, .. } = self.compact();
        let vtable = header.vtable();
        let shape = Shape { extras: false, accesses, nest: vtable.role == Role::Nest };
        let new = NewTask {
            vtable,
            scope: header.scope(),
            order: header.order(),
            place: header.place(),
            priority: 0,
            extras: None,
            accesses,
        };
        // SAFETY: the block is new and has that size.
        let task = unsafe { TaskRef::create(alloc(shape.block_size(payload)), new) };
        for (index, (version, mode)) in self.compact_accesses().enumerate() {
            let record = Record::new(version.cast(), task.record_behind(index), 0, mode, false);
            // SAFETY: the block has room for this many records.
            let at = unsafe { task.records_at().add(index) };
            // SAFETY: as above; no other code uses it.
            unsafe { at.write(record) };
            if mode == Mode::Write {
                task.add_flags(flag::WRITE);
            }
        }
        let (from, to) = (self.compact_payload(accesses, payload.align()), task.payload_at(payload.align()));
        // SAFETY: the payload is moved to another block, which has room for it.
        unsafe { from.cast::<u8>().copy_to_nonoverlapping(to.cast(), payload.size()) };
        task
    }
}
