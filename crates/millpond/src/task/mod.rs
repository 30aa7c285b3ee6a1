//! Task blocks: header, accesses and closure in one allocation.
//!
//! ```text
//!   0  Header             56 bytes
//!  56  Extras             only if the spawn gave a name, indices or bytes, or is recorded
//!   …  Record × accesses  32 bytes each; the scheme's list nodes are in them
//!   …  NestFrame          only of a parent: its scope's counts; then its data, one per access
//!   …  payload            the closure and the shape of its accesses; afterwards the result
//! ```

use std::alloc::Layout;
use std::panic::Location;
use std::ptr::NonNull;
use std::slice;

use crate::error::Label;
use crate::handle::datum::Whole;
use crate::memory::{BLOCK_ALIGN, Block};

mod compact;
mod header;
#[cfg(feature = "catalogue")]
mod link;
mod record;
mod state;

pub use crate::task::compact::Form;
pub(crate) use crate::task::compact::{
    CompactKind, Uses, may_have_label, size as compact_size, with_mode, without_mode,
};
pub use header::Header;
pub(crate) use header::{GUARD, Role, VTable, flag};
#[cfg(feature = "catalogue")]
pub(crate) use link::Neighbours;
pub use record::Record;
pub(crate) use state::State;

/// A task, as schemes and pools see it: one word, never null.
///
/// A pool copies it, stores it and compares it. The type of the task, its body and its data stay
/// hidden. A pool that keeps tasks in atomics stores [`as_ptr`](TaskRef::as_ptr) and gets the task
/// back by [`from_ptr`](TaskRef::from_ptr).
///
/// The runtime runs a task returned by a pool, and then frees its block. So a pool keeps no copy of
/// a task that it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct TaskRef(pub(crate) NonNull<Header>);

// SAFETY: a worker hands a task to another through the pool, which gives it to exactly one taker
// (trait `Pool`).
unsafe impl Send for TaskRef {}

/// The scope of a task. Its type is known in `worker::scope_state`, a layer above tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct ScopePtr(pub(crate) NonNull<()>);

impl ScopePtr {
    /// No scope: for a header that is not a task's.
    pub(crate) const DANGLING: ScopePtr = ScopePtr(NonNull::dangling());
}

/// The size of a scheme's data in a version (`depend::Meta`). The value's address is behind it.
pub(crate) const META_SIZE: usize = 64;

/// The number of a body in a recording: of a task, or of the closure of a root scope. It is as
/// unique as the number of its [track](crate::record::Track); 0 is none.
pub type Id = u64;

/// The alignment of a parent's `NestFrame`: a cache line.
pub(crate) const FRAME_ALIGN: usize = 64;
/// The size of a parent's `NestFrame` without its data (`worker::nest_frame`). The types of models
/// are larger.
pub(crate) const FRAME_HEAD: usize = if cfg!(loom) { 4096 } else { 256 };
/// The distance from one datum of a frame to the next. Each begins a cache line.
pub(crate) const HELD_STRIDE: usize = size_of::<Whole>().next_multiple_of(64);

#[cfg(not(loom))]
const _: () = assert!(size_of::<Header>() == 56 && size_of::<Record>() == 32);
const _: () = assert!(size_of::<Extras>().is_multiple_of(align_of::<Record>()));

/// The options of a spawn, stored in the task's block.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Extras {
    /// The task's number in a recording, or 0. It comes first, for `TaskRef::record_id`.
    pub(crate) id: Id,
    pub(crate) label: Label,
    pub(crate) bytes: usize,
}

/// The sizes and offsets of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) extras: bool,
    pub(crate) accesses: usize,
    pub(crate) nest: bool,
}

impl Shape {
    #[inline]
    fn records_at(self) -> usize {
        size_of::<Header>() + if self.extras { size_of::<Extras>() } else { 0 }
    }

    #[inline]
    fn records_end(self) -> usize {
        self.records_at() + self.accesses * size_of::<Record>()
    }

    #[inline]
    fn frame_at(self) -> usize {
        self.records_end().next_multiple_of(FRAME_ALIGN)
    }

    /// The end of the parts before the payload.
    #[cfg_attr(not(debug_assertions), inline)]
    fn payload_after(self) -> usize {
        if self.nest { self.frame_at() + FRAME_HEAD + self.accesses * HELD_STRIDE } else { self.records_end() }
    }

    /// The size of the whole block. It includes spare bytes for a payload that needs a larger
    /// alignment than blocks have.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(crate) fn block_size(self, payload: Layout) -> usize {
        let (align, more) = (payload.align().min(BLOCK_ALIGN), payload.align().saturating_sub(BLOCK_ALIGN));
        self.payload_after().next_multiple_of(align) + more + payload.size()
    }
}

/// The header of a new block.
#[derive(Debug)]
pub(crate) struct NewTask {
    pub(crate) vtable: &'static VTable,
    pub(crate) scope: ScopePtr,
    pub(crate) order: u64,
    pub(crate) place: &'static Location<'static>,
    pub(crate) priority: i8,
    pub(crate) extras: Option<Extras>,
    pub(crate) accesses: usize,
}

