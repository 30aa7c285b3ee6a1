//! Files that are written whole or not at all: first beside their place, then renamed. A place holds what it held
//! before until then.

use crate::Error;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::iter;
use std::path::{Path, PathBuf};

/// Fails if `file` cannot be written, before a long run finds out.
pub fn require(file: &Path) -> Result<(), Error> {
    Beside::new(file).map(drop).map_err(|why| failed(file, why))
}

/// Writes `file` by `fill`.
pub fn write(file: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    let whole = || {
        let beside = Beside::new(file)?;
        let mut out = BufWriter::with_capacity(1 << 20, &beside.handle);
        fill(&mut out)?;
        out.flush()?;
        drop(out);
        beside.handle.sync_all()?;
        beside.finish()
    };
    whole().map_err(|why| failed(file, why))
}

/// Where `file` is, or is to be, behind links: files with the same place are one, whatever they are called.
pub fn place(file: &Path) -> PathBuf {
    let beside = |file: &Path| {
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(parent.canonicalize().ok()?.join(file.file_name()?))
    };
    if let Ok(place) = file.canonicalize() {
        return place;
    }
    // A link to what is not there yet. Links that lead to each other are found out where the file is to be written; so is a
    // directory that does not exist.
    let behind = |link: &PathBuf| Some(link.parent()?.join(link.read_link().ok()?));
    let last = iter::successors(Some(file.to_owned()), behind).take(MOST_LINKS).last();
    beside(&last.unwrap_or_else(|| file.to_owned())).unwrap_or_else(|| file.to_owned())
}

/// As many as Linux follows.
const MOST_LINKS: usize = 40;

fn failed(file: &Path, why: io::Error) -> Error {
    Error::Write { file: file.to_owned(), why }
}

/// A temporary file in the directory of the file that it is to become; removed unless it becomes it.
struct Beside {
    path: PathBuf,
    place: PathBuf,
    handle: File,
    done: bool,
}

impl Beside {
    fn new(file: &Path) -> io::Result<Self> {
        // Behind a link, so that the link stays.
        let place = place(file);
        if place.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        // A device or a pipe would be replaced, not written to.
        if place.exists() && !place.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        let name = place.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.tmp", std::process::id()));
        let path = place.with_file_name(hidden);
        let handle = OpenOptions::new().write(true).create_new(true).open(&path)?;
        Ok(Self { path, place, handle, done: false })
    }

    fn finish(mut self) -> io::Result<()> {
        fs::rename(&self.path, &self.place)?;
        self.done = true;
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if !self.done {
            // Nothing better can be done about a file that cannot be removed: the first error is being reported.
            let _ = fs::remove_file(&self.path);
        }
    }
}
