//! The origin of an item: a step and its tag, in two words. The usual tags need no allocation.

use std::any::{Any, TypeId};
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use crate::key::Key;

/// A tag, kept for reports. Its step collection knows the type, and so can format it.
#[derive(Clone, Debug)]
pub(crate) enum Tag {
    /// Integers, packed.
    Word(u64),
    // A thin pointer.
    Other(Arc<Box<dyn Debug + Send + Sync>>),
}

/// A tag, and the function that formats it if it is packed.
pub(crate) struct Shown<'t>(pub(crate) &'t Tag, pub(crate) fn(u64, &mut Formatter<'_>) -> fmt::Result);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Tag::Word(word) => (self.1)(*word, f),
            Tag::Other(tag) => tag.fmt(f),
        }
    }
}

/// Integers packed into a fixed number of bits each. Small values of either sign stay small.
trait Packed: Copy {
    fn pack(self) -> u64;
    fn unpack(word: u64) -> Self;
}

macro_rules! packed {
    ($($type:ty)+, signed $($signed:ty)+) => {
        $(impl Packed for $type {
            fn pack(self) -> u64 {
                self as u64
            }
            fn unpack(word: u64) -> Self {
                word as Self
            }
        })+
        $(impl Packed for $signed {
            fn pack(self) -> u64 {
                let wide = i64::from(self);
                (wide << 1 ^ wide >> 63) as u64
            }
            fn unpack(word: u64) -> Self {
                ((word >> 1) as i64 ^ -((word & 1) as i64)) as Self
            }
        })+
    };
}
packed!(u8 u16 u32 u64 usize, signed i32 i64);

/// For each packable type of tags: its packing and formatting. The compiler selects the type's
/// branch.
macro_rules! words {
    ($($type:ty: $bits:literal, ($($place:tt)+);)+) => {
        impl Tag {
            #[inline]
            pub(crate) fn of<K: Key>(key: &K) -> Tag {
                let any: &dyn Any = key;
                $(if let Some(tag) = any.downcast_ref::<$type>() {
                    let words = words!(@pack tag $($place)+);
                    if $bits == 64 || words.iter().all(|word| word >> ($bits % 64) == 0) {
                        return Tag::Word(words.iter().rev().fold(0, |all, word| all << ($bits % 64) | word));
                    }
                })+
                Tag::Other(Arc::new(Box::new(key.clone())))
            }
        }

        /// Formats a packed tag of type `K`.
        pub(crate) fn show<K: Key>(word: u64, f: &mut Formatter<'_>) -> fmt::Result {
            $(if TypeId::of::<K>() == TypeId::of::<$type>() {
                let part = |at: u32| word >> (at * $bits % 64) & (u64::MAX >> (64 - $bits));
                let tag: $type = words!(@unpack part $($place)+);
                return tag.fmt(f);
            })+
            unreachable!("no other tag is packed")
        }
    };
    (@pack $tag:ident only) => { [$tag.pack()] };
    (@pack $tag:ident $($place:tt)+) => { [$($tag.$place.pack()),+] };
    (@unpack $part:ident only) => { Packed::unpack($part(0)) };
    (@unpack $part:ident $($place:tt)+) => { ($(Packed::unpack($part($place))),+) };
}
words! {
    u8: 64, (only);
    u16: 64, (only);
    u32: 64, (only);
    u64: 64, (only);
    usize: 64, (only);
    i32: 64, (only);
    i64: 64, (only);
    (u32, u32): 32, (0 1);
    (u64, u64): 32, (0 1);
    (usize, usize): 32, (0 1);
    (i32, i32): 32, (0 1);
    (i64, i64): 32, (0 1);
    (u32, u32, u32): 21, (0 1 2);
    (u64, u64, u64): 21, (0 1 2);
    (usize, usize, usize): 21, (0 1 2);
    (i32, i32, i32): 21, (0 1 2);
    (i64, i64, i64): 21, (0 1 2);
}

/// A step collection: its index in the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepId(pub(crate) u32);

/// The origin of an item. Like [`Tag`], but in two words.
#[derive(Clone)]
pub(crate) enum Origin {
    Environment,
    Word(StepId, u64),
    Other(StepId, Arc<Box<dyn Debug + Send + Sync>>),
}

impl Origin {
    pub(crate) fn step(step: StepId, tag: &Tag) -> Self {
        match tag {
            Tag::Word(word) => Origin::Word(step, *word),
            Tag::Other(tag) => Origin::Other(step, tag.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same<K: Key>(key: K, packed: bool) {
        let tag = Tag::of(&key);
        assert_eq!(matches!(tag, Tag::Word(_)), packed, "{key:?}");
        assert_eq!(Shown(&tag, show::<K>).to_string(), format!("{key:?}"));
    }

    #[test]
    fn tags_are_shown_as_they_are() {
        same(7_u32, true);
        same(-7_i64, true);
        same(i64::MIN, true);
        same(u64::MAX, true);
        same((-1_i32, i32::MAX), true);
        same((i32::MIN, i32::MAX), true);
        same((1_usize, (1_usize << 32) - 1), true);
        same((1_usize, 1_usize << 32), false);
        same((-1_i64, 1_i64 << 31), false);
        same((1_u32, 2_u32, (1_u32 << 21) - 1), true);
        same((1_u32, 1_u32 << 21, 3_u32), false);
        same((-1_i64, 2_i64, -3_i64), true);
        same("text".to_owned(), false);
        same([1, 2, 3, 4], false);
        same(Some(1_u64), false);
        assert_eq!((size_of::<Tag>(), size_of::<Origin>()), (16, 16));
    }
}
