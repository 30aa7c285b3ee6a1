//! The core of a session: how threads issue on it, how callers wait for room, and how it ends.
//!
//! The tasks point to the session's scope, which is in its core. `Session`, `SessionJoin`, `Close`
//! and `Permit` hold counted references to the core.
//!
//! 1. *Issuing.* The thread that holds the lock `issuing` owns the scope, like the thread of a
//!    scope's body. Under the lock it runs no user code except the `==` of reducers. It waits for
//!    an inject seat, and for locks that others hold briefly: `waits`, `ending`, the scope's end.
//!    Lock order: `issuing`, then the inject lock, then those. `current::Visit` marks a thread that
//!    may run a `==` under `issuing` or an inject lock, also on a worker. So a `==` that uses a
//!    session panics before it requests a lock. One that drops a session or a runtime does not wait
//!    for `issuing`.
//! 2. *Closing.* The thread that drops, detaches or closes the session, or drops the runtime, takes
//!    `issuing`. The first one sets `closed`, and closes the scope. Where a thread must not wait
//!    for the lock, it gives up if the lock is taken (`close`). A spawn that finds `closed` issues
//!    nothing: its join has failed.
//! 3. *The end.* If tasks are outstanding, the closer stores a reference to the core in the scope
//!    itself before it closes the scope. So the core outlives the tasks, whichever thread drops the
//!    values. The thread that completes the last task takes that reference (`worker::count`, step
//!    9) and calls `end`. If there was no task, the closer calls it.
//! 4. `end` records the completion, releases the claims on handles, sets `ended`, and removes the
//!    session from the runtime's list. Then it notifies the waiters for the end and for room. A
//!    waiter for the end stores itself in `ending`, under the lock of `ending`, unless it finds
//!    `ended`.
//! 5. *Room* (`worker::count`, step 8). A future or a thread that waits for room is in `waits`.
//!    Under `issuing` it adds itself, requests a notification from the next subtraction, and
//!    compares the counts with those that it read before. So it sees a completion, sees a returned
//!    `Permit`, or is notified. If it is no longer in the list, it is being notified: a thread must
//!    not continue before it is woken.
//! 6. A `Permit` counts as a task in flight (`reserved`). A spawn through it subtracts one there
//!    and adds one in the scope, under the lock. Returning a permit first subtracts one, then
//!    notifies the list.
//! 7. In the child of a fork none of this happens and no lock is taken: a thread of the parent may
//!    hold any of them.
//! 8. The last reference to the runtime's threads ends them, and joins all but the current thread.
//!    That is the runtime's, or that of a core, which drops it at its end: then a body has dropped
//!    the runtime, and the body's worker joins the others.

use std::mem::ManuallyDrop;
use std::panic::Location;
use std::ptr;
use std::sync::{Arc, Weak};

use super::super::Inner;
use super::super::join::Release;
use super::super::window::LOOKS;
use crate::error::{Error, Kind, Label};
use crate::handle::claim::{Claimant, runs_inline_here};
use crate::panics::catch;
use crate::record::What;
use crate::runtime::engine::Engine;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard};
use crate::task::TaskRef;
use crate::worker::cancel::Cancels;
use crate::worker::current::{Visit, visits_any, worker_within};
use crate::worker::scope_state::{Ends, NO_SEAT, ScopeState};
use crate::worker::seats::Shared;
use crate::worker::watch::Tell;
use crate::worker::watched::Open;
use crate::worker::{Awaited, Worker};

/// See the [module](self).
pub(crate) struct Core<E: Engine> {
    pub(in crate::runtime) shared: Arc<Shared<E>>,
    /// The runtime's threads, until the end. It stays in the child of a fork.
    inner: ManuallyDrop<Mutex<Option<Arc<Inner<E>>>>>,
    pub(in crate::runtime) scope_state: ScopeState,
    claimant: Claimant,
    /// Created before the scope state, and outlives it.
    _cancels: Box<Cancels>,
    issuing: Mutex<Issue>,
    /// Unused permits.
    reserved: AtomicU64,
    waits: Waits,
    ending: Mutex<Ending>,
}

// SAFETY: the scope state's cells belong to the thread that holds `issuing`. Other threads use only
// synchronized parts (failures, watchers, the count). Any thread may use a `Tell`, once.
unsafe impl<E: Engine> Send for Core<E> {}
// SAFETY: as above.
unsafe impl<E: Engine> Sync for Core<E> {}

impl<E: Engine> std::fmt::Debug for Core<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").field("issuing", &self.issuing).field("ending", &self.ending).finish_non_exhaustive()
    }
}

