//! The combination of large parts, by the combine task.

use std::ptr::NonNull;

use super::Reduction;
use crate::panics::PanicPayload;
use crate::worker::fork::join;

/// Some of the parts that a combine task combines: full rooms that are on no list.
pub(super) struct Range<'a> {
    pub(super) reduction: &'a Reduction,
    pub(super) parts: &'a [NonNull<()>],
}

// SAFETY: the combine task has all parts, and each is in one range. The reduction's operator is
// `Sync`, like its reducer.
unsafe impl Send for Range<'_> {}

impl Range<'_> {
    /// Combines the parts in a tree, whose halves may run at once (TG §2.2). Returns the part that
    /// holds the result. If the reducer panics, all parts are freed.
    pub(super) fn combine(self) -> Result<Part, PanicPayload> {
        let Range { reduction, parts } = self;
        if let [part] = parts {
            return Ok(Part(*part));
        }
        let (first, second) = parts.split_at(parts.len().div_ceil(2));
        let half = |parts| Range { reduction, parts };
        let (first, second) = (half(first), half(second));
        match join(|| first.combine(), || second.combine()) {
            (Ok(Part(into)), Ok(Part(part))) => {
                // SAFETY: full rooms on no list.
                let merged = unsafe { reduction.merge(into, part) };
                merged.inspect_err(|_| reduction.discard(into, true)).map(|()| Part(into))
            }
            (Ok(Part(left)), Err(caught)) | (Err(caught), Ok(Part(left))) => {
                reduction.discard(left, true);
                Err(caught)
            }
            (Err(caught), Err(_)) => Err(caught),
        }
    }
}

/// A full room that the combine task hands from thread to thread.
pub(super) struct Part(pub(super) NonNull<()>);

// SAFETY: it holds a value of a handle, and those are `Send`.
unsafe impl Send for Part {}
