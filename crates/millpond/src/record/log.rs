//! What a worker tells its event buffer. Everything here is off the fast path: the caller has seen that it records.

use std::cell::Cell;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

use super::{Cause, Event, Id, Recorder, Role, Track, What};
use crate::depend::Mode;
use crate::error::Label;
use crate::handle::Datum;
use crate::record::buffer::EventBuffer;
use crate::task::{self, Record, TaskRef, flag};
use crate::worker::forks::Forks;

/// A body's number, of those that its track has given, takes so many bits; its track's number stands above.
pub(super) const NUMBER_BITS: u32 = 40;

/// A worker's event buffer, and which body runs on it.
pub(crate) struct Log {
    recorder: Recorder,
    event_buffer: Arc<EventBuffer>,
    /// Ids given so far.
    given: Cell<u64>,
    /// The recorded body that runs now; 0 if none does.
    body: Cell<Id>,
    /// Of the same worker: they ask whether the body that runs is recorded.
    forks: Rc<Forks>,
}

impl Log {
    pub(crate) fn new(recorder: &Recorder, worker: Option<u32>, forks: Rc<Forks>) -> Self {
        let (recorder, event_buffer) = (recorder.clone(), recorder.event_buffer(worker));
        Log { recorder, event_buffer, given: Cell::new(0), body: Cell::new(0), forks }
    }