impl<E: Engine> Drop for Core<E> {
    fn drop(&mut self) {
        if !self.is_forked() {
            // SAFETY: this is the drop, and the field is not used again.
            unsafe { ManuallyDrop::drop(&mut self.inner) };
        }
    }
}

impl<E: Engine> Release for Core<E> {
    fn free(&self, task: TaskRef) {
        self.shared.visit(|worker| worker.free(task));
    }

    fn is_forked(&self) -> bool {
        self.shared.is_forked()
    }
}

/// Protected by the lock of a session, together with the owner's part of its scope.
#[derive(Debug, Default)]
struct Issue {
    closed: bool,
    /// The spawned tasks continue without a waiter.
    detached: bool,
}

/// How a session is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// A future or a thread waits for the end.
    Awaited,
    Detached,
    /// The session was dropped. Tasks that have not begun are cancelled, unless the session was
    /// detached before.
    Dropped,
    /// The runtime was dropped. Tasks that have not begun are cancelled.
    WithRuntime,
}

/// The waiter for the end.
#[derive(Default)]
struct Ending {
    ended: bool,
    tell: Option<Tell>,
    /// The watchdog watches the session until this is dropped.
    watched: Option<Open>,
}

impl std::fmt::Debug for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ending").field("ended", &self.ended).finish_non_exhaustive()
    }
}

/// The waiters for room, in order of arrival.
#[derive(Default)]
pub(super) struct Waits(Mutex<(u64, Vec<(u64, Tell)>)>);

impl std::fmt::Debug for Waits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waits").finish_non_exhaustive()
    }
}

impl Waits {
    /// Adds a waiter; returns the key for `take_back`.
    pub(super) fn put(&self, tell: Tell) -> u64 {
        let mut waits = self.0.lock();
        let (next, list) = &mut *waits;
        *next += 1;
        list.push((*next, tell));
        *next
    }

    /// Takes a waiter back; `None` if it is being notified, or was.
    pub(super) fn take_back(&self, place: u64) -> Option<Tell> {
        let list = &mut self.0.lock().1;
        let at = list.binary_search_by_key(&place, |waiter| waiter.0).ok()?;
        Some(list.remove(at).1)
    }

    fn tell_all(&self) {
        let all = std::mem::take(&mut self.0.lock().1);
        all.into_iter().for_each(|(_, tell)| tell.tell());
    }
}

/// Proof that this thread owns the session's scope.
pub(in crate::runtime) struct Issuing<'c, E: Engine> {
    core: &'c Core<E>,
    issue: MutexGuard<'c, Issue>,
}

impl<E: Engine> Core<E> {
    pub(super) fn open(inner: Arc<Inner<E>>, place: &'static Location<'static>) -> Arc<Self> {
        let (cancels, claimant) = (Box::new(Cancels::new()), Claimant::enter(false));
        let shared = Arc::clone(&inner.shared);
        let is_recorded = shared.recorder.is_on() && !shared.is_forked();
        let record = if is_recorded { shared.visit(|worker| worker.log.open_session(place)) } else { 0 };
        let watched = shared.open_watched();
        let core = Arc::new(Core {
            scope_state: ScopeState::root(&cancels, &claimant, NO_SEAT, record),
            shared,
            inner: ManuallyDrop::default(),
            claimant,
            _cancels: cancels,
            issuing: Mutex::default(),
            reserved: AtomicU64::new(0),
            waits: Waits::default(),
            ending: Mutex::new(Ending { watched, ..Ending::default() }),
        });
        if !core.is_forked() {
            inner.sessions.add(core.claimant.id(), Arc::downgrade(&core));
        }
        *core.inner.lock() = Some(inner);
        core
    }

