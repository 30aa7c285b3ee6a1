//! Reading small text files, and their errors.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Why a description of clusters or a task graph cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// A description of clusters is neither sizes nor the path of a file.
    #[error("clusters '{text}': expected {expected}")]
    Sizes {
        /// The given text.
        text: String,
        /// The expected form.
        expected: String,
    },
    /// The file cannot be read.
    #[error("{}: cannot read it: {why}", .file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// The error of the system.
        why: io::Error,
    },
    /// A line of the file is invalid, or is missing after this line.
    #[error("{}:{line}: {says}", .file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what is expected.
        says: String,
    },
}

/// The largest file, in bytes: about a million lines.
const MAX_BYTES: u64 = 32 << 20;

/// The text of a file. A device may have no end.
pub(crate) fn bounded(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(file)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {MAX_BYTES} bytes")));
    }
    Ok(text)
}

/// The text of a file, or its error.
pub(crate) fn text_of(file: &Path) -> Result<String, InputError> {
    bounded(file).map_err(|why| InputError::Read { file: file.to_owned(), why })
}

/// The error of a line.
pub(crate) fn wrong(file: &Path, line: usize, says: String) -> InputError {
    InputError::Line { file: file.to_owned(), line, says }
}
