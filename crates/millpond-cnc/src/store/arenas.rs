//! Memory of hashed slots: append-only arrays. With few threads, each thread has its own array. So
//! threads do not push to the same array, and one thread's slots are adjacent.

#[cfg(loom)]
pub(super) use of_models::Arenas;
#[cfg(not(loom))]
pub(super) use one_a_thread::Arenas;

#[cfg(not(loom))]
mod one_a_thread {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use crossbeam_utils::CachePadded;

    /// A power of 2.
    const ARENAS: usize = 16;

    thread_local! {
        /// The index of this thread's array.
        static OWN: usize = {
            static THREADS: AtomicUsize = AtomicUsize::new(0);
            THREADS.fetch_add(1, Ordering::Relaxed) % ARENAS
        };
    }

    /// See the [module](super). Slots have indices below 2^32 - 1.
    pub(in crate::store) struct Arenas<T>(Box<[CachePadded<boxcar::Vec<T>>; ARENAS]>);

    impl<T> Arenas<T> {
        pub(in crate::store) fn new() -> Self {
            Arenas(Box::new(std::array::from_fn(|_| CachePadded::new(boxcar::Vec::new()))))
        }

        /// The index of a new slot.
        #[inline]
        pub(in crate::store) fn push(&self, slot: T) -> u32 {
            let own = OWN.with(|&own| own);
            let place = self.0[own].push(slot) * ARENAS + own;
            let place = u32::try_from(place).ok().filter(|&place| place < u32::MAX);
            place.expect("a thread makes at most 2^28 items of a collection")
        }

        #[inline]
        pub(in crate::store) fn at(&self, place: u32) -> &T {
            let place = place as usize;
            &self.0[place % ARENAS][place / ARENAS]
        }

        pub(in crate::store) fn iter(&self) -> impl Iterator<Item = &T> {
            self.0.iter().flat_map(|arena| arena.iter().map(|(_, slot)| slot))
        }
    }
}

/// Loom sees neither its steps nor its orderings. A thread that reads a slot must have the index
/// from the thread that made it.
#[cfg(loom)]
mod of_models {
    use std::sync::OnceLock;

    /// A few slots.
    pub(in crate::store) struct Arenas<T>([OnceLock<T>; 16]);

    impl<T> Arenas<T> {
        pub(in crate::store) fn new() -> Self {
            Arenas([const { OnceLock::new() }; 16])
        }

        pub(in crate::store) fn push(&self, slot: T) -> u32 {
            let mut slot = Some(slot);
            let free = self.0.iter().position(|place| {
                slot = slot.take().and_then(|slot| place.set(slot).err());
                slot.is_none()
            });
            free.expect("models are small") as u32
        }

        pub(in crate::store) fn at(&self, place: u32) -> &T {
            self.0[place as usize].get().expect("pushed before")
        }

        pub(in crate::store) fn iter(&self) -> impl Iterator<Item = &T> {
            self.0.iter().filter_map(OnceLock::get)
        }
    }
}
