//! The serial program: one file after the other.

/// All bytes.
pub fn serial(files: &[Vec<u8>]) -> Vec<u8> {
    files.concat()
}
