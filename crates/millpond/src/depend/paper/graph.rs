//! The graph scheme ([TG](crate#sources) §4.1, Fig. 2): an edge from every access to every access of the generation after its
//! own.
//!
//! Needs the Cargo feature `catalogue`.
//!
//! Of a version the two youngest generations are known, each with its members that were not released; an access that is
//! issued gets an edge from every member of the one before its own. Which list of members that is makes two schemes:
//!
//! - `graph`: in nodes of its own; a release looks for its node along the list. With a generation of M accesses before
//!   one of N, issuing takes O(MN) steps and releasing O((M+N)²).
//! - `embedded-graph` (§4.1.1): a ring through the accesses themselves; a release leaves it in O(1). Issuing and releasing
//!   take O(MN).
//!
//! Super-linear both: they are here because many systems do it so, and to be measured beside the others.
//!
//! ```text
//!   issue                                                 release
//!     lock                                                  lock
//!     unless the access joins: the other list is current,   leave the list                    (Fig. 2, 23–28)
//!       emptied, of this mode                  (4–8)        unlock
//!     join the current list                    (10)         along the outgoing edges: one less incoming; the
//!     an edge from each on the other list      (12–17)      access is granted with the last of them   (33–37)
//!     unlock
//! ```
//!
//! Where Fig. 2 differs: it counts the incoming edges of a task. Here those of an access are counted, and the accesses of
//! a task that wait, with a guard until all were issued (`Header::unguard`), without which a task of two data could run
//! while the second is issued. And its edges go from task to task, which lie on several lists, hence its lock of each
//! task; here they go from access to access of one version, and that version's lock guards them.
//!
//! Protocol:
//!
//! 1. The lock guards the lists, and the outgoing edges of all that are on them. Its word holds the number of accesses
//!    that were not released, so that who reads 0 finds the lock given back.
//! 2. An access leaves its list before its edges are scanned, so no edge is added to it then. All edges into an access are
//!    there before the lock is given back, so none of their counts is taken off before.
//! 3. A list that is emptied since a new generation begins (6) leaves its members where they are, in nobody's list.
//! 4. The `issue` of a `write` takes no lock: nobody else uses the version (§3.3).

use std::ptr::{self, NonNull};

use self::tag::Tag;
use crate::depend::store::{Kept, Local, Store};
use crate::depend::{Mode, Released, Scheme};
use crate::sync::tracked::Ordering::{AcqRel, Relaxed};
use crate::sync::{Guarded, Locked, prefetch_for_write};
use crate::task::Record;

mod members;
mod tag;

pub use super::chain::Chain;
pub use members::{Members, Ring};

/// The graph scheme with lists in nodes of their own.
pub type Graph = GraphOf<Chain>;
/// The graph scheme with embedded lists ([TG](crate#sources) §4.1.1).
pub type EmbeddedGraph = GraphOf<Ring>;

/// See the [module](self).
#[derive(Debug)]
pub struct GraphOf<L>(std::marker::PhantomData<fn() -> L>);

/// What the graph schemes keep beside a version.
#[derive(Debug, Default)]
#[repr(C)]
pub struct GraphMeta<L> {
    /// The lock, and how many accesses were not released.
    outstanding: Locked,
    /// The number of the youngest generation; its list is the one of this parity.
    youngest: Guarded<u32>,
    /// The mode of each list's generation, as a number.
    modes: [Guarded<u8>; 2],
    retired: Guarded<bool>,
    lists: [L; 2],
}

// SAFETY: the cells are touched under the lock, and by the issuer while the version is idle.
unsafe impl<L: Members> Send for GraphMeta<L> {}
// SAFETY: as above.
unsafe impl<L: Members> Sync for GraphMeta<L> {}

/// What a worker keeps: free tags, and free nodes.
#[derive(Debug, Default)]
pub struct Free {
    tags: Local<Tag>,
    pub(self) nodes: Local<super::chain::Node>,
}

impl<L: Members> GraphMeta<L> {
    /// A model's sign that the memory is used for something else.
    #[cfg(all(test, loom))]
    pub(in crate::depend) fn end(&mut self) {
        self.outstanding.end();
    }

