//! A hash that keeps neighbours together. If keys differ only in the lowest bits of their last
//! integer, their hashes differ only in the lowest bits. So the words of eight neighbours share a
//! cache line, and a loop over consecutive keys uses each line eight times. All other bits are
//! hashed as usual.

use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::{FixedState, FoldHasher};

const BITS: u32 = 3;

/// The hash of a key.
#[inline]
pub(super) fn hash<K: Hash>(key: &K) -> u64 {
    let mut near = Near { rest: FixedState::default().build_hasher(), low: 0 };
    key.hash(&mut near);
    near.finish()
}

struct Near<'s> {
    rest: FoldHasher<'s>,
    /// The lowest bits of the last integer.
    low: u64,
}

impl Near<'_> {
    #[inline]
    fn integer(&mut self, value: u64) {
        // The lowest bits of the previous integer replace the bits kept apart.
        self.rest.write_u64(value >> BITS | self.low << (u64::BITS - BITS));
        self.low = value & ((1 << BITS) - 1);
    }
}

macro_rules! integers {
    ($($name:ident $type:ty;)+) => {$(
        #[inline]
        fn $name(&mut self, value: $type) {
            self.integer(value as u64);
        }
    )+};
}

impl Hasher for Near<'_> {
    integers! {
        write_u8 u8;
        write_u16 u16;
        write_u32 u32;
        write_u64 u64;
        write_usize usize;
        write_i8 i8;
        write_i16 i16;
        write_i32 i32;
        write_i64 i64;
        write_isize isize;
    }

    fn write(&mut self, bytes: &[u8]) {
        self.rest.write(bytes);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.rest.finish() << BITS | self.low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_together_and_others_are_not() {
        let line = |key: (u32, u64)| hash(&key) >> BITS;
        for row in 0..100 {
            for group in 0..100 {
                let first = line((row, group * 8));
                assert!((0..8).all(|at| line((row, group * 8 + at)) == first));
                assert!((0..8).all(|at| hash(&(row, group * 8 + at)) & 7 == at));
                assert_ne!(line((row, group * 8 + 8)), first);
                assert_ne!(line((row + 1, group * 8)), first);
                assert_ne!(line((row + 8, group * 8)), first);
            }
        }
        assert_ne!(hash(&"one"), hash(&"two"));
    }
}