    /// Takes the lock.
    pub(in crate::runtime) fn issue(&self) -> Issuing<'_, E> {
        // The panic is caught where the reducers are compared; they count as unequal.
        assert!(!visits_any(), "the comparison of two reducers cannot use a session in a spawn on a session");
        Issuing { core: self, issue: self.issuing.lock() }
    }

    /// Takes the lock when the scope may have another task. The limit is hard for a thread outside
    /// and soft in a body.
    pub(super) fn issue_with_room(self: &Arc<Self>, bytes: usize) -> Issuing<'_, E> {
        let mut issuing = self.issue();
        if !issuing.may_be_full(bytes) {
            return issuing;
        }
        // A leaf that runs at its spawn, on the thread's own stack, is a body too. The outstanding
        // tasks may be the one whose body this is, and all tasks that wait for it. So the body lets
        // others run as long as that helps.
        let body = worker_within(&self.shared).filter(|worker| !worker.is_carrier() || runs_inline_here());
        let (mut full, mut misses) = (false, 0);
        while misses < LOOKS && !issuing.has_room(bytes, full) {
            full = true;
            let before = self.scope_state.outstanding();
            drop(issuing);
            match body {
                // Only the lock holder may read the number of outstanding tasks.
                Some(worker) => {
                    let begun = self.shared.bodies_begun();
                    worker.watch_others(&|| self.shared.bodies_begun() != begun);
                }
                None => self.wait_for_room(bytes),
            }
            issuing = self.issue();
            let helps = body.is_none() || self.scope_state.outstanding() < before;
            misses = if helps { 0 } else { misses + 1 };
        }
        issuing.note_room(1);
        issuing
    }

    /// Blocks this thread until there may be room.
    fn wait_for_room(self: &Arc<Self>, bytes: usize) {
        self.shared.sit(|at| {
            let waiter = at.waiter();
            let issuing = self.issue();
            let asked = issuing.ask(self, bytes, || Tell::Waiter((&waiter).into()));
            drop(issuing);
            let Asked::Listed { place, sure } = asked else { return };
            if sure || self.waits.take_back(place).is_none() {
                at.wait(&waiter, Awaited::OfSession { session: (&self.scope_state).into(), task: None });
            }
        });
    }

    pub(super) fn waits(&self) -> &Waits {
        &self.waits
    }

    /// Returns an unused permit.
    pub(super) fn give_back(&self) {
        if self.is_forked() {
            return;
        }
        self.reserved.fetch_sub(1, Ordering::Release);
        self.waits.tell_all();
    }

    /// Runs `f` as a worker, on the thread that holds the lock.
    pub(in crate::runtime) fn as_worker<R>(&self, f: impl FnOnce(&Worker<E>) -> R) -> R {
        self.shared.visit(|worker| {
            let _visit = Visit::in_session(ptr::from_ref(self).cast());
            f(worker)
        })
    }

    /// Closes the session, unless it is closed already; see *Closing*. Never waits.
    pub(super) fn close(self: &Arc<Self>, how: How) {
        if self.is_forked() {
            return;
        }
        let issue = match how {
            How::WithRuntime if !visits_any() => Some(self.issuing.lock()),
            // Only the owner of the session's value uses it, apart from the runtime's drop, which
            // closes it, too. A value may also be dropped under an inject lock, where no thread may
            // wait for `issuing`. Or the comparison of reducers drops the runtime, perhaps in the
            // middle of a spawn on this session.
            _ => self.issuing.try_lock(),
        };
        let Some(mut issue) = issue else { return };
        let outstanding = !self.has_ended() && (issue.closed || self.scope_state.outstanding() > 0);
        let cancels = how == How::WithRuntime || (how == How::Dropped && !issue.detached);
        if cancels && outstanding {
            self.scope_state.cancel_token().cancel();
        }
        issue.detached |= how == How::Detached;
        if std::mem::replace(&mut issue.closed, true) {
            return;
        }
        if self.scope_state.has_reductions() {
            // This panics if the session is dropped in the comparison of two reducers.
            drop(catch(|| self.as_worker(|worker| worker.combine_open(&self.scope_state))));
        }
        let complete = self.scope_state.close_session(|| Arc::<Self>::clone(self) as Arc<dyn Ends>);
        drop(issue);
        if complete {
            self.end();
        }
    }

    /// Whether no task of it runs in this process.
    pub(in crate::runtime) fn is_forked(&self) -> bool {
        self.shared.is_forked()
    }

    /// The error of an operation that the child of a fork cannot do.
    pub(in crate::runtime) fn refuse_forked(&self, label: impl FnOnce() -> Label) -> Result<(), Error> {
        if self.is_forked() { Err(Error::new(label(), Kind::Forked)) } else { Ok(()) }
    }

    /// Whether everything is complete.
    pub(super) fn has_ended(&self) -> bool {
        self.ending.lock().ended
    }

    /// Asks for a notification of the end; returns the previous request. False if the session has
    /// ended: then the request has no effect.
    pub(super) fn watch_end(&self, tell: Tell) -> (bool, Option<Tell>) {
        let mut ending = self.ending.lock();
        if ending.ended {
            return (false, Some(tell));
        }
        (true, ending.tell.replace(tell))
    }

    /// Blocks this thread until the end. In the child of a fork there is no end.
    pub(super) fn wait_for_end(&self) {
        if self.is_forked() {
            return;
        }
        self.shared.sit(|at| {
            let waiter = at.waiter();
            let (waits, _old) = self.watch_end(Tell::Waiter((&waiter).into()));
            if waits {
                at.wait(&waiter, Awaited::Below((&self.scope_state).into()));
            }
        });
    }

    /// The result of a session.
    pub(super) fn result(&self, place: &'static Location<'static>) -> Result<(), Error> {
        self.refuse_forked(|| Label::place(place))?;
        let cancelled = || Error::of_scope("session", place, Kind::Cancelled);
        let failure = self.scope_state.first_failure().or_else(|| self.scope_state.is_cancelled().then(cancelled));
        failure.map_or(Ok(()), Err)
    }
}

