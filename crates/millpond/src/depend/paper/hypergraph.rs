//! The hypergraph scheme ([TG](crate#sources) §4.2, Fig. 3): an edge from generation to generation.
//!
//! Needs the Cargo feature `catalogue`.
//!
//! A generation is an object. It holds the number of its unreleased members, the waiting members,
//! and the next generation. The thread that releases the last member wakes all waiting members of
//! the next generation at once.
//!
//! Two schemes differ in their lists of waiting members: `hypergraph` has separate nodes,
//! `embedded-hypergraph` links the records. Issuing and releasing take O(1), amortised over all
//! accesses, because each list is scanned once.
//!
//! ```text
//!   version   cur ───────────────────────┐
//!                                         ▼
//!               ┌────────────┐  next   ┌────────────┐
//!               │ members  2 │ ──────▶ │ members  3 │
//!               │ tasks    · │ ◀────── │ tasks r→r→r│        before = the figure's `prev`
//!               └────────────┘  before └────────────┘
//!
//!   issue                                                 release
//!     if cur is empty: it is the access's, again    (8)     lock the access's generation
//!     else if the access joins: lock cur's before;          one member less                    (29)
//!       if that has members, wait in cur        (14–16)     if it was the last, and there is a next:
//!       in any case one member more                (17)       take the tasks of that           (31–41)
//!     else lock cur; a new generation is its next (4–6);    unlock; the tasks are granted
//!       if cur has members, wait in that one
//! ```
//!
//! Fig. 3 has two errors. As printed, line 13 counts an incoming edge of a task, but line 14 may
//! then not put the task on the list. So a task after an emptied generation never becomes ready.
//! The count belongs inside the test, as here: an access not put on a list is granted. Line 6 sets
//! `next` without the lock, so a release could read it too early and wake no task. Here both the
//! link and the read are under the lock of the preceding generation. Also, a task of several data
//! needs a guard until all its accesses were issued (`Header::unguard`).
//!
//! This implementation needs fewer locks than the figure. A generation's `tasks` are used only
//! under the lock of the preceding generation (the figure takes both locks). While all members wait
//! for that generation, they are counted without a lock. The figure does not say when a generation
//! is freed: see 4.
//!
//! Protocol:
//!
//! 1. A generation's lock is in the same word as the number of its members. It guards `next` and
//!    `retired`, and the `tasks` of the next generation. Only the issuer uses `cur`.
//! 2. Once `next` is set, no access joins. A generation with 0 members and no `next` belongs to the
//!    issuer alone, which may begin it again. The thread that brings it to 0 does so by releasing
//!    the lock, as its last act.
//! 3. Members wait only while the preceding generation has members, as read under its lock. So the
//!    thread that brings that number to 0 finds all waiting members in `tasks`. No member is added
//!    later.
//! 4. A generation is given back by the thread that brings the *next* one to 0, after the next one
//!    got its own `next`. Then all threads that could follow `before` or `own` to the generation
//!    have finished, and the issuer reads only `cur` and the one before it. If the issuer begins
//!    `cur` again (2), it gives back the preceding generation itself. `retire`, or the last release
//!    after it, gives the last two back.

use std::ptr::NonNull;

use self::generation::{Generation, Link, Tasks};
use crate::depend::store::{Local, give_back};
use crate::depend::{Mode, Released, Scheme};
use crate::sync::{Guarded, prefetch_for_write};
use crate::task::Record;

mod generation;

use super::chain::Chain;
use generation::Threaded;
pub(in crate::depend) use generation::take_locks;

/// The hypergraph scheme with lists in separate nodes. An issue and a release take O(1), amortised
/// over all accesses.
pub type Hypergraph = HypergraphOf<Chain>;
/// The hypergraph scheme with lists through the accesses ([TG](crate#sources) §4.2). An issue and a
/// release take O(1), amortised over all accesses.
pub type EmbeddedHypergraph = HypergraphOf<Threaded>;

/// The hypergraph schemes ([TG](crate#sources) §4.2, Fig. 3): an edge from generation to
/// generation. A program names them as [`Hypergraph`] and [`EmbeddedHypergraph`].
///
/// Needs the Cargo feature `catalogue`.
#[derive(Debug)]
pub struct HypergraphOf<T>(std::marker::PhantomData<fn() -> T>);

/// The hypergraph schemes' data in a version. Only the issuer uses it.
#[derive(Debug)]
#[repr(C)]
pub struct HypergraphMeta<T> {
    cur: Guarded<Link<T>>,
    /// The mode of `cur`, as a number.
    mode: Guarded<u8>,
}

// SAFETY: only the issuer uses the cells.
unsafe impl<T: Tasks> Send for HypergraphMeta<T> {}
// SAFETY: as above.
unsafe impl<T: Tasks> Sync for HypergraphMeta<T> {}

/// The data of a worker: free generations, and data for the lists.
#[derive(Debug)]
pub struct Free<T: Tasks> {
    generations: Local<Generation<T>>,
    lists: T::Free,
}

impl<T> Default for HypergraphMeta<T> {
    fn default() -> Self {
        HypergraphMeta { cur: Guarded::new(None), mode: Guarded::new(0) }
    }
}

impl<T: Tasks> Default for Free<T> {
    fn default() -> Self {
        Free { generations: Local::default(), lists: T::Free::default() }
    }
}

/// The generation of an issued access.
#[inline]
fn own<T>(record: &Record) -> &Generation<T> {
    // SAFETY: `issue` set it. A generation stays until all its members were released (protocol 4).
    unsafe { &*record.own().cast() }
}

impl<T: Tasks> Free<T> {
    fn give(&mut self, generation: Link<T>) {
        if let Some(generation) = generation {
            self.generations.give(generation);
        }
    }
}

