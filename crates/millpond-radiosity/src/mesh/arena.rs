//! Elements in chunks that never move. Threads add elements while others read them.

use super::element::Element;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The elements of the first chunk. Each further chunk is twice as large.
const FIRST: u32 = 1 << 10;

/// Chunks for the maximum number of elements.
const CHUNKS: usize = 15;

/// A growing list of elements.
#[derive(Debug, Default)]
pub(super) struct Arena {
    chunks: [OnceLock<Box<[OnceLock<Element>]>>; CHUNKS],
    /// The number of claimed places.
    len: AtomicU32,
}

impl Arena {
    /// Claims `count` places in a row, if no more than `most` are then in use. Returns the first.
    pub(super) fn claim(&self, count: u32, most: u32) -> Option<u32> {
        let most = most.min(FIRST * ((1 << CHUNKS) - 1));
        let fits = |len: u32| len.checked_add(count).filter(|len| *len <= most);
        self.len.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits).ok()
    }

    /// Fills a claimed place.
    ///
    /// # Panics
    ///
    /// If it was filled before.
    pub(super) fn fill(&self, at: u32, element: Element) {
        let (chunk, offset) = place(at);
        let make = || (0..FIRST << chunk).map(|_| OnceLock::new()).collect();
        let filled = self.chunks[chunk].get_or_init(make)[offset].set(element);
        assert!(filled.is_ok(), "element {at} was filled before");
    }

    /// A filled place.
    pub(super) fn get(&self, at: u32) -> Option<&Element> {
        let (chunk, offset) = place(at);
        self.chunks[chunk].get()?.get(offset)?.get()
    }

    /// The number of claimed places.
    pub(super) fn len(&self) -> u32 {
        self.len.load(Ordering::Acquire)
    }
}

/// The chunk of a place, and the offset there.
fn place(at: u32) -> (usize, usize) {
    let chunk = (at / FIRST + 1).ilog2();
    (chunk as usize, (at - FIRST * ((1 << chunk) - 1)) as usize)
}

#[cfg(test)]
mod tests {
    use super::{FIRST, place};

    #[test]
    fn places_are_distinct() {
        let mut expected = (0, 0);
        for at in 0..20 * FIRST {
            assert_eq!(place(at), expected);
            expected.1 += 1;
            if expected.1 == (FIRST as usize) << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
    }
}
