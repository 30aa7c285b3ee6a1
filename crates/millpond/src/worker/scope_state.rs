//! The counts of a scope: its spawns, completions, waiters and failures (`failures`).
//!
//! `worker::count` describes how outstanding tasks are counted.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use super::cancel::Cancels;
use super::count::{self, Subtracted};
use super::stack_head::StackHead;
use super::watch::Tell;
use crate::handle::claim::{Claimant, Inline};
use crate::record::Id;
use crate::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use crate::sync::unique_number;
use crate::task::{Header, ScopePtr, TaskRef};
use crate::worker::current::{Enter, visits_any};
use crate::worker::wait::Waiter;

mod failures;
mod of_session;
mod rare;
mod tree;
pub(crate) use of_session::Ends;

/// See the [module](self).
#[repr(C, align(64))]
pub struct ScopeState {
    // The owner's cache line.
    count: count::OwnerCounts,
    /// The count of spawns up to which the window surely has room.
    room_until: Cell<u64>,
    /// The lower half of the count of spawns at the last task that must not run at its spawn.
    last_long: Cell<u32>,
    /// Whether tasks need not be recorded and no reduction is open.
    plain: Cell<bool>,
    /// See `has_gaps`.
    gaps: Cell<bool>,
    /// The stack that holds the scope's tasks, if any.
    stack: Cell<Option<NonNull<StackHead>>>,
    /// How many tasks of the scope's stack thieves have ended, while the stack has not yet moved
    /// past them.
    thefts: AtomicU32,
    /// The number of joins of tasks that did not run at their spawn. One count represents all joins
    /// of tasks in a stack's frame (`failures`, step 1). A join leaked by `mem::forget` stays
    /// counted.
    joins: Cell<u32>,
    /// See `epoch`.
    epoch: Cell<u64>,
    // Does not change, or is made once.
    parent: Option<NonNull<ScopeState>>,
    /// The parent's task. It changes when a parent that was called gets a frame (`move_task`).
    task: Cell<Option<TaskRef>>,
    cancels: NonNull<Cancels>,
    claim: u64,
    /// Set for a root scope. A body's data belong to the body.
    inline: Option<Inline>,
    /// Its body's number in a recording, or 0.
    record: Id,
    seat: u32,
    depth: u32,
    /// A `Cold` (untyped, as `Worker::shared`).
    cold: AtomicPtr<()>,
    // Written by other threads. Not initialized for a compact parent, which counts no tasks
    // (`nest_in_frame`).
    shared: MaybeUninit<Shared>,
}

#[repr(C, align(64))]
struct Shared {
    count: count::Shared,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<ScopeState>() == 3 * 64 && std::mem::offset_of!(ScopeState, parent) == 64);

/// The first `ScopeState::epoch` of a nested scope, above all epochs that `new_epoch` gives. The
/// type of the scope's handles ties them to this scope.
pub(crate) const NESTED_EPOCH: u64 = 1 << 63;

/// The number of epochs that `new_epoch` reserves at a time.
const EPOCHS: u64 = 1 << 12;

/// The seat of a scope whose body runs on no worker: a session.
pub(crate) const NO_SEAT: usize = u32::MAX as usize;

impl std::fmt::Debug for ScopeState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScopeState").field("depth", &self.depth).finish_non_exhaustive()
    }
}

impl From<NonNull<ScopeState>> for ScopePtr {
    fn from(scope_state: NonNull<ScopeState>) -> Self {
        ScopePtr(scope_state.cast())
    }
}

impl From<&ScopeState> for ScopePtr {
    fn from(scope_state: &ScopeState) -> Self {
        NonNull::from(scope_state).into()
    }
}

impl Header {
    /// The scope that spawned the task.
    #[inline]
    pub(crate) fn scope_state(&self) -> NonNull<ScopeState> {
        self.scope().0.cast()
    }
}

/// Writes some fields of a scope. The caller may write all of it.
macro_rules! set {
    ($at:ident; $($field:ident: $value:expr;)*) => {$(
        // SAFETY: as the caller promises; field by field, because some are left out.
        unsafe { (&raw mut (*$at.as_ptr()).$field).write($value) };
    )*};
}

