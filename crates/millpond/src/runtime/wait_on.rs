//! What a scope does at once instead of spawning: wait for a datum, set one; and make room in its window.

use std::marker::PhantomData;
use std::mem::offset_of;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::ptr::NonNull;

use super::domain::Domain;
use super::engine::Engine;
use super::shared::Shared;
use crate::access::{CanRead, CanWrite};
use crate::depend::{Mode, Scheme};
use crate::error::{Error, Kind, Label};
use crate::handle::claim::runs_inline_here;
use crate::handle::datum::Storage;
use crate::handle::version::State;
use crate::handle::{Datum, Handle, Version};
use crate::record::{Cause, Id, What};
use crate::sync::spin_loop;
use crate::task::{Extras, Header, Record, Role, TaskRef, VTable, flag};
use crate::worker::Worker;
use crate::worker::current::{with_log_of_body, worker_within};
use crate::worker::wait::Waiter;

/// Tasks that an owner who waits for room runs until it looks again.
const HELP: u32 = 64;

/// Turns for which it watches others run short tasks: some microseconds.
const PATIENCE: u32 = 256;

/// Spawns after which an owner counts again at the earliest, if there is room.
const LEAST_LOOK: u64 = 64;

/// How often in a row a body lets others run in vain. Twice: a carrier that has just run a task looks at its mail
/// first, and comes back to this body at once.
const LOOKS: u32 = 2;

/// A value lent by [`Spawn::wait_on`](crate::Spawn::wait_on); mutable if the scope may write the datum.
///
/// It borrows the handle, so that nothing can be spawned on the datum while the scope looks at the value.
///
/// ```
/// use millpond::{Handle, Runtime, Spawn};
///
/// let (rt, mut list) = (Runtime::new()?, Handle::new(vec![3, 1]));
/// rt.scope(|s| {
///     s.spawn(list.inout(), |list| list.push(2));
///     let mut value = s.wait_on(&mut list)?;
///     value.sort();
///     assert_eq!(*value, [1, 2, 3]);
///     s.spawn(list.inout(), |list| list.clear());
///     Ok::<(), millpond::Error>(())
/// })??;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Ref<'h, T, R> {
    /// Not a reference: with the right to read only, several bodies may hold one to the same value.
    value: NonNull<T>,
    _lends: PhantomData<(&'h mut T, R)>,
}

// SAFETY: a `Ref` is a `&T` or a `&mut T`.
unsafe impl<T: Send + Sync, R> Send for Ref<'_, T, R> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync, R> Sync for Ref<'_, T, R> {}

impl<T, R> Deref for Ref<'_, T, R> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: while the value is lent, nothing that writes it can be spawned by this body, and with the right to
        // write nobody else has it (`wait_on`).
        unsafe { self.value.as_ref() }
    }
}

impl<T, R: CanWrite> DerefMut for Ref<'_, T, R> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: with the right to write, the body has the value alone while it is lent.
        unsafe { self.value.as_mut() }
    }
}

/// An access that a body itself waits for, on its stack: laid out as a task's block, so that the scheme can grant it.
#[repr(C)]
struct Waiting {
    header: Header,
    _extras: Extras,
    record: Record,
    waiter: Waiter,
}

static WAIT: VTable = VTable {
    role: Role::Wait,
    run: |_, _| unreachable!("a waiter is woken, not run"),
    discard: |_| unreachable!("a waiter is woken, not run"),
    fail: |_, _, _| unreachable!("a waiter has no join"),
    drop_result: |_| unreachable!("a waiter has no join"),
};

/// The waiter behind a header of role `Wait`.
pub(crate) fn waiter_of(task: TaskRef) -> *mut Waiter {
    let waiting = task.0.cast::<Waiting>().as_ptr();
    // SAFETY: a header of that role is the first field of a `Waiting`, which stays until its waiter is woken.
    unsafe { &raw mut (*waiting).waiter }
}

/// The value of a datum whose writers have ended.
fn lend<'h, T, R>(datum: &Datum, place: &'static Location<'static>) -> Result<Ref<'h, T, R>, Error> {
    match datum.version().state() {
        State::Produced => Ok(Ref { value: datum.version().value().cast(), _lends: PhantomData }),
        State::Unset => Err(Error::new(Label::place(place), Kind::NeverWritten { arg: 0 })),
        State::Failed(cause) => Err(Error::poisoned(Label::place(place), &cause)),
    }
}

