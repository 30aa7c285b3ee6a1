//! The fixed part of a task block: what the task is, and when it is ready.

use std::cell::Cell;
use std::panic::Location;
use std::ptr::NonNull;

use super::{CompactKind, NewTask, ScopePtr, State, TaskRef};
use crate::error::Error;
use crate::sync::tracked::{AtomicU32, Ordering};

/// The fixed part of a task block.
#[repr(C)]
pub struct Header {
    /// The word that joins read. It is the first word, because a stale join may load it after the
    /// block was used again.
    pub(super) state: State,
    pub(super) vtable: &'static VTable,
    pub(super) scope: ScopePtr,
    /// The place in the scope's reference order.
    pub(super) order: u64,
    pub(super) place: &'static Location<'static>,
    /// Unsatisfied preconditions, plus a guard while the task is being issued. While the task is
    /// ready, a pool may use the count's bits (`task::link`).
    pub(super) unmet: AtomicU32,
    pub(super) tag: u32,
    // Only the spawner sets these cells, before any other thread knows the task. (A pool sets its
    // link, and a worker that polls a future sets `SUSPENDED`.)
    pub(super) accesses: Cell<u32>,
    pub(super) flags: Cell<u8>,
    pub(super) priority: i8,
    /// In a compact task: where its label is (`compact_label`), or 0. In any other task: a part of
    /// a pool's link, or what is left of it (`task::link`). It is written for all tasks, so that
    /// the last four fields become one store.
    pub(super) label_or_link: Cell<u16>,
}

/// Properties of one task, as bits of `Header::flags`.
pub(crate) mod flag {
    /// `Extras` follow the header.
    pub(crate) const EXTRAS: u8 = 1;
    /// Some access is commutative: the worker takes exclusions before it runs the body.
    pub(crate) const COMMUTATIVE: u8 = 2;
    /// A join keeps the block until it is dropped. Without it the block is freed at completion.
    pub(crate) const COUNTED: u8 = 4;
    /// Some access is a reduction.
    pub(crate) const REDUCE: u8 = 8;
    /// Misuse at the spawn: the scope holds the task's failure already, and the body must not run.
    pub(crate) const MISUSED: u8 = 16;
    /// Some access is a `write`.
    pub(crate) const WRITE: u8 = 64;
    /// A waiting future, or one to be polled again.
    pub(crate) const SUSPENDED: u8 = 128;
    /// A leaf or a parent whose block is in a stack.
    pub(crate) const IN_PLACE: u8 = 128;
    /// The flags of a compact leaf (`task::compact`). No other leaf has both, because a leaf with a
    /// join is out of line.
    pub(crate) const COMPACT: u8 = IN_PLACE | COUNTED;
    /// The flags of a compact parent, except `PORTABLE`.
    pub(crate) const COMPACT_PARENT: u8 = COMPACT | COMMUTATIVE;
    /// A compact parent is portable (`runtime::spawn::Options::portable`).
    pub(crate) const PORTABLE: u8 = WRITE;
    /// The task is recorded. Its number follows the header, and is written before this flag is set.
    pub(crate) const RECORDED: u8 = 32;
}

/// What kind of task a block holds, and the code that knows its types.
pub(crate) struct VTable {
    pub(crate) role: Role,
    /// Runs the body on the given worker (erased). Consumes the payload, and may leave a result
    /// there.
    pub(crate) run: unsafe fn(TaskRef, *const ()) -> Result<(), Error>,
    /// For leaves and parents that may be compact tasks in a stack.
    pub(crate) compact: Option<CompactKind>,
    /// Drops the payload of a task that will not run.
    pub(crate) discard: unsafe fn(TaskRef),
    /// Replaces the result by an error. `ran` says whether there is a result. Only for counted
    /// tasks.
    pub(crate) fail: unsafe fn(TaskRef, Error, ran: bool),
    /// Drops the result. Only for counted tasks.
    pub(crate) drop_result: unsafe fn(TaskRef),
}

impl VTable {
    /// For tasks that no runtime runs: a pool holds them for other code.
    pub(crate) const OF_POOLS: VTable = VTable {
        role: Role::Leaf,
        run: |_, _| unreachable!("nothing runs here"),
        compact: None,
        discard: |_| (),
        fail: |_, _, _| (),
        drop_result: |_| (),
    };
}

