//! A work-stealing deque of which the owner keeps one part to itself.
//!
//! After T. van Dijk and J. van de Pol, *Lace: Non-blocking Split Deque for Work-Stealing*, MuCoCoS 2014; the
//! contended end and the growth are those of D. Chase and Y. Lev, *Dynamic Circular Work-Stealing Deque*, SPAA 2005,
//! with the memory orders of N. M. Lê et al., *Correct and Efficient Work-Stealing for Weak Memory Models*, PPoPP 2013.
//!
//! ```text
//!             oldest                                               newest
//!   index       top                  split                  bottom
//!                |                     |                      |
//!    ... taken   | t0 | t1 | t2 | t3   | t4 | t5 | t6 | t7    |  free ...
//!                 \______public______/   \_____private______/
//!   thieves: CAS top up              owner: plain push and pop at bottom
//!
//!   Shared   line 0   top                     written by thieves (and the owner's CAS for a last task)
//!            line 1   split, buffer, buffers  written by the owner, when it publishes, takes back or grows
//!   Owner             bottom, split, seen     its own memory; seen <= top is what it last read there
//!   Buffer            slot i is slots[i mod capacity], one word each
//! ```
//!
//! Indices are 64 bits wide and `top` only grows, so no value of `top` comes back. At rest `top <= split <= bottom`.
//!
//! # Protocol
//!
//! Owner:
//!
//! 1. **Push**: store the slot, `bottom += 1`. **Pop** with a private part: `bottom -= 1`, load the slot. Nobody else
//!    looks at a private slot, so both are plain.
//! 2. **Publish**: store a larger `split`, *release*. A thief that acquires it sees the slots and what the tasks hold.
//! 3. **Take back**, the private part being empty: read `top`. With n >= 2 public tasks (3) store
//!    `split = middle` (half of them, but few: the owner may be long with one), (4) SeqCst fence, (5) read `top` again
//!    as t. With one, go to 7.
//! 4. If t < middle, `[middle, old split)` is private now.
//! 5. If t >= middle, a thief may be between its steps b and e with index t, and only t: that task is left public, by
//!    storing `split = t + 1`, and `[t + 1, old split)` is private now.
//! 6. If that is empty and t is the last task, `split` goes back to where it was: go to 7. If t is the old `split`,
//!    all is gone.
//! 7. **Last task**: CAS `top` from t to t + 1, as a thief does; the winner has the task. The owner pushes what it won
//!    anew, at t + 1, so that it is a private task as any other.
//! 8. **Grow**, the buffer being full: copy `[top, bottom)` into one twice as large, store `buffer`, *release*. The old
//!    one is kept until the deque is dropped; together the old ones are smaller than the new one.
//!
//! Thief:
//!
//! * a. Load `top`, *acquire*.
//! * b. SeqCst fence.
//! * c. Load `split`, *acquire*; with `top >= split` there is nothing.
//! * d. Load `buffer`, *acquire*, and the slot at `top`.
//! * e. CAS `top` to `top + 1`, *release*; failing, forget what was read.
//!
//! # Why it is safe
//!
//! * **A thief reads `split`, sleeps, and the owner takes its task back.** Say the thief holds index i. If its fence
//!   (b) comes before the owner's (3, 4), the owner's second look at `top` cannot be older than the thief's, so t >= i:
//!   the owner keeps only what lies above t, or only what lies above some middle > t, and i stays out of both. If
//!   its fence comes after the owner's, it reads `split <= i` and leaves, or a `split` that was published later: then
//!   what it finds at i is a public task of that later time, and the argument starts again from there.
//! * **Two thieves at t and t + 1 while the owner decides.** The second has seen the first one's CAS. If it fenced
//!   before the owner, the owner sees t + 1 too; if after, it reads a `split` of at most t + 1 and leaves.
//! * **The owner and a thief at the last task.** Both CAS the same value of `top`; one fails.
//! * **A thief reads a slot that the owner uses again.** The owner stores to slot i + capacity only after it saw
//!   `top > i`, so that thief's CAS fails. A thief whose CAS succeeded read the slot before: its CAS is a release
//!   and the owner's look at `top` an acquire.
//! * **A thief reads an old buffer.** Nothing is stored there any more, so slot i has what it had when i was copied;
//!   the owner cannot have taken i but by the steps above. A thief loads `buffer` after `split`: a task pushed after
//!   a growth is never looked up in the buffer from before it.
//! * **A thief reads a slot that was never filled.** Only where `top` was already larger than its index when the
//!   owner copied; its CAS fails, and the word is looked at only after a success.
//! * **A worker looks for public tasks between 3 and 5 or 6, and sleeps.** It does not see a task that is public again
//!   a moment later. Nothing is lost: the owner is awake, and takes back or publishes anew until its deque is empty.

