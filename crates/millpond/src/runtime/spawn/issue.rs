//! Spawning: turns declared accesses into records that a scheme orders.

use std::alloc::Layout;
use std::ptr::NonNull;

use crate::depend::Mode;
use crate::depend::tracker::Tracker;
use crate::handle::access::Accesses;
use crate::handle::datum::Storage;
use crate::handle::{Datum, Version};
use crate::memory::Block;
use crate::pool::Put;
use crate::runtime::spawn::Options;
use crate::runtime::spawn::task_builder::TaskBuilder;
use crate::task::{NewTask, Record, Role, Shape, TaskRef, VTable};
use crate::worker::engine::WorkerEngine;
use crate::worker::scope_state::ScopeState;
use crate::worker::{Retired, Worker};

/// The parameters of a spawn, besides its accesses.
#[derive(Clone, Copy)]
pub(crate) struct Plan<'a> {
    pub(crate) scope_state: &'a ScopeState,
    pub(crate) options: &'a Options,
    pub(crate) vtable: &'static VTable,
    pub(crate) payload: Layout,
    /// Whether the task would run at its spawn if all its accesses were granted. Only then is the
    /// scheme asked.
    pub(crate) may_run: bool,
}

/// A task whose block is filled except for its payload, and whose accesses are not issued. The
/// versions that it has retired are freed when it is issued: `Worker::free_retired`.
pub(crate) struct Prepared<S> {
    pub(crate) task: TaskRef,
    pub(crate) shape: S,
    /// The size of the block, as it was allocated.
    pub(crate) size: usize,
    /// Where body and result go.
    pub(crate) room: NonNull<()>,
    /// The task may run at its spawn: every access would be granted at once, and there was no
    /// misuse.
    pub(crate) ready: bool,
    /// How many versions outer spawns had retired before.
    pub(crate) retired_before: usize,
}

/// Frees versions that a prepare has retired, after all state is consistent: dropping a value may
/// run any code, even a spawn. A panic of the drop is the scope's failure; the writing task has its
/// own version.
#[cold]
pub(crate) fn free_retired(retired: Vec<Retired>, scope_state: &ScopeState, options: &Options) {
    for (version, order) in retired {
        // SAFETY: retired, with no access outstanding.
        if let Err(caught) = unsafe { Version::free(version) } {
            scope_state.fail_for_join(order, caught.error(options.label()));
        }
    }
}

/// Orders the accesses of a task: the scheme, or the stack that holds the task.
pub(crate) trait Orders<E: WorkerEngine> {
    /// The tracker that orders them.
    type Tracker: Tracker;
    /// Whether to prefetch a version that the scheme needs soon.
    const PREFETCHES: bool;
    /// Flags of each of its tasks.
    const FLAGS: u8;

    /// The tracker that orders them.
    fn tracker(&self, worker: &Worker<E>) -> Self::Tracker;

    /// Allocates the block of a task: `size` bytes or more. It is here and not an argument of
    /// [`Worker::prepare`]: an argument would multiply the copies for the same accesses. There are
    /// two of them, and a program has many kinds of tasks.
    fn alloc(&self, worker: &Worker<E>, size: usize) -> Block;

    /// Counts a task; returns its place in reference order.
    fn count(&self, scope_state: &ScopeState) -> u64;

    /// Where a `write` goes.
    fn storage(&self, worker: &Worker<E>, datum: &Datum) -> Storage;

    /// How a mode is ordered.
    fn ordered(&self, worker: &Worker<E>, mode: Mode) -> Mode;

    /// Notes that an access to this version was declared.
    fn enter(&self, version: &Version);
}

/// The scheme orders the accesses, when the task is issued.
pub(crate) struct ByScheme;

impl<E: WorkerEngine> Orders<E> for ByScheme {
    type Tracker = E::Tracker;
    const PREFETCHES: bool = true;
    const FLAGS: u8 = 0;

    #[inline(always)]
    fn tracker(&self, worker: &Worker<E>) -> E::Tracker {
        worker.tracker()
    }

    #[inline(always)]
    fn alloc(&self, worker: &Worker<E>, size: usize) -> Block {
        worker.alloc(size)
    }

    #[inline(always)]
    fn count(&self, scope_state: &ScopeState) -> u64 {
        scope_state.count_spawn()
    }

    #[inline(always)]
    fn storage(&self, worker: &Worker<E>, datum: &Datum) -> Storage {
        datum.rename(worker.tracker(), worker.shared().config.renames.as_ref())
    }

    #[inline(always)]
    fn ordered(&self, worker: &Worker<E>, mode: Mode) -> Mode {
        if mode == Mode::Commutative && worker.shared().config.deterministic { Mode::Inout } else { mode }
    }

    #[inline(always)]
    fn enter(&self, _version: &Version) {}
}