impl<E: Engine> Ends for Core<E> {
    fn tell_of_room(&self) {
        self.waits.tell_all();
    }

    fn end(&self) {
        if self.scope_state.record() != 0 {
            let completed = What::Completed { body: self.scope_state.record() };
            drop(catch(|| self.shared.visit(|worker| worker.log.note(completed))));
        }
        self.claimant.leave();
        let (tell, watched) = {
            let mut ending = self.ending.lock();
            ending.ended = true;
            (ending.tell.take(), ending.watched.take())
        };
        drop(watched);
        let inner = self.inner.lock().take();
        let dropped = inner.as_ref().and_then(|inner| inner.sessions.remove(self.claimant.id()));
        // Dropped before the notifications: the thread that drops the runtime waits for this
        // session and must hold the last reference.
        drop(inner);
        dropped.into_iter().for_each(Tell::tell);
        self.waits.tell_all();
        tell.into_iter().for_each(Tell::tell);
    }
}

/// The outcome of a request for room.
pub(super) enum Asked {
    /// There is room.
    Room,
    /// The waiter is in the list. If not `sure`, something has changed meanwhile, and perhaps no
    /// completion notifies the waiter.
    Listed { place: u64, sure: bool },
}

impl<E: Engine> Issuing<'_, E> {
    pub(in crate::runtime) fn is_closed(&self) -> bool {
        self.issue.closed
    }

    fn reserved(&self) -> u64 {
        self.core.reserved.load(Ordering::Acquire)
    }

    /// The tasks in flight. Valid only while the session is not closed.
    fn in_flight(&self) -> u64 {
        self.core.scope_state.outstanding() + self.reserved()
    }

    /// Whether the owner must count before the scope may have another task.
    fn may_be_full(&self, bytes: usize) -> bool {
        self.core.shared.may_be_full(&self.core.scope_state, bytes)
    }

    /// Whether the scope may have another task. `full`: it had no room at an earlier check.
    pub(super) fn has_room(&self, bytes: usize, full: bool) -> bool {
        if self.is_closed() {
            return true;
        }
        let Core { shared, scope_state, .. } = self.core;
        let in_flight = self.in_flight();
        in_flight == 0 || (in_flight <= shared.most(full) && shared.fits(scope_state, bytes))
    }

    /// Notes the room after the owner has counted. At least `least` more tasks will be spawned.
    fn note_room(&self, least: u64) {
        if !self.is_closed() {
            self.core.shared.note_room_of(&self.core.scope_state, self.in_flight(), least);
        }
    }

    /// Adds a waiter for room to the list, unless there is room after all.
    pub(super) fn ask(&self, core: &Arc<Core<E>>, bytes: usize, tell: impl FnOnce() -> Tell) -> Asked {
        // Read before the check, so that a completion after the check is not missed.
        let (seen, reserved) = (core.scope_state.outstanding(), self.reserved());
        if self.has_room(bytes, true) {
            return Asked::Room;
        }
        let place = core.waits.put(tell());
        let most = core.shared.most(true).saturating_sub(reserved);
        let limit = if core.shared.fits(&core.scope_state, bytes) { most } else { seen };
        let same = core.scope_state.ask_for_room(|| Arc::downgrade(core) as Weak<dyn Ends>, seen, limit);
        Asked::Listed { place, sure: same && self.reserved() == reserved }
    }

    /// Counts a permit.
    pub(super) fn reserve(&self) {
        self.core.reserved.fetch_add(1, Ordering::Relaxed);
        self.note_room(0);
    }

    /// Uses a permit: the scope counts the task in its place.
    pub(super) fn use_permit(&self) {
        self.core.reserved.fetch_sub(1, Ordering::Release);
    }

    /// Refuses a spawn on a closed session.
    pub(super) fn refuse(&self, label: Label) -> Error {
        self.core.scope_state.cancel_token().cancel();
        Error::new(label, Kind::Cancelled)
    }
}
