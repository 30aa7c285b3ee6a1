//! Fresh blocks of one class on their home worker. The chunks grow: a few tasks cost little memory,
//! and many tasks cost few system calls.

use std::ptr::NonNull;

use super::super::chunk::{Chunk, Rest};

const FIRST_BYTES: usize = 16 << 10;
const LAST_BYTES: usize = 1 << 20;

/// The rest of a worker's newest chunk of one class, and the size of the next chunk.
#[derive(Debug)]
pub(super) struct Fresh {
    rest: Rest,
    chunk_bytes: usize,
}

impl Fresh {
    pub(super) fn new() -> Fresh {
        Fresh { rest: Rest::default(), chunk_bytes: FIRST_BYTES }
    }

    /// Cuts off a zeroed block of `size` bytes. If a new chunk is needed, `keep` gets it, and must
    /// hold it as long as the block may be used.
    ///
    /// # Safety
    ///
    /// All calls give the same size, and the chunks that `keep` got before still exist.
    pub(super) unsafe fn cut(&mut self, size: usize, keep: impl FnOnce(Chunk)) -> NonNull<u8> {
        // SAFETY: by the caller.
        if let Some(block) = unsafe { self.rest.cut(size) } {
            return block;
        }
        let chunk = Chunk::new(self.chunk_bytes);
        self.rest.open(&chunk, size, usize::MAX);
        self.chunk_bytes = (self.chunk_bytes * 2).min(LAST_BYTES);
        keep(chunk);
        // SAFETY: the chunk was opened for blocks of this size, and `keep` holds it.
        unsafe { self.rest.cut(size) }.expect("a chunk is larger than a block")
    }
}
