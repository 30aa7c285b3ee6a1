//! Spawning: from declared accesses to records that a scheme orders.

use std::alloc::Layout;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::domain::Domain;
use super::engine::Engine;
use super::spawn::Options;
use crate::access::{Accesses, Visitor};
use crate::depend::{Mode, Scheme};
use crate::error::{Error, Kind, Label};
use crate::handle::reduction::{ReducerRef, Reduction};
use crate::handle::{Datum, Version};
use crate::pool::Put;
use crate::task::{NewTask, Record, Role, Shape, TaskRef, VTable, flag};
use crate::worker::Worker;

/// A task whose block is filled but for its payload, and whose accesses are not issued.
pub(crate) struct Drafted<S> {
    pub(crate) task: TaskRef,
    pub(crate) shape: S,
    /// Of the block, as it was allocated.
    pub(crate) size: usize,
    /// The task may run at its spawn: every access would be granted at once.
    pub(crate) ready: bool,
    /// The task must fail instead of running.
    pub(crate) misused: bool,
    pub(crate) retired: Retired,
}

/// Versions that a draft retired while nobody used them. They are freed when the task is issued: the drop of a value
/// may run any code, a spawn included.
#[must_use]
pub(crate) struct Retired {
    versions: Vec<NonNull<Version>>,
    /// Of the task that wrote anew.
    order: u64,
}

impl Retired {
    #[cold]
    fn add(&mut self, version: NonNull<Version>) {
        self.versions.push(version);
    }

    /// Frees them. A drop that panics is the scope's failure; the task has got its own version.
    #[inline]
    pub(crate) fn free(self, domain: &Domain, label: Label) {
        if !self.versions.is_empty() {
            self.free_all(domain, label);
        }
    }

    #[cold]
    fn free_all(self, domain: &Domain, label: Label) {
        for version in self.versions {
            // SAFETY: retired, with no access outstanding.
            if let Err(caught) = unsafe { Version::free(version) } {
                domain.fail(self.order, Error::new(label, Kind::Panicked(caught.text())));
            }
        }
    }
}

/// Writes the records of a task, and checks what the types cannot.
struct Drafter<'a, E: Engine> {
    worker: &'a Worker<E>,
    domain: &'a Domain,
    task: TaskRef,
    index: usize,
    written: usize,
    flags: u8,
    /// Whether the task would run at its spawn if all its accesses would be granted; only then is it asked.
    may_run: bool,
    ready: bool,
    misuse: Option<Kind>,
    retired: Retired,
    _engine: PhantomData<E>,
}

impl<E: Engine> Worker<E> {
    /// Makes a task of accesses: allocates, claims handles, renames, finds out whether it is ready.
    #[inline]
    pub(crate) fn draft<'s, B, A: Accesses<'s, B>>(
        &self,
        domain: &Domain,
        accesses: &A,
        options: &Options,
        vtable: &'static VTable,
        payload: Layout,
        may_run: bool,
    ) -> Drafted<A::Shape> {
        // Compiled twice, so that a task which is not recorded pays for one test.
        if domain.record() == 0 {
            self.draft_as::<B, A, false>(domain, accesses, options, vtable, payload, may_run)
        } else {
            self.draft_as::<B, A, true>(domain, accesses, options, vtable, payload, may_run)
        }
    }