    /// Whether there is a sink.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.recorder.is_on()
    }

    /// Whether another log is of the same recorder.
    pub(crate) fn is_with(&self, other: &Log) -> bool {
        self.recorder.is(&other.recorder)
    }

    pub(crate) fn track(&self) -> Track {
        self.event_buffer.track()
    }

    /// The body that runs now; 0 if it is not recorded.
    #[inline(always)]
    pub(crate) fn body(&self) -> Id {
        self.body.get()
    }

    /// `body` runs from now on; the one that ran before.
    fn turn_to(&self, body: Id) -> Id {
        self.forks.set_recorded(body != 0);
        self.body.replace(body)
    }

    /// Notes an event, unless the recording has ended, or this is the child of a fork.
    #[cold]
    #[inline(never)]
    pub(crate) fn note(&self, what: What) {
        if self.is_on() && !self.recorder.is_forked() {
            let event = Event { at: self.recorder.now(), what };
            if self.event_buffer.write(event, |events| self.recorder.send(self.event_buffer.track(), events)) {
                self.recorder.deliver();
            }
        }
    }

    /// A number for a body.
    pub(crate) fn next_id(&self) -> Id {
        let id = self.coming_id();
        self.given.set(self.given.get() + 1);
        id
    }

    /// The number that the next body gets.
    fn coming_id(&self) -> Id {
        (u64::from(self.event_buffer.track().number) << NUMBER_BITS) + self.given.get() + 1
    }

    /// Opens a root scope, whose closure runs now; its number, 0 if it is not recorded.
    pub(crate) fn open(&self, place: &'static Location<'static>) -> Id {
        if !self.is_on() {
            return 0;
        }
        let scope = self.next_id();
        self.note(What::Opened { scope, within: self.turn_to(scope), place });
        scope
    }

    /// Opens a session, whose body runs nowhere.
    pub(crate) fn open_session(&self, place: &'static Location<'static>) -> Id {
        let scope = self.next_id();
        self.note(What::Session { scope, place });
        scope
    }

    /// The scope that `open` opened is complete; `within` ran before.
    pub(crate) fn close(&self, scope: Id, within: Id) {
        self.note(What::Completed { body: scope });
        self.turn_to(within);
    }

    /// A task was prepared, its number in its extras: it is recorded from now on. Its accesses follow (`declared`).
    #[cold]
    pub(crate) fn spawned(&self, task: TaskRef, spawner: Id) {
        task.add_flags(flag::RECORDED);
        let (header, label) = (task.header(), task.label());
        let (id, order, place) = (task.record_id(), header.order(), label.location().unwrap_or(header.place()));
        self.note(What::Spawned { role: header.role().into(), task: id, spawner, order, place });
        if header.role() == task::Role::Combine {
            // Apart from the tasks whose parts it combines.
            self.note(What::Named { name: "combine" });
        } else {
            self.named(&label);
        }
    }

    /// An access of the task that was just prepared.
    pub(crate) fn declared(&self, mode: Mode, datum: &Datum) {
        self.note(What::Declared { mode, datum: datum.number() });
    }

    fn named(&self, label: &Label) {
        if let Some(name) = label.name() {
            self.note(What::Named { name });
        }
        if !label.indices().is_empty() {
            let mut indices = [0; 4];
            indices[..label.indices().len()].copy_from_slice(label.indices());
            self.note(What::Indexed { count: label.indices().len() as u8, indices });
        }
    }

    /// A fork was made, on its caller's stack.
    pub(crate) fn forked(&self, fork: TaskRef) {
        let (task, place) = (fork.record_id(), fork.header().place());
        self.note(What::Spawned {
            role: Role::Fork,
            task,
            spawner: self.body(),
            order: task & ((1 << NUMBER_BITS) - 1),
            place,
        });
    }

    /// The body that runs has got the result of a task.
    pub(crate) fn joined(&self, task: Id) {
        if self.body() != 0 {
            self.note(What::Joined { body: self.body(), task });
        }
    }

    /// A body starts; the one that ran before, for `ended`.
    pub(crate) fn started(&self, task: Id) -> Id {
        self.note(What::Started { task });
        self.turn_to(task)
    }

    /// A body has ended, or will not run; `before` runs again.
    pub(crate) fn ended(&self, body: Id, ok: bool, before: Id) {
        self.note(What::Ended { body, ok });
        self.turn_to(before);
    }

    /// A future waits, off the stack; `before` runs again.
    pub(crate) fn suspended(&self, body: Id, before: Id) {
        self.note(What::Waits { body, cause: Cause::Others, on: 0 });
        self.turn_to(before);
    }

    /// A future is polled again; the body that ran before.
    pub(crate) fn resumed(&self, body: Id) -> Id {
        self.note(What::Resumed { body });
        self.turn_to(body)
    }

    /// `body` runs again on this track, or nobody does.
    pub(crate) fn runs(&self, body: Id) {
        self.turn_to(body);
    }

    /// A task's body must not run.
    pub(crate) fn refused(&self, task: Id, parent: bool) {
        self.note(What::Ended { body: task, ok: false });
        if parent {
            self.note(What::Completed { body: task });
        }
    }

    /// Access `record` of a task was granted since `by` was released.
    pub(crate) fn granted(&self, record: &Record, by: &Record) {
        let (task, by) = (record.task(), by.task());
        let waits = task.header().role() == task::Role::Wait;
        let access = if waits { Event::WAIT } else { task.place_of(record) };
        self.note(What::Granted { task: task.record_id(), by: by.record_id(), access });
    }

    /// A task was found whose accesses are all granted; nobody knows by whom.
    pub(crate) fn found(&self, task: TaskRef) {
        let waits = task.header().role() == task::Role::Wait;
        for record in task.records() {
            let access = if waits { Event::WAIT } else { task.place_of(record) };
            self.note(What::Granted { task: task.record_id(), by: 0, access });
        }
    }

    /// The last precondition of a pending task was met, by the body that runs.
    pub(crate) fn met(&self, task: TaskRef) {
        self.note(What::Granted { task: task.record_id(), by: self.body(), access: Event::PRECONDITION });
    }

    /// A task was handed the exclusion of access `record` by task `by`.
    pub(crate) fn handed(&self, record: &Record, by: TaskRef) {
        let task = record.task();
        self.note(What::Handed { task: task.record_id(), by: by.record_id(), access: task.place_of(record) });
    }

    /// The body that runs opens a scope on another runtime, by `enter`, where this thread has the worker of log `to`.
    /// If that is in the same recording, the body waits here and opens the scope there.
    pub(crate) fn waits_elsewhere<R>(&self, to: &Log, enter: impl FnOnce() -> R) -> R {
        let body = self.body();
        if body == 0 || !self.is_with(to) {
            return enter();
        }
        let before = to.turn_to(body);
        let result = self.waits(body, Cause::Join, to.coming_id(), || {
            self.note(What::Idle);
            enter()
        });
        to.turn_to(before);
        result
    }

    /// The body that runs waits by `wait`, which is told who that is.
    pub(crate) fn waits_for<R>(&self, cause: Cause, on: u64, wait: impl FnOnce(Id) -> R) -> R {
        let body = self.body();
        self.waits(body, cause, on, || wait(body))
    }

    /// The thread has nothing to do while `wait` takes.
    pub(crate) fn idles(&self, wait: impl FnOnce()) {
        if self.is_on() {
            self.note(What::Idle);
        }
        wait();
        if self.is_on() {
            self.note(What::Awake);
        }
    }

    /// The body that runs, if it is recorded, waits by `wait`, and nobody has noted yet for what.
    #[inline]
    pub(crate) fn waits_for_others<R>(&self, wait: impl FnOnce() -> R) -> R {
        self.waits(self.body(), Cause::Others, 0, wait)
    }

    /// `body`, if it is recorded, waits by `wait`.
    #[inline]
    pub(crate) fn waits<R>(&self, body: Id, cause: Cause, on: u64, wait: impl FnOnce() -> R) -> R {
        if body == 0 {
            return wait();
        }
        self.note(What::Waits { body, cause, on });
        let running = self.turn_to(0);
        let result = wait();
        self.turn_to(running);
        self.note(What::Resumed { body });
        result
    }
}

impl From<task::Role> for Role {
    fn from(role: task::Role) -> Self {
        match role {
            task::Role::Nest => Role::Parent,
            task::Role::Combine => Role::Combine,
            task::Role::Fork => Role::Fork,
            _ => Role::Leaf,
        }
    }
}