fn busy(place: &'static Location<'static>) -> Error {
    Error::new(Label::place(place), Kind::Busy { arg: 0 })
}

/// Who waits for a datum.
struct Who {
    /// In a recording; 0 if it is not recorded.
    body: Id,
    place: &'static Location<'static>,
    waiter: Waiter,
}

/// Issues an access of the body itself, waits until it is granted, and releases it: what conflicts can only be
/// spawned by this body, which does not while it looks at the value.
///
/// # Safety
///
/// As `Worker::wait_on`. The waiter is new; `issue` is `Worker::issue_accesses`, and `wait` returns when it was woken.
unsafe fn await_access<E: Engine>(
    domain: &Domain,
    datum: &Datum,
    mode: Mode,
    who: Who,
    issue: impl FnOnce(TaskRef) -> bool,
    wait: impl FnOnce(&Waiter),
    release: impl FnOnce(&Record),
) {
    let group = datum.enter_group(mode);
    let meta = datum.version().meta().of::<E::Scheme>();
    if E::Scheme::is_ready(meta, mode) {
        return;
    }
    let Who { body, place, waiter } = who;
    let header = Header::on_stack(&WAIT, domain.into(), place);
    let extras = Extras { id: body, label: Label::place(place), bytes: 0 };
    let record = Record::new(datum.current().cast(), offset_of!(Waiting, record), group, mode, false);
    let waiting = Waiting { header, _extras: extras, record, waiter };
    let task = TaskRef(NonNull::from(&waiting).cast());
    task.expose();
    task.set_accesses(1);
    task.add_flags(flag::EXTRAS | if body == 0 { 0 } else { flag::RECORDED });
    if !issue(task) {
        wait(&waiting.waiter);
    }
    release(&waiting.record);
}

/// What a `set` leaves to be dropped once everything is in order: that may run any code.
#[must_use]
pub(crate) struct Replaced<T> {
    _value: Option<T>,
    retired: Option<NonNull<Version>>,
}

impl<T> Drop for Replaced<T> {
    fn drop(&mut self) {
        if let Some(retired) = self.retired.take() {
            // SAFETY: retired, with no access outstanding.
            unsafe { Version::free(retired) }.unwrap_or_else(|caught| caught.resume());
        }
    }
}

