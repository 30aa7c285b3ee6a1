//! The promises of the slabs, on one thread and on several threads.

use std::collections::HashSet;
use std::thread;

use super::super::testing::{Queue, Sent, fill, first_word, free, free_sent, set_first_word};
use super::super::{BLOCK_ALIGN, LINE, testing};
use super::*;
use crate::limit::limit;

fn one_seat() -> (Slabs, Local) {
    testing::one_seat(&())
}

fn chunks(slabs: &Slabs) -> usize {
    slabs.chunks.lock().len()
}

#[test]
fn blocks_are_aligned_zeroed_and_apart() {
    let (slabs, mut local) = one_seat();
    let mut spans = Vec::new();
    for size in (0..=LARGEST).step_by(31).chain([LARGEST]) {
        let block = slabs.alloc(&mut local, size);
        assert_eq!(block.start.addr().get() % if size > 96 { LINE } else { BLOCK_ALIGN }, 0);
        let usable = SIZES[class_of(size).unwrap()];
        // SAFETY: a fresh block of a slab is zeroed and has this size. This thread holds it.
        let bytes = unsafe { std::slice::from_raw_parts(block.start.as_ptr(), usable) };
        assert!(bytes.iter().all(|&byte| byte == 0));
        fill(block, usable, 0xff);
        spans.push((block.start.addr().get(), usable));
    }
    spans.sort_unstable();
    assert!(spans.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
}

#[test]
fn large_blocks_come_from_the_system() {
    let (slabs, mut locals) = Slabs::new(2);
    for size in [LARGEST + 1, 5000, 1 << 20, (1 << 22) + 1] {
        let block = slabs.alloc(&mut locals[0], size);
        assert_eq!(block.start.addr().get() % LINE, 0);
        fill(block, size, 0xa5);
        free(&slabs, &mut locals[1], block);
    }
    assert_eq!(chunks(&slabs), 0);
}

#[test]
fn the_last_freed_is_the_next_used_and_keeps_its_first_word() {
    let (slabs, mut local) = one_seat();
    let blocks: Vec<_> = (0..100).map(|_| slabs.alloc(&mut local, 200)).collect();
    for (&block, word) in blocks.iter().zip(0..) {
        fill(block, 256, 0xee);
        set_first_word(block, word);
        free(&slabs, &mut local, block);
        assert_eq!(first_word(block), word);
    }
    for (block, word) in blocks.iter().zip(0..).collect::<Vec<_>>().into_iter().rev() {
        let again = slabs.alloc(&mut local, 256);
        assert_eq!(again.start, block.start);
        assert_eq!(first_word(again), word);
    }
    assert_eq!(chunks(&slabs), 2, "16 KiB and 32 KiB for 100 blocks of 256 bytes");
}

#[test]
fn a_batch_goes_home_when_full_or_when_its_holder_idles() {
    let (slabs, mut locals) = Slabs::new(2);
    let [home, other] = &mut locals[..] else { unreachable!() };
    let blocks: Vec<_> = (0..BATCH + 1).map(|_| slabs.alloc(home, 64)).collect();
    let starts: HashSet<_> = blocks.iter().map(|block| block.start).collect();

    blocks.iter().for_each(|&block| free(&slabs, other, block));
    assert_eq!(other.batches.held, 1);
    let back: HashSet<_> = (0..BATCH).map(|_| slabs.alloc(home, 64).start).collect();
    assert!(back.is_subset(&starts));

    slabs.idle(other);
    assert_eq!(other.batches.held, 0);
    assert!(starts.contains(&slabs.alloc(home, 64).start));
    assert!(!starts.contains(&slabs.alloc(home, 64).start));
}

#[test]
fn the_manager_and_its_local_parts_end_in_any_order() {
    let (slabs, mut local) = one_seat();
    let block = slabs.alloc(&mut local, 64);
    free(&slabs, &mut local, block);
    drop(slabs);
    drop(local);

    let (slabs, mut local) = one_seat();
    let block = slabs.alloc(&mut local, 64);
    set_first_word(block, 7);
    drop(local);
    assert_eq!(first_word(block), 7);
    drop(slabs);
}

#[test]
#[should_panic(expected = "another manager")]
fn a_local_part_of_another_manager_is_refused() {
    let (slabs, _locals) = Slabs::new(1);
    let (_other, mut local) = one_seat();
    slabs.alloc(&mut local, 64);
}

fn free_number(slabs: &Slabs, mut local: Local, from: &Queue, blocks: usize) {
    let mut freed = 0;
    while freed < blocks {
        match from.pop() {
            Some(sent) => {
                free_sent(slabs, &mut local, sent);
                freed += 1;
            }
            None => thread::yield_now(),
        }
    }
}

#[test]
fn blocks_come_home_from_the_threads_that_free_them() {
    limit(60, "blocks come home from the threads that free them", || {
        const FREERS: usize = 2;
        const BLOCKS: usize = 500_000;
        let (slabs, mut locals) = Slabs::new(1 + FREERS);
        let mut home = locals.remove(0);
        let queues: [Queue; FREERS] = Default::default();
        thread::scope(|scope| {
            let freers: Vec<_> = locals
                .into_iter()
                .zip(&queues)
                .map(|(local, queue)| scope.spawn(|| free_number(&slabs, local, queue, BLOCKS)))
                .collect();
            for word in 0..FREERS * BLOCKS {
                let block = slabs.alloc(&mut home, 64 + word / FREERS % 2 * 64);
                set_first_word(block, word as u64);
                queues[word % FREERS].push_waiting(Sent(block, word as u64));
            }
            freers.into_iter().for_each(|freer| freer.join().unwrap());
        });
        // At most 2 * 256 blocks are on their way, and 64 in each of 2 * 2 batches. For each class,
        // chunks of 16, 32 and 64 KiB hold them.
        assert!(chunks(&slabs) <= 2 * 3, "{} chunks", chunks(&slabs));
    });
}

#[test]
fn everybody_frees_everybodys_blocks() {
    limit(60, "everybody frees everybody's blocks", || {
        testing::everybody_frees_everybodys::<Slabs>(&(), 20_000, &SIZES);
    });
}

#[cfg(millpond_asan)]
#[test]
fn a_use_after_free_is_caught() {
    testing::use_after_free_is_caught::<Slabs>(&(), Slabs::NAME);
}

/// The first word of a block counts its uses, starting with 0. Memory from the system has any
/// contents.
#[test]
fn a_large_block_begins_with_zero() {
    let (slabs, mut locals) = Slabs::new(1);
    for round in 0..100 {
        let blocks: Vec<_> = (1..9).map(|n| slabs.alloc(&mut locals[0], LARGEST + n * 64)).collect();
        for block in blocks {
            let first = block.start.cast::<u64>();
            // SAFETY: the block begins with a word, and this test alone uses it.
            assert_eq!(unsafe { first.read() }, 0, "round {round}");
            // SAFETY: as above.
            unsafe { first.write(u64::MAX) };
            // SAFETY: the block came from here, and is not used any more.
            unsafe { slabs.free(&mut locals[0], block) };
        }
    }
}
