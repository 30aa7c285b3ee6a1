//! Random schedules (`--cfg millpond_yields`): a thread sometimes waits a little before an
//! operation of an atomic or a lock.
//!
//! `MILLPOND_YIELDS` is the seed. If it is not set, no thread waits. Each thread has its own random
//! numbers, so a run repeats only as far as the system repeats its schedule. Statics
//! (`sync::global`) do not wait.

use std::cell::Cell;
use std::time::Duration;

use super::global::atomic::{AtomicU64 as Count, Ordering::Relaxed};

thread_local! {
    /// The state of an xorshift generator; 0 before its first use. It does not use `pool::random`,
    /// because `sync` imports no other module.
    static RANDOM: Cell<u64> = const { Cell::new(0) };
}

/// The state of a thread that never waits.
const OFF: u64 = 1;

/// The first state of a thread. It depends on the seed and on the number of earlier threads.
#[cold]
fn first_state() -> u64 {
    static THREADS: Count = Count::new(1);
    let Some(seed) = seed() else { return OFF };
    let thread = THREADS.fetch_add(1, Relaxed);
    ((seed << 32) ^ thread).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 2
}

/// The seed of `MILLPOND_YIELDS`, if it is set. Each thread that comes first reads it: a lock would
/// call this module again, and a `OnceLock` might be half initialized in the child of a fork.
fn seed() -> Option<u64> {
    const UNREAD: u64 = u64::MAX;
    const UNSET: u64 = u64::MAX - 1;
    static SEED: Count = Count::new(UNREAD);
    if SEED.load(Relaxed) == UNREAD {
        let seed = std::env::var("MILLPOND_YIELDS").ok();
        SEED.store(seed.map_or(UNSET, |seed| seed.parse().expect("MILLPOND_YIELDS is a number")), Relaxed);
    }
    Some(SEED.load(Relaxed)).filter(|&seed| seed != UNSET)
}

/// Sometimes waits a little: a spin, a yield or, rarely, a sleep. The sleep is longer than a scope
/// takes to end.
pub(crate) fn perhaps_wait() {
    let mut x = RANDOM.get();
    if x == 0 {
        x = first_state();
    }
    if x != OFF {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        match x >> 52 {
            0 => std::thread::sleep(Duration::from_micros(20 + (x & 255))),
            1..16 => std::thread::yield_now(),
            16..80 => (0..x & 127).for_each(|_| std::hint::spin_loop()),
            _ => {}
        }
    }
    RANDOM.set(x);
}
