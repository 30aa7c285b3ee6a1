//! The file of a recording, version 2.
//!
//! ```text
//! file    "millpond", version (u16), block, block, …, the last of kind `end`
//! block   kind (u8), length of the payload (u32), CRC-32 of the payload (u32), payload
//! ```
//!
//! Fixed numbers are little endian. A *number* is LEB128. A *difference* is a number whose lowest
//! bit is the sign (zigzag). A *text* is the number of its bytes, then UTF-8.
//!
//! | kind | payload |
//! |---|---|
//! | 1 about | once, first: text: the program; number: workers; u8: 1 if times are the processor's, 0 if they are a clock's of the program |
//! | 2 label | u8 0, text: a name; or u8 1, text: a source file, number: a line. Labels are numbered in their order, from 0 |
//! | 3 events | number: the track; number: its worker + 1, 0 for none; number: how many events; u64: the time of the first; the events |
//! | 4 end | f64: ticks per second; number: the total number of events |
//!
//! The blocks of a track are in the order of time. Blocks of different tracks have any order. A
//! label comes before its first use. An event is its kind (u8), the difference of its time to the
//! time of the block's previous event, then:
//!
//! | kind | event | fields |
//! |---|---|---|
//! | 0 | opened | id: the scope; id: the body that opened it; number: the label of the place |
//! | 1 | spawning | id: the body |
//! | 2 + role | spawned (leaf, parent, combine, fork) | id: the task; id: its spawner; number: its order; number: the label of the place |
//! | 6 | named | number: the label |
//! | 7 | indexed | number: how many; these numbers |
//! | 8 + mode | access (1 read … 6 reduce) | datum |
//! | 16 | issued | id: the body |
//! | 17 | granted | id: the task; id: the task that released it; number: the access |
//! | 18 | handed | as granted |
//! | 19 | started | id |
//! | 20, 21 | ended badly, ended well | id |
//! | 22 | completed | id |
//! | 23 + cause | waits (task, datum, written, window, others) | id: the body; id or datum: for what |
//! | 28 | resumed | id |
//! | 29 | joined | id: the body; id: the task |
//! | 30 | set | id: the body; number: its order; datum |
//! | 31, 32, 33 | stole, idle, awake | |
//! | 34 | session | id; number: the label of the place |
//! | 35 | stole closures | number: how many closures |
//! | 36 | at theft | |
//!
//! An *id* is the difference to the previous id in the block (the first one to 0). A *datum* is the
//! difference to the previous datum. [`millpond::record::What`] documents the events.

use std::path::PathBuf;

mod bytes;
mod events;
mod read;
mod write;

pub(crate) use events::{Ev, RawWhat};
pub(crate) use read::LabelText;
pub use read::Recording;
pub use write::Writer;

/// The beginning of every file.
pub(crate) const MAGIC: &[u8; 8] = b"millpond";
/// The written version, and the only readable one.
pub const VERSION: u16 = 2;

/// The kinds of blocks.
pub(crate) mod block {
    pub(crate) const ABOUT: u8 = 1;
    pub(crate) const LABEL: u8 = 2;
    pub(crate) const EVENTS: u8 = 3;
    pub(crate) const END: u8 = 4;
    /// Kind, length, checksum.
    pub(crate) const HEAD: usize = 9;
}

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}offset {offset}: {reason}", .file.as_ref().map(|file| format!("{}: ", file.display())).unwrap_or_default())]
pub struct ReadError {
    /// The file, if the recording is a file.
    pub file: Option<PathBuf>,
    /// The offset in bytes from the start.
    pub offset: u64,
    /// The reason.
    pub reason: Reason,
}

/// A recording's defect.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// It does not begin like a recording.
    #[error("not a recording of millpond's")]
    NotOurs,
    /// It has another version.
    #[error("a recording of version {0}; this reads version {VERSION}")]
    Version(u16),
    /// It is cut off.
    #[error("cut off: {0}")]
    CutOff(String),
    /// A block was changed after it was written.
    #[error("damaged: {0}")]
    Damaged(String),
    /// The system could not read it.
    #[error("cannot read it: {0}")]
    Io(#[from] std::io::Error),
}
