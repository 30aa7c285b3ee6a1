//! Refusing a job that the machine cannot hold, before the system kills it.

use crate::Error;

/// Fails if the system says that it cannot give `needed` bytes.
pub fn require(what: &'static str, needed: u64) -> Result<(), Error> {
    match available() {
        Some(available) if needed > available => Err(Error::Memory { what, needed, available }),
        _ => Ok(()),
    }
}

/// What the system could give without swapping; nothing where it does not say.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kb| kb * 1024)
}
