//! Compares the ends of the chains with the serial program's.

/// A checksum of the chains' ends.
pub fn checksum(ends: &[u32]) -> u64 {
    ends.iter().fold(0, |sum: u64, &end| sum.wrapping_mul(31).wrapping_add(end.into()))
}