impl ScopeState {
    /// A root scope, owned by the worker of `seat`. Its number in a recording is `record`.
    pub(crate) fn root(cancels: &Cancels, claimant: &Claimant, seat: usize, record: Id) -> ScopeState {
        let mut root = ScopeState::new(None, None, cancels.into(), claimant.id(), seat, 0);
        root.epoch = Cell::new(new_epoch());
        root.record = record;
        root.inline = Some(claimant.inline().clone());
        root
    }

    /// The scope of a parent that runs on the worker of `seat`.
    pub(crate) fn nested(parent: &ScopeState, task: TaskRef, seat: usize) -> ScopeState {
        let claim = crate::handle::claim::NESTED;
        ScopeState::new(Some(parent.into()), Some(task), parent.cancels, claim, seat, parent.depth + 1)
    }

    fn new(
        parent: Option<NonNull<ScopeState>>,
        task: Option<TaskRef>,
        cancels: NonNull<Cancels>,
        claim: u64,
        seat: usize,
        depth: u32,
    ) -> ScopeState {
        ScopeState {
            count: count::OwnerCounts::new(),
            room_until: Cell::new(0),
            last_long: Cell::new(0),
            stack: Cell::new(None),
            thefts: AtomicU32::new(0),
            joins: Cell::new(0),
            plain: Cell::new(false),
            epoch: Cell::new(NESTED_EPOCH),
            gaps: Cell::new(false),
            parent,
            task: Cell::new(task),
            cancels,
            claim,
            inline: None,
            record: task.map_or(0, TaskRef::record_id),
            seat: seat as u32,
            depth,
            cold: AtomicPtr::default(),
            shared: MaybeUninit::new(Shared { count: count::Shared::new() }),
        }
    }

    /// Makes the scope of a compact parent that runs on the worker of `seat`, with its tasks in a
    /// stack. Like `nested`, but in place and without the part that other threads write, because it
    /// counts no tasks.
    ///
    /// # Safety
    ///
    /// There is room at `at`, and no other code uses it.
    #[inline(always)]
    pub(crate) unsafe fn nest_in_frame(
        at: NonNull<ScopeState>,
        parent: &ScopeState,
        task: TaskRef,
        seat: usize,
        stack: NonNull<StackHead>,
    ) {
        if cfg!(loom) {
            let scope_state = ScopeState::nested(parent, task, seat);
            scope_state.set_stack(Some(stack));
            // SAFETY: as the caller promises.
            return unsafe { at.write(scope_state) };
        }
        // SAFETY: as the caller promises.
        unsafe { ScopeState::renew(at, parent, seat) };
        set! { at;
            room_until: Cell::new(0);
            last_long: Cell::new(0);
            stack: Cell::new(Some(stack));
            thefts: AtomicU32::new(0);
            joins: Cell::new(1);
            epoch: Cell::new(NESTED_EPOCH);
            plain: Cell::new(true);
            gaps: Cell::new(false);
            task: Cell::new(Some(task));
            claim: crate::handle::claim::NESTED;
            inline: None;
            record: 0;
            cold: AtomicPtr::default();
        }
    }

    /// Writes the fields in which two such scopes differ, if they have the same stack and their
    /// tasks the same place. The previous body must have pushed nothing.
    ///
    /// # Safety
    ///
    /// No other code uses it.
    #[inline(always)]
    pub(crate) unsafe fn renew(at: NonNull<ScopeState>, parent: &ScopeState, seat: usize) {
        set! { at;
            count: count::OwnerCounts::new();
            parent: Some(parent.into());
            cancels: parent.cancels;
            seat: seat as u32;
            depth: parent.depth + 1;
        }
    }

    /// The number of the scope's body in a recording, 0 if it is not recorded.
    #[inline]
    pub(crate) fn record(&self) -> Id {
        self.record
    }

    /// The number by which handles know the scope.
    #[inline]
    pub(crate) fn claim(&self) -> u64 {
        self.claim
    }

    /// The parent that owns this scope; `None` for a root scope.
    pub(crate) fn task(&self) -> Option<TaskRef> {
        self.task.get()
    }

    /// Notes that the parent has moved.
    pub(crate) fn move_task(&self, task: TaskRef) {
        self.task.set(Some(task));
    }

    /// The stack that holds the scope's tasks, if any.
    #[inline(always)]
    pub(crate) fn stack_head(&self) -> Option<NonNull<StackHead>> {
        self.stack.get()
    }

