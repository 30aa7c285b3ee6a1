//! Data that bodies make for themselves and that need no drop (DDS Fig. 1: `int r1` and `int r2`).
//! They are outside of the frames, and end with their body.
//!
//! ```text
//!   LocalDatum ◀── LocalDatum ◀── last       each: Whole, what leads to the one before, the value
//! ```
//!
//! Their handles free nothing, and the frame's list of versions in use does not contain them. They
//! are in use as long as their body, and all that it spawns.
//!
//! Most data are small. These are separate ([`Owned::small`]), all of one size. If the previous
//! datum at a place was left as it was made, nearly all words of the next one are there already. So
//! a called body (`inline_subtree`) finds the data of the bodies before it.

use std::cell::{Cell, RefCell};
use std::mem::offset_of;
use std::ptr::{self, NonNull};

use super::chunk::Chunk;
use super::frames::Frames;
use crate::depend::tracker::SchemeOps;
use crate::handle::Datum;
use crate::handle::datum::Whole;
use crate::memory::LINE;
use crate::stack::in_order::InOrder;
use crate::worker::scope_state::ScopeState;

#[cfg(all(test, not(loom)))]
mod tests;

/// Bytes of a chunk of data.
const CHUNK: usize = 16 << 10;

/// The size of the largest value that is stored here.
const MAX_VALUE_BYTES: usize = 4 * LINE;

/// The size of a small datum with its value.
const SMALL: usize = room_of::<u64>();

/// How many data of each size are made here for one body, at most. Data left by bodies before it do
/// not count. A body that makes more and more data must not keep all of them.
const MAX_DATA_PER_BODY: usize = 32;

/// An empty stack keeps at most this many chunks.
const MAX_KEPT_CHUNKS: usize = 16;

/// The data of a stack's bodies. Only the owner uses them.
#[derive(Debug, Default)]
pub(in crate::stack) struct Owned {
    small: Data,
    large: Data,
}

/// A stack of data.
#[derive(Debug)]
struct Data {
    top: Cell<*mut u8>,
    end: Cell<*mut u8>,
    chunk: Cell<u32>,
    chunks: RefCell<Vec<Chunk>>,
    last: Cell<*mut LocalDatum>,
    /// The depth of the last body with data here, and their number. It is `None` if that body is
    /// over.
    counted: Cell<Option<(u32, usize)>>,
}

/// One datum.
#[repr(C)]
#[derive(Debug)]
struct LocalDatum {
    whole: Whole,
    before: *mut LocalDatum,
    /// The depth of its body (`Frames::level`).
    level: Cell<u32>,
    /// [`MADE`], [`OPENS`] and [`CHANGED`].
    marks: Cell<u32>,
}

/// Mark of [`LocalDatum::marks`]: the datum was made.
const MADE: u32 = 4;

/// Mark of [`LocalDatum::marks`]: the datum is the first of its chunk.
const OPENS: u32 = 1;

/// Mark of [`LocalDatum::marks`]: the datum may have changed since it was made.
const CHANGED: u32 = 2;

/// A datum with its value. A small value shares a line with the pointer to it.
#[repr(C, align(64))]
struct LocalDatumOf<T> {
    own: LocalDatum,
    value: T,
}

impl Default for Data {
    fn default() -> Self {
        let none = || Cell::new(ptr::null_mut());
        Data {
            top: none(),
            end: none(),
            chunk: Cell::new(0),
            chunks: RefCell::default(),
            last: Cell::new(ptr::null_mut()),
            counted: Cell::new(None),
        }
    }
}

/// Whether values of type `T` may be stored here.
pub(crate) const fn fits<T>() -> bool {
    !std::mem::needs_drop::<T>() && size_of::<T>() <= MAX_VALUE_BYTES && align_of::<T>() <= LINE
}

/// Bytes of a datum with its value, in whole lines.
const fn room_of<T>() -> usize {
    size_of::<LocalDatumOf<T>>().next_multiple_of(LINE)
}

impl Frames {
    /// Makes a datum without a value for the running body. Returns `None` if the body may have no
    /// more data here.
    #[inline(always)]
    pub(crate) fn own_datum<T>(&self, scope_state: &ScopeState) -> Option<NonNull<Datum>> {
        let is_small = const { room_of::<T>() == SMALL && align_of::<T>() <= align_of::<u64>() };
        let data = if is_small { &self.owned.small } else { &self.owned.large };
        if is_small && let Some(at) = data.made() {
            // SAFETY: it was made, and no other code uses it.
            let own = unsafe { at.as_ref() };
            own.whole.renew::<T>(scope_state.epoch());
            own.level.set(self.level());
            data.top.set(data.top.get().wrapping_add(SMALL));
            // The original pointer, which may reach the rest of the chunk, unlike a reference to
            // the datum.
            data.last.set(at.as_ptr());
            return Some(at.cast());
        }
        self.make_own::<T>(scope_state, data)
    }

