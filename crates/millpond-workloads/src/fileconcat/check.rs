//! Is the concatenation that of the files?

use blake3::{Hash, Hasher};

/// The digest of pieces, one after the other.
pub fn digest<'p>(pieces: impl IntoIterator<Item = &'p Vec<u8>>) -> Hash {
    let mut hasher = Hasher::new();
    pieces.into_iter().for_each(|piece| _ = hasher.update(piece));
    hasher.finalize()
}