impl<E: WorkerEngine> Worker<E> {
    /// Makes a task whose accesses `orders` orders: allocates, claims handles, renames, and checks
    /// whether the task is ready.
    #[inline(always)]
    pub(crate) fn prepare<'s, B, A: Accesses<'s, B>, O: Orders<E>>(
        &self,
        orders: O,
        plan: Plan<'_>,
        accesses: &A,
    ) -> Prepared<A::Shape> {
        // Compiled twice, so that a plain task pays only for two tests.
        if plan.scope_state.record() == 0 && plan.options.is_plain() {
            self.fill::<B, A, O, true>(orders, plan, accesses)
        } else {
            self.prepare_with_extras(orders, plan, accesses)
        }
    }

    /// Makes a task that is recorded, or has an option that needs extras.
    #[inline(never)]
    fn prepare_with_extras<'s, B, A: Accesses<'s, B>, O: Orders<E>>(
        &self,
        orders: O,
        plan: Plan<'_>,
        accesses: &A,
    ) -> Prepared<A::Shape> {
        self.fill::<B, A, O, false>(orders, plan, accesses)
    }

    /// Fills the block of a task. A `PLAIN` task has no extras.
    #[inline(always)]
    fn fill<'s, B, A: Accesses<'s, B>, O: Orders<E>, const PLAIN: bool>(
        &self,
        orders: O,
        plan: Plan<'_>,
        accesses: &A,
    ) -> Prepared<A::Shape> {
        let Plan { scope_state, options, vtable, payload, may_run } = plan;
        let (count, retired_before) = (accesses.count(), self.retired.borrow().len());
        assert!(count <= Record::MAX_ACCESSES, "a task of {count} accesses is too large");
        let order = orders.count(scope_state);
        if !may_run {
            scope_state.note_long();
        }
        let recorded = !PLAIN && scope_state.record() != 0;
        let shape = Shape { extras: !PLAIN, accesses: count, nest: vtable.role == Role::Nest };
        let size = shape.block_size(payload);
        let block = orders.alloc(self, size);
        let extras = match recorded {
            _ if PLAIN => None,
            true => Some(self.begin_record(scope_state, options)),
            false => Some(options.extras()),
        };
        if !PLAIN && options.bytes != 0 {
            scope_state.add_bytes(options.bytes);
        }
        let (place, priority) = (options.place, options.priority);
        let new = NewTask { vtable, scope: scope_state.into(), order, place, priority, extras, accesses: count };
        // SAFETY: the block is fresh and has the size of these parts.
        let task = unsafe { TaskRef::create(block, new) };
        // SAFETY: the block was made for this shape; also below.
        let next = unsafe { task.records_of(shape) };
        // SAFETY: as above, and for such a payload.
        let room = unsafe { task.payload_of(shape, payload.align()) };
        let mut builder = TaskBuilder::new(orders, self, scope_state, task, order, next, may_run);
        let shape = accesses.visit(&mut builder);
        let (ready, room) = builder.end(room, payload.align());
        if recorded {
            self.record_prepared(task, scope_state, accesses);
        }
        Prepared { task, shape, size, room, ready, retired_before }
    }

    /// Frees the versions that a prepare has retired; `before` is its [`Prepared::retired_before`].
    #[inline]
    pub(crate) fn free_retired(&self, before: usize, scope_state: &ScopeState, options: &Options) {
        if self.retired.borrow().len() > before {
            free_retired(self.take_retired(before), scope_state, options);
        }
    }

    /// Takes the versions that a prepare has retired, like [`free_retired`](Worker::free_retired).
    pub(crate) fn take_retired(&self, before: usize) -> Vec<Retired> {
        self.retired.borrow_mut().split_off(before)
    }

    /// Issues a task to the scheme. If it is ready, puts it into the pool.
    #[inline]
    pub(crate) fn issue(&self, task: TaskRef, why: Put) {
        self.grains.note_scope(task.header().scope_state());
        // SAFETY: this thread owns the scope; the records stay in their block until they are
        // released.
        if unsafe { self.issue_accesses(task) } {
            self.ready(task, why);
        }
    }

    /// Issues the accesses of a task to the scheme. Returns whether it is ready at once.
    ///
    /// # Safety
    ///
    /// This thread owns the scope; the records stay until they are released.
    #[inline]
    pub(crate) unsafe fn issue_accesses(&self, task: TaskRef) -> bool {
        let (mut waiting, tracker, local) = (0, self.tracker(), self.scheme_local());
        for record in task.records() {
            // SAFETY: as the caller promises.
            waiting += usize::from(!unsafe { tracker.issue(local, record.version().meta(), record) });
        }
        // SAFETY: the accesses were issued here.
        unsafe { tracker.enter(self.scheme_shared(), task, waiting) }
    }
}
