//! Spawning: turns declared accesses into records that a scheme orders.

use std::alloc::Layout;
use std::ptr::NonNull;

use crate::access::{Accesses, Visitor};
use crate::depend::Mode;
use crate::depend::tracker::Tracker;
use crate::engine::Engine;
use crate::error::{self, Error};
use crate::handle::datum::Storage;
use crate::handle::reduction::{ReducerRef, Reduction};
use crate::handle::{Datum, Version};
use crate::memory::Block;
use crate::pool::Put;
use crate::runtime::scope_state::ScopeState;
use crate::runtime::spawn::Options;
use crate::task::{NewTask, Record, Role, Shape, TaskRef, VTable, flag};
use crate::worker::Worker;

/// The parameters of a spawn, besides its accesses.
#[derive(Clone, Copy)]
pub(crate) struct Plan<'a> {
    pub(crate) scope_state: &'a ScopeState,
    pub(crate) options: &'a Options,
    pub(crate) vtable: &'static VTable,
    pub(crate) payload: Layout,
    /// Whether the task would run at its spawn if all its accesses were granted. Only then the
    /// scheme is asked.
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

/// A version that a prepare retired while no task used it, and the place in reference order of the
/// task that writes the new one.
pub(crate) type Retired = (NonNull<Version>, u64);

/// Frees versions that a prepare has retired, after all state is consistent: the drop of a value
/// may run any code, a spawn included. A drop that panics is the scope's failure; the writing task
/// has got its own version.
#[cold]
pub(crate) fn free_retired(retired: Vec<Retired>, scope_state: &ScopeState, options: &Options) {
    for (version, order) in retired {
        // SAFETY: retired, with no access outstanding.
        if let Err(caught) = unsafe { Version::free(version) } {
            scope_state.fail_for_join(order, caught.error(options.label()));
        }
    }
}

/// The kind of block that a prepare fills.
trait Kind {
    /// The task is recorded.
    const RECORDED: bool;
    /// The spawn has no option that needs extras.
    const PLAIN: bool;
}

struct Plain;
struct Labelled;
struct Recorded;

impl Kind for Plain {
    const RECORDED: bool = false;
    const PLAIN: bool = true;
}
impl Kind for Labelled {
    const RECORDED: bool = false;
    const PLAIN: bool = false;
}
impl Kind for Recorded {
    const RECORDED: bool = true;
    const PLAIN: bool = false;
}

/// Misuse that the types cannot rule out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Misuse {
    None,
    Busy,
    Duplicate,
    Refused,
}

/// Orders the accesses of a task: the scheme, or the stack that holds the task.
pub(crate) trait Orders<E: Engine> {
    /// The tracker that orders them.
    type Tracker: Tracker;
    /// Whether to prefetch a version that the scheme needs soon.
    const PREFETCHES: bool;
    /// Flags of each of its tasks.
    const FLAGS: u8;

    /// The tracker that orders them.
    fn tracker(&self, worker: &Worker<E>) -> Self::Tracker;

    /// Allocates the block of a task: `size` bytes or more. It is here and not an argument of
    /// [`Worker::prepare_by`]: an argument would multiply the copies for the same accesses. There
    /// are three of them, and a program has many kinds of tasks.
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

impl<E: Engine> Orders<E> for ByScheme {
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

/// Writes the records of a task, and checks conditions that the types cannot.
struct TaskBuilder<'a, E: Engine, O> {
    orders: O,
    worker: &'a Worker<E>,
    scope_state: &'a ScopeState,
    task: TaskRef,
    order: u64,
    claim: u64,
    /// Where the next record goes.
    next: NonNull<Record>,
    index: usize,
    flags: u8,
    ready: bool,
    misuse: Misuse,
}

impl<E: Engine> Worker<E> {
    /// Makes a task from accesses: allocates, claims handles, renames, and finds out whether it is
    /// ready.
    #[inline(always)]
    pub(crate) fn prepare<'s, B, A: Accesses<'s, B>>(&self, plan: Plan<'_>, accesses: &A) -> Prepared<A::Shape> {
        self.prepare_by(ByScheme, plan, accesses)
    }

