//! Size classes, and the tag that says where a block belongs.

use super::{BLOCK_ALIGN, LINE};

/// The block size of each class. All but the second are multiples of a cache line, so that no two
/// blocks share a line. Most tasks with one access use the second class, and the cost of many such
/// tasks is their memory.
pub(super) const SIZES: [usize; CLASSES] = [64, 96, 128, 192, 256, 320, 384, 512, 768, 1024, 2048, 4096];

/// The number of classes.
pub(super) const CLASSES: usize = 12;

/// The largest block of a class.
pub(super) const LARGEST: usize = SIZES[CLASSES - 1];

/// The class of a size in units of `BLOCK_ALIGN`, rounded up.
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

/// The smallest class whose blocks hold `size` bytes; `None` if the system has to serve the block.
#[inline]
pub(super) fn class_of(size: usize) -> Option<usize> {
    CLASS_OF.get(size.div_ceil(BLOCK_ALIGN)).map(|&class| class as usize)
}

/// The contents of a block's tag.
///
/// ```text
///       31   30   29    28        8   7            0
///     +----+---------------------------+---------------+
///     |  0 |         home seat         |     class     |   a block of a class
///     +----+---------------------------+---------------+
///     |  1 |            size in cache lines            |   a block too large for a class
///     +----+---------+---------------------------------+
///     |  0 | skipped |       size in cache lines       |   a block as `malloc` gives it
///     +----+---------+---------------------------------+
/// ```
///
/// A manager has blocks of the first two kinds, or only of the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag(pub(super) u32);

const SYSTEM: u32 = 1 << 31;
const CLASS_BITS: u32 = 8;
#[cfg(feature = "catalogue")]
const LINES_BITS: u32 = 29;

/// The number of different seats in a tag.
pub(super) const MAX_SEATS: usize = 1 << (31 - CLASS_BITS);

impl Tag {
    #[inline]
    pub(super) fn class_block(home: u32, class: usize) -> Tag {
        Tag(home << CLASS_BITS | class as u32)
    }

    /// The tag of a system block of `lines` cache lines; `None` if the tag cannot hold that number
    /// (128 GiB).
    pub(super) fn system(lines: usize) -> Option<Tag> {
        let lines = u32::try_from(lines).ok()?;
        (lines < SYSTEM).then_some(Tag(lines | SYSTEM))
    }

    /// The tag of a block that begins `skipped` units of 16 bytes after the start of the system's
    /// memory, of `lines` cache lines in all; `None` if the tag cannot hold `lines` (32 GiB).
    #[inline]
    #[cfg(feature = "catalogue")]
    pub(super) fn plain(lines: usize, skipped: usize) -> Option<Tag> {
        debug_assert!(skipped < 4);
        (lines < 1 << LINES_BITS).then_some(Tag((skipped << LINES_BITS | lines) as u32))
    }

    /// The home seat of a block of a class. For a system block, it is no seat's number, so the
    /// owner's fast path needs one comparison.
    #[inline]
    pub(super) fn home(self) -> u32 {
        self.0 >> CLASS_BITS
    }

    /// The class of a block that belongs to a class.
    #[inline]
    pub(super) fn class(self) -> usize {
        (self.0 & ((1 << CLASS_BITS) - 1)) as usize
    }

    /// The size in bytes of a block that is too large for a class; `None` for a block of a class.
    #[inline]
    pub(super) fn system_bytes(self) -> Option<usize> {
        (self.0 & SYSTEM != 0).then_some((self.0 & !SYSTEM) as usize * LINE)
    }

    /// The arguments of [`plain`](Tag::plain).
    #[inline]
    #[cfg(feature = "catalogue")]
    pub(super) fn plain_parts(self) -> (usize, usize) {
        ((self.0 & ((1 << LINES_BITS) - 1)) as usize, (self.0 >> LINES_BITS) as usize)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_the_smallest_that_fits() {
        assert_eq!(class_of(0), Some(0));
        for size in 1..=LARGEST {
            let class = class_of(size).unwrap();
            assert!(SIZES[class] >= size);
            assert!(class == 0 || SIZES[class - 1] < size);
        }
        assert_eq!(class_of(LARGEST + 1), None);
        assert_eq!(class_of(usize::MAX), None);
    }

    #[test]
    fn tags_tell_classes_from_the_system() {
        let tag = Tag::class_block(MAX_SEATS as u32 - 1, CLASSES - 1);
        assert_eq!((tag.home(), tag.class()), (MAX_SEATS as u32 - 1, CLASSES - 1));
        assert_eq!(tag.system_bytes(), None);
        let tag = Tag::system(65).unwrap();
        assert!(tag.home() as usize >= MAX_SEATS);
        assert_eq!(tag.system_bytes(), Some(65 * 64));
        assert_eq!(Tag::system(1 << 31), None);
    }

    #[test]
    fn tags_of_plain_blocks() {
        assert_eq!(Tag::plain(7, 3).unwrap().plain_parts(), (7, 3));
        assert_eq!(Tag::plain((1 << 29) - 1, 0).unwrap().plain_parts(), ((1 << 29) - 1, 0));
        assert_eq!(Tag::plain(1 << 29, 0), None);
    }
}
