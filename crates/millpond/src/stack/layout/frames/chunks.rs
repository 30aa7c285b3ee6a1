//! The memory of a stack: its chunks, and how many bytes of closures may come before the owner
//! checks again.

use super::Frames;
use crate::stack::layout::chunk::Chunk;

/// An empty stack keeps at least this many chunks.
const MIN_KEPT_CHUNKS: usize = 2;

impl Frames {
    /// Lets a window of closures come until `has_room` returns false.
    #[inline]
    pub(super) fn limit_to_window(&self) {
        self.set_limit(self.window.get());
    }

    /// Sets how many bytes of closures a body collects before it must run them.
    pub(crate) fn set_window(&self, bytes: usize) {
        self.window.set(bytes);
        self.limit_to_window();
    }

    /// Lets `bytes` bytes of closures come until `has_room` returns false.
    #[inline]
    pub(crate) fn set_limit(&self, bytes: usize) {
        let end = self.end.get();
        let left = end.addr().saturating_sub(self.top().addr());
        self.limit.set(if bytes < left { self.top().wrapping_add(bytes) } else { end });
    }

    /// Bytes left in the chunk.
    #[inline]
    pub(super) fn left(&self) -> usize {
        self.end.get().addr().saturating_sub(self.top().addr())
    }

    /// Makes room for `size` bytes, a multiple of a line, whatever the limit. The room is in this
    /// chunk, or in the next one, to which a link leads.
    #[cold]
    pub(crate) fn make_room(&self, size: usize) {
        if self.left() < size {
            let from = self.top();
            let to = self.next_chunk(size);
            // SAFETY: each chunk has room for a link at its end.
            unsafe { crate::stack::layout::link::write(from, to) };
            self.publish(to);
        }
        if !self.has_room(size) {
            self.limit.set(self.end.get());
        }
    }

    /// Takes the next chunk into use, and returns its start.
    pub(super) fn next_chunk(&self, size: usize) -> *mut u8 {
        let (mut chunks, next) = (self.chunks.borrow_mut(), self.chunk.get() + 1);
        if chunks.get(next).is_some_and(|chunk| !chunk.has_room(size)) {
            chunks.truncate(next);
        }
        if chunks.len() == next {
            chunks.push(Chunk::after(next, size));
        }
        self.chunk.set(next);
        self.last_used.set(self.last_used.get().max(next));
        self.end.set(chunks[next].end());
        self.limit.set(self.end.get());
        chunks[next].start()
    }

    /// Frees half of the chunks that an empty stack has not used this time. The stack keeps the
    /// chunks that it has used, because fresh pages cost more than all work in them.
    pub(crate) fn shrink(&self) {
        let (used, chunks) = (self.last_used.replace(0) + 1, self.chunks.borrow().len());
        let kept = (used + chunks.saturating_sub(used) / 2).max(MIN_KEPT_CHUNKS);
        self.owned.shrink();
        if kept < chunks {
            // A scanning thief may have seen frames there.
            self.guard.alone(|| self.chunks.borrow_mut().truncate(kept));
        }
    }
}