/// The kinds of tasks, by what completes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Complete when its body has finished.
    Leaf,
    /// Complete when its body has finished and all descendants are complete.
    Nest,
    /// Combines a reduction (`handle::reduction`).
    Combine,
    /// A future: complete when it is ready (`runtime::external::future`).
    Future,
    /// Not a task: a waiter for an access or a future. The payload is a `Waiter`.
    Wait,
    /// One half of a `join(a, b)` that other workers may take.
    Fork,
    /// In a stack: a link to the next chunk (`stack::layout::link`).
    ChunkLink,
    /// In a stack: represents an out-of-line task (`stack::layout::out_of_line`).
    OutOfLine,
    /// A stack job: a worker continues a stack, or runs tasks stolen from it
    /// (`stack::thief::resume`).
    StackJob,
}

/// Larger than any number of accesses, so no release makes the task ready before its spawn has
/// issued all of them.
pub(crate) const GUARD: u32 = 1 << 30;

/// Bit of `Header::unmet`: a precondition will never be satisfied.
const ABANDONED: u32 = 1 << 31;
/// Bit of `Header::unmet`: the join of a session's task has cancelled it.
const CANCELLED: u32 = 1 << LINK_LOW_BITS;
const CALLED_OFF: u32 = ABANDONED | CANCELLED;

/// The bits of `Header::unmet` below these count the preconditions. While a pool holds the task,
/// they are a part of its link (`task::link`).
pub(super) const LINK_LOW_BITS: u32 = 29;
#[cfg(feature = "catalogue")]
pub(super) const LINK_LOW_MASK: u32 = CANCELLED - 1;

impl std::fmt::Debug for VTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.role.fmt(f)
    }
}

/// Writes some fields of a header. The caller may write all of it, except perhaps the state.
macro_rules! set {
    ($at:ident; $($field:ident: $value:expr;)*) => {$(
        // SAFETY: as the caller promises. It writes field by field, because a stale join may load
        // the state meanwhile.
        unsafe { (&raw mut (*$at.as_ptr()).$field).write($value) };
    )*};
}

impl Header {
    /// A header outside a block: a waiter's, on its owner's stack.
    pub(crate) fn on_stack(vtable: &'static VTable, scope: ScopePtr, place: &'static Location<'static>) -> Self {
        Header {
            state: State::default(),
            vtable,
            scope,
            order: 0,
            place,
            unmet: AtomicU32::new(GUARD),
            tag: 0,
            accesses: Cell::new(0),
            flags: Cell::new(0),
            priority: 0,
            label_or_link: Cell::new(0),
        }
    }

    /// The header with this priority, for tests of pools.
    #[cfg(all(any(test, feature = "conformance"), not(loom)))]
    pub(crate) fn with_priority(self, priority: i8) -> Self {
        Header { priority, ..self }
    }

    /// The header with this place in reference order, for tests.
    #[cfg(test)]
    pub(crate) fn numbered(self, order: u64) -> Self {
        Header { order, ..self }
    }

    /// A link from one chunk of a stack to another.
    pub(crate) fn of_link(vtable: &'static VTable, to: u64) -> Self {
        Header { order: to, ..Header::on_stack(vtable, ScopePtr::DANGLING, Location::caller()) }
    }

    /// Whether this is a compact task in a stack.
    #[inline(always)]
    pub(crate) fn is_compact(&self) -> bool {
        self.flags.get() & flag::COMPACT == flag::COMPACT
    }

    /// Whether this is a compact leaf.
    #[inline(always)]
    pub(crate) fn is_compact_leaf(&self) -> bool {
        self.flags.get() == flag::COMPACT
    }

    /// Writes all of a header except its state.
    ///
    /// # Safety
    ///
    /// There is room for it at `at`. No other code uses that room, except perhaps the state.
    #[inline(always)]
    pub(super) unsafe fn place_at(at: NonNull<Header>, tag: u32, flags: u8, new: NewTask) {
        let (accesses, priority) = (new.accesses, new.priority);
        // SAFETY: as the caller promises.
        unsafe { Header::say_whose(at, new) };
        // The last four are one store.
        set! { at;
            unmet: AtomicU32::new(GUARD);
            tag: tag;
            accesses: Cell::new(accesses as u32);
            flags: Cell::new(flags);
            priority: priority;
            label_or_link: Cell::new(0);
        }
    }

