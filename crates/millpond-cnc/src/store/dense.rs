//! A slot for each key within bounds: one array, allocated at once.

use super::Outside;
use crate::key::Key;

/// A key of integers, each below a bound, which has an index in an array.
pub trait Bounds: Key {
    /// The number of keys below this one; `None` if it overflows.
    fn size(&self) -> Option<usize>;

    /// The index of `key`, where `self` is the bounds. It is below [`size`](Bounds::size), and
    /// differs for each key. A key with any other index counts as out of bounds.
    fn place(&self, key: &Self) -> Option<usize>;

    /// The key at an index.
    fn key(&self, place: usize) -> Self;
}

macro_rules! integers {
    ($($type:ty)+) => {$(
        impl Bounds for $type {
            fn size(&self) -> Option<usize> {
                // No key is below a negative bound.
                usize::try_from((*self).max(<$type>::default())).ok()
            }

            #[inline]
            fn place(&self, key: &Self) -> Option<usize> {
                (0..*self).contains(key).then_some(*key as usize)
            }

            fn key(&self, place: usize) -> Self {
                place as Self
            }
        }
    )+};
}
integers!(u8 u16 u32 u64 usize i32 i64);

/// The index of a pair: each first value has `size` second ones. `None` on overflow, which needs an
/// index beyond its size.
#[inline]
fn pair_place(first: usize, size: usize, second: usize) -> Option<usize> {
    first.checked_mul(size)?.checked_add(second)
}

impl<A: Bounds, B: Bounds> Bounds for (A, B) {
    fn size(&self) -> Option<usize> {
        self.0.size()?.checked_mul(self.1.size()?)
    }

    #[inline]
    fn place(&self, key: &Self) -> Option<usize> {
        pair_place(self.0.place(&key.0)?, self.1.size()?, self.1.place(&key.1)?)
    }

    fn key(&self, place: usize) -> Self {
        let size = self.1.size().expect("the bounds have a size");
        (self.0.key(place / size), self.1.key(place % size))
    }
}

impl<A: Bounds, B: Bounds, C: Bounds> Bounds for (A, B, C) {
    fn size(&self) -> Option<usize> {
        self.0.size()?.checked_mul(self.1.size()?)?.checked_mul(self.2.size()?)
    }

    #[inline]
    fn place(&self, key: &Self) -> Option<usize> {
        let first = pair_place(self.0.place(&key.0)?, self.1.size()?, self.1.place(&key.1)?)?;
        pair_place(first, self.2.size()?, self.2.place(&key.2)?)
    }

    fn key(&self, place: usize) -> Self {
        let size = self.2.size().expect("the bounds have a size");
        let (rest, last) = (place / size, place % size);
        let size = self.1.size().expect("the bounds have a size");
        (self.0.key(rest / size), self.1.key(rest % size), self.2.key(last))
    }
}

/// See the [module](self).
pub(crate) struct Dense<K, S> {
    bounds: K,
    slots: Box<[S]>,
    /// Function pointers, because `K` need not be `Bounds` in the methods.
    place: fn(&K, &K) -> Option<usize>,
    key: fn(&K, usize) -> K,
}

impl<K: Key, S: Default> Dense<K, S> {
    pub(crate) fn new(bounds: K) -> Self
    where
        K: Bounds,
    {
        let size = bounds.size().unwrap_or_else(|| panic!("there are too many keys below {bounds:?}"));
        let mut slots = Vec::new();
        let there_is = slots.try_reserve_exact(size);
        assert!(there_is.is_ok(), "there is no memory for {size} items, the keys below {bounds:?}");
        slots.resize_with(size, S::default);
        Dense { bounds, slots: slots.into(), place: K::place, key: K::key }
    }

    #[inline]
    pub(crate) fn find(&self, key: &K) -> Result<(usize, &S), Outside> {
        // A user's `Bounds` may return anything.
        match (self.place)(&self.bounds, key).and_then(|place| Some((place, self.slots.get(place)?))) {
            Some(found) => Ok(found),
            None => Err(Outside(format!("{:?}", self.bounds))),
        }
    }

    #[inline]
    pub(crate) fn at(&self, place: usize) -> &S {
        &self.slots[place]
    }

    pub(crate) fn key(&self, place: usize) -> K {
        (self.key)(&self.bounds, place)
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = &S> {
        self.slots.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_a_place() {
        let bounds = (3_u32, 4_usize, 5_i64);
        assert_eq!(bounds.size(), Some(60));
        for place in 0..60 {
            assert_eq!(bounds.place(&bounds.key(place)), Some(place));
        }
        assert_eq!(bounds.place(&(3, 0, 0)), None);
        assert_eq!(bounds.place(&(0, 0, -1)), None);
        assert_eq!((usize::MAX, 2_usize).size(), None);
        let dense: Dense<_, u8> = Dense::new((2_u32, 2_u32));
        assert_eq!(dense.find(&(1, 1)).unwrap(), (3, &0));
        assert_eq!(dense.find(&(2, 1)).unwrap_err().0, "(2, 2)");
    }
}
