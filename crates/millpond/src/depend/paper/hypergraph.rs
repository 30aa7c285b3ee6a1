//! The hypergraph scheme ([TG](crate#sources) §4.2, Fig. 3): an edge from generation to generation.
//!
//! Needs the Cargo feature `catalogue`.
//!
//! A generation is a thing of its own: how many of its members were not released, which of them wait, and the generation
//! after it. Whoever releases the last member wakes all that wait in the next, at once. Which list the waiting members are
//! in makes two schemes, `hypergraph` with nodes of its own, and `embedded-hypergraph` through the records. Issuing and
//! releasing take O(1), amortised over all accesses: each list is scanned once.
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
//!     if cur is empty: it is the access's, anew     (8)     lock the access's generation
//!     else if the access joins: lock cur's before;          one member less                    (29)
//!       if that has members, wait in cur        (14–16)     if it was the last, and there is a next:
//!       in any case one member more                (17)       take the tasks of that           (31–41)
//!     else lock cur; a new generation is its next (4–6);    unlock; the tasks are granted
//!       if cur has members, wait in that one
//! ```
//!
//! Where Fig. 3 is wrong: as printed, line 13 counts an incoming edge of a task that line 14 then does not put on the list,
//! so that a task after an emptied generation never becomes ready; the count belongs inside the test, as here, where
//! an access that was not put on a list is granted. Line 6 sets `next` without the lock, so that a release could look for
//! it in between and wake nobody; here both the link and the look are under the lock of the generation before. And a task
//! of several data needs a guard until all its accesses were issued (`Header::unguard`).
//!
//! Where this does with less: a generation's `tasks` are touched under the lock of the one before only (the figure takes
//! both), and its members are counted without a lock while they all wait for that one. The figure says nothing of the
//! end of generations: see 4.
//!
//! Protocol:
//!
//! 1. A generation's lock, which holds the number of its members in the same word, guards `next` and `retired`; and
//!    `tasks` of the next. `cur` is the issuer's.
//! 2. Once `next` is set no access joins. A generation that has 0 members and no `next` is the issuer's alone: it may
//!    begin it anew. Who brings it to 0 does so as its last act, by giving the lock back.
//! 3. Members wait only while the generation before has members, by a look under its lock; so who brings that to 0 finds
//!    in `tasks` all that wait, and nobody is added later.
//! 4. A generation is given back by who brings the *next* to 0 after that has got a `next` of its own: all who could
//!    follow `before` or `own` to it are through, and the issuer looks at `cur` and the one before only. The issuer does
//!    so when it begins `cur` anew (2); `retire`, or the last release after it, gives the last two back.

use std::ptr::NonNull;

use self::generation::{Generation, Link, Tasks};
use crate::depend::store::{Local, give_back};
use crate::depend::{Mode, Released, Scheme};
use crate::sync::{Guarded, prefetch_for_write};
use crate::task::Record;

mod generation;

pub use super::chain::Chain;
pub use generation::Threaded;
pub(in crate::depend) use generation::take_locks;

/// The hypergraph scheme with lists in nodes of their own.
pub type Hypergraph = HypergraphOf<Chain>;
/// The hypergraph scheme with embedded lists.
pub type EmbeddedHypergraph = HypergraphOf<Threaded>;

/// See the [module](self).
#[derive(Debug)]
pub struct HypergraphOf<T>(std::marker::PhantomData<fn() -> T>);

/// What the hypergraph schemes keep beside a version: the issuer's alone.
#[derive(Debug)]
#[repr(C)]
pub struct HypergraphMeta<T> {
    cur: Guarded<Link<T>>,
    /// Of `cur`, as a number.
    mode: Guarded<u8>,
}

// SAFETY: the cells are the issuer's.
unsafe impl<T: Tasks> Send for HypergraphMeta<T> {}
// SAFETY: as above.
unsafe impl<T: Tasks> Sync for HypergraphMeta<T> {}

/// What a worker keeps: free generations, and what the lists need.
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

/// The generation of an access that was issued.
#[inline]
fn own<T>(record: &Record) -> &Generation<T> {
    // SAFETY: `issue` set it; a generation stays until all its members were released (protocol 4).
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
    /// A model's sign that the memory is used for something else.
    #[cfg(all(test, loom))]
    pub(in crate::depend) fn end(&mut self) {
        self.cur.set(None);
    }

    #[inline]
    fn cur(&self) -> Option<&Generation<T>> {
        // SAFETY: the youngest generation is not given back before it is the youngest no more.
        self.cur.get().map(|cur| unsafe { cur.as_ref() })
    }

    /// Makes a generation of one access, which nobody waits for, the youngest; true, since the access is granted.
    #[inline]
    fn begin(&self, free: &mut Free<T>, cur: Link<T>, record: &Record) -> bool {
        let this = cur.unwrap_or_else(|| free.generations.take());
        // SAFETY: just taken, or empty without a next one: nobody else uses it (protocol 2).
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

    /// Adds an access to the youngest generation; true if it is granted.
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

    /// Lets a new generation follow the youngest, with an access that waits for it; unless that has become empty.
    fn follow(&self, free: &mut Free<T>, cur: &Generation<T>, record: &Record) -> bool {
        let next = free.generations.take();
        let left = cur.members.lock();
        if left == 0 {
            cur.members.unlock(0);
            free.give(Some(next));
            return self.begin(free, Some(cur.into()), record);
        }
        // SAFETY: just taken: nobody else knows it.
        let new = unsafe { next.as_ref() };
        new.begin(Some(cur.into()));
        new.tasks.push(&mut free.lists, record);
        cur.next.set(Some(next));
        // Before the lock is given back: from then on it may be granted.
        self.make_youngest(next, record);
        cur.members.unlock(left);
        false
    }
}

// SAFETY: an access is granted when the generation before its own has no members, or there is none before; members of one
// generation do not conflict, and all of the one before were granted when those before them had none. The locks order a
// release before the grants that it leads to, and a count of 0 that the issuer reads before what it concludes. Zeros are
// a version without a generation.
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
            // Always so for a `write` (§3.3), which therefore takes no lock.
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
        // SAFETY: it has members, since nobody could release one; and its list is ours by the lock (protocol 1).
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
