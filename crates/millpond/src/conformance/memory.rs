//! The contract of a memory manager.

use super::limit::limit;
use crate::memory::testing::{everybody_frees_everybodys, fill, first_word, free, one_seat, set_first_word};
use crate::memory::{BLOCK_ALIGN, LINE, Memory};

/// Tests the contract of a memory manager. Blocks are aligned, large enough and disjoint, and any
/// worker may free them.
///
/// # Panics
///
/// If the manager breaks its contract.
pub fn memory<M: Memory>() {
    limit(120, format!("conformance of memory manager {}", M::NAME), || {
        blocks_are_aligned_and_apart::<M>();
        stable_blocks_keep_their_first_word::<M>();
        parts_end_in_any_order::<M>();
        everybody_frees_everybodys::<M>(&M::Choice::default(), 5_000, &[8, 64, 96, 97, 160, 256, 1000, 5000]);
    });
}

fn blocks_are_aligned_and_apart<M: Memory>() {
    let (manager, mut local) = one_seat::<M>(&M::Choice::default());
    let (mut spans, mut blocks) = (Vec::new(), Vec::new());
    for size in (8..=2048).step_by(31).chain([96, 97, 4096, 4097, 1 << 20]) {
        let block = manager.alloc(&mut local, size);
        let align = if size > 96 { LINE } else { BLOCK_ALIGN };
        assert_eq!(block.start.addr().get() % align, 0, "{}: alignment of {size} bytes", M::NAME);
        if size <= manager.largest_stable() {
            assert_eq!(first_word(block), 0, "{}: the first word of {size} bytes at their first use", M::NAME);
        }
        fill(block, size, 0xff);
        spans.push((block.start.addr().get(), size));
        blocks.push(block);
    }
    spans.sort_unstable();
    let apart = spans.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0);
    assert!(apart, "{}: two blocks overlap", M::NAME);
    blocks.into_iter().for_each(|block| free(&manager, &mut local, block));
}

/// A stale reader may load the first word of a free or reused block, until the manager is dropped.
fn stable_blocks_keep_their_first_word<M: Memory>() {
    let (manager, mut local) = one_seat::<M>(&M::Choice::default());
    let size = manager.largest_stable().min(200);
    if size == 0 {
        return;
    }
    let blocks: Vec<_> = (0..1000).map(|_| manager.alloc(&mut local, size)).collect();
    let address = |block: &crate::memory::Block| block.start.addr().get() as u64;
    for block in &blocks {
        set_first_word(*block, address(block));
        free(&manager, &mut local, *block);
    }
    manager.idle(&mut local);
    for block in &blocks {
        assert_eq!(first_word(*block), address(block), "{}: the first word of a free block has changed", M::NAME);
    }
    for _ in 0..2000 {
        let block = manager.alloc(&mut local, size);
        let is_kept = [0, address(&block)].contains(&first_word(block));
        assert!(is_kept, "{}: the first word of a block that is used again has changed", M::NAME);
    }
    drop(local);
    for block in &blocks {
        let is_kept = [0, address(block)].contains(&first_word(*block));
        assert!(is_kept, "{}: the first word of a block has changed with the drop of a local part", M::NAME);
    }
    drop(manager);
}

fn parts_end_in_any_order<M: Memory>() {
    let (manager, mut local) = one_seat::<M>(&M::Choice::default());
    let block = manager.alloc(&mut local, 64);
    free(&manager, &mut local, block);
    drop(manager);
    drop(local);
    let (manager, mut locals) = M::new(3);
    let block = manager.alloc(&mut locals[0], 64);
    drop(locals.remove(0));
    // SAFETY: the block came from the manager, and no code uses it.
    unsafe { manager.free(&mut locals[1], block) };
    locals.iter_mut().for_each(|local| manager.idle(local));
    drop(locals);
}
