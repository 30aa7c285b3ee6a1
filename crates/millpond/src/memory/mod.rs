//! Memory managers: where task blocks come from ([TP](crate#sources) §4).

use std::ptr::NonNull;

#[cfg(feature = "catalogue")]
mod any;
mod chunk;
mod class;
#[cfg(feature = "catalogue")]
mod paper;
mod poison;
pub(crate) mod slab;
mod system;
#[cfg(all(any(test, feature = "conformance"), not(loom)))]
pub(crate) mod testing;

#[cfg(feature = "catalogue")]
pub use any::{AnyMemory, Chosen};
#[cfg(feature = "catalogue")]
pub use paper::named::{Named, parts as named};
#[cfg(feature = "catalogue")]
pub use paper::{params, variants};
pub(crate) use slab::DefaultMemory;
pub use slab::Slabs;

/// Every block is aligned to half a cache line. A block of more than 96 bytes begins a line.
pub const BLOCK_ALIGN: usize = 32;

/// The bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// A block, and the tag that its manager needs to free it.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// The first byte, aligned to [`BLOCK_ALIGN`].
    pub start: NonNull<u8>,
    /// Data of the manager (size class, home worker). The task header keeps it until the block
    /// comes back.
    pub tag: u32,
}

/// Allocates the blocks of tasks.
///
/// [`Slabs`] and `Named` implement this trait, and other crates can, too. Only the runtime calls
/// the methods: `alloc` and `free` once per block. Most tasks have one block; a leaf that runs at
/// its spawn may need none. A manager that frees every block to the system returns 0 from
/// [`largest_stable`](Memory::largest_stable).
///
/// A `Local` moves from thread to thread with its seat. One thread at a time uses it. The manager
/// and its local parts are dropped in any order.
///
/// ```
/// use millpond::memory::{BLOCK_ALIGN, Memory, Slabs};
///
/// let (slabs, mut seats) = Slabs::new(2);
/// let block = slabs.alloc(&mut seats[0], 100);
/// assert_eq!(block.start.addr().get() % BLOCK_ALIGN, 0);
/// // SAFETY: the block is these slabs', and nothing uses it; any seat may give it back.
/// unsafe { slabs.free(&mut seats[1], block) };
/// ```
///
/// # Safety
///
/// `alloc` returns a block of at least `size` bytes that nothing else uses until it is freed. It is
/// aligned to 64 if `size` is more than 96, else to [`BLOCK_ALIGN`]. Its first word is initialized.
///
/// A block of up to [`largest_stable`](Memory::largest_stable) bytes is *stable*: after it is
/// freed, a reader may still load its first 8 bytes, until the manager is dropped. So:
///
/// - Its memory stays mapped until the manager is dropped, even if all local parts are dropped
///   before.
/// - It is only ever used for blocks of one size.
/// - Its first 8 bytes are 0 before the first use, and the manager never writes them afterwards.
pub unsafe trait Memory: Send + Sync + Sized + 'static {
    /// The part of the manager that belongs to one worker.
    type Local: Send + 'static;

    /// The parameters of this type of manager; `()` if it has none.
    type Choice: Clone + std::fmt::Debug + Default + Send + Sync + 'static;

    /// The name of this manager on the command line.
    const NAME: &'static str;

    /// Makes a manager for `seats` workers, and the local part of each.
    fn with(seats: usize, choice: &Self::Choice) -> (Self, Vec<Self::Local>);

    /// Like [`with`](Memory::with), with the default choice.
    fn new(seats: usize) -> (Self, Vec<Self::Local>) {
        Self::with(seats, &Self::Choice::default())
    }

    /// The largest size for which blocks are stable (see *Safety*); 0 if none are. The join of a
    /// task without a value can remember a stable block without keeping it alive.
    fn largest_stable(&self) -> usize;

    /// Returns a block of at least `size` bytes. Panics if `local` is a local part of another
    /// manager.
    fn alloc(&self, local: &mut Self::Local, size: usize) -> Block;

    /// Gives a block back, on any worker.
    ///
    /// # Safety
    ///
    /// `block` came from `alloc` of this manager, on any worker, and nothing uses it any more.
    /// `local` is a local part of this manager.
    unsafe fn free(&self, local: &mut Self::Local, block: Block);

    /// Sends home the blocks that this worker holds for others. A worker calls it before it sleeps.
    /// Panics as `alloc` does.
    fn idle(&self, local: &mut Self::Local);
}
