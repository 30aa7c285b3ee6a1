//! The task builder: writes the records of a task while it is prepared (`issue`).

use std::ptr::NonNull;

use super::issue::Orders;
use crate::depend::Mode;
use crate::depend::tracker::Tracker;
use crate::error::{self, Error};
use crate::handle::access::Visitor;
use crate::handle::datum::Storage;
use crate::handle::reduction::{ReducerRef, Reduction};
use crate::handle::{Datum, Version};
use crate::task::{Record, TaskRef, flag};
use crate::worker::Worker;
use crate::worker::engine::WorkerEngine;
use crate::worker::scope_state::ScopeState;

/// Misuse that the types cannot rule out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Misuse {
    None,
    Busy,
    Duplicate,
    Refused,
}

/// Whether a task may have an access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Admitted {
    Yes,
    /// Another scope has the datum.
    Busy,
    /// The task has another access to the datum, which must not be combined with this one.
    Twice,
}

/// Writes the records of a task, and checks conditions that the types cannot.
pub(super) struct TaskBuilder<'a, E: WorkerEngine, O> {
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

impl<'a, E: WorkerEngine, O: Orders<E>> TaskBuilder<'a, E, O> {
    /// A builder whose first record goes to `next`. `may_run` says whether the task would run at
    /// its spawn.
    #[inline(always)]
    pub(super) fn new(
        orders: O,
        worker: &'a Worker<E>,
        scope_state: &'a ScopeState,
        task: TaskRef,
        order: u64,
        next: NonNull<Record>,
        may_run: bool,
    ) -> Self {
        let claim = scope_state.claim();
        let (flags, misuse) = (O::FLAGS, Misuse::None);
        TaskBuilder { orders, worker, scope_state, task, order, claim, next, index: 0, flags, ready: may_run, misuse }
    }

    /// All accesses were visited. Returns whether the task may run at its spawn, and the position
    /// of its payload: `room`, unless an access was misused.
    #[inline(always)]
    pub(super) fn end(&self, room: NonNull<()>, align: usize) -> (bool, NonNull<()>) {
        if self.flags != 0 {
            self.task.add_flags(self.flags);
        }
        let (ready, misused) = (self.ready, self.misuse != Misuse::None);
        (ready, if misused { self.end_misused(align) } else { room })
    }

    #[inline(always)]
    fn tracker(&self) -> O::Tracker {
        self.orders.tracker(self.worker)
    }

    /// Checks that this scope may use the datum in this mode: once in this task, or twice in a mode
    /// that [repeats](Mode::repeats). If the scope does not own the datum, it must not touch it.
    #[inline]
    fn admit(&mut self, datum: &Datum, mode: Mode) -> Admitted {
        let arg = self.index;
        self.index += 1;
        let claimed = datum.is_claimed_by(self.claim) || datum.claim(self.claim, self.tracker());
        if !claimed {
            self.busy(datum, arg);
            return Admitted::Busy;
        }
        match datum.note_use(self.order, arg) {
            None => Admitted::Yes,
            // The task's other access to the datum was the last one, so its mode is the youngest
            // generation's.
            Some(_) if mode.repeats() && datum.is_in_generation_of(mode) => Admitted::Yes,
            Some(earlier) => {
                self.misused(Misuse::Duplicate, error::Kind::Duplicate { args: (earlier, arg) });
                Admitted::Twice
            }
        }
    }

    /// The scope cannot have the datum of this access.
    #[cold]
    fn busy(&mut self, datum: &Datum, arg: usize) {
        self.misused(Misuse::Busy, datum.refusal(arg));
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
        self.write_record(Record::new(target, self.behind(self.next), number, mode, as_inout));
    }

    #[inline]
    fn write_record(&mut self, record: Record) {
        // SAFETY: the block has room for one record per access; this place is unused.
        unsafe { self.next.write(record) };
        // SAFETY: still in the block.
        self.next = unsafe { self.next.add(1) };
    }

    /// A task fails if it names a handle twice with modes that must not be combined. The data that
    /// it would have written must be poisoned. Unless both accesses are alike, they count as one
    /// `inout`.
    #[cold]
    fn strengthen(&mut self, datum: &Datum, mode: Mode, alike: bool) {
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

    /// Fails a task that declares a mode unsupported by the scheme. The access is issued as an
    /// `inout`, so that the datum is poisoned.
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
    fn open_alike(&self, datum: &Datum, reducer: ReducerRef<'_>) -> Option<NonNull<Reduction>> {
        let compare = |equal: &dyn Fn() -> bool| self.scope_state.compare(equal);
        // SAFETY: an open reduction lives until its combine task. This scope issues that task, but
        // not before this prepare is finished.
        datum.reduction().filter(|open| unsafe { open.as_ref() }.is(reducer, compare))
    }

    /// Closes the open reduction of a datum.
    #[cold]
    fn end_reduction(&mut self, reduction: NonNull<Reduction>) {
        self.worker.combine(self.scope_state, reduction, self.order - 1);
    }

    /// An access of a task that reduces or accumulates.
    fn member(&mut self, datum_at: NonNull<Datum>, reducer: ReducerRef<'_>, accumulates: bool) {
        // SAFETY: the access token borrows the handle.
        let datum = unsafe { datum_at.as_ref() };
        match self.admit(datum, Mode::Reduce) {
            Admitted::Yes => {}
            Admitted::Busy => return,
            Admitted::Twice => {
                let alike = self.open_alike(datum, reducer).is_some();
                return self.strengthen(datum, Mode::Reduce, alike);
            }
        }
        if !self.tracker().orders(Mode::Reduce) {
            return self.refuse(datum, Mode::Reduce);
        }
        // Misuse of the datum starts another generation, and leaves the reduction open.
        // SAFETY: as in `open_alike`.
        let has_room = |open: &NonNull<Reduction>| unsafe { open.as_ref() }.has_room(datum.enter_group(Mode::Reduce));
        let reduction = self.open_alike(datum, reducer).filter(has_room).unwrap_or_else(|| {
            if let Some(other) = datum.reduction() {
                self.end_reduction(other);
            }
            self.worker.open_reduction(self.scope_state, datum_at, reducer, self.task.label())
        });
        self.flags |= flag::REDUCE;
        self.ask(datum, Mode::Reduce);
        // SAFETY: as above.
        let reduction_at = unsafe { reduction.as_ref() };
        self.orders.enter(reduction_at.version());
        let record = Record::new(reduction.cast(), self.behind(self.next), reduction_at.enter(), Mode::Reduce, false);
        self.write_record(if accumulates { record.accumulating() } else { record });
    }
}

impl<E: WorkerEngine, O: Orders<E>> Visitor for TaskBuilder<'_, E, O> {
    #[inline(always)]
    fn access(&mut self, datum: NonNull<Datum>, mode: Mode) {
        // SAFETY: the access token borrows the handle.
        let datum = unsafe { datum.as_ref() };
        match self.admit(datum, mode) {
            Admitted::Yes => {}
            Admitted::Busy => return,
            Admitted::Twice => return self.strengthen(datum, mode, true),
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

    fn reduce(&mut self, datum: NonNull<Datum>, reducer: ReducerRef<'_>) {
        self.member(datum, reducer, false);
    }

    fn accumulate(&mut self, datum: NonNull<Datum>, reducer: ReducerRef<'_>) {
        self.member(datum, reducer, true);
    }
}