    fn draft_as<'s, B, A: Accesses<'s, B>, const RECORDED: bool>(
        &self,
        domain: &Domain,
        accesses: &A,
        options: &Options,
        vtable: &'static VTable,
        payload: Layout,
        may_run: bool,
    ) -> Drafted<A::Shape> {
        let order = domain.count_spawn();
        if !may_run {
            domain.note_long();
        }
        let count = accesses.count();
        assert!(count <= Record::MOST, "a task of {count} accesses is too large");
        let extras = if RECORDED { Some(self.begin_record(domain, options)) } else { options.extras() };
        let shape = Shape { extras: extras.is_some(), accesses: count, nest: vtable.role == Role::Nest };
        let size = shape.block_size(payload);
        let block = self.alloc(size);
        if options.bytes != 0 {
            domain.add_bytes(options.bytes);
        }
        let (place, priority) = (options.place, options.priority);
        let new = NewTask { vtable, domain: domain.into(), order, place, priority, extras, accesses: count };
        // SAFETY: the block is fresh and has the size of these parts.
        let task = unsafe { TaskRef::create(block, new) };
        let mut drafter = Drafter::<E> {
            worker: self,
            domain,
            task,
            index: 0,
            written: 0,
            flags: 0,
            may_run,
            ready: may_run,
            misuse: None,
            retired: Retired { versions: Vec::new(), order },
            _engine: PhantomData,
        };
        let shape = accesses.visit(&mut drafter);
        if drafter.flags != 0 {
            task.add_flags(drafter.flags);
        }
        let (ready, misuse, retired) = (drafter.ready, drafter.misuse, drafter.retired);
        let misused = misuse.is_some();
        if let Some(kind) = misuse {
            task.set_accesses(drafter.written);
            task.add_flags(flag::MISUSED);
            domain.fail(order, Error::new(task.label(), kind));
        }
        if RECORDED {
            self.record_draft(task, domain, accesses);
        }
        Drafted { task, shape, size, ready, misused, retired }
    }

    /// Hands a task to the scheme; if it is ready, to the pool.
    #[inline]
    pub(crate) fn issue(&self, task: TaskRef, why: Put) {
        self.grains.note_issue(task.header().domain());
        // SAFETY: this thread owns the scope; the records stay in their block until they are released.
        if unsafe { self.issue_accesses(task) } {
            self.ready(task, why);
        }
    }

    /// Hands the accesses of a task to the scheme; whether it is ready at once.
    ///
    /// # Safety
    ///
    /// This thread owns the scope; the records stay until they are released.
    #[inline]
    pub(crate) unsafe fn issue_accesses(&self, task: TaskRef) -> bool {
        let (mut waiting, local) = (0, self.scheme_local());
        for record in task.records() {
            let meta = record.version().meta().of::<E::Scheme>();
            // SAFETY: as the caller promises.
            waiting += usize::from(!unsafe { E::Scheme::issue(local, meta, record) });
        }
        // SAFETY: they were issued, here.
        unsafe { E::Scheme::enter(task, waiting) }
    }
}

