//! Reads whole files: regular files and pipes, compressed or not.

use crate::Error;
use crate::matrix::memory;
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// The bytes of a file or a pipe.
pub fn bytes(file: &Path) -> Result<Vec<u8>, Error> {
    read(file).map_err(|why| Error::Read { file: file.to_owned(), why })
}

fn read(file: &Path) -> io::Result<Vec<u8>> {
    let about = std::fs::metadata(file)?;
    // A device may have no end.
    if !about.is_file() && !about.is_dir() && !about.file_type().is_fifo() {
        return Err(io::Error::other("not a regular file or a pipe"));
    }
    let available = memory::available();
    if available.is_some_and(|available| about.len() > available) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    // The length bounds a regular file, unless it grows meanwhile.
    let most = if about.is_file() { available } else { growing(available) };
    up_to(File::open(file)?, most)?.ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

/// The maximum number of bytes to read if the length is unknown. A growing vector may need twice
/// the memory.
fn growing(available: Option<u64>) -> Option<u64> {
    available.map(|available| available / 2)
}

/// All bytes; `None` if there are more than `most`.
fn up_to(from: impl Read, most: Option<u64>) -> io::Result<Option<Vec<u8>>> {
    let (most, mut bytes) = (most.unwrap_or(u64::MAX - 1), Vec::new());
    from.take(most + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

/// Whether the bytes begin like a gzip file (RFC 1952).
pub fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// The content of a gzip file, unless it exceeds the memory.
pub fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let most = growing(memory::available());
    match up_to(MultiGzDecoder::new(bytes), most) {
        Ok(Some(unpacked)) => Ok(unpacked),
        Ok(None) => Err("it expands to more than memory can hold".to_owned()),
        Err(why) if why.kind() == io::ErrorKind::UnexpectedEof => Err("the file is truncated".to_owned()),
        Err(why) => Err(why.to_string()),
    }
}

/// The text without a byte order mark, which some programs write before UTF-8.
pub fn without_mark(bytes: &[u8]) -> Result<&[u8], &'static str> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err("UTF-16 text: expected UTF-8");
    }
    Ok(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
}
