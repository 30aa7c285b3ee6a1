//! Models of blocks on their way home.

use loom::cell::UnsafeCell;
use loom::thread;

use super::*;
use crate::sync::Arc;

/// A cell for each of the first blocks, which loom watches. Every holder of a block writes its
/// cell, so loom finds two holders without an order between them.
struct Watch {
    base: usize,
    cells: [UnsafeCell<u32>; 3],
}

// SAFETY: loom checks the accesses to the cells. That is their purpose.
unsafe impl Sync for Watch {}

impl Watch {
    fn new(base: NonNull<u8>) -> Watch {
        Watch { base: base.addr().get(), cells: array::from_fn(|_| UnsafeCell::new(0)) }
    }

    fn hold(&self, block: NonNull<u8>) {
        let index = (block.addr().get() - self.base) / 64;
        self.cells[index].with_mut(|cell| {
            // SAFETY: loom reports it if another thread's access is not ordered with this one.
            unsafe { *cell += 1 };
        });
    }
}

/// A block on its way to another thread.
struct Sent(Block);

// SAFETY: the block belongs to its receiver. The sender forgets it.
unsafe impl Send for Sent {}

/// One thread frees a block that another allocated, while the other continues.
#[test]
fn loom_a_block_comes_home() {
    loom::model(|| {
        let (slabs, mut locals) = Slabs::new(2);
        let slabs = Arc::new(slabs);
        let mut other = locals.pop().unwrap();
        let mut home = locals.pop().unwrap();
        let first = slabs.alloc(&mut home, 64);
        let watch = Arc::new(Watch::new(first.start));
        watch.hold(first.start);

        let sent = Sent(first);
        let (slabs2, watch2) = (slabs.clone(), watch.clone());
        let freer = thread::spawn(move || {
            let Sent(block) = { sent };
            watch2.hold(block.start);
            // SAFETY: this thread owns the block, which goes back once. `other` is a local part of
            // its manager.
            unsafe { slabs2.free(&mut other, block) };
            slabs2.idle(&mut other);
        });
        let (second, third) = (slabs.alloc(&mut home, 64), slabs.alloc(&mut home, 64));
        assert_ne!(second.start, third.start);
        watch.hold(second.start);
        watch.hold(third.start);
        freer.join().unwrap();
    });
}

/// Two threads send and the home takes: each block arrives once.
#[test]
fn loom_two_senders_and_a_taker() {
    loom::model(|| {
        let inbox = Arc::new(Inbox::new());
        let mut chunk = Fresh::new();
        let mut kept = Vec::new();
        // SAFETY: all calls use one size. `kept` holds the chunks as long as the model runs.
        let blocks: [NonNull<u8>; 3] = array::from_fn(|_| unsafe { chunk.cut(64, |chunk| kept.push(chunk)) });
        let watch = Arc::new(Watch::new(blocks[0]));

        let senders: Vec<_> = [vec![blocks[0], blocks[1]], vec![blocks[2]]]
            .into_iter()
            .map(|blocks| {
                let mut batch = Batch::default();
                for block in blocks {
                    // SAFETY: a free block of the chunk, which only this batch gets.
                    unsafe { batch.push(block) };
                }
                let (inbox, watch) = (inbox.clone(), watch.clone());
                thread::spawn(move || send(batch, &inbox, &watch))
            })
            .collect();

        let mut taken = take(&inbox, &watch);
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        taken.extend(take(&inbox, &watch));
        taken.sort_unstable();
        assert_eq!(taken, blocks);
    });
}

// SAFETY: a batch owns its blocks.
unsafe impl Send for Batch {}

fn send(mut batch: Batch, inbox: &Inbox, watch: &Watch) {
    let (chain, _) = batch.take().unwrap();
    watch.hold(chain.head);
    // SAFETY: this thread owns the chain.
    unsafe { inbox.send(0, chain) };
}

fn take(inbox: &Inbox, watch: &Watch) -> Vec<NonNull<u8>> {
    let mut list = inbox.take(0);
    let mut taken = Vec::new();
    while let Some(block) = list.pop(SIZES[0]) {
        watch.hold(block);
        taken.push(block);
    }
    taken
}
