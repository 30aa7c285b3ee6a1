//! Counts writes to cache lines that other threads hold (`--cfg millpond_counted`).
//!
//! This is a model of the caches. Either one thread holds a line and may write it, or several hold
//! it and may read it. A thread writing a line that others hold takes it from them. On a machine,
//! such a write waits for another processor. The count is a property of the program's steps, so it
//! does not depend on the machine.
//!
//! The model sees atomics and mutexes. It does not see plain memory. One thread at a time uses
//! that, and a line passes to another thread only by an atomic.

use std::collections::BTreeMap;
use std::panic::Location;
// The mutex of `sync` would call this module again.
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::global::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// A source position: the file and the line.
pub(crate) type Place = (&'static str, u32);

/// The threads that hold a line.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// One bit per thread.
    holders: u64,
}

const LINE: usize = 64;
const SHARDS: usize = 256;

static WATCHED: AtomicBool = AtomicBool::new(false);
static LINES: [Mutex<BTreeMap<usize, Line>>; SHARDS] = [const { Mutex::new(BTreeMap::new()) }; SHARDS];
static WRITES: Mutex<BTreeMap<Place, u64>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// The bit of this thread. Beyond 64 threads, some share a bit.
    static BIT: u64 = {
        static THREADS: AtomicU32 = AtomicU32::new(0);
        1 << (THREADS.fetch_add(1, Relaxed) % 64)
    };
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes the holders of a line, and the calling thread's bit.
fn with_line(address: usize, f: impl FnOnce(&mut Line, u64)) {
    // A thread that ends has no bit any more.
    let Ok(bit) = BIT.try_with(|&bit| bit) else { return };
    let line = address / LINE;
    f(locked(&LINES[line % SHARDS]).entry(line).or_default(), bit);
}

/// The calling thread reads at this address.
pub(super) fn read(address: usize) {
    if WATCHED.load(Relaxed) {
        with_line(address, |line, bit| line.holders |= bit);
    }
}

/// The calling thread writes at this address.
#[track_caller]
pub(super) fn write(address: usize) {
    if !WATCHED.load(Relaxed) {
        return;
    }
    let mut taken = false;
    with_line(address, |line, bit| {
        taken = line.holders & !bit != 0;
        line.holders = bit;
    });
    if taken {
        let place = Location::caller();
        *locked(&WRITES).entry((place.file(), place.line())).or_default() += 1;
    }
}

/// Runs `f`. Returns the places that wrote lines of other threads meanwhile, with the number of
/// such writes, most first.
#[cfg(test)]
pub(crate) fn shared_writes(f: impl FnOnce()) -> Vec<(Place, u64)> {
    LINES.iter().for_each(|lines| locked(lines).clear());
    locked(&WRITES).clear();
    WATCHED.store(true, Relaxed);
    f();
    WATCHED.store(false, Relaxed);
    let mut writes: Vec<_> = std::mem::take(&mut *locked(&WRITES)).into_iter().collect();
    writes.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    writes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};

    #[test]
    fn a_write_counts_if_another_thread_holds_the_line() {
        let _one = crate::sync::tracked::one_counts();
        let number = AtomicU64::new(0);
        let other = |f: &(dyn Fn() + Sync)| std::thread::scope(|threads| threads.spawn(f).join().expect("no panic"));
        let count = |f: &(dyn Fn() + Sync)| shared_writes(f).iter().map(|(_, count)| count).sum::<u64>();
        assert_eq!(count(&|| (0..9).for_each(|n| number.store(n, Relaxed))), 0);
        let read_between = || {
            number.store(1, Relaxed);
            other(&|| _ = number.load(Relaxed));
            (0..9).for_each(|n| number.store(n, Relaxed));
        };
        assert_eq!(count(&read_between), 1);
        let in_turns = || {
            (0..5).for_each(
                |n| if n % 2 == 0 { number.store(n, Relaxed) } else { other(&|| _ = number.swap(n, Relaxed)) },
            )
        };
        assert_eq!(count(&in_turns), 4);
    }
}