impl TaskRef {
    /// Makes a task in a fresh block, except its records and payload.
    ///
    /// # Safety
    ///
    /// `block` is at least as large as `Shape::block_size` of the parts, and no other code uses it.
    /// Only a stale join may load its first word.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(crate) unsafe fn create(block: Block, new: NewTask) -> TaskRef {
        let header: NonNull<Header> = block.start.cast();
        // SAFETY: the first word of a block is only ever used as a `State`, and zero is a valid
        // state.
        unsafe { Header::state_at(header).as_ref() }.begin();
        let extras = new.extras;
        // SAFETY: the caller provides the block, and it is large enough for a header.
        unsafe { Header::place_at(header, block.tag, 0, new) };
        let task = TaskRef(header);
        task.expose();
        if let Some(extras) = extras {
            // SAFETY: the caller made room for extras behind the header.
            unsafe { task.set_extras(extras) };
        }
        task
    }

    /// Writes the extras.
    ///
    /// # Safety
    ///
    /// The block has room for them behind the header, and no other thread knows the task.
    #[inline]
    pub(crate) unsafe fn set_extras(self, extras: Extras) {
        // SAFETY: as the caller promises.
        let behind = unsafe { self.0.add(1) };
        // SAFETY: as above.
        unsafe { behind.cast().write(extras) };
        self.add_flags(flag::EXTRAS);
    }

    /// Adds flags.
    #[inline]
    pub(crate) fn add_flags(self, flags: u8) {
        let header = self.header();
        header.flags.set(header.flags.get() | flags);
    }

    /// Removes flags. Returns whether any was set.
    pub(crate) fn take_flags(self, flags: u8) -> bool {
        let before = self.header().flags.get();
        self.header().flags.set(before & !flags);
        before & flags != 0
    }

    /// Exposes the header's address, so that its records can find it. From here on the header does
    /// not move.
    #[inline]
    pub(crate) fn expose(self) {
        let _ = self.0.as_ptr().expose_provenance();
    }

    /// The offset of record `index` from the header, in bytes.
    #[inline]
    pub(crate) fn record_behind(self, index: usize) -> usize {
        self.shape().records_at() + index * size_of::<Record>()
    }

    /// The header.
    #[inline]
    pub(crate) fn header<'a>(self) -> &'a Header {
        // SAFETY: a `TaskRef` is followed only by code that keeps its block alive. Until the task
        // is issued, this is its spawner; then it is the worker that runs or completes it.
        unsafe { self.0.as_ref() }
    }

    /// The task's priority, 0 by default. Larger ones come first.
    ///
    /// # Safety
    ///
    /// The caller is a pool that holds the task: the task was put into it, and the pool has not
    /// returned it.
    #[inline]
    pub unsafe fn priority(self) -> i8 {
        self.header().priority
    }

    /// The task as a pointer, for storage in an `AtomicPtr`. Do not follow it.
    #[inline]
    pub fn as_ptr(self) -> NonNull<()> {
        self.0.cast()
    }

    /// The task of a pointer.
    ///
    /// # Safety
    ///
    /// The pointer came from [`as_ptr`](TaskRef::as_ptr).
    #[inline]
    pub unsafe fn from_ptr(pointer: NonNull<()>) -> TaskRef {
        TaskRef(pointer.cast())
    }

    #[inline]
    pub(crate) fn shape(self) -> Shape {
        let header = self.header();
        let nest = header.vtable.role == Role::Nest;
        Shape { extras: header.has(flag::EXTRAS), accesses: header.accesses.get() as usize, nest }
    }

    #[inline]
    fn at<T>(self, offset: usize) -> NonNull<T> {
        // SAFETY: `Shape` computed the offset, and the block's size too.
        unsafe { self.0.cast::<u8>().add(offset) }.cast()
    }

    /// Where the records are, including those that are not yet written.
    #[inline]
    pub(crate) fn records_at(self) -> NonNull<Record> {
        self.at(self.shape().records_at())
    }

    /// Where the records of a task of this shape are.
    ///
    /// # Safety
    ///
    /// The block was made for this shape.
    #[inline]
    pub(crate) unsafe fn records_of(self, shape: Shape) -> NonNull<Record> {
        self.at(shape.records_at())
    }

    /// Where the payload of a task of this shape is.
    ///
    /// # Safety
    ///
    /// The block was made for this shape, and for a payload of this alignment.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(crate) unsafe fn payload_of(self, shape: Shape, align: usize) -> NonNull<()> {
        let after = shape.payload_after();
        if align <= BLOCK_ALIGN {
            return self.at(after.next_multiple_of(align));
        }
        let block = self.0.addr().get();
        self.at((block + after).next_multiple_of(align) - block)
    }

    /// The access records.
    #[inline]
    pub(crate) fn records<'a>(self) -> &'a [Record] {
        let count = self.header().accesses.get() as usize;
        // SAFETY: the spawn wrote that many records. They live as long as the block (see `header`).
        unsafe { slice::from_raw_parts(self.records_at().as_ptr(), count) }
    }

    /// Clears the links, before the task runs or is refused. The scheme has used them, and now they
    /// hold private copies.
    pub(crate) fn clear_links(self) {
        self.records().iter().for_each(|record| record.set_link(std::ptr::null_mut()));
    }

    fn extras<'a>(self) -> Option<&'a Extras> {
        if !self.header().has(flag::EXTRAS) {
            return None;
        }
        // SAFETY: the flag says that `create` wrote extras behind the header, in the same block.
        // The pointer is valid for the whole block.
        let behind = unsafe { self.0.add(1) };
        // SAFETY: as above; they are not written again.
        Some(unsafe { behind.cast().as_ref() })
    }

    /// The task's number in a recording, 0 if it is not recorded.
    #[inline]
    pub(crate) fn record_id(self) -> Id {
        if !self.header().has(flag::RECORDED) {
            return 0;
        }
        // SAFETY: the flag says that an `Id` follows the header: in the extras, or behind a header
        // on a stack.
        let behind = unsafe { self.0.add(1) };
        // SAFETY: as above; it is not written any more.
        unsafe { behind.cast().read() }
    }

    /// Sets the task's number in a recording.
    ///
    /// # Safety
    ///
    /// An `Id` in a cell follows the header, and no other thread knows the task.
    pub(crate) unsafe fn set_record_id(self, id: Id) {
        // SAFETY: as the caller promises.
        let behind = unsafe { self.0.add(1) };
        // SAFETY: as above.
        unsafe { behind.cast().write(id) };
        self.add_flags(flag::RECORDED);
    }

    /// The index of a record of this task.
    #[inline]
    pub(crate) fn index_of(self, record: &Record) -> usize {
        (std::ptr::from_ref(record).addr() - self.records_at().addr().get()) / size_of::<Record>()
    }

    /// The index of a record, as recordings store it.
    pub(crate) fn place_of(self, record: &Record) -> u16 {
        self.index_of(record).min(usize::from(u16::MAX) - 2) as u16
    }

    pub(crate) fn label(self) -> Label {
        let given = self.extras().map(|extras| extras.label).or_else(|| self.compact_label());
        given.unwrap_or(Label::place(self.header().place))
    }

    /// The bytes that the spawn declared.
    #[inline]
    pub(crate) fn bytes(self) -> usize {
        if self.header().has(flag::EXTRAS) { self.extras().map_or(0, |extras| extras.bytes) } else { 0 }
    }

    /// Shortens the list of records. A spawn that fails may issue fewer accesses than it declared.
    pub(crate) fn set_accesses(self, accesses: usize) {
        self.header().accesses.set(accesses as u32);
    }

    /// Where the parent's frame is, even if it is not yet written.
    pub(crate) fn frame_at(self) -> NonNull<u8> {
        self.at(self.shape().frame_at())
    }

    /// Where the payload is.
    #[inline]
    pub(crate) fn payload<P>(self) -> NonNull<P> {
        self.payload_at(align_of::<P>()).cast()
    }

    /// Where a payload of this alignment is.
    #[inline]
    pub(crate) fn payload_at(self, align: usize) -> NonNull<()> {
        // SAFETY: the block was made for this shape. The caller knows that it was made for such a
        // payload.
        unsafe { self.payload_of(self.shape(), align) }
    }

    /// The block, for the code that frees it.
    pub(crate) fn block(self) -> Block {
        Block { start: self.0.cast(), tag: self.header().tag }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Wherever a block begins, a payload of any alignment is aligned and inside the block.
    #[test]
    fn payloads_lie_where_their_types_say() {
        let memory = vec![0_u64; 1 << 12];
        let shapes = [false, true].into_iter().flat_map(|extras| {
            let counts = (0..5).flat_map(|accesses| [false, true].map(|nest| (accesses, nest)));
            counts.map(move |(accesses, nest)| Shape { extras, accesses, nest })
        });
        for (shape, align) in shapes.flat_map(|shape| (0..13).map(move |power| (shape, 1 << power))) {
            let payload = Layout::from_size_align(3 * align, align).expect("it is small");
            let size = shape.block_size(payload);
            // Blocks of more than 96 bytes begin a cache line, which a parent's frame needs.
            let step = if size > 96 { 64 } else { BLOCK_ALIGN };
            for from in (0..512).step_by(step) {
                let skip = from + memory.as_ptr().addr().wrapping_neg() % 512;
                let start = NonNull::new(memory.as_ptr().cast_mut()).expect("of a vector");
                // SAFETY: it is inside `memory`.
                let block = unsafe { start.byte_add(skip) }.cast::<Header>();
                // SAFETY: only addresses are computed. They are inside `memory`, or are not
                // followed.
                let at = unsafe { TaskRef(block).payload_of(shape, align) }.addr().get() - block.addr().get();
                assert!((block.addr().get() + at).is_multiple_of(align), "{shape:?} {align}");
                assert!(at >= shape.payload_after() && at + payload.size() <= size, "{shape:?} {align}");
            }
        }
    }
}
