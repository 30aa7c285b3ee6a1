//! Size classes, and the tag that says where a block belongs.

use super::super::{BLOCK_ALIGN, LINE};

/// The block size of each class: multiples of a cache line, so that no two blocks share one; but for the second, that of
/// most tasks with one access, since what many such tasks cost is memory.
pub(super) const SIZES: [usize; CLASSES] = [64, 96, 128, 192, 256, 320, 384, 512, 768, 1024, 2048, 4096];

/// How many classes there are.
pub(super) const CLASSES: usize = 12;

/// The largest block that comes from a slab.
pub(super) const LARGEST: usize = SIZES[CLASSES - 1];

/// The class of a size given in units of `BLOCK_ALIGN`, rounded up.
const CLASS_OF: [u8; LARGEST / BLOCK_ALIGN + 1] = class_table();

const fn class_table() -> [u8; LARGEST / BLOCK_ALIGN + 1] {
    let mut table = [0; LARGEST / BLOCK_ALIGN + 1];
    let mut class = 0;
    let mut units = 0;
    while units < table.len() {
        if units * BLOCK_ALIGN > SIZES[class] {
            class += 1;
        }
        table[units] = class as u8;
        units += 1;
    }
    table
}

/// The smallest class whose blocks hold `size` bytes; `None` if the system has to serve it.
#[inline]
pub(super) fn class_of(size: usize) -> Option<usize> {
    CLASS_OF.get(size.div_ceil(BLOCK_ALIGN)).map(|&class| class as usize)
}

/// What a block's tag says.
///
/// ```text
///       31   30             8   7            0
///     +----+------------------+---------------+
///     |  0 |    home seat     |     class     |   a slab's block
///     +----+------------------+---------------+
///     |  1 |       size in cache lines        |   a block of the system
///     +----+----------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag(pub(super) u32);

const SYSTEM: u32 = 1 << 31;
const CLASS_BITS: u32 = 8;

/// Seats that fit a tag.
pub(super) const MAX_SEATS: usize = 1 << (31 - CLASS_BITS);

impl Tag {
    #[inline]
    pub(super) fn slab(home: u32, class: usize) -> Tag {
        Tag(home << CLASS_BITS | class as u32)
    }

    /// A block of the system, of `lines` cache lines; `None` if the tag cannot hold so many (128 GiB).
    pub(super) fn system(lines: usize) -> Option<Tag> {
        let lines = u32::try_from(lines).ok()?;
        (lines < SYSTEM).then_some(Tag(lines | SYSTEM))
    }

    /// The seat whose slab the block is from; no seat's number if it is the system's, so that the owner's fast path
    /// needs one comparison.
    #[inline]
    pub(super) fn home(self) -> u32 {
        self.0 >> CLASS_BITS
    }

    /// The class of a slab's block.
    #[inline]
    pub(super) fn class(self) -> usize {
        (self.0 & ((1 << CLASS_BITS) - 1)) as usize
    }

    /// The size in bytes of a block of the system; `None` for a slab's block.
    pub(super) fn system_bytes(self) -> Option<usize> {
        (self.0 & SYSTEM != 0).then_some((self.0 & !SYSTEM) as usize * LINE)
    }
}