impl<E: Engine> Drafter<'_, E> {
    /// Checks that this scope may use the datum, once in this task.
    #[inline]
    fn admit(&mut self, datum: &Datum) -> bool {
        let arg = self.index;
        self.index += 1;
        let claim = self.domain.claim();
        if !datum.is_claimed_by(claim) && !datum.claim::<E::Scheme>(claim) {
            self.misuse.get_or_insert(Kind::Busy { arg });
            return false;
        }
        match datum.note_use(self.task.header().order(), arg) {
            None => true,
            Some(earlier) => {
                self.misuse.get_or_insert(Kind::Duplicate { args: (earlier, arg) });
                false
            }
        }
    }

    /// Asks the scheme whether the access would be granted at once, if the answer matters.
    #[inline]
    fn ask(&mut self, datum: &Datum, mode: Mode) {
        if self.may_run {
            self.ready &= E::Scheme::is_ready(datum.version().meta().of::<E::Scheme>(), mode);
        }
    }

    #[inline]
    fn write(&mut self, target: NonNull<()>, group: u32, mode: Mode, as_inout: bool) {
        // SAFETY: the block has room for one record an access.
        let at = unsafe { self.task.records_at().add(self.written) };
        let record = Record::new(target, self.task.record_behind(self.written), group, mode, as_inout);
        // SAFETY: as above; the place is not used yet.
        unsafe { at.write(record) };
        self.written += 1;
    }

    /// How the scheme is to order a mode.
    #[inline]
    fn ordered(&self, mode: Mode) -> Mode {
        if mode == Mode::Commutative && self.worker.shared().config.deterministic { Mode::Inout } else { mode }
    }

    /// A task that names a handle twice fails; what it would have written must be poisoned. Unless both accesses are
    /// alike, they count as one `inout`.
    #[cold]
    fn strengthen(&mut self, datum: &Datum, mode: Mode, alike: bool) {
        if !matches!(self.misuse, Some(Kind::Duplicate { .. })) {
            return;
        }
        let version = NonNull::from(datum.version());
        for place in 0..self.written {
            // SAFETY: that many records were written.
            let at = unsafe { self.task.records_at().add(place) };
            // SAFETY: as above.
            let record = unsafe { at.as_ref() };
            if !std::ptr::eq(record.version(), version.as_ptr()) {
                continue;
            }
            if record.declared() != Mode::Write && !(alike && record.declared() == mode) {
                let group = datum.enter_group(Mode::Inout);
                let stronger = Record::new(version.cast(), self.task.record_behind(place), group, Mode::Inout, false);
                // SAFETY: as above; a record needs no drop, and only the spawner knows it.
                unsafe { at.write(stronger) };
            }
            return;
        }
    }

    /// The reduction that is open on a datum, if it is this reducer's.
    #[cold]
    fn open_alike(&self, datum: &Datum, reducer: &ReducerRef<'_>) -> Option<NonNull<Reduction>> {
        // SAFETY: an open reduction lives until its combine task, which this scope issues, not before this draft is
        // through.
        datum.reduction().filter(|open| self.domain.compare(|| unsafe { open.as_ref() }.is(reducer)))
    }

    /// Ends the reduction that is open on a datum.
    #[cold]
    fn end_reduction(&mut self, reduction: NonNull<Reduction>) {
        self.worker.combine(self.domain, reduction, self.task.header().order() - 1);
    }
}

impl<E: Engine> Visitor for Drafter<'_, E> {
    #[inline]
    fn access(&mut self, datum: NonNull<Datum>, mode: Mode) {
        // SAFETY: the access token borrows the handle.
        let datum = unsafe { datum.as_ref() };
        if !self.admit(datum) {
            return self.strengthen(datum, mode, true);
        }
        if let Some(reduction) = datum.reduction() {
            self.end_reduction(reduction);
        }
        let group = datum.enter_group(mode);
        if mode == Mode::Write
            && let Some(version) = datum.rename::<E::Scheme>()
        {
            self.retired.add(version);
        }
        let ordered = self.ordered(mode);
        if ordered == Mode::Commutative {
            self.flags |= flag::COMMUTATIVE;
        }
        let version = datum.current();
        self.ask(datum, ordered);
        if !self.ready {
            // SAFETY: the current version lives.
            unsafe { version.as_ref() }.meta().prefetch();
        }
        self.write(version.cast(), group, mode, ordered != mode);
    }

    fn reduce(&mut self, datum_at: NonNull<Datum>, reducer: ReducerRef<'_>) {
        // SAFETY: the access token borrows the handle.
        let datum = unsafe { datum_at.as_ref() };
        if !self.admit(datum) {
            let alike = self.open_alike(datum, &reducer).is_some();
            return self.strengthen(datum, Mode::Reduce, alike);
        }
        let open = self.open_alike(datum, &reducer);
        let reduction = open.unwrap_or_else(|| {
            if let Some(other) = datum.reduction() {
                self.end_reduction(other);
            }
            let new = Reduction::open(datum_at, &reducer, self.task.label(), self.worker.shared().config.deterministic);
            datum.open_reduction(new);
            self.domain.add_reduction(new);
            new
        });
        let group = datum.enter_group(Mode::Reduce);
        self.flags |= flag::REDUCE;
        self.ask(datum, Mode::Reduce);
        self.write(reduction.cast(), group, Mode::Reduce, false);
    }
}
