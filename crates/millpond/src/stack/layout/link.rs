//! A link leads from the end of a chunk to the next one. It takes the place of a closure.

use std::ptr::{NonNull, with_exposed_provenance_mut};

use super::frames::{Frames, closure};
use crate::task::{Header, Role, TaskRef, VTable};

static LINK: VTable = VTable {
    role: Role::ChunkLink,
    compact: None,
    run: |_, _| unreachable!("a link does not run"),
    discard: |_| unreachable!("a link captures nothing"),
    fail: |_, _, _| unreachable!("a link has no join"),
    drop_result: |_| unreachable!("a link has no join"),
};

/// Writes a link at `from` to `to`.
///
/// # Safety
///
/// `from` has room for a header, which no other code uses.
pub(crate) unsafe fn write(from: *mut u8, to: *mut u8) {
    let header = Header::of_link(&LINK, to.expose_provenance() as u64);
    // SAFETY: as the caller promises.
    unsafe { from.cast::<Header>().write(header) };
}

/// Where a link leads.
pub(crate) fn target(link: TaskRef) -> *mut u8 {
    debug_assert!(link.header().role() == Role::ChunkLink);
    let to = with_exposed_provenance_mut::<u8>(link.header().order() as usize);
    NonNull::new(to).expect("a chunk").as_ptr()
}

/// Where a closure ends: there begins the next one, or a link to it.
pub(in crate::stack) fn behind(closure: TaskRef) -> *mut u8 {
    closure.0.as_ptr().cast::<u8>().wrapping_add(closure.header().stride())
}

/// The closures from `at` to `end`, in all chunks.
pub(in crate::stack) fn closures(mut at: *mut u8, end: *mut u8) -> impl Iterator<Item = TaskRef> {
    std::iter::from_fn(move || {
        while at != end && closure(at).header().role() == Role::ChunkLink {
            at = target(closure(at));
        }
        let next = (at != end).then(|| closure(at))?;
        at = behind(next);
        Some(next)
    })
}

impl Frames {
    /// Whether there is no next closure.
    #[inline]
    pub(crate) fn is_drained(&self) -> bool {
        self.next() == self.top()
    }

    /// The next closure. A link before it is followed.
    pub(in crate::stack) fn next(&self) -> *mut u8 {
        let mut at = self.cursor().0;
        while at != self.top() && closure(at).header().role() == Role::ChunkLink {
            at = target(closure(at));
        }
        at
    }
}
