//! Refusing a job that the machine cannot hold, before the system kills it.

use super::MAX_N;
use crate::Error;

/// What a tile takes beside its entries: its block of memory, its handle and that one's version (475 bytes, by
/// `peak_rss_bytes` of `run cholesky --tile 1` with `--n 200` and `--n 600`).
const TILE: u64 = 512;

/// The greatest order of a square matrix for each entry of which a job holds so many bytes.
pub fn most_order(bytes_per_entry: u64) -> u64 {
    available().map_or(MAX_N, |available| (available / bytes_per_entry).isqrt().min(MAX_N))
}

/// Fails if a job on generated matrices of order `n` asks for more than there is.
pub fn require_order(n: u64, bytes_per_entry: u64) -> Result<(), Error> {
    let max = most_order(bytes_per_entry);
    let why = " (with the memory available)";
    if n > max { Err(Error::Range { option: "n", value: n, min: 1, max, why }) } else { Ok(()) }
}

/// Fails if `tiles` tiles ask for more than there is.
pub fn require_tiles(what: &'static str, tiles: u64) -> Result<(), Error> {
    match (tiles.saturating_mul(TILE), available()) {
        (needed, Some(available)) if needed > available => Err(Error::Memory { what, needed, available }),
        _ => Ok(()),
    }
}

/// What the system could give without swapping; nothing where it does not say.
pub fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kb| kb * 1024)
}
