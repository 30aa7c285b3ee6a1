//! A stack: frames in contiguous blocks of memory. Each frame holds the closures that one body has
//! spawned (DDS §3, Fig. 2).
//!
//! ```text
//!   chunk   ┌────────┬─────────┬─────────┬────────┬─────────┬─────────┬──────┐      chunk  ┌─────────┬────────
//!           │ Frame  │ closure │ closure │ Frame  │ closure │ closure │ link ─┼───────────▶ │ closure │
//!           └────────┴─────────┴─────────┴────────┴─────────┴─────────┴──────┘             └─────────┴────────
//!               ▲        (ran)   runs:       │ ▲       ▲                                              ▲
//!               └── before ────  its children┘ │     cursor                                          top
//!                                              youngest
//! ```
//!
//! A closure is a task's block (`task`), in place: header, accesses, captured values. The owner
//! takes one closure after the other in memory, and knows no other order.

use std::cell::{Cell, RefCell};
use std::ptr::{self, NonNull};

use super::chunk::Chunk;
use crate::handle::Version;
use crate::memory::LINE;
use crate::stack::layout::local::Owned;
use crate::stack::layout::out_of_line;
use crate::stack::owner::inline_subtree::{InlineSubtrees, Moment};
use crate::stack::owner::waiters::{has_ended, wake_when_ended};
use crate::stack::thief::batches::Batches;
use crate::stack::thief::owner_lock::OwnerLock;
use crate::stack::thief::request::Batch;
use crate::stack::thief::scan::Search;
use crate::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::sync::{Guarded, Mutex, prefetch_line_for_write};
use crate::task::{Header, TaskRef};
use crate::worker::scope_state::ScopeState;
use crate::worker::stack_head::{StackHead, StackOps};
use crate::worker::wait::Waiter;

mod chunks;
#[cfg(all(test, loom))]
mod loom_tests;
mod seen;

pub(in crate::stack) use seen::Seen;

/// If a stack has at least [`MIN_PREFETCH_DEPTH`] frames, it may be larger than the second-level
/// cache. Then the owner prefetches the frame [`PREFETCH_LEVELS`] frames up or down, because the
/// processor's own prefetching ends at each page. A frame takes about 20 ns, and a line from memory
/// 100 ns and more.
const MIN_PREFETCH_DEPTH: usize = 1000;
const PREFETCH_LEVELS: isize = 16;
/// If frames are further apart than this many lines, the owner prefetches nothing.
const MAX_STRIDE_LINES: usize = 12;

/// Prefetches a frame above or below `frame`. It assumes that all frames are as far apart as
/// `frame` and `before`. It omits two seldom written lines: the last ones of a scope and of the
/// parent whose frame comes next.
#[cold]
fn prefetch(frame: *mut Frame, before: *mut Frame, levels: isize) {
    const SELDOM: usize = (size_of::<Frame>() + size_of::<ScopeState>()) / LINE - 1;
    let stride = frame.addr().wrapping_sub(before.addr());
    if stride <= MAX_STRIDE_LINES * LINE {
        let there = frame.cast::<u8>().wrapping_offset(levels * stride as isize);
        let lines = (0..stride / LINE - 1).filter(|&line| line != SELDOM);
        lines.for_each(|line| prefetch_line_for_write(there.wrapping_add(line * LINE)));
    }
}

/// One stack. The worker that runs it is its owner. Fields that are not atomic belong to the owner.
#[repr(C)]
#[derive(Debug)]
pub struct Frames {
    /// The part for the rest of the runtime. It is the first field.
    head: StackHead,
    /// The next closure. If it is marked [`TAKEN`], it runs.
    cursor: AtomicPtr<u8>,
    /// Where the next closure goes: behind all complete closures.
    top: AtomicPtr<u8>,
    /// Closures up to here need no further check.
    limit: Cell<*mut u8>,
    /// The end of the chunk in use, less the room for a link.
    end: Cell<*mut u8>,
    window: Cell<usize>,
    youngest: AtomicPtr<Frame>,
    /// Odd while the owner opens or closes a frame, or announces a virtual frame
    /// (`inline_subtree`). Each change ends with another even number (`at_one_moment`).
    shape: AtomicUsize,
    /// How often all closures of a live body's frame have ended, and how many thefts have ended.
    rounds: AtomicUsize,
    thefts: AtomicUsize,
    /// The owner's thread: the address of a thread-local variable.
    here: AtomicUsize,
    /// The number of frames.
    depth: AtomicUsize,
    /// Only for the owner: the nesting depth of bodies, including those without a frame
    /// (`inline_subtree`).
    level: Cell<u32>,
    /// The waiter to wake when the stolen closure at the cursor is done. It is null if the thief
    /// continues with the stack.
    pub(crate) blocked: Guarded<*mut Waiter>,
    /// The stack and the closure from which this stack's oldest frame was stolen.
    pub(crate) origin: Cell<Option<(NonNull<Frames>, TaskRef)>>,
    chunk: Cell<usize>,
    /// The last chunk used since the stack was empty.
    last_used: Cell<usize>,
    chunks: RefCell<Vec<Chunk>>,
    /// The versions that frames use, those of the youngest frame last.
    pub(in crate::stack) in_use: RefCell<Vec<Option<NonNull<Version>>>>,
    /// Versions whose handles were dropped on other threads, while frames used them.
    pub(in crate::stack) orphans: Mutex<Vec<NonNull<Version>>>,
    /// The data that bodies have made for themselves (`local`).
    pub(in crate::stack) owned: Owned,
    pub(in crate::stack) inline_subtrees: InlineSubtrees,
    pub(in crate::stack) search: Search,
    pub(in crate::stack) batches: Batches,
    /// Before this time, the owner does not scan for what it could run ahead.
    pub(in crate::stack) ahead_after: Cell<u64>,
    guard: crossbeam_utils::CachePadded<OwnerLock<Batch>>,
}

