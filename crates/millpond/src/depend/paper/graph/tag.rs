//! The data of an access in the graph schemes: its edges, and its place in a ring. It is a separate
//! block. The paper embeds it in the task.

use std::ptr::{self, NonNull};

use crate::sync::Guarded;
use crate::sync::tracked::AtomicU32;
use crate::task::Record;

/// A tag with more capacity than this for outgoing edges drops the memory instead of keeping it for
/// the next access.
const MAX_KEPT_EDGES: usize = 64;

/// An access's tag. Its record points to it from its issue to its release.
#[derive(Default)]
pub struct Tag {
    /// The number of edges into the access from unreleased accesses.
    pub(super) incoming: AtomicU32,
    /// The targets of the outgoing edges, in issue order.
    edges: Guarded<Vec<NonNull<Record>>>,
    record: Guarded<Option<NonNull<Record>>>,
    /// The neighbours in a ring. The tag itself if it is alone.
    pub(super) before: Guarded<Option<NonNull<Tag>>>,
    pub(super) after: Guarded<Option<NonNull<Tag>>>,
}

impl std::fmt::Debug for Tag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tag").field("incoming", &self.incoming).finish_non_exhaustive()
    }
}

impl Tag {
    /// Gives an access an unused tag.
    pub(super) fn give(tag: NonNull<Tag>, record: &Record) -> &Tag {
        record.set_own(tag.as_ptr().cast());
        // SAFETY: tags keep their addresses. This one belongs to the access until it is released.
        let tag = unsafe { tag.as_ref() };
        tag.record.set(Some(record.into()));
        tag.before.set(Some(tag.into()));
        tag.after.set(Some(tag.into()));
        tag
    }

    /// The tag of an access that was issued and is not released.
    #[inline]
    pub(super) fn of(record: &Record) -> &Tag {
        // SAFETY: `give` set it.
        unsafe { &*record.own().cast() }
    }

    /// The access.
    pub(super) fn record(&self) -> Option<NonNull<Record>> {
        self.record.get()
    }

    /// Adds an edge to another access.
    pub(super) fn add_edge(&self, to: &Record) {
        let mut edges = self.edges.take();
        edges.push(to.into());
        self.edges.set(edges);
    }

    /// Removes the edges, the youngest first, and calls `with` for each target.
    pub(super) fn for_each_edge(&self, with: impl FnMut(NonNull<Record>)) {
        let mut edges = self.edges.take();
        edges.drain(..).rev().for_each(with);
        if edges.capacity() <= MAX_KEPT_EDGES {
            self.edges.set(edges);
        }
    }

    /// Whether the two tags are the same.
    pub(super) fn is(&self, other: Option<NonNull<Tag>>) -> bool {
        other.is_some_and(|other| ptr::eq(other.as_ptr(), self))
    }

    pub(super) fn end(&self) {
        self.record.set(None);
    }
}
