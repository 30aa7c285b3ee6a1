//! Checks the concatenation with a digest.

use blake3::{Hash, Hasher};

/// The digest of the concatenated pieces.
pub fn digest<'p>(pieces: impl IntoIterator<Item = &'p Vec<u8>>) -> Hash {
    let mut hasher = Hasher::new();
    pieces.into_iter().for_each(|piece| _ = hasher.update(piece));
    hasher.finalize()
}
