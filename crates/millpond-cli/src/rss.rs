//! The high-water mark of the memory that the process holds, for one part of its life.

use std::fs;

/// Forgets the high-water mark so far. Where the system cannot, the mark of the whole life stays.
pub fn reset() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The high-water mark in bytes; 0 where the system does not say.
pub fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|l| l.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_mark_follows_the_memory_in_use() {
        let big = std::hint::black_box(vec![1u8; 64 << 20]);
        let with = super::peak();
        assert!(with > 64 << 20, "{} {with}", big.len());
        drop(big);
        super::reset();
        assert!(super::peak() < with);
    }
}