// SAFETY: only the owner uses fields that are neither atomic nor locked, or a thief under the owner
// lock. Hand-overs of the stack order these uses.
unsafe impl Send for Frames {}
// SAFETY: as above.
unsafe impl Sync for Frames {}

/// The operations of a stack for the rest of the runtime.
static OPS: StackOps = StackOps {
    running: |head| {
        // SAFETY: the caller's pointer is to a whole stack.
        unsafe { head.cast::<Frames>().as_ref() }.running()
    },
    is_drained: |head| {
        // SAFETY: as above.
        unsafe { head.cast::<Frames>().as_ref() }.is_drained()
    },
    has_ended: |head, closure, order| {
        // SAFETY: as above.
        has_ended(unsafe { head.cast::<Frames>().as_ref() }, closure, order)
    },
    wake_when_ended,
};

/// The frame of one body, with the closures that it has spawned.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct Frame {
    /// The next older frame. It is null in the oldest frame.
    pub(crate) before: *mut Frame,
    /// The body's scope.
    pub(crate) scope_state: NonNull<ScopeState>,
    /// Where its closures begin.
    pub(crate) first: *mut u8,
    /// If the frame is not the youngest: the parent that runs above it, and where its closures end.
    pub(crate) running: AtomicPtr<u8>,
    pub(crate) last: AtomicPtr<u8>,
    /// The waiter to wake when a live body's closures have run.
    pub(crate) waiter: Cell<*mut Waiter>,
    /// The chunk in use before the frame was opened. The frame begins in it, or in the next one.
    chunk: u32,
    /// How many versions the older frames use.
    pub(in crate::stack) used_before: u32,
    /// Whether the body is unfinished: it continues when its closures have run.
    pub(crate) live: Cell<bool>,
    /// When the body began, if the time until the frame is closed is measured (`inline_subtree`).
    pub(in crate::stack) began: Cell<Moment>,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Frame>() == LINE);

/// Mark of [`Frames::cursor`].
const TAKEN: usize = 1;

/// An address that identifies this thread.
#[inline]
fn this_thread() -> usize {
    #[cfg(not(loom))]
    thread_local!(static HERE: u8 = const { 0 });
    #[cfg(loom)]
    loom::thread_local!(static HERE: u8 = 0);
    HERE.try_with(|here| ptr::from_ref(here).addr()).unwrap_or(0)
}

impl Frames {
    /// An empty stack without an owner.
    pub(crate) fn new() -> Frames {
        let chunk = Chunk::after(0, 0);
        let (start, end) = (chunk.start(), chunk.end());
        Frames {
            head: StackHead { ops: &OPS },
            cursor: AtomicPtr::new(start),
            top: AtomicPtr::new(start),
            limit: Cell::new(end),
            end: Cell::new(end),
            window: Cell::new(usize::MAX),
            youngest: AtomicPtr::default(),
            shape: AtomicUsize::new(0),
            rounds: AtomicUsize::new(0),
            thefts: AtomicUsize::new(0),
            here: AtomicUsize::new(0),
            depth: AtomicUsize::new(0),
            level: Cell::new(0),
            blocked: Guarded::new(ptr::null_mut()),
            origin: Cell::new(None),
            chunk: Cell::new(0),
            last_used: Cell::new(0),
            chunks: RefCell::new(vec![chunk]),
            in_use: RefCell::default(),
            orphans: Mutex::default(),
            owned: Owned::default(),
            inline_subtrees: InlineSubtrees::default(),
            search: Search::default(),
            batches: Batches::default(),
            ahead_after: Cell::new(0),
            guard: crossbeam_utils::CachePadded::new(OwnerLock::new()),
        }
    }