impl<E: Engine> Worker<E> {
    /// # Safety
    ///
    /// This thread runs the body of `domain`, on this worker.
    pub(crate) unsafe fn wait_on<'h, T, B, R: CanRead>(
        &self,
        domain: &Domain,
        handle: &'h mut Handle<T, B, R>,
        place: &'static Location<'static>,
    ) -> Result<Ref<'h, T, R>, Error> {
        let datum = handle.datum();
        if !self.admit_now(domain, datum) {
            return Err(busy(place));
        }
        // SAFETY: as the caller promises; just claimed.
        unsafe { self.await_datum(domain, datum, R::WAIT, place) };
        lend(datum, place)
    }

    /// Waits until no access is outstanding that conflicts with one of `mode`.
    ///
    /// # Safety
    ///
    /// This thread runs the body of `domain`, on this worker; the scope has claimed the datum.
    unsafe fn await_datum(&self, domain: &Domain, datum: &Datum, mode: Mode, place: &'static Location<'static>) {
        // SAFETY: only this body issues on the datum; the record stays on its stack until it is released.
        let issue = |task| unsafe { self.issue_accesses(task) };
        let (wait, release) = (|waiter: &Waiter| self.wait(waiter, domain), |record: &Record| self.release_one(record));
        // SAFETY: as the caller promises; the worker's own wait.
        let until = |body| unsafe {
            let who = Who { body, place, waiter: Waiter::new(self.seat()) };
            await_access::<E>(domain, datum, mode, who, issue, wait, release);
        };
        match domain.record() {
            0 => until(0),
            _ => {
                let cause = if mode == Mode::Read { Cause::Written } else { Cause::Datum };
                with_log_of_body(&self.log, |log| log.waits_for(cause, datum.number(), until));
            }
        }
    }

    /// # Safety
    ///
    /// This thread runs the body of `domain`, or uses the session whose scope that is.
    pub(crate) unsafe fn set<T, B, R>(
        &self,
        domain: &Domain,
        handle: &Handle<T, B, R>,
        value: T,
        place: &'static Location<'static>,
    ) -> Replaced<T> {
        let datum = handle.datum();
        let (order, storage) = self.begin_set(domain, datum, place);
        if storage == Some(Storage::Shared) {
            // SAFETY: as the caller promises; claimed by `begin_set`.
            unsafe { self.await_datum(domain, datum, Mode::Inout, place) };
        }
        // SAFETY: the handle's type; nobody uses the version (any more), and only this body issues on it.
        unsafe { self.end_set(domain, datum, value, order, storage) }
    }

    /// The place of a `set` in reference order, and of its value; none if the datum is another scope's.
    fn begin_set(&self, domain: &Domain, datum: &Datum, place: &'static Location<'static>) -> (u64, Option<Storage>) {
        let order = domain.count_spawn();
        domain.count_inline();
        if !self.admit_now(domain, datum) {
            domain.fail(order, busy(place));
            return (order, None);
        }
        datum.enter_group(Mode::Write);
        (order, Some(datum.rename::<E::Scheme>(self.shared().config.renames.as_ref())))
    }

    /// # Safety
    ///
    /// The datum is one of a `T`, and nobody else uses its current version, unless there is no storage.
    unsafe fn end_set<T>(
        &self,
        domain: &Domain,
        datum: &Datum,
        value: T,
        order: u64,
        storage: Option<Storage>,
    ) -> Replaced<T> {
        let retired = match storage {
            None => return Replaced { _value: Some(value), retired: None },
            Some(Storage::Shared) => None,
            Some(Storage::Own(before)) => before,
        };
        let version = datum.version();
        // SAFETY: a `T`, that nobody else uses, as the caller promises; it is moved out.
        let old = version.is_full().then(|| unsafe { version.value().cast::<T>().read() });
        // SAFETY: the version has room for a `T` and holds none.
        unsafe { version.value().cast().write(value) };
        version.set_full(true);
        version.set_state(State::Produced);
        if domain.record() != 0 {
            self.log.note(What::Set { body: domain.record(), order, datum: datum.number() });
        }
        Replaced { _value: old, retired }
    }

    /// Claims a datum for something that is done at once, and ends a reduction that is open on it.
    fn admit_now(&self, domain: &Domain, datum: &Datum) -> bool {
        let claim = domain.claim();
        if !datum.is_claimed_by(claim) && !datum.claim::<E::Scheme>(claim) {
            return false;
        }
        if let Some(reduction) = datum.reduction() {
            let order = domain.count_spawn() - 1;
            domain.count_inline();
            self.combine(domain, reduction, order);
        }
        true
    }

    /// Makes room for another task in the window of a scope: hard for the caller of a runtime, who runs tasks or
    /// waits; soft in a body, which runs what it can of its own descendants.
    #[inline]
    pub(crate) fn throttle(&self, domain: &Domain, bytes: usize) {
        if self.shared().may_be_full(domain, bytes) {
            self.make_room(domain, bytes);
        }
    }

    #[cold]
    fn make_room(&self, domain: &Domain, bytes: usize) {
        let full = !self.shared().has_room(domain, bytes, false);
        if full || self.shared().should_empty(domain, self.shared().early()) {
            let make = || match full {
                false => self.empty_early(domain),
                true if domain.task().is_none() && self.is_carrier() => self.make_room_hard(domain, bytes),
                true => self.make_room_soft(domain, bytes),
            };
            let cause = if full { Cause::Window } else { Cause::Others };
            match domain.record() {
                0 => make(),
                _ => with_log_of_body(&self.log, |log| log.waits_for(cause, 0, |_| make())),
            }
        }
        self.shared().note_room(domain);
    }

    /// There is room, but the tasks have become short: runs those of the scope that this worker has and whose kind is
    /// known to be short, and watches others run theirs, while that gets anywhere. It runs nothing else, since any other
    /// body may wait for what the owner does next.
    fn empty_early(&self, domain: &Domain) {
        self.empty(domain, self.shared().early(), || {
            (0..HELP).map_while(|_| self.take_short_below(domain)).map(|task| self.execute(task)).count() > 0
        });
        self.step_back();
    }

    /// Watches for some microseconds; whether any of the `before` tasks that were outstanding has ended.
    fn sees_progress(&self, domain: &Domain, before: u64) -> bool {
        self.flush_all();
        (0..PATIENCE).for_each(|_| spin_loop());
        domain.outstanding() != before
    }

    fn make_room_soft(&self, domain: &Domain, bytes: usize) {
        let mut in_vain = 0;
        while in_vain < LOOKS && !self.shared().has_room(domain, bytes, true) {
            match self.take_leaf_below(domain) {
                Some(task) => self.execute(task),
                // A parent has a stack of its own: it may wait for what this body does next.
                None => in_vain = if self.lets_any_end(domain) { 0 } else { in_vain + 1 },
            }
        }
        while self.shared().should_empty(domain, self.shared().config.window)
            && let Some(task) = self.take_leaf_below(domain)
        {
            self.execute(task);
        }
        self.step_back();
    }

    /// Lets others run; whether a task of the scope has ended meanwhile.
    fn lets_any_end(&self, domain: &Domain) -> bool {
        let before = domain.outstanding();
        self.let_others_run();
        domain.outstanding() < before
    }

    fn make_room_hard(&self, domain: &Domain, bytes: usize) {
        while !self.shared().has_room(domain, bytes, true) {
            if self.help(HELP) {
                continue;
            }
            self.flush_all();
            let waiter = Waiter::new(self.seat());
            if !domain.watch_for_room(&waiter, domain.outstanding()) || !waiter.park() {
                continue;
            }
            self.carry_some_until(HELP, || waiter.is_delivered() || self.shared().has_room(domain, bytes, true));
            if !waiter.is_delivered() && !domain.unwatch_room() {
                // Somebody is waking it.
                self.carry_until(|| waiter.is_delivered());
            }
        }
        self.empty(domain, self.shared().config.window, || self.help(HELP));
        self.step_back();
    }

    /// Empties a window of which the last `lately` tasks are short, as long as `run` runs something or others do.
    fn empty(&self, domain: &Domain, lately: u64, mut run: impl FnMut() -> bool) {
        // A bound, since it may also run what others put.
        let mut turns = self.shared().config.window.div_ceil(HELP.into());
        while turns > 0 && self.shared().should_empty(domain, lately) {
            turns -= 1;
            let before = domain.outstanding();
            if !run() && !self.sees_progress(domain, before) {
                return;
            }
        }
    }
}

