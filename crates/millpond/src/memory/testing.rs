//! Helpers for the tests of all memory managers and for `conformance::memory`.

use std::collections::VecDeque;
use std::thread;

use super::{Block, Memory};
use crate::sync::Mutex;

/// Makes a manager with one seat.
pub(crate) fn one_seat<M: Memory>(choice: &M::Choice) -> (M, M::Local) {
    let (manager, mut locals) = M::with(1, choice);
    let local = locals.remove(0);
    (manager, local)
}

/// Frees a block that the test holds.
pub(crate) fn free<M: Memory>(manager: &M, local: &mut M::Local, block: Block) {
    // SAFETY: the tests pass each block once, with a local part of its manager.
    unsafe { manager.free(local, block) };
}

pub(crate) fn first_word(block: Block) -> u64 {
    // SAFETY: a block has at least 64 bytes, aligned. This thread holds it, and its first word is
    // initialized.
    unsafe { block.start.cast::<u64>().read() }
}

pub(crate) fn set_first_word(block: Block, word: u64) {
    // SAFETY: as in `first_word`.
    unsafe { block.start.cast::<u64>().write(word) };
}

pub(crate) fn fill(block: Block, bytes: usize, byte: u8) {
    // SAFETY: the block has `bytes` bytes, and this thread holds it.
    unsafe { block.start.write_bytes(byte, bytes) };
}

/// A block on its way to another thread, and the value of its first word.
pub(crate) struct Sent(pub(crate) Block, pub(crate) u64);

// SAFETY: the block belongs to its receiver. The sender forgets it.
unsafe impl Send for Sent {}

/// A bounded queue of such blocks, with many takers.
#[derive(Default)]
pub(crate) struct Queue(Mutex<VecDeque<Sent>>);

impl Queue {
    const BOUND: usize = 256;

    /// Gives the block back if the queue is full.
    pub(crate) fn push(&self, sent: Sent) -> Option<Sent> {
        let mut queue = self.0.lock();
        if queue.len() == Self::BOUND {
            return Some(sent);
        }
        queue.push_back(sent);
        None
    }

    #[cfg(test)]
    pub(crate) fn push_waiting(&self, mut sent: Sent) {
        while let Some(back) = self.push(sent) {
            thread::yield_now();
            sent = back;
        }
    }

    pub(crate) fn pop(&self) -> Option<Sent> {
        self.0.lock().pop_front()
    }
}

pub(crate) fn free_sent<M: Memory>(manager: &M, local: &mut M::Local, Sent(block, word): Sent) {
    assert_eq!(first_word(block), word);
    free(manager, local, block);
}

/// Several threads, each with a seat, allocate blocks of these sizes in turn, and free each other's
/// blocks.
pub(crate) fn everybody_frees_everybodys<M: Memory>(choice: &M::Choice, rounds: usize, sizes: &[usize]) {
    const THREADS: usize = 4;
    let (manager, locals) = M::with(THREADS, choice);
    let queues: [Queue; THREADS] = Default::default();
    let pass_and_free = |seat: usize, mut local: M::Local| {
        for round in 0..rounds {
            let block = manager.alloc(&mut local, sizes[round % sizes.len()]);
            set_first_word(block, round as u64);
            if let Some(back) = queues[(seat + round) % THREADS].push(Sent(block, round as u64)) {
                free_sent(&manager, &mut local, back);
            }
            while let Some(sent) = queues[seat].pop() {
                free_sent(&manager, &mut local, sent);
            }
            if round % 1000 == 0 {
                manager.idle(&mut local);
            }
        }
        local
    };
    let mut locals: Vec<_> = thread::scope(|scope| {
        let pass_and_free = &pass_and_free;
        let threads: Vec<_> = locals
            .into_iter()
            .enumerate()
            .map(|(seat, local)| scope.spawn(move || pass_and_free(seat, local)))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    while let Some(sent) = queues.iter().find_map(Queue::pop) {
        free_sent(&manager, &mut locals[0], sent);
    }
}

/// Runs the calling test again in its own process, with a use after free. Expects AddressSanitizer
/// to end that process. `name` distinguishes several such runs of one test.
#[cfg(all(test, millpond_asan))]
pub(crate) fn use_after_free_is_caught<M: Memory>(choice: &M::Choice, name: &str) {
    use std::env;
    use std::process::Command;

    const PLANT: &str = "MILLPOND_TEST_PLANT_USE_AFTER_FREE";
    match env::var(PLANT) {
        Ok(planted) if planted == name => {
            let (manager, mut local) = one_seat::<M>(choice);
            let block = manager.alloc(&mut local, 64);
            free(&manager, &mut local, block);
            // SAFETY: there is none, on purpose: the block is free. The first word is for stale
            // readers.
            unsafe { block.start.byte_add(32).write_volatile(1) };
            return;
        }
        Ok(_) => return,
        Err(_) => {}
    }
    let test = thread::current().name().expect("the harness names its threads").to_owned();
    let child = Command::new(env::current_exe().unwrap()).args(["--exact", &test]).env(PLANT, name).output().unwrap();
    let report = String::from_utf8_lossy(&child.stderr);
    assert!(!child.status.success(), "{name}: not noticed");
    assert!(report.contains("use-after-poison") || report.contains("heap-use-after-free"), "{name}: {report}");
}