use std::ptr::{self, NonNull};

use crossbeam_utils::CachePadded;

use crate::sync::atomic::{
    AtomicPtr, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
    fence,
};
use crate::sync::{Arc, Mutex, prefetch_for_write};
use crate::task::{Header, TaskRef};

#[cfg(all(test, loom))]
mod loom_models;
#[cfg(all(test, not(loom)))]
mod tests;

/// The most tasks that the owner takes back at a time. What it has private, nobody can steal while it runs a long body.
const MOST_BACK: u64 = 32;

/// A ring of slots; its capacity is a power of two.
struct Buffer {
    slots: Box<[AtomicPtr<Header>]>,
}

impl Buffer {
    fn new(capacity: usize) -> Self {
        assert!(capacity.is_power_of_two());
        Buffer { slots: (0..capacity).map(|_| AtomicPtr::new(ptr::null_mut())).collect() }
    }

    fn capacity(&self) -> u64 {
        self.slots.len() as u64
    }

    #[inline]
    fn slot(&self, index: u64) -> &AtomicPtr<Header> {
        &self.slots[index as usize & (self.slots.len() - 1)]
    }

    #[inline]
    fn store(&self, index: u64, task: TaskRef) {
        self.slot(index).store(task.0.as_ptr(), Relaxed);
    }

    /// The task at an index that the caller owns.
    #[inline]
    fn load(&self, index: u64) -> Option<TaskRef> {
        let task = NonNull::new(self.slot(index).load(Relaxed)).map(TaskRef);
        debug_assert!(task.is_some(), "slot {index} holds no task");
        task
    }
}

/// What owner and thieves share.
struct Shared {
    top: CachePadded<AtomicU64>,
    public: CachePadded<Public>,
}

/// What only the owner writes and thieves read.
struct Public {
    split: AtomicU64,
    /// The last of `buffers`.
    buffer: AtomicPtr<Buffer>,
    /// All there have been: a thief may still read an old one.
    buffers: Mutex<Vec<Arc<Buffer>>>,
}

/// The end of the owner, of which there is one.
pub(super) struct Owner {
    bottom: u64,
    /// As `shared.public.split`, which only the owner writes.
    split: u64,
    /// Where `top` was when the owner last looked; it may have grown since.
    seen: u64,
    buffer: Arc<Buffer>,
    shared: Arc<Shared>,
}

/// The end of a thief.
#[derive(Clone)]
pub(super) struct Thief {
    shared: Arc<Shared>,
}

/// What came of an attempt to steal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Steal {
    /// Nothing is public.
    Empty,
    /// Another was faster; there may be more.
    Lost,
    /// The oldest task.
    Task(TaskRef),
}

/// An empty deque with room for `capacity` tasks, a power of two, before it grows.
pub(super) fn new(capacity: usize) -> (Owner, Thief) {
    let buffer = Arc::new(Buffer::new(capacity));
    let public = Public {
        split: AtomicU64::new(0),
        buffer: AtomicPtr::new(Arc::as_ptr(&buffer).cast_mut()),
        buffers: Mutex::new(vec![buffer.clone()]),
    };
    let shared = Shared { top: CachePadded::new(AtomicU64::new(0)), public: CachePadded::new(public) };
    let shared = Arc::new(shared);
    (Owner { bottom: 0, split: 0, seen: 0, buffer, shared: shared.clone() }, Thief { shared })
}

impl Owner {
    /// How many tasks only the owner can reach.
    #[inline]
    pub(super) fn private(&self) -> u64 {
        self.bottom - self.split
    }

    /// Whether thieves could find a task when the owner last looked. `false` is certain.
    #[inline]
    pub(super) fn public_seen(&self) -> bool {
        self.seen != self.split
    }

    /// The newest task, if it is private.
    #[inline]
    pub(super) fn newest(&self) -> Option<TaskRef> {
        if self.private() == 0 { None } else { self.buffer.load(self.bottom - 1) }
    }

    /// Adds a private task (step 1).
    #[inline]
    pub(super) fn push(&mut self, task: TaskRef) {
        if self.bottom - self.seen >= self.buffer.capacity() {
            self.make_room();
        }
        self.buffer.store(self.bottom, task);
        self.bottom += 1;
    }

