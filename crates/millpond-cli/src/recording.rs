//! Reads recordings, if the memory suffices to evaluate them.

use crate::failure::Failure;
use crate::progress::Progress;
use millpond_trace::Recording;
use millpond_workloads::matrix::memory;
use std::path::Path;

/// The memory that a report or a recorded graph needs, in bytes per event of the recording.
const BYTES_PER_EVENT: u64 = 64;

pub fn read(file: &Path, progress: &Progress) -> Result<Recording, Failure> {
    progress.say(|| format!("reading {}", file.display()));
    let available = memory::available();
    let exceeds = |bytes: u64| available.is_some_and(|available| bytes > available);
    let too_large = |bytes: u64| {
        let needed = bytes.div_ceil(1 << 20);
        Failure::Failed(format!("{}: the recording needs {needed} MiB of memory, more than is available", file.display()))
    };
    // Devices and pipes have no length.
    let length = std::fs::metadata(file).map_or(0, |about| about.len());
    if exceeds(length) {
        return Err(too_large(length));
    }
    let recording = Recording::read(file).map_err(|error| Failure::Failed(error.to_string()))?;
    let evaluated = recording.events().saturating_mul(BYTES_PER_EVENT);
    if exceeds(evaluated) {
        return Err(too_large(evaluated));
    }
    Ok(recording)
}
