//! The maximum memory of the process during a part of its life.

use std::fs;

/// Resets the maximum. If the system cannot, the maximum of the whole life remains.
pub fn reset() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The maximum in bytes; 0 if the system does not report it.
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
