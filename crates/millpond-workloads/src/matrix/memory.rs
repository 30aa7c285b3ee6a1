//! Refuses a job that exceeds the machine's memory, before the system kills it.

use super::{MAX_N, default_tile, params};
use crate::{Error, limits};

/// The bytes of a tile in addition to its entries: its block of memory, its handle and its version.
/// 475 bytes were measured by `peak_rss_bytes` of `run cholesky --tile 1` with `--n 200` and `--n
/// 600`.
const TILE: u64 = 512;

/// The maximum bytes of a tile's column in addition to its entries, because it begins a cache line.
const PADDING: u64 = 56;

/// The memory of a job on square matrices of one order.
#[derive(Debug, Clone, Copy)]
pub struct Needs {
    /// The bytes per entry of a matrix, in matrices and tiles together.
    pub bytes_per_entry: u64,
    /// The number of halves of matrices cut into tiles.
    pub tiled_halves: u64,
    /// The bytes of all tasks, by the number of tiles in a column.
    pub tasks: fn(u64) -> u64,
}

impl Needs {
    fn bytes(self, n: u64, tile: u64) -> u64 {
        let tiles = n.div_ceil(tile);
        let data = self.bytes_per_entry * n * n + self.tiled_halves * tiles * (tiles * TILE + n * PADDING) / 2;
        data.saturating_add((self.tasks)(tiles))
    }

    /// The maximum order for the machine's memory, with tiles of the default order.
    pub fn most_order(self) -> u64 {
        let Some(available) = available() else { return MAX_N };
        let most = (available / self.bytes_per_entry).isqrt().min(MAX_N);
        (1..=most).rev().find(|&n| self.bytes(n, default_tile(n as usize) as u64) <= available).unwrap_or(0)
    }

    /// Fails if a job on generated matrices of order `n` exceeds the memory.
    pub fn require_order(self, n: u64) -> Result<(), Error> {
        let max = self.most_order();
        if n > max { Err(Error::Range { option: "n", value: n, min: 1, max, why: WHY }) } else { Ok(()) }
    }

    /// Fails if the tiles of order `tile` exceed the memory.
    pub fn require_tile(self, n: u64, tile: u64) -> Result<(), Error> {
        let Some(available) = available() else { return Ok(()) };
        if self.bytes(n, tile) <= available {
            return Ok(());
        }
        let min = (tile..n).find(|&tile| self.bytes(n, tile) <= available).unwrap_or(n);
        Err(Error::Range { option: params::TILE.name, value: tile, min, max: n, why: WHY })
    }
}

const WHY: &str = " (with the memory available)";

/// The bytes available to the process without swapping; `None` if the system does not report them.
/// They are the minimum left by the machine, the process's control groups (versions 1 and 2), and
/// its resource limits (`ulimit -v`, `ulimit -d`).
///
/// ```
/// let available = millpond_workloads::matrix::memory::available();
/// assert!(available.is_none_or(|bytes| bytes > 0));
/// ```
pub fn available() -> Option<u64> {
    limits::available()
}

/// Reserves the address space of a job's threads. [`available`] excludes it from a limited address
/// space (`ulimit -v`, `ulimit -d`).
///
/// A thread uses its stack, the stack of its running body, and 64 MiB of addresses for its
/// allocations. That is the size of the C library's arena.
///
/// ```
/// millpond_workloads::matrix::memory::reserve_for_threads(2, 2 << 20);
/// ```
pub fn reserve_for_threads(threads: usize, stack_size: usize) {
    const ARENA_AND_STACK: u64 = 66 << 20;
    limits::reserve((threads as u64).saturating_mul(ARENA_AND_STACK.saturating_add(stack_size as u64)));
}
