//! The operations that a scope does at once, without a task: wait for a datum, set one.

use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::offset_of;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::ptr::NonNull;

use super::session::Core;
use crate::depend::Mode;
use crate::depend::tracker::Tracker;
use crate::error::{Error, Kind, Label};
use crate::handle::access::{CanRead, CanWrite};
use crate::handle::datum::Storage;
use crate::handle::version::State;
use crate::handle::{Datum, Handle, Version};
use crate::record::{Cause, Id, What};
use crate::task::{Extras, Header, Record, TaskRef, flag};
use crate::worker::current::with_log_of_body;
use crate::worker::engine::WorkerEngine;
use crate::worker::engine::store::TaskStore;
use crate::worker::scope_state::ScopeState;
use crate::worker::wait::Waiter;
use crate::worker::waiting::{WAIT, Waiting};
use crate::worker::{Awaited, Worker};

/// A value lent by [`Spawn::wait_on`](crate::Spawn::wait_on); mutable if the scope may write the
/// datum.
///
/// It borrows the handle, so that nothing can be spawned on the datum while the scope uses the
/// value.
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
    /// Not a reference: with read-only rights, several bodies may hold one to the same value.
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
        // SAFETY: while the value is lent, this body cannot spawn a task that writes it. With the
        // right to write, no other code has the value (`wait_on`).
        unsafe { self.value.as_ref() }
    }
}

impl<T, R: CanWrite> DerefMut for Ref<'_, T, R> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: with the right to write, only this body has the value while it is lent.
        unsafe { self.value.as_mut() }
    }
}

/// Lends the value of a datum whose writers have released it.
fn lend<'h, T, R>(datum: &Datum, place: &'static Location<'static>) -> Result<Ref<'h, T, R>, Error> {
    match datum.version().state() {
        State::Produced => Ok(Ref { value: datum.version().value().cast(), _lends: PhantomData }),
        State::Unset => Err(Error::new(Label::place(place), Kind::NeverWritten { arg: 0 })),
        State::Failed(cause) => Err(Error::poisoned(Label::place(place), &cause)),
    }
}

/// The error of an operation on a datum that its scope cannot have.
#[cold]
fn refused(datum: &Datum, place: &'static Location<'static>) -> Error {
    Error::new(Label::place(place), datum.refusal(0))
}

/// A body waiting for a datum, and the tracker that orders the accesses to it.
struct Who<T> {
    tracker: T,
    /// Its number in a recording; 0 if it is not recorded.
    body: Id,
    place: &'static Location<'static>,
    waiter: Waiter,
}

/// Issues an access of the body itself, waits until it is granted, and releases it. Only this body
/// can spawn a conflicting task, and it spawns none while it uses the value.
///
/// # Safety
///
/// As for `Worker::wait_on`. The waiter is new; `issue` is `Worker::issue_accesses`, and `wait`
/// returns when it was woken.
unsafe fn await_access<T: Tracker>(
    scope_state: &ScopeState,
    datum: &Datum,
    mode: Mode,
    who: Who<T>,
    issue: impl FnOnce(TaskRef) -> bool,
    wait: impl FnOnce(&Waiter),
    release: impl FnOnce(&Record),
) {
    let group = datum.enter_group(mode);
    if who.tracker.is_ready(datum.version().meta(), mode) {
        return;
    }
    let Who { body, place, waiter, .. } = who;
    let header = Header::on_stack(&WAIT, scope_state.into(), place);
    let extras = Extras { id: body, label: Label::place(place), bytes: 0 };
    let record = Record::new(datum.current().cast(), offset_of!(Waiting, record), group, mode, false);
    let waiting = Waiting { header, _extras: extras, record, waiter };
    let task = waiting.task();
    task.expose();
    task.set_accesses(1);
    task.add_flags(flag::EXTRAS | if body == 0 { 0 } else { flag::RECORDED });
    if !issue(task) {
        wait(&waiting.waiter);
    }
    release(&waiting.record);
}

/// The old value of a `set`, to be dropped after all state is consistent: its drop may run any
/// code.
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