    #[inline(never)]
    fn make_own<T>(&self, scope_state: &ScopeState, data: &Data) -> Option<NonNull<Datum>> {
        let count = data.count_of(self.level());
        if count >= MAX_DATA_PER_BODY {
            return None;
        }
        data.counted.set(Some((self.level(), count + 1)));
        let opens = data.left() < room_of::<T>();
        if opens {
            data.open_chunk();
        }
        let at: NonNull<LocalDatumOf<T>> = NonNull::new(data.top.get()).expect("in a chunk").cast();
        let own = LocalDatum {
            whole: Whole::own::<T>(scope_state, SchemeOps::of::<InOrder>()),
            before: data.last.get(),
            level: Cell::new(self.level()),
            marks: Cell::new(MADE | if opens { OPENS } else { 0 }),
        };
        // SAFETY: there is room, and no other code uses it.
        unsafe { at.cast::<LocalDatum>().write(own) };
        // SAFETY: the value is inside that room.
        let value = unsafe { at.byte_add(offset_of!(LocalDatumOf<T>, value)) };
        data.top.set(data.top.get().wrapping_add(room_of::<T>()));
        data.last.set(at.as_ptr().cast());
        let datum: NonNull<Datum> = at.cast();
        // SAFETY: the datum was just written, and does not move.
        unsafe { Datum::make_first_current(datum) };
        // SAFETY: as above.
        let first = unsafe { Datum::first(datum) };
        first.set_value_place(value.cast());
        first.meta().of::<InOrder>().begin_use(self);
        Some(datum)
    }

    /// Ends the data of the running body, which is about to end with all that it has spawned. It
    /// may have `changed` the data, if it has a frame.
    #[inline(always)]
    pub(in crate::stack) fn end_own(&self, changed: bool) {
        let level = self.level();
        self.owned.small.end_level(level, changed);
        self.owned.large.end_level(level, changed);
    }
}

impl Owned {
    /// Frees memory that an empty stack does not need.
    pub(in crate::stack) fn shrink(&self) {
        self.small.shrink();
        self.large.shrink();
    }
}

impl Data {
    /// How many data the body at this depth has, or fewer: data reused as they were made are not
    /// counted again. It is the deepest body.
    #[inline]
    fn count_of(&self, level: u32) -> usize {
        match self.counted.get() {
            Some((of, count)) if of == level => count,
            _ => self.of_level(level).take(MAX_DATA_PER_BODY).count(),
        }
    }

    /// The data of the body at this depth, the deepest one. The last datum comes first.
    #[inline(always)]
    fn of_level(&self, level: u32) -> impl Iterator<Item = &LocalDatum> {
        // SAFETY: null, or a datum that stays until its body is over.
        let last_of = move |at: *mut LocalDatum| unsafe { at.as_ref() }.filter(|own| own.level.get() == level);
        std::iter::successors(last_of(self.last.get()), move |own| last_of(own.before))
    }

    /// Bytes left in the chunk.
    #[inline(always)]
    fn left(&self) -> usize {
        self.end.get().addr() - self.top.get().addr()
    }

    /// The next small datum, if it is there as it was made. A value of any small type fits, because
    /// all values have the same place.
    #[inline(always)]
    fn made(&self) -> Option<NonNull<LocalDatum>> {
        if self.left() < SMALL {
            return None;
        }
        let at: NonNull<LocalDatum> = NonNull::new(self.top.get())?.cast();
        // SAFETY: there is room for one datum.
        let marks = unsafe { at.byte_add(offset_of!(LocalDatum, marks)) }.cast::<u32>();
        // SAFETY: a chunk begins as zeros, and has data of this size only. No other code uses this
        // datum.
        let marks = unsafe { marks.read() };
        (marks & (MADE | CHANGED) == MADE).then_some(at)
    }

    /// Ends the data of the body at this depth, which may have `changed` them.
    #[inline(always)]
    fn end_level(&self, level: u32, changed: bool) {
        // SAFETY: null, or a datum that stays until its body is over, which is now.
        while let Some(own) = unsafe { self.last.get().as_ref() }.filter(|own| own.level.get() == level) {
            self.counted.set(None);
            // A failure is reference-counted.
            own.whole.forget_failure();
            if changed || !own.whole.is_as_made() {
                own.marks.set(own.marks.get() | CHANGED);
            }
            // The original pointer, which may reach the rest of the chunk, unlike a reference to
            // the datum.
            self.top.set(self.last.replace(own.before).cast());
            if own.marks.get() & OPENS != 0 && self.chunk.get() > 0 {
                self.leave_chunk();
            }
        }
    }

    fn shrink(&self) {
        debug_assert!(self.last.get().is_null());
        self.chunks.borrow_mut().truncate(MAX_KEPT_CHUNKS);
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

    /// The first datum of a chunk has ended. The next datum opens a new chunk again.
    #[cold]
    fn leave_chunk(&self) {
        let (chunks, before) = (self.chunks.borrow(), self.chunk.get() - 1);
        self.enter(&chunks, before);
        // How full that chunk is was not recorded, so it counts as full.
        self.top.set(self.end.get());
    }
}