    /// Becomes the owner of a stack. Only this thread may take it.
    pub(crate) fn enter(&self) {
        self.guard.enter();
        self.note_owner_thread();
    }

    /// Records this thread as the owner's.
    #[inline]
    pub(crate) fn note_owner_thread(&self) {
        self.here.store(this_thread(), Ordering::Relaxed);
    }

    /// Leaves the stack to the next thread that takes it.
    pub(crate) fn leave(&self) {
        self.here.store(0, Ordering::Relaxed);
        self.guard.leave();
    }

    /// Whether this thread owns the stack. Actions of other threads do not change the answer.
    pub(crate) fn is_here(&self) -> bool {
        self.here.load(Ordering::Relaxed) == this_thread()
    }

    pub(crate) fn owner_lock(&self) -> &OwnerLock<Batch> {
        &self.guard
    }

    #[inline(always)]
    pub(crate) fn top(&self) -> *mut u8 {
        self.top.load(Ordering::Relaxed)
    }

    /// Where the next closure goes.
    #[inline(always)]
    pub(crate) fn top_at(&self) -> NonNull<u8> {
        // SAFETY: the top is in a chunk.
        unsafe { NonNull::new_unchecked(self.top()) }
    }

    /// The youngest frame: its body runs, or its closures do.
    #[inline]
    pub(crate) fn frame(&self) -> &Frame {
        // SAFETY: a stack in use has a frame, which stays until it is closed.
        unsafe { &*self.youngest.load(Ordering::Relaxed) }
    }

    /// The next or running closure, and whether it runs.
    #[inline(always)]
    pub(crate) fn cursor(&self) -> (*mut u8, bool) {
        let cursor = self.cursor.load(Ordering::Acquire);
        (cursor.map_addr(|at| at & !TAKEN), cursor.addr() & TAKEN != 0)
    }

    /// The task whose body runs, for the thread that runs it.
    pub(crate) fn running(&self) -> Option<TaskRef> {
        match self.cursor() {
            (at, true) if at != self.top() => Some(out_of_line::itself(closure(at))),
            _ => {
                let frame = NonNull::new(self.youngest.load(Ordering::Relaxed))?;
                // SAFETY: a frame stays until it is closed.
                let scope_state = unsafe { frame.as_ref() }.scope_state;
                // SAFETY: the frame's scope stays until then.
                unsafe { scope_state.as_ref() }.task()
            }
        }
    }

    /// Announces that the closure at `at` is the owner's (`owner_lock`, O1).
    #[inline(always)]
    pub(crate) fn take(&self, at: *mut u8) {
        self.cursor.store(at.map_addr(|at| at | TAKEN), Ordering::Release);
    }

    /// Sets which closure comes next.
    #[inline]
    pub(crate) fn set_cursor(&self, at: *mut u8) {
        self.cursor.store(at, Ordering::Release);
    }

    /// The depth of the running body.
    #[inline(always)]
    pub(in crate::stack) fn level(&self) -> u32 {
        self.level.get()
    }

    /// Counts a body that begins.
    #[inline(always)]
    pub(in crate::stack) fn enter_level(&self) {
        self.level.set(self.level.get() + 1);
    }

    /// Uncounts a finished body, with all that it has spawned.
    #[inline(always)]
    pub(in crate::stack) fn leave_level(&self) {
        self.level.set(self.level.get() - 1);
    }

    /// Whether there is more than one frame: a peek.
    pub(in crate::stack) fn holds_several(&self) -> bool {
        self.depth.load(Ordering::Relaxed) > 1
    }

    /// Whether there is room for `size` bytes, a multiple of a line.
    #[inline(always)]
    pub(crate) fn has_room(&self, size: usize) -> bool {
        self.limit.get().addr().wrapping_sub(self.top().addr()) as isize >= size as isize
    }

    /// Shows thieves the closures below `top`, which are complete.
    #[inline(always)]
    pub(crate) fn publish(&self, top: *mut u8) {
        self.top.store(top, Ordering::Release);
    }

    /// Announces that the closure at the top is complete, and runs (`inline_subtree`, S1).
    pub(in crate::stack) fn announce(&self, at: *mut u8, size: usize) {
        self.begin_change();
        self.take(at);
        self.publish(at.wrapping_add(size));
        self.end_change();
    }

    /// Opens a frame for a new body: of the parent at the cursor, or of a root scope.
    pub(crate) fn open(&self, scope_state: &ScopeState) -> NonNull<Frame> {
        self.open_with(0, |_| scope_state.into())
    }