impl<E: WorkerEngine> Worker<E> {
    /// # Safety
    ///
    /// This thread runs the body of `scope_state`, on this worker.
    pub(crate) unsafe fn wait_on<'h, T, B, R: CanRead>(
        &self,
        scope_state: &ScopeState,
        handle: &'h mut Handle<T, B, R>,
        place: &'static Location<'static>,
    ) -> Result<Ref<'h, T, R>, Error> {
        let datum = handle.datum();
        if !self.admit_now(scope_state, datum) {
            return Err(refused(datum, place));
        }
        if E::Tasks::has_frames(scope_state) {
            datum.enter_group(R::WAIT);
            if E::Tasks::is_in_use(scope_state, datum) {
                E::Tasks::drain_for(self, scope_state, Self::cause_of(R::WAIT), datum.number());
            }
            return lend(datum, place);
        }
        // SAFETY: as the caller promises; just claimed.
        unsafe { self.await_datum(scope_state, datum, R::WAIT, place) };
        lend(datum, place)
    }

    /// The recorded reason why a body waits for an access of `mode`.
    fn cause_of(mode: Mode) -> Cause {
        if mode == Mode::Read { Cause::Written } else { Cause::Datum }
    }

    /// Waits until no access that conflicts with one of `mode` is outstanding.
    ///
    /// # Safety
    ///
    /// This thread runs the body of `scope_state` on this worker. The scope has claimed the datum.
    unsafe fn await_datum(
        &self,
        scope_state: &ScopeState,
        datum: &Datum,
        mode: Mode,
        place: &'static Location<'static>,
    ) {
        // SAFETY: the caller's.
        unsafe { E::await_datum(self, scope_state, datum, mode, place) }
    }

    /// # Safety
    ///
    /// As for `await_datum`.
    pub(crate) unsafe fn await_datum_here(
        &self,
        scope_state: &ScopeState,
        datum: &Datum,
        mode: Mode,
        place: &'static Location<'static>,
    ) {
        // SAFETY: only this body issues on the datum; the record stays on its stack until it is
        // released.
        let issue = |task| unsafe { self.issue_accesses(task) };
        let (wait, release) =
            (|waiter: &Waiter| self.wait(waiter, scope_state), |record: &Record| self.release_one(record));
        // SAFETY: as the caller promises; the worker's own wait.
        let until = |body| unsafe {
            let who = Who { tracker: self.tracker(), body, place, waiter: Waiter::new(self.mailbox()) };
            await_access(scope_state, datum, mode, who, issue, wait, release);
        };
        match scope_state.record() {
            0 => until(0),
            _ => {
                let cause = Self::cause_of(mode);
                with_log_of_body(&self.log, |log| log.waits_for(cause, datum.number(), until));
            }
        }
    }

    /// # Safety
    ///
    /// This thread runs the body of `scope_state`, or uses the session that owns this scope.
    pub(crate) unsafe fn set<T, B, R>(
        &self,
        scope_state: &ScopeState,
        handle: &Handle<T, B, R>,
        value: T,
        place: &'static Location<'static>,
    ) -> Replaced<T> {
        let datum = handle.datum();
        let (order, storage) = self.begin_set(scope_state, datum, place);
        match storage {
            Some(Storage::Shared) if E::Tasks::has_frames(scope_state) => {
                E::Tasks::drain_for(self, scope_state, Cause::Datum, datum.number());
            }
            // SAFETY: as the caller promises; claimed by `begin_set`.
            Some(Storage::Shared) => unsafe { self.await_datum(scope_state, datum, Mode::Inout, place) },
            _ => {}
        }
        // SAFETY: the handle has this type. The version is unused by now, and only this body issues
        // on it.
        unsafe { self.end_set(scope_state, datum, value, order, storage) }
    }

    /// Like `set`, but returns the value if that would wait.
    ///
    /// # Safety
    ///
    /// As for `set`.
    pub(crate) unsafe fn try_set<T, B, R>(
        &self,
        scope_state: &ScopeState,
        handle: &Handle<T, B, R>,
        value: T,
        place: &'static Location<'static>,
    ) -> Result<Replaced<T>, T> {
        let datum = handle.datum();
        // Checked first, because a place in reference order without a task costs extra in a frame.
        if E::Tasks::has_frames(scope_state) && E::Tasks::is_in_use(scope_state, datum) {
            return Err(value);
        }
        let (order, storage) = self.begin_set(scope_state, datum, place);
        if storage == Some(Storage::Shared) {
            return Err(value);
        }
        // SAFETY: as in `set`.
        Ok(unsafe { self.end_set(scope_state, datum, value, order, storage) })
    }

    /// Finds the place of a `set` in reference order, and the storage of its value. There is no
    /// storage if the datum belongs to another scope.
    fn begin_set(
        &self,
        scope_state: &ScopeState,
        datum: &Datum,
        place: &'static Location<'static>,
    ) -> (u64, Option<Storage>) {
        let order = scope_state.count_gap();
        if !self.admit_now(scope_state, datum) {
            scope_state.fail(order, &refused(datum, place));
            return (order, None);
        }
        datum.enter_group(Mode::Write);
        if E::Tasks::has_frames(scope_state) {
            let storage = if E::Tasks::is_in_use(scope_state, datum) { Storage::Shared } else { Storage::Own(None) };
            return (order, Some(storage));
        }
        (order, Some(datum.rename(self.tracker(), self.shared().config.renames.as_ref())))
    }

    /// # Safety
    ///
    /// The datum holds a `T`. Unless there is no storage, no other code uses its current version.
    unsafe fn end_set<T>(
        &self,
        scope_state: &ScopeState,
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
        // SAFETY: a `T` that no other code uses, as the caller promises; it is moved out.
        let old = version.is_full().then(|| unsafe { version.value().cast::<T>().read() });
        // SAFETY: the version has room for a `T` and holds none.
        unsafe { version.value().cast().write(value) };
        version.set_full(true);
        version.set_state(State::Produced);
        if scope_state.record() != 0 {
            self.log.note(What::Set { body: scope_state.record(), order, datum: datum.number() });
        }
        Replaced { _value: old, retired }
    }

    /// Claims a datum for an operation without a task, and closes its open reduction.
    fn admit_now(&self, scope_state: &ScopeState, datum: &Datum) -> bool {
        let claim = scope_state.claim();
        if !datum.is_claimed_by(claim) && !E::Tasks::claim(self.tracker(), scope_state, datum) {
            return false;
        }
        if let Some(reduction) = datum.reduction() {
            let order = scope_state.count_gap() - 1;
            self.combine(scope_state, reduction, order);
        }
        true
    }
}