    /// Writes the fields that differ between tasks of one form: all but the state, the tag, the
    /// flags, the priority and the word of the thieves.
    ///
    /// # Safety
    ///
    /// As for `place_at`.
    #[inline(always)]
    pub(crate) unsafe fn place_again(at: NonNull<Header>, new: NewTask) {
        set! { at; accesses: Cell::new(new.accesses as u32); }
        // SAFETY: as the caller promises.
        unsafe { Header::say_whose(at, new) };
    }

    /// # Safety
    ///
    /// As for `place_at`.
    #[inline(always)]
    unsafe fn say_whose(at: NonNull<Header>, new: NewTask) {
        set! { at;
            vtable: new.vtable;
            scope: new.scope;
            order: new.order;
            place: new.place;
        }
    }

    /// In a stack: the distance to the next closure.
    #[inline(always)]
    pub(crate) fn stride(&self) -> usize {
        self.tag as usize
    }

    /// In a stack: what thieves have done to the task. [`GUARD`] means nothing
    /// (`stack::thief::theft`).
    #[inline(always)]
    pub(crate) fn theft(&self) -> &AtomicU32 {
        &self.unmet
    }

    /// Where the state is.
    #[inline]
    pub(crate) fn state_at(header: NonNull<Header>) -> NonNull<State> {
        // It is the first field.
        header.cast()
    }

    #[inline]
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    #[inline]
    pub(crate) fn vtable(&self) -> &'static VTable {
        self.vtable
    }

    #[inline]
    pub(crate) fn role(&self) -> Role {
        self.vtable.role
    }

    /// The scope that spawned the task.
    #[inline]
    pub(crate) fn scope(&self) -> ScopePtr {
        self.scope
    }

    #[inline]
    pub(crate) fn order(&self) -> u64 {
        self.order
    }

    /// The number of records.
    #[inline]
    pub(crate) fn accesses(&self) -> u32 {
        self.accesses.get()
    }

    #[inline]
    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags.get() & flag != 0
    }

    /// Removes the spawn's guard. `waiting` of the task's accesses were put on lists. Returns true
    /// if the task is ready.
    #[inline]
    pub(crate) fn unguard(&self, waiting: u32) -> bool {
        let guard = GUARD - waiting;
        waiting == 0 || self.unmet.fetch_sub(guard, Ordering::AcqRel) == guard
    }

    /// Replaces the spawn's guard by one precondition, before any other thread knows the task.
    pub(crate) fn only_one_unmet(&self) {
        self.unmet.store(1, Ordering::Relaxed);
    }

    /// Adds a precondition. The caller holds another one.
    pub(crate) fn add_unmet(&self) {
        if self.unmet.fetch_add(1, Ordering::Relaxed) & !ABANDONED >= CANCELLED {
            eprintln!("millpond: a pending task has more than 2^29 preconditions");
            std::process::abort();
        }
    }

    /// Whether exactly one precondition is unsatisfied. If so, the satisfaction of the others
    /// happens before this call returns.
    pub(crate) fn only_one_is_unmet(&self) -> bool {
        self.unmet.load(Ordering::Acquire) & !CALLED_OFF == 1
    }

    /// Satisfies one precondition. Returns true if it was the last.
    #[inline]
    pub(crate) fn meet(&self) -> bool {
        self.unmet.fetch_sub(1, Ordering::AcqRel) & !CALLED_OFF == 1
    }

    /// A precondition will never be satisfied, so the task must fail.
    pub(crate) fn abandon(&self) {
        self.unmet.fetch_or(ABANDONED, Ordering::Relaxed);
    }

    /// The join cancels the task: if it has not begun, it must fail. Only for issued tasks in their
    /// own block.
    pub(crate) fn cancel(&self) {
        self.unmet.fetch_or(CANCELLED, Ordering::Relaxed);
    }

    /// Whether the task's join has cancelled it.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.unmet.load(Ordering::Relaxed) & CANCELLED != 0
    }

    /// Whether the task must fail if it has not begun: a precondition was abandoned, or its join
    /// has cancelled it.
    #[inline]
    pub(crate) fn is_called_off(&self) -> bool {
        self.unmet.load(Ordering::Relaxed) & CALLED_OFF != 0
    }

    /// Where the task was spawned.
    pub(crate) fn place(&self) -> &'static Location<'static> {
        self.place
    }

    /// Whether a precondition was abandoned.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.unmet.load(Ordering::Relaxed) & ABANDONED != 0
    }
}

impl std::fmt::Debug for Header {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} task {} at {}", self.role(), self.order, self.place)
    }
}