/// What a scope does whose thread is perhaps no worker: a session. While it waits, it runs no body on its stack.
impl<E: Engine> Shared<E> {
    /// As `Worker::wait_on`.
    ///
    /// # Safety
    ///
    /// This thread alone uses the scope of `domain`, which is a session's.
    pub(crate) unsafe fn wait_on<'h, T, B, R: CanRead>(
        &self,
        domain: &Domain,
        handle: &'h mut Handle<T, B, R>,
        place: &'static Location<'static>,
    ) -> Result<Ref<'h, T, R>, Error> {
        let datum = handle.datum();
        if !self.visit(|worker| worker.admit_now(domain, datum)) {
            return Err(busy(place));
        }
        // SAFETY: as the caller promises; just claimed.
        unsafe { self.await_datum(domain, datum, R::WAIT, place) };
        lend(datum, place)
    }

    /// As `Worker::set`.
    ///
    /// # Safety
    ///
    /// As `wait_on`.
    pub(crate) unsafe fn set<T, B, R>(
        &self,
        domain: &Domain,
        handle: &Handle<T, B, R>,
        value: T,
        place: &'static Location<'static>,
    ) -> Replaced<T> {
        let datum = handle.datum();
        let (order, storage) = self.visit(|worker| worker.begin_set(domain, datum, place));
        if storage == Some(Storage::Shared) {
            // Between two visits: who holds the front waits for nobody.
            // SAFETY: as the caller promises; claimed by `begin_set`.
            unsafe { self.await_datum(domain, datum, Mode::Inout, place) };
        }
        // SAFETY: as in `Worker::set`.
        self.visit(|worker| unsafe { worker.end_set(domain, datum, value, order, storage) })
    }

    /// As `Worker::await_datum`.
    ///
    /// # Safety
    ///
    /// As `wait_on`; the scope has claimed the datum.
    unsafe fn await_datum(&self, domain: &Domain, datum: &Datum, mode: Mode, place: &'static Location<'static>) {
        self.sit(|at| {
            // SAFETY: as in `Worker::wait_on`.
            let issue = |task| self.visit(|worker| unsafe { worker.issue_accesses(task) });
            let (wait, release) =
                (|waiter: &Waiter| at.wait(waiter), |record: &Record| self.visit(|worker| worker.release_one(record)));
            let who = Who { body: domain.record(), place, waiter: at.waiter() };
            // SAFETY: as the caller promises; the waiter is of the place that waits.
            unsafe { await_access::<E>(domain, datum, mode, who, issue, wait, release) }
        });
    }

    /// As `Worker::throttle`: soft in a body, as there.
    pub(crate) fn throttle(&self, domain: &Domain, bytes: usize) {
        if !self.may_be_full(domain, bytes) {
            return;
        }
        // A leaf that runs at its spawn, on the thread's own stack, is a body too.
        match worker_within(self).filter(|worker| !worker.is_carrier() || runs_inline_here()) {
            Some(worker) => self.make_session_room_soft(worker, domain, bytes),
            None => self.make_session_room_hard(domain, bytes),
        }
        self.note_room(domain);
    }

    /// What is outstanding may be the very task whose body this is, and all that waits for it. So the body lets others
    /// run as long as that helps.
    fn make_session_room_soft(&self, worker: &Worker<E>, domain: &Domain, bytes: usize) {
        let (mut full, mut in_vain) = (false, 0);
        while in_vain < LOOKS && !self.has_room(domain, bytes, full) {
            full = true;
            in_vain = if worker.lets_any_end(domain) { 0 } else { in_vain + 1 };
        }
    }

    fn make_session_room_hard(&self, domain: &Domain, bytes: usize) {
        let mut full = false;
        loop {
            // Before the look: then a completion after the look is not missed (`count`, 6).
            let seen = domain.outstanding();
            if self.has_room(domain, bytes, full) {
                return;
            }
            full = true;
            self.sit(|at| {
                let waiter = at.waiter();
                if domain.watch_for_room(&waiter, seen) {
                    at.wait(&waiter);
                }
            });
        }
    }

    /// The closure of a session has ended, so to speak: waits for what is outstanding.
    pub(crate) fn end_scope(&self, domain: &Domain) {
        self.visit(|worker| worker.combine_open(domain));
        self.sit(|at| {
            let waiter = at.waiter();
            if !domain.close(Some(&waiter)) {
                at.wait(&waiter);
            }
        });
    }

    /// Whether the owner must count before the scope may have another task.
    #[inline]
    fn may_be_full(&self, domain: &Domain, bytes: usize) -> bool {
        domain.is_beyond_room() || (bytes != 0 && domain.bytes() + bytes as u64 > self.config.window_bytes)
    }

    /// Whether the last `lately` tasks of a scope and more could have run at their spawn, had those before them not
    /// waited. Then its owner goes on running tasks, so that the next ones find what they wait for done.
    fn should_empty(&self, domain: &Domain, lately: u64) -> bool {
        domain.spawned_short() > lately && domain.in_flight() > 0
    }

    /// Whether the scope may have another task. A quarter of the window must be free again once it was full, so that
    /// the spawner does not stop at each task.
    fn has_room(&self, domain: &Domain, bytes: usize, full: bool) -> bool {
        let config = &self.config;
        let in_flight = domain.in_flight();
        let most = if full { (config.window - 1) - (config.window - 1) / 4 } else { config.window - 1 };
        let fits = bytes == 0 || domain.bytes() + bytes as u64 <= config.window_bytes;
        in_flight == 0 || (in_flight <= most && fits)
    }

    /// The owner has counted.
    fn note_room(&self, domain: &Domain) {
        let room = self.config.window.saturating_sub(domain.in_flight());
        // Before it is full: perhaps the tasks have become short (`should_empty`).
        domain.set_room(room.clamp(1, self.early().max(LEAST_LOOK)));
    }

    /// So many spawns of short tasks in a row are enough to empty a window that is not full; and after so many at most
    /// its owner looks whether there were.
    fn early(&self) -> u64 {
        self.config.window / 4
    }
}
