//! Files that are read whole.

use crate::Error;
use crate::matrix::memory;
use std::io;
use std::path::Path;

/// The bytes of a file.
pub fn bytes(file: &Path) -> Result<Vec<u8>, Error> {
    read(file).map_err(|why| Error::Read { file: file.to_owned(), why })
}

fn read(file: &Path) -> io::Result<Vec<u8>> {
    let about = std::fs::metadata(file)?;
    // A device may never end.
    if !about.is_file() && !about.is_dir() {
        return Err(io::Error::other("not a regular file"));
    }
    if memory::available().is_some_and(|available| about.len() > available) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    std::fs::read(file)
}
