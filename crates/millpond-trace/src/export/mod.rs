//! Recordings for other programs to show: timelines, graphs and plots.
//!
//! Each kind of export is a file. What they share: `names` (what things are called), `svg` and `scale` (drawing). The
//! timeline is made of `slices` (bodies as nested stretches of a track), `flows` (arrows) and `event` (shapes of JSON),
//! the picture of a schedule of `rows`.

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
mod svg;

pub use dot::{DotError, MOST_TASKS as DOT_LIMIT};

use crate::format::ReadError;

/// Why a recording was not exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// What was to be written could not be.
    #[error("cannot write: {0}")]
    Io(#[from] std::io::Error),
    /// An event of the recording cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}
