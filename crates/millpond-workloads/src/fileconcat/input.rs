//! The files: from a directory, or generated.

use crate::matrix::generate::mix;
use crate::{Error, input};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The files of a directory, before they are read.
pub(super) struct Listed<'d> {
    dir: &'d Path,
    /// Sorted by the bytes of the name.
    files: Vec<PathBuf>,
}

/// Lists the regular files of a directory, without subdirectories. Links are followed, as in `cat
/// DIR/*`. Hidden files are included, unlike there. Devices, pipes and sockets are excluded,
/// because they may have no end.
pub(super) fn list(dir: &Path) -> Result<Listed<'_>, Error> {
    let cannot = |file: &Path| {
        let file = file.to_owned();
        move |why| Error::Read { file, why }
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(cannot(dir))? {
        let path = entry.map_err(cannot(dir))?.path();
        // A broken link is an unreadable file.
        if fs::metadata(&path).map_err(cannot(&path))?.is_file() {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(cannot(dir)(io::Error::other("there are no regular files in the directory")));
    }
    files.sort_unstable();
    Ok(Listed { dir, files })
}

impl Listed<'_> {
    /// Whether `place` is one of the files, after links.
    pub fn contains_place(&self, place: &Path) -> bool {
        self.files.iter().any(|file| crate::output::place(file) == place)
    }

    /// Reads them, if `fits` accepts their number and their bytes.
    pub fn read(self, fits: impl FnOnce(u64, u64) -> bool) -> Result<Vec<Vec<u8>>, Error> {
        let lengths = self.files.iter().map(|file| fs::metadata(file).map_or(0, |about| about.len()));
        let bytes = lengths.fold(0, u64::saturating_add);
        if !fits(self.files.len() as u64, bytes) {
            let why = io::Error::other(format!("its files have {bytes} bytes, more than memory can hold in blocks"));
            return Err(Error::Read { file: self.dir.to_owned(), why });
        }
        self.files.iter().map(|file| input::bytes(file)).collect()
    }
}

/// Generates files from a seed. Each has any length up to twice the average, and every sixteenth is
/// empty.
pub fn make(files: u64, length: u64, seed: u64) -> Vec<Vec<u8>> {
    let seed = mix(seed);
    let file = |file: u64| {
        let start = mix(seed ^ file);
        let bytes = if file % 16 == 15 { 0 } else { start % (2 * length + 1) };
        let words = (0..bytes.div_ceil(8)).flat_map(|word| mix(start ^ word).to_le_bytes());
        words.take(bytes as usize).collect()
    };
    (0..files).map(file).collect()
}
