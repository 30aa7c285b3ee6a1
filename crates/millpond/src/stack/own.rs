//! Data that bodies make for themselves and that need no drop (DDS Fig. 1: `r1` and `r2`): they lie beside the stack, and go with
//! their body's frame.
//!
//! ```text
//!   Own  ◀── Own ◀── Own ◀── last       each: Whole, what leads to the one before, the value
//! ```
//!
//! Their handles free nothing, and the frame's list of what it uses does not have them: they are in use as long as the frame is
//! there.

use std::cell::{Cell, RefCell};
use std::mem::offset_of;
use std::ptr::{self, NonNull};

use super::chunk::Chunk;
use super::frames::Frames;
use crate::depend::in_order::InOrder;
use crate::handle::Datum;
use crate::handle::datum::Whole;
use crate::memory::LINE;
use crate::runtime::domain::Domain;

/// Bytes of a chunk of data.
const CHUNK: usize = 16 << 10;

/// The largest value that lies here.
const LARGEST: usize = 4 * LINE;

/// Data that one body has here, at most: a body that goes on making some should not keep them all.
const MOST: u16 = 32;

/// An empty stack keeps so many chunks.
const KEPT: usize = 16;

/// The data of a stack's bodies; the owner's alone.
#[derive(Debug)]
pub(super) struct Owned {
    top: Cell<*mut u8>,
    end: Cell<*mut u8>,
    chunk: Cell<u32>,
    chunks: RefCell<Vec<Chunk>>,
    last: Cell<*mut Own>,
}

/// One datum.
#[repr(C)]
#[derive(Debug)]
struct Own {
    whole: Whole,
    before: *mut Own,
    /// How many frames there were, and how many data of the same.
    depth: u32,
    nth: u16,
    /// Whether it is the first of its chunk.
    opens: bool,
}

/// With its value, which shares a line with what leads to it if it is small.
#[repr(C, align(64))]
struct OwnOf<T> {
    own: Own,
    value: T,
}

impl Default for Owned {
    fn default() -> Self {
        let none = || Cell::new(ptr::null_mut());
        Owned {
            top: none(),
            end: none(),
            chunk: Cell::new(0),
            chunks: RefCell::default(),
            last: Cell::new(ptr::null_mut()),
        }
    }
}

/// Whether values of a type may lie here.
pub(crate) const fn fits<T>() -> bool {
    !std::mem::needs_drop::<T>() && size_of::<T>() <= LARGEST && align_of::<T>() <= LINE
}

impl Frames {
    /// A datum of the body's whose frame is the youngest, without a value; if it may have one more here.
    #[inline]
    pub(crate) fn own_datum<T>(&self, domain: &Domain) -> Option<NonNull<Datum>> {
        let (owned, depth, before) = (&self.owned, self.depth(), self.owned.last.get());
        // SAFETY: null, or one that stays until its frame is closed.
        let nth = unsafe { before.as_ref() }.filter(|before| before.depth == depth).map_or(0, |before| before.nth + 1);
        if nth == MOST {
            return None;
        }
        let size = size_of::<OwnOf<T>>().next_multiple_of(LINE);
        let opens = owned.end.get().addr() - owned.top.get().addr() < size;
        if opens {
            owned.open_chunk();
        }
        let at: NonNull<OwnOf<T>> = NonNull::new(owned.top.get()).expect("in a chunk").cast();
        let own = Own { whole: Whole::own::<T>(domain), before, depth, nth, opens };
        // SAFETY: there is room, which nobody uses.
        unsafe { at.cast::<Own>().write(own) };
        // SAFETY: in the room.
        let value = unsafe { at.byte_add(offset_of!(OwnOf<T>, value)) };
        owned.top.set(owned.top.get().wrapping_add(size));
        owned.last.set(at.as_ptr().cast());
        let datum: NonNull<Datum> = at.cast();
        // SAFETY: just written, and does not move.
        unsafe { Datum::settle(datum) };
        // SAFETY: as above.
        let first = unsafe { Datum::first(datum) };
        first.set_value_place(value.cast());
        first.meta().of::<InOrder>().begin_use(self);
        Some(datum)
    }

    /// The youngest frame is about to be closed: its body's data go.
    #[inline(always)]
    pub(super) fn end_own(&self) {
        let (owned, depth) = (&self.owned, self.depth());
        // SAFETY: null, or one that stays until its frame is closed, which is here.
        while let Some(own) = unsafe { owned.last.get().as_ref() }.filter(|own| own.depth == depth) {
            owned.end(own);
        }
    }
}

impl Owned {
    /// Gives back memory that a stack does not need which is empty.
    pub(super) fn shrink(&self) {
        debug_assert!(self.last.get().is_null());
        self.chunks.borrow_mut().truncate(KEPT);
    }

    #[cold]
    fn open_chunk(&self) {
        let mut chunks = self.chunks.borrow_mut();
        let next = if self.top.get().is_null() { 0 } else { self.chunk.get() + 1 };
        if chunks.len() == next as usize {
            chunks.push(Chunk::new(CHUNK));
        }
        self.enter(&chunks, next);
        self.top.set(chunks[next as usize].start());
    }

    fn enter(&self, chunks: &[Chunk], chunk: u32) {
        self.chunk.set(chunk);
        self.end.set(chunks[chunk as usize].end());
    }

    #[inline(always)]
    fn end(&self, own: &Own) {
        // A failure is counted.
        own.whole.forget_failure();
        // The place itself, behind which all of the chunk is reached.
        self.top.set(self.last.replace(own.before).cast());
        if own.opens && self.chunk.get() > 0 {
            self.leave_chunk();
        }
    }

    /// The first datum of a chunk has gone: the next one goes into a new chunk again.
    #[cold]
    fn leave_chunk(&self) {
        let (chunks, before) = (self.chunks.borrow(), self.chunk.get() - 1);
        self.enter(&chunks, before);
        // Full, as far as anybody knows.
        self.top.set(self.end.get());
    }
}