    /// Sets or clears the stack that holds the scope's tasks.
    pub(crate) fn set_stack(&self, stack: Option<NonNull<StackHead>>) {
        if stack.is_some() {
            self.count_join();
        }
        self.stack.set(stack);
        self.note_plain();
    }

    /// Counts a task of the scope's stack that a thief is about to end.
    pub(crate) fn count_theft(&self) {
        self.thefts.fetch_add(1, Ordering::Relaxed);
    }

    /// The scope's stack moves past a task that a thief has ended.
    pub(crate) fn uncount_theft(&self) {
        self.thefts.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many tasks of the scope's stack thieves have ended, or are about to, while the stack has
    /// not yet moved past them.
    pub(crate) fn thefts(&self) -> u64 {
        self.thefts.load(Ordering::Relaxed).into()
    }

    /// Whether tasks need not be recorded and no reduction is open. Valid as long as a stack holds
    /// the tasks.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.plain.get()
    }

    /// The period since its stack's frame last released its versions. A handle stores the epoch in
    /// which it was noted (`Datum::is_seen_in`). No other scope that a handle meets ever has the
    /// same epoch, and none has 0.
    #[inline(always)]
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.get()
    }

    /// Ends the epoch: its stack's frame releases its versions.
    pub(crate) fn end_epoch(&self) {
        let next = self.epoch() + 1;
        self.epoch.set(if next.is_multiple_of(EPOCHS) { new_epoch() } else { next });
        self.gaps.set(false);
    }

    fn note_plain(&self) {
        self.plain.set(self.record == 0 && !self.has_reductions());
    }

    /// Whether some reduction is open.
    #[inline(always)]
    pub(crate) fn has_reductions(&self) -> bool {
        self.any_reduction().is_some()
    }

    /// Counts a spawn; returns its place in reference order. Orders are odd: the even one below
    /// belongs to the combine tasks that the spawn causes.
    #[inline]
    pub(crate) fn count_spawn(&self) -> u64 {
        2 * self.count.count_spawn() + 1
    }

    /// Counts a place in reference order without a task, and returns it.
    pub(crate) fn count_gap(&self) -> u64 {
        self.gaps.set(self.gaps.get() || self.has_closures());
        let order = self.count_spawn();
        self.count_inline();
        order
    }

    /// Whether a place in reference order among the tasks of its stack's frame belongs to no task.
    pub(crate) fn has_gaps(&self) -> bool {
        self.gaps.get()
    }

    /// The place in reference order of the next spawn.
    #[inline]
    pub(crate) fn next_order(&self) -> u64 {
        2 * self.count.spawned() + 1
    }

    /// The place in reference order of the last spawn.
    pub(crate) fn last_order(&self) -> u64 {
        self.next_order() - 2
    }

    /// The number of spawns from this place in reference order on.
    pub(crate) fn spawned_since(&self, order: u64) -> u64 {
        (self.next_order() - order).div_ceil(2)
    }

    /// Counts a leaf that runs at its spawn: it is never outstanding.
    #[inline]
    pub(crate) fn count_run_inline(&self) {
        self.count.count_spawn();
        self.count.count_finished();
    }

    /// Counts a task that has no own place in reference order.
    pub(crate) fn count_hidden_spawn(&self) {
        self.shared_count().count_spawn();
    }

    /// Counts an external task that the owner's thread lets in while the scope is open.
    pub(crate) fn count_let_in_here(&self) {
        self.count.count_let_in();
    }

    /// Runs the body of a leaf at its spawn. The call is at one place only, so the compiler inlines
    /// the body.
    #[inline(always)]
    pub(crate) fn run_inline<R>(&self, body: impl FnOnce() -> R) -> R {
        let inline = self.inline.as_ref();
        inline.inspect(|inline| inline.begin());
        let result = body();
        inline.inspect(|inline| inline.end());
        result
    }

    /// Compares two reducers, which is user code. As in the body of a leaf, a scope that it opens
    /// must not take over what the spawn has prepared.
    pub(crate) fn compare(&self, equal: impl FnOnce() -> bool) -> bool {
        // On an inject seat or in a session this thread holds a lock, so nothing may wait: a fork
        // runs one half after the other.
        let _no_worker = visits_any().then(Enter::none);
        self.run_inline(equal)
    }

    /// Cancels the count of a spawn that ran inline.
    #[inline]
    pub(crate) fn count_inline(&self) {
        self.count.count_finished();
    }

    /// The tasks that are not complete, as far as the owner knows. Only for the owner, while the
    /// scope is open.
    #[inline]
    pub(crate) fn outstanding(&self) -> u64 {
        self.count.outstanding(self.shared_count())
    }

    fn shared_count(&self) -> &count::Shared {
        // SAFETY: a scope that counts tasks has it initialized.
        &unsafe { self.shared.assume_init_ref() }.count
    }

    /// Whether completions on the worker of `seat` may be counted in the owner's cell.
    #[inline]
    pub(crate) fn is_owned_by(&self, seat: usize) -> bool {
        self.seat as usize == seat && self.count.is_open()
    }

    /// Whether the body of a scope owned by the worker of `seat` has finished.
    pub(crate) fn is_closed_by(&self, seat: usize) -> bool {
        self.seat as usize == seat && self.count.is_closed(self.shared_count())
    }

    /// Subtracts `count` completions that happened on other workers, or after the owner closed.
    /// Wakes a waiting owner. Returns true if this completes the scope. The caller must not touch
    /// the scope again, unless it is a nested scope that this completes.
    pub(crate) fn finish(&self, count: u64) -> bool {
        if self.is_sessions() {
            return self.finish_in_session(count);
        }
        let subtracted = self.shared_count().subtract(count, || self.task().is_none(), || ());
        let Subtracted { complete, wake, quiet } = subtracted;
        if quiet {
            let tell = self.cold().quiet.lock().take();
            tell.into_iter().for_each(Tell::tell);
        }
        if let Some(waiter) = wake {
            Waiter::wake_at(waiter);
        }
        complete
    }

    /// Counts a new join of a task that did not run at its spawn.
    #[inline(always)]
    pub(crate) fn count_join(&self) {
        self.joins.set(self.joins.get().wrapping_add(1));
    }

    /// Such a join was dropped.
    #[inline(always)]
    pub(crate) fn uncount_join(&self) {
        self.joins.set(self.joins.get().wrapping_sub(1));
    }

    /// Whether the scope belongs to a session, whose joins may be on any thread.
    pub(crate) fn is_sessions(&self) -> bool {
        self.seat as usize == NO_SEAT
    }

    /// Asks to be woken by the next completion on another worker. Returns false if fewer than
    /// `seen` tasks are outstanding.
    pub(crate) fn watch_for_room(&self, waiter: &Waiter, seen: u64) -> bool {
        self.count.watch_for_room(self.shared_count(), waiter, seen)
    }

    /// Cancels `watch_for_room`. Returns false if a thread wakes, or has woken, the waiter.
    pub(crate) fn unwatch_room(&self) -> bool {
        self.shared_count().unwatch_room()
    }

    /// The owner counts nothing itself, until `reclaim`.
    pub(crate) fn lend(&self) {
        self.count.lend(self.shared_count());
    }

    /// The owner counts its spawns and the tasks that end on its thread again.
    pub(crate) fn reclaim(&self) {
        self.count.reclaim();
    }

    /// Whether the owner must count before it spawns another task.
    #[inline]
    pub(crate) fn is_beyond_room(&self) -> bool {
        self.count.spawned() >= self.room_until.get()
    }

    /// Notes that the last spawned task may be long.
    #[inline]
    pub(crate) fn note_long(&self) {
        self.last_long.set(self.count.spawned() as u32);
    }

    /// How many tasks were spawned since the last one that may be long, modulo 2³². Without such a
    /// task, since the scope's start.
    pub(crate) fn spawned_short(&self) -> u64 {
        (self.count.spawned() as u32).wrapping_sub(self.last_long.get()).into()
    }

    /// Notes, after the owner has counted, that there is room for `more` tasks.
    pub(crate) fn set_room(&self, more: u64) {
        self.forget_failures();
        self.room_until.set(self.count.spawned() + more);
    }

    /// Closes the scope: its body has finished. Returns true if everything is complete already.
    pub(crate) fn close(&self, waiter: Option<&Waiter>) -> bool {
        self.count.close(self.shared_count(), waiter)
    }
}

/// The first of [`EPOCHS`] epochs that no scope has had.
fn new_epoch() -> u64 {
    (unique_number() + 1) * EPOCHS
}
