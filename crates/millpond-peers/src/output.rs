//! Writes files atomically: first to a temporary name next to the target, then by a rename.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Checks that `file` can be written, before a long bench.
pub fn require(file: &Path) -> Result<(), String> {
    let beside = beside(file);
    if file.is_dir() {
        return Err(format!("cannot write {}: it is a directory", file.display()));
    }
    fs::write(&beside, "").and_then(|()| fs::remove_file(&beside)).map_err(|why| failed(file, &why))
}

/// Writes `file`.
pub fn write(file: &Path, text: &str) -> Result<(), String> {
    let beside = beside(file);
    let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, file));
    written.map_err(|why| {
        // If the removal fails, too, the first error says more.
        let _ = fs::remove_file(&beside);
        failed(file, &why)
    })
}

fn failed(file: &Path, why: &std::io::Error) -> String {
    format!("cannot write {}: {why}", file.display())
}

fn beside(file: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(file.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    file.with_file_name(name)
}
