//! The graph scheme ([TG](crate#sources) §4.1, Fig. 2): every access has an edge to every access of
//! the next generation.
//!
//! Needs the Cargo feature `catalogue`.
//!
//! A version knows its two youngest generations, each with its unreleased members. A newly issued
//! access gets an edge from every member of the generation before its own. Two schemes differ in
//! their lists of members:
//!
//! - `graph`: a list in separate nodes. A release searches its node along the list. If a generation
//!   of M accesses precedes one of N, issuing takes O(MN) steps and releasing O((M+N)²).
//! - `embedded-graph` (§4.1.1): a ring through the tags of the accesses. A release leaves it in
//!   O(1). Issuing and releasing take O(MN).
//!
//! In the paper, a tag is in the task's memory. Here a record has room for a pointer, so in both
//! schemes a tag is a separate block.
//!
//! Both are super-linear. They are here for comparison, because many systems work this way.
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
//! This differs from Fig. 2 in two ways. The figure counts the incoming edges of a task. Here each
//! access counts its incoming edges, and each task counts its waiting accesses. A guard covers the
//! time until all accesses were issued (`Header::unguard`). Without it, a task with two data could
//! run while its second access is issued. The figure's edges go from task to task. Tasks are on
//! several lists, so the figure locks each task. Here edges go from access to access of one
//! version, and that version's lock guards them.
//!
//! Protocol:
//!
//! 1. The lock guards the lists, and the outgoing edges of all accesses on them. Its word holds the
//!    number of unreleased accesses. So a thread that reads 0 knows that the lock is free.
//! 2. An access leaves its list before its edges are scanned, so no edge is added to it during the
//!    scan. All edges into an access exist before the lock is released, so no release decrements
//!    its count earlier.
//! 3. When a new generation begins, a list is emptied (6). Its members stay linked, but are on no
//!    list.
//! 4. The `issue` of a `write` takes no lock: no other task uses the version (§3.3).

use std::ptr::{self, NonNull};

use self::tag::Tag;
use crate::depend::store::{Kept, Local, Store};
use crate::depend::{Mode, Released, Scheme};
use crate::sync::tracked::Ordering::{AcqRel, Relaxed};
use crate::sync::{Guarded, Locked, prefetch_for_write};
use crate::task::Record;

mod members;
mod tag;

use super::chain::Chain;
use members::{Members, Ring};

/// The graph scheme with lists in separate nodes. If a generation of M accesses precedes one of N,
/// issuing takes O(MN) steps and releasing O((M+N)²).
pub type Graph = GraphOf<Chain>;
/// The graph scheme with lists through the tags of the accesses ([TG](crate#sources) §4.1.1). If a
/// generation of M accesses precedes one of N, issuing and releasing take O(MN) steps.
pub type EmbeddedGraph = GraphOf<Ring>;

/// The graph schemes ([TG](crate#sources) §4.1, Fig. 2): every access has an edge to every access
/// of the next generation. A program names them as [`Graph`] and [`EmbeddedGraph`].
///
/// Needs the Cargo feature `catalogue`.
#[derive(Debug)]
pub struct GraphOf<L>(std::marker::PhantomData<fn() -> L>);

/// The graph schemes' data in a version.
#[derive(Debug, Default)]
#[repr(C)]
pub struct GraphMeta<L> {
    /// The lock, and the number of unreleased accesses.
    outstanding: Locked,
    /// The number of the youngest generation. Its parity selects the list.
    youngest: Guarded<u32>,
    /// The mode of each list's generation, as a number.
    modes: [Guarded<u8>; 2],
    retired: Guarded<bool>,
    lists: [L; 2],
}

// SAFETY: the cells are used under the lock, or by the issuer while the version is idle.
unsafe impl<L: Members> Send for GraphMeta<L> {}
// SAFETY: as above.
unsafe impl<L: Members> Sync for GraphMeta<L> {}

/// The data of a worker: free tags and free nodes.
#[derive(Debug, Default)]
pub struct Free {
    tags: Local<Tag>,
    pub(self) nodes: Local<super::chain::Node>,
}

impl<L: Members> GraphMeta<L> {
    /// Tells a model that the memory is reused.
    #[cfg(all(test, loom))]
    pub(in crate::depend) fn end(&mut self) {
        self.outstanding.end();
    }

    /// Whether an access of `mode` joins the youngest generation.
    #[inline]
    fn joins(&self, mode: Mode) -> bool {
        mode.shares() && self.modes[self.current()].get() == mode as u8
    }

    /// The index of the youngest generation's list.
    #[inline]
    fn current(&self) -> usize {
        self.youngest.get() as usize % 2
    }

    /// Adds an access to the youngest generation, or begins the next one with it (Fig. 2, 4–10).
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

// SAFETY: an access waits for each unreleased member of the preceding generation, by an edge whose
// count that member's release decrements. Those members waited for the generation before theirs.
// The lock and the count order a release before the grants that it causes. Zeros are an unlocked
// version with empty lists.
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
            // SAFETY: the access is on a list, so it was not released.
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
            // SAFETY: the access waits for this edge, so it was not released.
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

/// Takes the lock of the store for a fork.
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
