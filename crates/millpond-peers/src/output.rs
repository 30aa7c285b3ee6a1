//! Files that are written whole or not at all: first beside their place, then renamed.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Fails if `file` cannot be written, before a long bench finds out.
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
        // If it cannot be removed either, the first error says more.
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
