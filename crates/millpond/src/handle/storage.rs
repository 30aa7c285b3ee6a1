//! Storage of renamed versions, which the process reuses ([decision 18]).
//!
//! A `write` that renames allocates a block on the spawner's thread. The last user of the old
//! version frees a block, usually on another thread. So each thread keeps freed blocks by size
//! class. If it has too many, it passes them to other threads in batches:
//!
//! ```text
//!   alloc ◀── open ◀─ spare ◀┐              of a thread: at most two batches per class
//!   free ───▶ open ─▶ spare ─┤
//!                            └─ overflow    of the process: under a lock, at most 32 MiB of
//!                                           blocks per class; the rest goes to the system
//! ```
//!
//! The blocks belong to the process, not to a runtime's memory manager. In its handle, a version
//! may outlive the runtime, and threads that are no workers also free versions.
//!
//! Under a sanitizer or loom, nothing is kept. The sanitizers see a use after free only if blocks
//! come from the system. Loom knows nothing of the process.
//!
//! [decision 18]: ../../../../docs/decisions/0018-storage-of-renamed-versions.md

use std::alloc::{Layout, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::NonNull;

use crossbeam_utils::CachePadded;

use crate::memory::LINE;
use crate::sync::global::Mutex;
use crate::sync::prefetch_for_write;

/// The largest block that is kept, in bytes.
const MAX_BLOCK_BYTES: usize = 512;
/// Sizes are multiples of a cache line, because versions are aligned to one.
const CLASSES: usize = MAX_BLOCK_BYTES / LINE;
/// The number of blocks that a thread passes to others at once.
const BATCH: usize = 64;
/// A thread that takes a block prefetches the block that it takes this many later.
const PREFETCH_DISTANCE: usize = 4;
/// The bytes of a class that the process keeps, in addition to its threads' blocks.
const MAX_OVERFLOW_BYTES: usize = 32 << 20;
/// Whether the process keeps blocks at all.
const KEEPS: bool = !cfg!(any(loom, millpond_tsan, millpond_asan));

/// Allocates a block for a `B`.
#[inline]
pub(super) fn alloc<B>() -> NonNull<B> {
    alloc_of(Layout::new::<B>()).cast()
}

// Not generic, so that a program contains it once. The same holds for `free_of`.
#[cfg_attr(not(debug_assertions), inline)]
fn alloc_of(layout: Layout) -> NonNull<u8> {
    let kept = match class_of(layout) {
        Some(class) => with_shelf(class, Shelf::take).flatten(),
        None => None,
    };
    match kept {
        Some(block) => block,
        None => from_system(layout),
    }
}

/// Frees a block.
///
/// # Safety
///
/// The block came from `alloc::<B>`, and no code uses it.
#[inline]
pub(super) unsafe fn free<B>(block: NonNull<B>) {
    // SAFETY: the caller gives up a block of that layout.
    unsafe { free_of(block.cast(), Layout::new::<B>()) };
}

/// # Safety
///
/// The block came from `alloc_of` for this layout, and no code uses it.
#[cfg_attr(not(debug_assertions), inline)]
unsafe fn free_of(block: NonNull<u8>, layout: Layout) {
    // SAFETY: the caller gives up the block, and it is of that class.
    let keep = |shelf: &Shelf, class| unsafe { shelf.keep(class, block) };
    if class_of(layout).and_then(|class| with_shelf(class, keep)).is_none() {
        // SAFETY: the block came from the system in this layout, perhaps by way of a shelf of its
        // class.
        unsafe { dealloc(block.as_ptr(), layout) };
    }
}

/// The class of a layout, if blocks of it are kept. All blocks of a class have one layout.
#[inline]
fn class_of(layout: Layout) -> Option<usize> {
    let fits = KEEPS && layout.align() == LINE && layout.size() <= MAX_BLOCK_BYTES;
    fits.then(|| layout.size() / LINE - 1)
}

const fn layout_of(class: usize) -> Layout {
    match Layout::from_size_align((class + 1) * LINE, LINE) {
        Ok(layout) => layout,
        Err(_) => unreachable!(),
    }
}

#[cold]
fn from_system(layout: Layout) -> NonNull<u8> {
    // SAFETY: a version's size is not zero.
    let block = unsafe { std::alloc::alloc(layout) };
    NonNull::new(block).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Free blocks of one class. It holds addresses instead of a chain through the blocks, so that a
/// thread can prefetch later blocks. Blocks freed by other threads or in bulk are in no near cache.
#[derive(Default)]
struct List(Vec<NonNull<u8>>);

// SAFETY: only the list's owner knows its blocks.
unsafe impl Send for List {}

impl List {
    const EMPTY: List = List(Vec::new());

    /// # Safety
    ///
    /// The block is of the list's class, and the caller gives it up.
    #[inline]
    unsafe fn push(&mut self, block: NonNull<u8>) {
        if self.0.capacity() == 0 {
            self.0.reserve_exact(BATCH);
        }
        self.0.push(block);
    }

    #[inline]
    fn pop(&mut self, class: usize) -> Option<NonNull<u8>> {
        let block = self.0.pop()?;
        if let Some(ahead) = self.0.len().checked_sub(PREFETCH_DISTANCE) {
            prefetch_for_write(self.0[ahead], layout_of(class).size().min(2 * LINE));
        }
        Some(block)
    }

    fn give_back(self, class: usize) {
        for block in self.0 {
            // SAFETY: the block is of this class (`push`), so it came from the system in that
            // layout. No code uses it.
            unsafe { dealloc(block.as_ptr(), layout_of(class)) };
        }
    }
}

/// The blocks of one class that a thread keeps. It has two lists, so that a thread at the edge of
/// one does not access the overflow on every call.
struct Shelf {
    open: Cell<List>,
    spare: Cell<List>,
}

struct Shelves([Shelf; CLASSES]);

thread_local! {
    static SHELVES: Shelves = const {
        Shelves([const { Shelf { open: Cell::new(List::EMPTY), spare: Cell::new(List::EMPTY) } }; CLASSES])
    };
}

/// Batches that threads passed on.
static OVERFLOW: [CachePadded<Mutex<Vec<List>>>; CLASSES] =
    [const { CachePadded::new(Mutex::new(Vec::new())) }; CLASSES];

/// Takes the locks for a fork.
pub(crate) fn take_locks() -> Box<dyn std::any::Any> {
    Box::new(OVERFLOW.each_ref().map(|overflow| overflow.lock()))
}

/// Returns `None` if the thread is ending and has no shelves any more.
#[inline]
fn with_shelf<R>(class: usize, f: impl FnOnce(&Shelf, usize) -> R) -> Option<R> {
    SHELVES.try_with(|shelves| f(&shelves.0[class], class)).ok()
}

impl Shelf {
    #[inline]
    fn take(&self, class: usize) -> Option<NonNull<u8>> {
        let mut open = self.open.take();
        if open.0.is_empty() {
            open = self.next(class);
        }
        let block = open.pop(class);
        self.open.set(open);
        block
    }

    #[cold]
    fn next(&self, class: usize) -> List {
        let spare = self.spare.take();
        if !spare.0.is_empty() { spare } else { OVERFLOW[class].lock().pop().unwrap_or_default() }
    }

    /// # Safety
    ///
    /// The block is of this class, and the caller gives it up.
    #[inline]
    unsafe fn keep(&self, class: usize, block: NonNull<u8>) {
        let mut open = self.open.take();
        if open.0.len() == BATCH {
            pass_on(class, self.spare.replace(open));
            open = List::EMPTY;
        }
        // SAFETY: as the caller promises.
        unsafe { open.push(block) };
        self.open.set(open);
    }
}

/// Passes a batch on to other threads.
#[cold]
fn pass_on(class: usize, batch: List) {
    if batch.0.is_empty() {
        return;
    }
    let mut overflow = OVERFLOW[class].lock();
    if overflow.len() < most_batches(class) {
        overflow.push(batch);
        return;
    }
    drop(overflow);
    batch.give_back(class);
}

const fn most_batches(class: usize) -> usize {
    MAX_OVERFLOW_BYTES / (BATCH * layout_of(class).size())
}

impl Drop for Shelves {
    fn drop(&mut self) {
        for (class, shelf) in self.0.iter().enumerate() {
            pass_on(class, shelf.open.take());
            pass_on(class, shelf.spare.take());
        }
    }
}

#[cfg(all(test, not(any(loom, millpond_tsan, millpond_asan))))]
mod tests {
    use std::collections::HashSet;
    use std::thread;

    use super::*;

    /// A block of `LINES` lines, in a class that no other test uses.
    #[repr(align(64))]
    struct Block<const LINES: usize>([[u8; 64]; LINES]);

    fn free_all<B>(blocks: impl IntoIterator<Item = usize>) {
        for block in blocks {
            let block = NonNull::new(std::ptr::with_exposed_provenance_mut::<B>(block)).expect("allocated");
            // SAFETY: each block was allocated once for a `B`, and is freed once.
            unsafe { free(block) };
        }
    }

    /// Allocates blocks and returns their addresses, which can be sent to other threads.
    fn alloc_all<B>(count: usize) -> HashSet<usize> {
        (0..count).map(|_| alloc::<B>().as_ptr().expose_provenance()).collect()
    }

    #[test]
    fn a_thread_uses_its_blocks_again() {
        type B = Block<8>;
        let blocks = alloc_all::<B>(BATCH);
        assert_eq!(blocks.len(), BATCH);
        free_all::<B>(blocks.iter().copied());
        let again = alloc_all::<B>(BATCH);
        assert_eq!(again, blocks);
        free_all::<B>(again);
    }

    /// One thread only allocates, the other only frees. The total is the number of blocks that the
    /// first thread uses at once, and two batches at each thread.
    #[test]
    fn batches_come_back_from_other_threads() {
        type B = Block<7>;
        let mut seen = HashSet::<usize>::new();
        for _ in 0..100 {
            let blocks = alloc_all::<B>(BATCH);
            seen.extend(&blocks);
            thread::spawn(|| free_all::<B>(blocks)).join().expect("frees");
        }
        assert!(seen.len() <= 2 * BATCH, "{} blocks for {BATCH}", seen.len());
    }

    #[test]
    fn no_more_is_kept_than_may_be() {
        type B = Block<6>;
        let class = class_of(Layout::new::<B>()).expect("kept");
        let blocks = alloc_all::<B>((most_batches(class) + 8) * BATCH);
        free_all::<B>(blocks);
        let kept: usize = OVERFLOW[class].lock().iter().map(|batch| batch.0.len()).sum();
        assert_eq!(kept, most_batches(class) * BATCH);
        let kept_bytes = kept * layout_of(class).size();
        assert!(kept_bytes <= MAX_OVERFLOW_BYTES && kept_bytes > MAX_OVERFLOW_BYTES - BATCH * layout_of(class).size());
        OVERFLOW[class].lock().drain(..).for_each(|batch| batch.give_back(class));
    }

    #[test]
    fn what_is_large_or_aligned_otherwise_goes_to_the_system() {
        #[repr(align(128))]
        struct Wide([u8; 256]);
        assert_eq!(class_of(Layout::new::<Wide>()), None);
        assert_eq!(class_of(Layout::new::<Block<9>>()), None);
        let block = alloc::<Wide>();
        // SAFETY: it has room for one.
        unsafe { block.write(Wide([1; 256])) };
        // SAFETY: the line above wrote it.
        assert_eq!(unsafe { block.as_ref() }.0[255], 1);
        // SAFETY: the block was allocated above, and no code uses it.
        unsafe { free(block) };
    }
}
