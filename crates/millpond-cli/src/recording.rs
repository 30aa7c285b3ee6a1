//! Reads recordings, if the memory suffices to evaluate them.

use crate::failure::Failure;
use crate::progress::Progress;
use millpond_trace::Recording;
use millpond_workloads::matrix::memory;
use std::path::Path;

/// The memory that a command needs, as a multiple of the recording's size. Measured with recordings
/// of nqueens, fib and cholesky, of 1 to 20 MB. A report needs up to 30 times their size, a
/// simulation up to 43 times.
#[derive(Clone, Copy)]
pub enum Needs {
    Report = 32,
    Simulation = 48,
}

/// Reads a recording. It fails if evaluating the recording would exceed the memory.
pub fn read(file: &Path, needs: Needs, progress: &Progress) -> Result<Recording, Failure> {
    progress.say(|| format!("reading {}", file.display()));
    let checked = |bytes: u64| {
        let needed = bytes.saturating_mul(needs as u64);
        if memory::available().is_none_or(|available| needed <= available) {
            return Ok(());
        }
        let mib = needed.div_ceil(1 << 20);
        let what = format!("the recording needs {mib} MiB of memory, more than is available");
        Err(Failure::Failed(format!("{}: {what}", file.display())))
    };
    // A pipe has no length.
    checked(std::fs::metadata(file).map_or(0, |about| about.len()))?;
    let recording = Recording::read(file).map_err(|error| Failure::Failed(error.to_string()))?;
    checked(recording.bytes().len() as u64)?;
    Ok(recording)
}
