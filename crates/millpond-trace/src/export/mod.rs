//! Exports recordings for other programs: timelines, graphs and plots.
//!
//! Each kind of export has a file. They share `names` (display names), `svg` and `scale` (drawing).
//! The timeline uses `slices` (bodies as nested stretches of a track), `flows` (arrows) and `event`
//! (JSON structures). The picture of a schedule uses `rows`.

mod dot;
mod event;
mod flows;
mod names;
mod perfetto;
mod rows;
mod scale;
mod schedule;
mod slices;
mod speedup;
pub mod svg;

pub use dot::{DotError, MAX_TASKS as DOT_LIMIT};

use crate::format::ReadError;

/// Why a recording was not exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The output failed.
    #[error("cannot write: {0}")]
    Io(#[from] std::io::Error),
    /// An event of the recording cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}