    /// Like `prepare`, with accesses that `orders` orders.
    #[inline(always)]
    pub(crate) fn prepare_by<'s, B, A: Accesses<'s, B>, O: Orders<E>>(
        &self,
        orders: O,
        plan: Plan<'_>,
        accesses: &A,
    ) -> Prepared<A::Shape> {
        // Compiled three times, so that a plain task pays only for two tests.
        if plan.scope_state.record() != 0 {
            self.prepare_apart::<B, A, O, Recorded>(orders, plan, accesses)
        } else if !plan.options.is_plain() {
            self.prepare_apart::<B, A, O, Labelled>(orders, plan, accesses)
        } else {
            self.prepare_as::<B, A, O, Plain>(orders, plan, accesses)
        }
    }

    #[inline(never)]
    fn prepare_apart<'s, B, A: Accesses<'s, B>, O: Orders<E>, K: Kind>(
        &self,
        orders: O,
        plan: Plan<'_>,
        accesses: &A,
    ) -> Prepared<A::Shape> {
        self.prepare_as::<B, A, O, K>(orders, plan, accesses)
    }

    #[inline(always)]
    fn prepare_as<'s, B, A: Accesses<'s, B>, O: Orders<E>, K: Kind>(
        &self,
        orders: O,
        plan: Plan<'_>,
        accesses: &A,
    ) -> Prepared<A::Shape> {
        let Plan { scope_state, options, vtable, payload, may_run } = plan;
        let (count, retired_before) = (accesses.count(), self.retired.borrow().len());
        assert!(count <= Record::MOST, "a task of {count} accesses is too large");
        let order = orders.count(scope_state);
        if !may_run {
            scope_state.note_long();
        }
        let shape = Shape { extras: !K::PLAIN, accesses: count, nest: vtable.role == Role::Nest };
        let size = shape.block_size(payload);
        let block = orders.alloc(self, size);
        let extras = match (K::PLAIN, K::RECORDED) {
            (true, _) => None,
            (_, true) => Some(self.begin_record(scope_state, options)),
            (_, false) => Some(options.extras()),
        };
        if !K::PLAIN && options.bytes != 0 {
            scope_state.add_bytes(options.bytes);
        }
        let (place, priority) = (options.place, options.priority);
        let new = NewTask { vtable, scope_state: scope_state.into(), order, place, priority, extras, accesses: count };
        // SAFETY: the block is fresh and has the size of these parts.
        let task = unsafe { TaskRef::create(block, new) };
        // SAFETY: the block was made for this shape; also below.
        let next = unsafe { task.records_of(shape) };
        // SAFETY: as above, and for such a payload.
        let room = unsafe { task.payload_of(shape, payload.align()) };
        let (claim, ready) = (scope_state.claim(), may_run);
        let mut builder = TaskBuilder::<E, O> {
            orders,
            worker: self,
            scope_state,
            task,
            order,
            claim,
            next,
            index: 0,
            flags: O::FLAGS,
            ready,
            misuse: Misuse::None,
        };
        let shape = accesses.visit(&mut builder);
        if builder.flags != 0 {
            task.add_flags(builder.flags);
        }
        let (ready, misused) = (builder.ready, builder.misuse != Misuse::None);
        let room = if misused { builder.end_misused(payload.align()) } else { room };
        if K::RECORDED {
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

impl<E: Engine, O: Orders<E>> TaskBuilder<'_, E, O> {
    #[inline(always)]
    fn tracker(&self) -> O::Tracker {
        self.orders.tracker(self.worker)
    }

    /// Checks that this scope may use the datum in this mode: once in this task, or twice in a mode
    /// that [repeats](Mode::repeats).
    #[inline]
    fn admit(&mut self, datum: &Datum, mode: Mode) -> bool {
        let arg = self.index;
        self.index += 1;
        let claimed = datum.is_claimed_by(self.claim) || datum.claim(self.claim, self.tracker());
        if !claimed {
            self.misused(Misuse::Busy, datum.refusal(arg));
            return false;
        }
        match datum.note_use(self.order, arg) {
            None => true,
            // The task's other access to the datum was the last one, so its mode is the youngest
            // generation's.
            Some(_) if mode.repeats() && datum.is_in_generation_of(mode) => true,
            Some(earlier) => {
                self.misused(Misuse::Duplicate, error::Kind::Duplicate { args: (earlier, arg) });
                false
            }
        }
    }

    /// Makes the task fail instead of running, with its first misuse.
    #[cold]
    fn misused(&mut self, misuse: Misuse, kind: error::Kind) {
        self.ready = false;
        if self.misuse == Misuse::None {
            self.misuse = misuse;
            self.scope_state.misuse(self.order, Error::new(self.task.label(), kind));
        }
    }

    /// The task has fewer accesses than were declared. Returns the resulting position of its
    /// payload.
    #[cold]
    fn end_misused(&self, align: usize) -> NonNull<()> {
        self.task.set_accesses(self.written());
        self.task.add_flags(flag::MISUSED);
        // SAFETY: the block was made for more accesses and such a payload.
        unsafe { self.task.payload_of(self.task.shape(), align) }
    }

    /// The number of records written so far.
    fn written(&self) -> usize {
        (self.next.addr().get() - self.task.records_at().addr().get()) / size_of::<Record>()
    }

    /// Asks the scheme whether the access would be granted at once, if the answer matters.
    #[inline]
    fn ask(&mut self, datum: &Datum, mode: Mode) {
        if self.ready {
            self.ready = self.tracker().is_ready(datum.version().meta(), mode);
        }
    }

    #[inline]
    fn write(&mut self, target: NonNull<()>, number: u32, mode: Mode, as_inout: bool) {
        let record = Record::new(target, self.behind(self.next), number, mode, as_inout);
        // SAFETY: the block has room for one record per access; this place is unused.
        unsafe { self.next.write(record) };
        // SAFETY: still in the block.
        self.next = unsafe { self.next.add(1) };
    }

    /// A task fails if it names a handle twice with modes that must not be combined. What it would
    /// have written must be poisoned. Unless both accesses are alike, they count as one `inout`.
    #[cold]
    fn strengthen(&mut self, datum: &Datum, mode: Mode, alike: bool) {
        if self.misuse != Misuse::Duplicate {
            return;
        }
        let version = NonNull::from(datum.version());
        for place in 0..self.written() {
            // SAFETY: that many records were written.
            let at = unsafe { self.task.records_at().add(place) };
            // SAFETY: as above.
            let record = unsafe { at.as_ref() };
            if !std::ptr::eq(record.version(), version.as_ptr()) {
                continue;
            }
            if record.declared() != Mode::Write && !(alike && record.declared() == mode) {
                let group = datum.enter_group(Mode::Inout);
                let stronger = Record::new(version.cast(), self.behind(at), group, Mode::Inout, false);
                // SAFETY: as above; a record needs no drop, and only the spawner knows it.
                unsafe { at.write(stronger) };
                self.drop_repetitions(version, place + 1);
            }
            return;
        }
    }

    /// Removes the records of a version from this place on. Otherwise its earlier `inout` would
    /// wait for them, or they for it.
    #[cold]
    fn drop_repetitions(&mut self, version: NonNull<Version>, from: usize) {
        let (first, written) = (self.task.records_at(), self.written());
        // SAFETY: that many records were written, and there is room for one more.
        self.next = unsafe { first.add(from) };
        for place in from..written {
            // SAFETY: as above.
            let at = unsafe { first.add(place) };
            // SAFETY: as above.
            let record = unsafe { at.as_ref() };
            if !std::ptr::eq(record.version(), version.as_ptr()) {
                let moved = record.at(self.behind(self.next));
                // SAFETY: not after `at`; a record needs no drop, and only the spawner knows it.
                unsafe { self.next.write(moved) };
                // SAFETY: not after the records that were written.
                self.next = unsafe { self.next.add(1) };
            }
        }
    }

    /// The distance of a record from the task's header.
    #[inline(always)]
    fn behind(&self, record: NonNull<Record>) -> usize {
        record.addr().get() - self.task.0.addr().get()
    }

    /// Fails a task that declares a mode that the scheme does not order. What it would have changed
    /// is poisoned, so the access is issued, as an `inout`.
    #[cold]
    fn refuse(&mut self, datum: &Datum, mode: Mode) {
        let arg = self.index - 1;
        self.misused(Misuse::Refused, error::Kind::Refused { scheme: self.tracker().name(), mode, arg });
        if let Some(reduction) = datum.reduction() {
            self.end_reduction(reduction);
        }
        let group = datum.enter_group(Mode::Inout);
        self.orders.enter(datum.version());
        self.write(datum.current().cast(), group, Mode::Inout, false);
    }

    /// The open reduction of a datum, if it has this reducer.
    #[cold]
    fn open_alike(&self, datum: &Datum, reducer: &ReducerRef<'_>) -> Option<NonNull<Reduction>> {
        // SAFETY: an open reduction lives until its combine task. This scope issues that task, but
        // not before this prepare is finished.
        datum.reduction().filter(|open| self.scope_state.compare(|| unsafe { open.as_ref() }.is(reducer)))
    }

    /// Ends the open reduction of a datum.
    #[cold]
    fn end_reduction(&mut self, reduction: NonNull<Reduction>) {
        self.worker.combine(self.scope_state, reduction, self.order - 1);
    }
}

impl<E: Engine, O: Orders<E>> Visitor for TaskBuilder<'_, E, O> {
    #[inline(always)]
    fn access(&mut self, datum: NonNull<Datum>, mode: Mode) {
        // SAFETY: the access token borrows the handle.
        let datum = unsafe { datum.as_ref() };
        if !self.admit(datum, mode) {
            return self.strengthen(datum, mode, true);
        }
        if !self.tracker().orders(mode) {
            return self.refuse(datum, mode);
        }
        if let Some(reduction) = datum.reduction() {
            self.end_reduction(reduction);
        }
        let group = datum.enter_group(mode);
        let mut ordered = self.orders.ordered(self.worker, mode);
        if mode == Mode::Write {
            self.flags |= flag::WRITE;
            match self.orders.storage(self.worker, datum) {
                Storage::Own(None) => {}
                Storage::Own(Some(before)) => self.worker.retired.borrow_mut().push((before, self.order)),
                Storage::Shared => ordered = Mode::Inout,
            }
        }
        if ordered == Mode::Commutative {
            self.flags |= flag::COMMUTATIVE;
        }
        let version = datum.current();
        self.ask(datum, ordered);
        // SAFETY: the current version lives.
        let current = unsafe { version.as_ref() };
        self.orders.enter(current);
        if O::PREFETCHES && !self.ready {
            current.meta().prefetch();
        }
        self.write(version.cast(), group, mode, ordered != mode);
    }

    fn reduce(&mut self, datum_at: NonNull<Datum>, reducer: ReducerRef<'_>) {
        // SAFETY: the access token borrows the handle.
        let datum = unsafe { datum_at.as_ref() };
        if !self.admit(datum, Mode::Reduce) {
            let alike = self.open_alike(datum, &reducer).is_some();
            return self.strengthen(datum, Mode::Reduce, alike);
        }
        if !self.tracker().orders(Mode::Reduce) {
            return self.refuse(datum, Mode::Reduce);
        }
        // Misuse of the datum starts another generation, and leaves the reduction open.
        // SAFETY: as in `open_alike`.
        let has_room = |open: &NonNull<Reduction>| unsafe { open.as_ref() }.has_room(datum.enter_group(Mode::Reduce));
        let reduction = self.open_alike(datum, &reducer).filter(has_room).unwrap_or_else(|| {
            if let Some(other) = datum.reduction() {
                self.end_reduction(other);
            }
            let (group, ordered) = (datum.enter_group(Mode::Reduce), self.worker.shared().config.deterministic);
            let new = Reduction::open(datum_at, &reducer, self.task.label(), group, ordered);
            datum.open_reduction(new);
            self.scope_state.add_reduction(new);
            new
        });
        self.flags |= flag::REDUCE;
        self.ask(datum, Mode::Reduce);
        // SAFETY: as above.
        let reduction_at = unsafe { reduction.as_ref() };
        self.orders.enter(reduction_at.version());
        let member = reduction_at.enter();
        self.write(reduction.cast(), member, Mode::Reduce, false);
    }
}
