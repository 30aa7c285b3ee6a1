//! The files of a directory.

use crate::matrix::memory;
use crate::{Error, input, output};
use std::io;
use std::path::{Path, PathBuf};

/// The contents of the regular files in a directory, by name; links to files are files, directories are left out. `output` is
/// none of them. There is memory for so many copies.
pub(super) fn read(dir: &Path, output: Option<&Path>, copies: u64) -> Result<Vec<Vec<u8>>, Error> {
    let cannot = |why: io::Error| Error::Read { file: dir.to_owned(), why };
    let entries: io::Result<Vec<_>> = std::fs::read_dir(dir).map_err(cannot)?.collect();
    let mut files: Vec<PathBuf> = entries.map_err(cannot)?.into_iter().map(|entry| entry.path()).collect();
    files.retain(|file| file.is_file());
    files.sort();
    if files.is_empty() {
        let what = "there is no regular file in it".to_owned();
        return Err(Error::Input { file: dir.to_owned(), place: "directory".to_owned(), what });
    }
    if let Some(output) = output.map(output::place)
        && files.iter().any(|file| output::place(file) == output)
    {
        return Err(Error::Conflict {
            one: "output",
            other: "dir",
            why: "the output is one of the files in the directory",
        });
    }
    let bytes: u64 = files.iter().filter_map(|file| Some(file.metadata().ok()?.len())).sum();
    if memory::available().is_some_and(|available| bytes.saturating_mul(copies) > available) {
        let what = format!("its files have {bytes} bytes, too many for the memory available");
        return Err(Error::Input { file: dir.to_owned(), place: "directory".to_owned(), what });
    }
    files.iter().map(|file| input::bytes(file)).collect()
}
