//! A work-stealing deque. The owner keeps one part of it private.
//!
//! After T. van Dijk and J. van de Pol, *Lace: Non-blocking Split Deque for Work-Stealing*, MuCoCoS
//! 2014. The contended end and the growth follow D. Chase and Y. Lev, *Dynamic Circular
//! Work-Stealing Deque*, SPAA 2005. The memory orders follow N. M. Lê et al., *Correct and
//! Efficient Work-Stealing for Weak Memory Models*, PPoPP 2013.
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
//! Indices are 64 bits wide and `top` only grows, so no value of `top` repeats. Between operations,
//! `top <= split <= bottom`.
//!
//! # Protocol
//!
//! Owner:
//!
//! 1. **Push**: store the slot, `bottom += 1`. **Pop** with a private part: `bottom -= 1`, load the
//!    slot. No other thread reads a private slot, so both are plain.
//! 2. **Publish**: store a larger `split`, *release*. A thief that acquires it sees the slots and
//!    the contents of the tasks.
//! 3. **Take back**, if the private part is empty: read `top`. With n >= 2 public tasks, (3) store
//!    `split = middle`, (4) SeqCst fence, (5) read `top` again as t. The part above `middle` is
//!    half of the tasks, but at most `MAX_TAKEN_BACK`: the owner may run one of them for long. With
//!    one public task, go to 7.
//! 4. If t < middle, `[middle, old split)` is now private.
//! 5. If t >= middle, a thief may be between its steps b and e with index t, and with no other
//!    index. So the owner leaves that task public by storing `split = t + 1`. Then
//!    `[t + 1, old split)` is private.
//! 6. If that range is empty and t is the last task, the owner restores `split` and goes to 7. If t
//!    is the old `split`, no task is left.
//! 7. **Last task**: CAS `top` from t to t + 1, as a thief does; the winner has the task. If the
//!    owner wins, it pushes the task again, at t + 1. So the task is private like any other.
//! 8. **Grow**, if the buffer is full: copy `[top, bottom)` into one twice as large, store
//!    `buffer`, *release*. The deque keeps the old buffer until it is dropped. All old buffers
//!    together are smaller than the new one.
//!
//! Thief:
//!
//! * a. Load `top`, *acquire*.
//! * b. SeqCst fence.
//! * c. Load `split`, *acquire*; if `top >= split`, there is no task.
//! * d. Load `buffer`, *acquire*, and the slot at `top`.
//! * e. CAS `top` to `top + 1`, *release*; if it fails, discard the slot's value.
//!
//! # Why it is safe
//!
//! * **A thief reads `split`, sleeps, and the owner takes the thief's task back.** Let the thief
//!   hold index i. If the thief's fence (b) precedes the owner's (4), the owner's second read of
//!   `top` is not older than the thief's read, so t >= i. The owner keeps only tasks above t, or
//!   only tasks from some middle > t on; index i is in neither range. If the thief's fence follows
//!   the owner's, the thief reads `split <= i` and gives up, or it reads a later published `split`.
//!   In the latter case, the slot at i holds a public task of that later time, and the argument
//!   starts again from there.
//! * **Two thieves are at t and t + 1 while the owner decides.** The second thief has seen the CAS
//!   of the first. If it fenced before the owner, the owner sees t + 1, too. If it fenced after the
//!   owner, it reads a `split` of at most t + 1 and gives up.
//! * **The owner and a thief compete for the last task.** Both CAS the same value of `top`; one
//!   fails.
//! * **A thief reads a slot that the owner uses again.** The owner stores to slot i + capacity only
//!   after it saw `top > i`, so that thief's CAS fails. A thief whose CAS succeeded read the slot
//!   before: its CAS is a release and the owner's read of `top` an acquire.
//! * **A thief reads an old buffer.** No thread stores to an old buffer, so slot i holds what it
//!   held when the owner copied it. The owner can have taken i only by the steps above. A thief
//!   loads `buffer` after `split`, so it never reads a task pushed after a growth from the buffer
//!   before the growth.
//! * **A thief reads a slot that was never filled.** This happens only if `top` was already larger
//!   than the thief's index when the owner copied. Then the thief's CAS fails. A thief dereferences
//!   the word only after a successful CAS.
//! * **A worker checks for public tasks between 3 and 5 or 6, and sleeps.** It misses a task that
//!   is public again a moment later. No task is lost: the owner is awake, and takes back or
//!   publishes again until its deque is empty.

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