    /// Like `open`, with `room` bytes between the frame and its closures, in whole lines. `make`
    /// puts the scope there.
    #[inline(always)]
    pub(in crate::stack) fn open_with(
        &self,
        room: usize,
        make: impl FnOnce(NonNull<u8>) -> NonNull<ScopeState>,
    ) -> NonNull<Frame> {
        self.note_owner_thread();
        let size = size_of::<Frame>() + room;
        let (before, running) = (self.youngest.load(Ordering::Relaxed), self.cursor.load(Ordering::Relaxed));
        let (chunk, last) = (self.chunk.get(), self.top());
        self.begin_change();
        if self.left() < size {
            let to = self.next_chunk(size);
            self.publish(to);
        }
        let at: NonNull<Frame> = self.top_at().cast();
        let first = at.as_ptr().cast::<u8>().wrapping_add(size);
        // SAFETY: there is room.
        let behind = unsafe { at.add(1) };
        let frame = Frame {
            before,
            scope_state: make(behind.cast()),
            first,
            running: AtomicPtr::default(),
            last: AtomicPtr::default(),
            waiter: Cell::new(ptr::null_mut()),
            chunk: chunk as u32,
            used_before: self.in_use.borrow().len() as u32,
            live: Cell::new(true),
            began: Cell::default(),
        };
        // SAFETY: there is room, and a thief does not read beyond the youngest frame.
        unsafe { at.write(frame) };
        // SAFETY: null, or the frame below, which stays longer than this one.
        if let Some(before) = unsafe { before.as_ref() } {
            before.running.store(running, Ordering::Relaxed);
            before.last.store(last, Ordering::Relaxed);
        }
        self.publish(first);
        self.set_cursor(first);
        let depth = self.depth.load(Ordering::Relaxed);
        if depth >= MIN_PREFETCH_DEPTH {
            prefetch(at.as_ptr(), before, PREFETCH_LEVELS);
        }
        self.depth.store(depth + 1, Ordering::Relaxed);
        self.enter_level();
        self.youngest.store(at.as_ptr(), Ordering::Relaxed);
        self.end_change();
        self.limit_to_window();
        at
    }

    /// Closes the youngest frame. All its closures have ended, and it has released its versions.
    /// Then the parent of that frame is the running closure, as if it had just ended.
    pub(crate) fn close(&self) {
        self.end_own(true);
        let frame = self.frame();
        let (youngest, before, chunk) = (ptr::from_ref(frame).cast_mut(), frame.before, frame.chunk as usize);
        self.begin_change();
        self.youngest.store(before, Ordering::Relaxed);
        let depth = self.depth.load(Ordering::Relaxed);
        if depth >= MIN_PREFETCH_DEPTH {
            prefetch(youngest, before, -PREFETCH_LEVELS - 1);
        }
        self.depth.store(depth - 1, Ordering::Relaxed);
        self.leave_level();
        if self.chunk.get() != chunk {
            self.chunk.set(chunk);
            self.end.set(self.chunks.borrow()[chunk].end());
        }
        // SAFETY: null, or the frame below, which is the youngest now.
        match unsafe { before.as_ref() } {
            Some(before) => {
                let last = before.last.load(Ordering::Relaxed);
                self.cursor.store(before.running.load(Ordering::Relaxed), Ordering::Release);
                self.publish(last);
            }
            None => {
                let start = self.chunks.borrow()[chunk].start();
                self.publish(start);
                self.set_cursor(start);
            }
        }
        self.end_change();
        self.limit_to_window();
    }

    /// Rewinds the youngest frame, whose closures have all ended. The next closures go to the start
    /// of the frame.
    pub(crate) fn rewind(&self) {
        let frame = self.frame();
        if self.top() == frame.first {
            return;
        }
        self.end_uses();
        // A scanning thief has seen the old top.
        self.guard.alone(|| {
            let (chunk, chunks) = (&self.chunk, self.chunks.borrow());
            let within = |nth: &usize| chunks[*nth].start() <= frame.first && frame.first <= chunks[*nth].end();
            let first = (frame.chunk as usize..=chunk.get()).find(within).expect("a frame is in one of its chunks");
            chunk.set(first);
            self.end.set(chunks[first].end());
            self.rounds.store(self.rounds.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            self.publish(frame.first);
            self.set_cursor(frame.first);
        });
        self.limit_to_window();
    }
}

/// The closure at `at`.
#[inline(always)]
pub(crate) fn closure(at: *mut u8) -> TaskRef {
    let at: NonNull<Header> = NonNull::new(at).expect("in a chunk").cast();
    TaskRef(at)
}
