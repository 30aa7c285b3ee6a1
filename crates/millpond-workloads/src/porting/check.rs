//! Do the chains end where the serial program ends?

/// A number for where the chains end.
pub fn checksum(ends: &[u32]) -> u64 {
    ends.iter().fold(0, |sum: u64, &end| sum.wrapping_mul(31).wrapping_add(end.into()))
}