/// The same operations of a session, on any thread. While they wait, they run no body on that
/// thread's stack.
impl<E: crate::runtime::engine::Engine> Core<E> {
    /// Like `Worker::wait_on`. The handle is borrowed meanwhile, so no other thread issues on it.
    pub(super) fn wait_on<'h, T, B, R: CanRead>(
        &self,
        handle: &'h mut Handle<T, B, R>,
        place: &'static Location<'static>,
    ) -> Result<Ref<'h, T, R>, Error> {
        self.refuse_forked(|| Label::place(place))?;
        let datum = handle.datum();
        self.shared.sit(|at| {
            let issuing = self.issue();
            if !self.as_worker(|worker| worker.admit_now(&self.scope_state, datum)) {
                return Err(refused(datum, place));
            }
            let issuing = Cell::new(Some(issuing));
            let issue = |task| {
                // SAFETY: this thread holds the session's lock; the record stays on its stack until
                // it is released.
                let ready = self.as_worker(|worker| unsafe { worker.issue_accesses(task) });
                // It waits without the lock.
                drop(issuing.take());
                ready
            };
            let some = Awaited::OfSession { session: (&self.scope_state).into(), task: None };
            let wait = |waiter: &Waiter| at.wait(waiter, some);
            let release = |record: &Record| self.shared.visit(|worker| worker.release_one(record));
            let body = self.scope_state.record();
            let who = Who { tracker: self.shared.tracker(), body, place, waiter: at.waiter() };
            // SAFETY: this thread holds the session's lock until the access is issued, and then
            // only this thread has the handle. The waiter belongs to the seat that waits.
            unsafe { await_access(&self.scope_state, datum, R::WAIT, who, issue, wait, release) };
            Ok(())
        })?;
        lend(datum, place)
    }

    /// Like `Worker::try_set`. A closed session sets nothing: after its end, another scope may own
    /// the handle.
    pub(super) fn try_set<T, B, R>(
        &self,
        handle: &Handle<T, B, R>,
        value: T,
        place: &'static Location<'static>,
    ) -> Result<Replaced<T>, T> {
        if self.is_forked() {
            return Err(value);
        }
        let issuing = self.issue();
        if issuing.is_closed() {
            return Err(value);
        }
        // SAFETY: this thread holds the session's lock, and the session has not ended.
        self.as_worker(|worker| unsafe { worker.try_set(&self.scope_state, handle, value, place) })
    }
}
