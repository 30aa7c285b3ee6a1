//! The serial program: one file behind the other.

/// The concatenation.
pub fn serial(files: &[Vec<u8>]) -> Vec<u8> {
    files.concat()
}
