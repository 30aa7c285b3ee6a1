//! Writes files atomically: first without a name, then linked to their place. Until then, the place
//! keeps its previous content.

use crate::Error;
use rustix::fs::{AtFlags, CWD, OFlags, linkat};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::iter;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Fails if `file` cannot be written. Called before a long run.
pub fn require(file: &Path) -> Result<(), Error> {
    Beside::new(file).map(drop).map_err(|why| failed(file, why))
}

/// Writes `file` with `fill`.
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

/// The place of `file` after all links. Paths with the same place are the same file.
pub fn place(file: &Path) -> PathBuf {
    let beside = |file: &Path| {
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(parent.canonicalize().ok()?.join(file.file_name()?))
    };
    if let Ok(place) = file.canonicalize() {
        return place;
    }
    // A link to a missing file. A cycle of links, or a missing directory, fails when the file is
    // written.
    let behind = |link: &PathBuf| Some(link.parent()?.join(link.read_link().ok()?));
    let last = iter::successors(Some(file.to_owned()), behind).take(MAX_LINKS).last();
    beside(&last.unwrap_or_else(|| file.to_owned())).unwrap_or_else(|| file.to_owned())
}

/// Linux's maximum number of followed links.
const MAX_LINKS: usize = 40;

fn failed(file: &Path, why: io::Error) -> Error {
    Error::Write { file: file.to_owned(), why }
}

/// A temporary file in the directory of the replaced file.
///
/// It has no name until it is complete, so a killed process leaves nothing. Two cases need a hidden
/// name:
///
/// - The place already has a file, which `link` cannot replace. The complete file gets a hidden
///   name and is renamed at once. A process killed between these two calls leaves the complete
///   file.
/// - The file system does not support files without names (`O_TMPFILE`), or `/proc` is not mounted.
///   The file has a hidden name while it is written. A killed process leaves it.
struct Beside {
    hidden: PathBuf,
    place: PathBuf,
    handle: File,
    /// Whether a file with the hidden name exists.
    named: bool,
}

impl Beside {
    fn new(file: &Path) -> io::Result<Self> {
        // The link's target is written, so that the link stays.
        let place = place(file);
        if place.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        // A device or a pipe would be replaced, not written to.
        if place.exists() && !place.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        if place.file_name().is_none() {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        let (hidden, dir) = (place.with_file_name(format!(".millpond.{}.tmp", std::process::id())), place.parent());
        let dir = dir.filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if let Some(handle) = nameless(dir) {
            return Ok(Self { hidden, place, handle, named: false });
        }
        let handle = OpenOptions::new().write(true).create_new(true).open(&hidden)?;
        Ok(Self { hidden, place, handle, named: true })
    }

    fn finish(mut self) -> io::Result<()> {
        if !self.named {
            match self.link(&self.place) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                done => return done,
            }
            self.link(&self.hidden)?;
            self.named = true;
        }
        fs::rename(&self.hidden, &self.place)?;
        self.named = false;
        Ok(())
    }

    /// Gives the file its first name.
    fn link(&self, name: &Path) -> io::Result<()> {
        Ok(linkat(CWD, name_in_proc(&self.handle), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if self.named {
            // A failed removal is less important than the first error.
            let _ = fs::remove_file(&self.hidden);
        }
    }
}

/// A file without a name in a directory, if the system supports it and can name the file later.
fn nameless(dir: &Path) -> Option<File> {
    let flags = OFlags::TMPFILE.bits().try_into().ok()?;
    let file = OpenOptions::new().write(true).custom_flags(flags).open(dir).ok()?;
    fs::symlink_metadata(name_in_proc(&file)).is_ok().then_some(file)
}

/// The path of a link to an open file.
fn name_in_proc(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Dir(PathBuf);

    impl Dir {
        fn new(name: &str) -> Self {
            let dir = std::env::temp_dir().join(format!("millpond-output-{name}-{}", std::process::id()));
            fs::create_dir_all(&dir).expect("a directory");
            Self(dir)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).expect("the directory");
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name")).collect()
        }
    }

    impl Drop for Dir {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_name_appears_with_the_whole_file() {
        let dir = Dir::new("whole");
        let file = dir.0.join("a");
        for content in ["first", "second"] {
            let before = dir.names();
            let filled = |out: &mut dyn Write| {
                assert_eq!(dir.names(), before);
                out.write_all(content.as_bytes())
            };
            write(&file, filled).expect("a file");
            assert_eq!(fs::read_to_string(&file).expect("the file"), content);
            assert_eq!(dir.names(), ["a"]);
        }
    }

    #[test]
    fn a_file_system_without_nameless_files_gets_a_hidden_name() {
        let dir = Dir::new("hidden");
        for fails in [false, true] {
            let (hidden, place) = (dir.0.join(".hidden"), dir.0.join("a"));
            let mut handle = File::create(&hidden).expect("a file");
            handle.write_all(b"content").expect("a write");
            let beside = Beside { hidden, place: place.clone(), handle, named: true };
            if fails {
                drop(beside);
            } else {
                beside.finish().expect("a file");
            }
            assert_eq!((dir.names(), fs::read(&place).expect("the file")), (vec!["a".to_owned()], b"content".to_vec()));
        }
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let dir = Dir::new("old");
        let file = dir.0.join("a".repeat(255));
        fs::write(&file, "old").expect("a file");
        let failed = write(&file, |out| out.write_all(b"new").and(Err(io::Error::other("no"))));
        assert!(failed.is_err_and(|error| error.to_string().ends_with("cannot write: no")));
        assert_eq!((dir.names().len(), fs::read(&file).expect("the file")), (1, b"old".to_vec()));
        write(&file, |out| out.write_all(b"new")).expect("a name of the greatest length");
        assert_eq!((dir.names().len(), fs::read(&file).expect("the file")), (1, b"new".to_vec()));
    }
}