    /// Whether an access of `mode` joins the youngest generation.
    #[inline]
    fn joins(&self, mode: Mode) -> bool {
        mode.shares() && self.modes[self.current()].get() == mode as u8
    }

    /// Which list is that of the youngest generation.
    #[inline]
    fn current(&self) -> usize {
        self.youngest.get() as usize % 2
    }

    /// Puts an access into the youngest generation, or begins the next one with it (Fig. 2, 4–10).
    fn enter(&self, free: &mut Free, record: &Record) {
        let mode = record.mode();
        if !self.joins(mode) {
            self.youngest.set(self.youngest.get().wrapping_add(1));
            self.lists[self.current()].clear(&mut free.nodes);
            self.modes[self.current()].set(mode as u8);
        }
        self.lists[self.current()].push(&mut free.nodes, record);
    }
}

// SAFETY: an access waits for each unreleased member of the generation before its own, by an edge of which its release
// takes the count off; those have waited for the generation before theirs. The lock, and the count, order a release
// before the grants that it leads to. Zeros are an unlocked version with empty lists.
unsafe impl<L: Members> Scheme for GraphOf<L> {
    type Meta = GraphMeta<L>;
    type Local = Free;
    type Shared = ();

    const NAME: &'static str = L::NAME;

    #[inline]
    fn is_idle(meta: &GraphMeta<L>) -> bool {
        meta.outstanding.get() == 0
    }

    fn is_ready(meta: &GraphMeta<L>, mode: Mode) -> bool {
        let outstanding = meta.outstanding.lock();
        let ready = outstanding == 0 || (meta.joins(mode) && meta.lists[1 - meta.current()].is_empty());
        meta.outstanding.unlock(outstanding);
        ready
    }

    #[inline]
    fn prefetch(meta: &GraphMeta<L>, record: &Record) {
        prefetch_for_write(NonNull::from(meta).cast(), size_of::<GraphMeta<L>>());
        prefetch_for_write(NonNull::from(Tag::of(record)).cast(), size_of::<Tag>());
    }

    unsafe fn issue(free: &mut Free, meta: &GraphMeta<L>, record: &Record) -> bool {
        let tag = Tag::give(free.tags.take(), record);
        if record.mode() == Mode::Write {
            meta.enter(free, record);
            meta.outstanding.unlock(1);
            return true;
        }
        let outstanding = meta.outstanding.lock();
        meta.enter(free, record);
        let mut edges = 0;
        meta.lists[1 - meta.current()].for_each(|before| {
            // SAFETY: on a list, so it was not released.
            Tag::of(unsafe { before.as_ref() }).add_edge(record);
            edges += 1;
        });
        tag.incoming.store(edges, Relaxed);
        meta.outstanding.unlock(outstanding + 1);
        edges == 0
    }

    unsafe fn release((): &(), free: &mut Free, meta: &GraphMeta<L>, record: &Record) -> Released {
        let outstanding = meta.outstanding.lock();
        let modes = [meta.modes[0].get(), meta.modes[1].get()];
        L::leave(&meta.lists, modes, &mut free.nodes, record);
        let last = outstanding == 1 && meta.retired.get();
        meta.outstanding.unlock(outstanding - 1);
        let tag = Tag::of(record);
        let mut granted = ptr::null_mut();
        tag.for_each_edge(|to| {
            // SAFETY: it waits for this edge, so it was not released.
            let to = unsafe { to.as_ref() };
            if Tag::of(to).incoming.fetch_sub(1, AcqRel) == 1 {
                to.set_link(granted);
                granted = ptr::from_ref(to).cast_mut().cast();
            }
        });
        free.tags.give(tag.into());
        Released { granted: NonNull::new(granted.cast()), last }
    }

    unsafe fn retire(meta: &GraphMeta<L>) -> bool {
        let outstanding = meta.outstanding.lock();
        meta.retired.set(true);
        meta.outstanding.unlock(outstanding);
        outstanding == 0
    }
}

/// Takes the lock of the store, for a fork.
pub(super) fn take_lock() -> Box<dyn std::any::Any> {
    crate::depend::store::take_lock::<Tag>()
}

impl Kept for Tag {
    fn store() -> &'static Store<Self> {
        static STORE: Store<Tag> = Store::new();
        &STORE
    }

    fn end_model(&self) {
        self.end();
    }
}