/// The most tasks that the owner takes back at a time. No thief can steal private tasks while the
/// owner runs a long body.
const MAX_TAKEN_BACK: u64 = 32;

/// A ring of slots. Its capacity is a power of two.
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

/// The state that the owner and the thieves share.
struct Shared {
    top: CachePadded<AtomicU64>,
    public: CachePadded<Public>,
}

/// The state that the owner writes and thieves read.
struct Public {
    split: AtomicU64,
    /// The last of `buffers`.
    buffer: AtomicPtr<Buffer>,
    /// All buffers so far: a thief may still read an old one.
    buffers: Mutex<Vec<Arc<Buffer>>>,
}

/// The owner's end. A deque has one owner.
pub(super) struct Owner {
    bottom: u64,
    /// A copy of `shared.public.split`, which only the owner writes.
    split: u64,
    /// The value of `top` when the owner last read it. It may have grown since.
    seen: u64,
    buffer: Arc<Buffer>,
    shared: Arc<Shared>,
}

/// A thief's end.
#[derive(Clone)]
pub(super) struct Thief {
    shared: Arc<Shared>,
}

/// The result of an attempt to steal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Steal {
    /// There is no public task.
    Empty,
    /// Another thread was faster. There may be more tasks.
    Lost,
    /// The oldest task.
    Task(TaskRef),
}

/// Makes an empty deque. It has room for `capacity` tasks, a power of two, before it grows.
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
    /// The number of private tasks.
    #[inline]
    pub(super) fn private(&self) -> u64 {
        self.bottom - self.split
    }

    /// Whether thieves could find a task when the owner last read `top`. `false` is certain.
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

    /// Takes the newest task. If the private part is empty, takes it from the public part.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<TaskRef> {
        if self.private() == 0 && !self.take_back() {
            return None;
        }
        self.bottom -= 1;
        self.buffer.load(self.bottom)
    }

    /// Like [`pop`](Owner::pop), but only if the newest task is `wanted`. The second value is true
    /// if some public tasks became private.
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

    /// If the public part is empty, makes all but the newest `keep` tasks public (step 2), and
    /// returns true. The private part must hold more than `keep` tasks.
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

    /// Makes all tasks public, even if some are public already (step 2). Returns whether there was
    /// a private one.
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

    /// A release even when the public part shrinks: the store that published the remaining public
    /// tasks is hidden by this one.
    fn set_split(&mut self, split: u64) {
        self.split = split;
        self.shared.public.split.store(split, Release);
    }

    /// Makes public tasks private, if the private part is empty. Returns whether the private part
    /// holds any now (steps 3 to 7).
    #[cold]
    fn take_back(&mut self) -> bool {
        if !self.public_seen() {
            return false;
        }
        self.look_at_top();
        match self.split - self.seen {
            0 => false,
            1 => self.win_last(),
            public => self.shrink_public(self.split - (public - public / 2).min(MAX_TAKEN_BACK)),
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

    /// Step 7. `seen` is the only public index.
    fn win_last(&mut self) -> bool {
        let last = self.seen;
        let won = self.shared.top.compare_exchange(last, last + 1, AcqRel, Acquire).is_ok();
        self.seen = last + 1;
        if won && let Some(task) = self.buffer.load(last) {
            self.push(task);
        }
        won
    }

    /// Makes room for one more task. Thieves may have made room since the owner last read `top`.
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
        // SAFETY: `buffer` points into an `Arc<Buffer>`. `buffers` holds it until `shared` is
        // dropped, which is after this borrow. The acquire load makes the buffer's initialisation
        // visible. A `Buffer` is only ever borrowed as shared.
        let buffer = unsafe { &*buffer };
        let task = buffer.slot(index).load(Relaxed);
        // The victim has written the header and the lines behind it, and this thread will write
        // them. With this prefetch, each line moves once instead of twice.
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

    /// Whether [`steal`](Thief::steal) might find a task. It sees tasks published before a SeqCst
    /// fence that precedes a SeqCst fence of the caller. If the value of `top` is stale, the answer
    /// may be a wrong `true`.
    pub(super) fn public_seen(&self) -> bool {
        let top = self.shared.top.load(Relaxed);
        top < self.shared.public.split.load(Relaxed)
    }
}