    /// Takes the newest task, from the public part if the private one is empty.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<TaskRef> {
        if self.private() == 0 && !self.take_back() {
            return None;
        }
        self.bottom -= 1;
        self.buffer.load(self.bottom)
    }

    /// As [`pop`](Owner::pop), but only if the newest task is `wanted`; and whether tasks are private now that were
    /// public.
    #[inline]
    pub(super) fn pop_if(&mut self, wanted: impl Fn(TaskRef) -> bool) -> (Option<TaskRef>, bool) {
        let were_public = self.private() == 0;
        if were_public && !self.take_back() {
            return (None, false);
        }
        let task = self.buffer.load(self.bottom - 1).filter(|&task| wanted(task));
        self.bottom -= u64::from(task.is_some());
        (task, were_public && self.private() > 0)
    }

    /// If the public part is empty, makes all but the newest `keep` tasks public (step 2); whether it did. The private
    /// part holds more than `keep`.
    pub(super) fn publish(&mut self, keep: u64) -> bool {
        debug_assert!(self.private() > keep);
        if self.public_seen() {
            self.look_at_top();
            if self.public_seen() {
                return false;
            }
        }
        self.set_split(self.bottom - keep);
        true
    }

    /// Makes all tasks public, whatever is public already (step 2); whether there was one to make so.
    pub(super) fn publish_all(&mut self) -> bool {
        let any = self.private() > 0;
        if any {
            self.set_split(self.bottom);
        }
        any
    }

    fn look_at_top(&mut self) {
        self.seen = self.shared.top.load(Acquire);
    }

    /// A release even when it shrinks the public part: what stays in it was published by a store that this one hides.
    fn set_split(&mut self, split: u64) {
        self.split = split;
        self.shared.public.split.store(split, Release);
    }

    /// Makes public tasks private, the private part being empty; whether it holds any now (steps 3 to 7).
    #[cold]
    fn take_back(&mut self) -> bool {
        if !self.public_seen() {
            return false;
        }
        self.look_at_top();
        match self.split - self.seen {
            0 => false,
            1 => self.win_last(),
            public => self.shrink_public(self.split - (public - public / 2).min(MOST_BACK)),
        }
    }

    /// Steps 3 to 6.
    fn shrink_public(&mut self, middle: u64) -> bool {
        let end = self.split;
        self.set_split(middle);
        fence(SeqCst);
        self.look_at_top();
        let split = middle.max(self.seen + 1);
        if split < end {
            if split != middle {
                self.set_split(split);
            }
            return true;
        }
        self.set_split(end);
        self.public_seen() && self.win_last()
    }

    /// Step 7: `seen` is the only public index.
    fn win_last(&mut self) -> bool {
        let last = self.seen;
        let won = self.shared.top.compare_exchange(last, last + 1, AcqRel, Acquire).is_ok();
        self.seen = last + 1;
        if won && let Some(task) = self.buffer.load(last) {
            self.push(task);
        }
        won
    }

    /// Room for one more task: thieves may have made some since the last look.
    #[cold]
    fn make_room(&mut self) {
        self.look_at_top();
        if self.bottom - self.seen >= self.buffer.capacity() {
            self.grow();
        }
    }

    /// Step 8.
    fn grow(&mut self) {
        let larger = Arc::new(Buffer::new(self.buffer.slots.len() * 2));
        for index in self.seen..self.bottom {
            larger.slot(index).store(self.buffer.slot(index).load(Relaxed), Relaxed);
        }
        let public = &self.shared.public;
        public.buffers.lock().push(larger.clone());
        public.buffer.store(Arc::as_ptr(&larger).cast_mut(), Release);
        self.buffer = larger;
    }
}

impl Thief {
    /// Tries to take the oldest public task (steps a to e).
    pub(super) fn steal(&self) -> Steal {
        let Shared { top, public } = &*self.shared;
        let index = top.load(Acquire);
        fence(SeqCst);
        if index >= public.split.load(Acquire) {
            return Steal::Empty;
        }
        let buffer = public.buffer.load(Acquire);
        // SAFETY: `buffer` points into an `Arc<Buffer>` that `buffers` holds until `shared` is dropped, which outlives
        // this borrow; the acquire load makes its initialisation visible; a `Buffer` is only ever borrowed as shared.
        let buffer = unsafe { &*buffer };
        let task = buffer.slot(index).load(Relaxed);
        // The victim has written the header and what follows, and this thread will: one transfer instead of two.
        if let Some(header) = NonNull::new(task) {
            prefetch_for_write(header.cast(), 2 * size_of::<Header>());
        }
        if top.compare_exchange(index, index + 1, AcqRel, Relaxed).is_err() {
            return Steal::Lost;
        }
        let task = NonNull::new(task).expect("a public slot holds a task");
        Steal::Task(TaskRef(task))
    }

    /// About how many tasks are public.
    pub(super) fn public(&self) -> u64 {
        let top = self.shared.top.load(Relaxed);
        self.shared.public.split.load(Relaxed).saturating_sub(top)
    }

    /// Whether [`steal`](Thief::steal) might find a task. Sees what was published before a SeqCst fence that comes
    /// before one of the caller's; a `top` that is out of date errs towards `true`.
    pub(super) fn public_seen(&self) -> bool {
        let top = self.shared.top.load(Relaxed);
        top < self.shared.public.split.load(Relaxed)
    }
}