impl<T: Tasks> HypergraphMeta<T> {
    /// Tells a model that the memory is reused.
    #[cfg(all(test, loom))]
    pub(in crate::depend) fn end(&mut self) {
        self.cur.set(None);
    }

    #[inline]
    fn cur(&self) -> Option<&Generation<T>> {
        // SAFETY: a generation is not given back while it is the youngest.
        self.cur.get().map(|cur| unsafe { cur.as_ref() })
    }

    /// Makes a generation of one access the youngest; that access waits for nothing. Returns true,
    /// because the access is granted.
    #[inline]
    fn begin(&self, free: &mut Free<T>, cur: Link<T>, record: &Record) -> bool {
        let this = cur.unwrap_or_else(|| free.generations.take());
        // SAFETY: it was just taken, or is empty without a next one. No other thread uses it
        // (protocol 2).
        let generation = unsafe { this.as_ref() };
        free.give(if cur.is_some() { generation.before.take() } else { None });
        generation.begin(None);
        self.make_youngest(this, record);
        true
    }

    #[inline]
    fn make_youngest(&self, generation: NonNull<Generation<T>>, record: &Record) {
        self.cur.set(Some(generation));
        self.mode.set(record.mode() as u8);
        record.set_own(generation.as_ptr().cast());
    }

    /// Adds an access to the youngest generation. Returns true if it is granted.
    fn join(&self, free: &mut Free<T>, cur: &Generation<T>, record: &Record) -> bool {
        record.set_own(NonNull::from(cur).as_ptr().cast());
        if let Some(before) = cur.busy_before() {
            let left = before.members.lock();
            if left > 0 {
                cur.tasks.push(&mut free.lists, record);
                cur.members.unlock(cur.members.get() + 1);
                before.members.unlock(left);
                return false;
            }
            before.members.unlock(0);
        }
        let members = cur.members.lock();
        cur.members.unlock(members + 1);
        true
    }

    /// Appends a new generation after the youngest, with an access that waits for it. If the
    /// youngest is now empty, begins it again instead.
    fn follow(&self, free: &mut Free<T>, cur: &Generation<T>, record: &Record) -> bool {
        let next = free.generations.take();
        let left = cur.members.lock();
        if left == 0 {
            cur.members.unlock(0);
            free.give(Some(next));
            return self.begin(free, Some(cur.into()), record);
        }
        // SAFETY: the generation was just taken, and no other thread knows it.
        let new = unsafe { next.as_ref() };
        new.begin(Some(cur.into()));
        new.tasks.push(&mut free.lists, record);
        cur.next.set(Some(next));
        // Do this before releasing the lock: from then on the access may be granted.
        self.make_youngest(next, record);
        cur.members.unlock(left);
        false
    }
}

// SAFETY: an access is granted when the preceding generation has no members, or there is none.
// Members of one generation do not conflict. All members of the preceding generation were granted
// when those before them had none. The locks order a release before the grants that it causes. They
// also order a count of 0 before what the issuer concludes from it. Zeros are a version without a
// generation.
unsafe impl<T: Tasks> Scheme for HypergraphOf<T> {
    type Meta = HypergraphMeta<T>;
    type Local = Free<T>;
    type Shared = ();

    const NAME: &'static str = T::NAME;

    #[inline]
    fn is_idle(meta: &HypergraphMeta<T>) -> bool {
        meta.cur().is_none_or(|cur| cur.members.get() == 0)
    }

    #[inline]
    fn is_ready(meta: &HypergraphMeta<T>, mode: Mode) -> bool {
        let joins = mode.shares() && meta.mode.get() == mode as u8;
        Self::is_idle(meta) || (joins && meta.cur().is_some_and(|cur| cur.busy_before().is_none()))
    }

    #[inline]
    fn prefetch(_meta: &HypergraphMeta<T>, record: &Record) {
        prefetch_for_write(NonNull::from(own::<T>(record)).cast(), size_of::<Generation<T>>());
    }

    #[inline]
    unsafe fn issue(free: &mut Free<T>, meta: &HypergraphMeta<T>, record: &Record) -> bool {
        let mode = record.mode();
        match meta.cur() {
            None => meta.begin(free, None, record),
            // Always true for a `write` (§3.3), which therefore takes no lock.
            Some(cur) if cur.members.get() == 0 => meta.begin(free, Some(cur.into()), record),
            Some(cur) if mode.shares() && meta.mode.get() == mode as u8 => meta.join(free, cur, record),
            Some(cur) => meta.follow(free, cur, record),
        }
    }

    #[inline]
    unsafe fn release((): &(), free: &mut Free<T>, _meta: &HypergraphMeta<T>, record: &Record) -> Released {
        let generation = own::<T>(record);
        let left = generation.members.lock() - 1;
        if left > 0 {
            generation.members.unlock(left);
            return Released::default();
        }
        let next = generation.next.get();
        let last = next.is_none() && generation.retired.get();
        // SAFETY: the next generation has members, because none could be released. The lock gives
        // this thread its list (protocol 1).
        let granted = next.and_then(|next| unsafe { next.as_ref() }.tasks.take(&mut free.lists));
        let before = if next.is_some() || last { generation.before.take() } else { None };
        generation.members.unlock(0);
        free.give(before);
        free.give(last.then_some(generation.into()));
        Released { granted, last }
    }

    unsafe fn retire(meta: &HypergraphMeta<T>) -> bool {
        let Some(cur) = meta.cur() else { return true };
        let left = cur.members.lock();
        let idle = left == 0;
        cur.retired.set(true);
        let before = if idle { cur.before.take() } else { None };
        cur.members.unlock(left);
        if idle {
            before.into_iter().for_each(give_back);
            meta.cur.take().into_iter().for_each(give_back);
        }
        idle
    }
}
