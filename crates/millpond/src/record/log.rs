//! The events that a worker writes to its event buffer. Nothing here is on the fast path: the
//! caller has checked that it records.

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

/// The number of low bits of an [`Id`] that hold the body's number, among those that its track has
/// given. The number of the track is above them.
pub(super) const NUMBER_BITS: u32 = 40;

/// A worker's event buffer, and the body that runs on the worker.
pub(crate) struct Log {
    recorder: Recorder,
    event_buffer: Arc<EventBuffer>,
    /// The number of ids given so far.
    given: Cell<u64>,
    /// The recorded body that runs now; 0 if none does.
    body: Cell<Id>,
    /// The forks of the same worker. They ask whether the running body is recorded.
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

    /// Whether another log has the same recorder.
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

    /// Makes `body` the running body. Returns the body that ran before.
    fn turn_to(&self, body: Id) -> Id {
        self.forks.set_recorded(body != 0);
        self.body.replace(body)
    }

    /// Notes an event, unless the recording has ended, or this process is the child of a fork.
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

    /// Gives a number to a body.
    pub(crate) fn next_id(&self) -> Id {
        let id = self.coming_id();
        self.given.set(self.given.get() + 1);
        id
    }

    /// The number that the next body gets.
    fn coming_id(&self) -> Id {
        (u64::from(self.event_buffer.track().number) << NUMBER_BITS) + self.given.get() + 1
    }

    /// Opens a root scope, whose closure runs now. Returns its number; 0 if it is not recorded.
    pub(crate) fn open(&self, place: &'static Location<'static>) -> Id {
        if !self.is_on() {
            return 0;
        }
        let scope = self.next_id();
        self.note(What::Opened { scope, within: self.turn_to(scope), place });
        scope
    }

    /// Opens a session, which has no running body. Returns its number.
    pub(crate) fn open_session(&self, place: &'static Location<'static>) -> Id {
        let scope = self.next_id();
        self.note(What::Session { scope, place });
        scope
    }

    /// Notes that the scope that `open` opened is complete. The body `within` runs again.
    pub(crate) fn close(&self, scope: Id, within: Id) {
        self.note(What::Completed { body: scope });
        self.turn_to(within);
    }

    /// Notes a task that was prepared, with its number in its extras. It is recorded from now on.
    /// Its accesses follow (`declared`).
    #[cold]
    pub(crate) fn spawned(&self, task: TaskRef, spawner: Id) {
        task.add_flags(flag::RECORDED);
        let (header, label) = (task.header(), task.label());
        let (id, order, place) = (task.record_id(), header.order(), label.location().unwrap_or(header.place()));
        self.note(What::Spawned { role: header.role().into(), task: id, spawner, order, place });
        if header.role() == task::Role::Combine {
            // The name distinguishes it from the tasks whose parts it combines.
            self.note(What::Named { name: "combine" });
        } else {
            self.named(&label);
        }
    }

    /// Notes an access of the task that was just prepared.
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

    /// Notes a fork, which was made on its caller's stack.
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

    /// Notes that the running body has got the result of a task.
    pub(crate) fn joined(&self, task: Id) {
        if self.body() != 0 {
            self.note(What::Joined { body: self.body(), task });
        }
    }

    /// Notes that a body starts. Returns the body that ran before, for `ended`.
    pub(crate) fn started(&self, task: Id) -> Id {
        self.note(What::Started { task });
        self.turn_to(task)
    }

    /// Notes that a body has finished, or will not run. The body `before` runs again.
    pub(crate) fn ended(&self, body: Id, ok: bool, before: Id) {
        self.note(What::Ended { body, ok });
        self.turn_to(before);
    }

    /// Notes that a future waits, off the stack. The body `before` runs again.
    pub(crate) fn suspended(&self, body: Id, before: Id) {
        self.note(What::Waits { body, cause: Cause::Others, on: 0 });
        self.turn_to(before);
    }

    /// Notes that a future is polled again. Returns the body that ran before.
    pub(crate) fn resumed(&self, body: Id) -> Id {
        self.note(What::Resumed { body });
        self.turn_to(body)
    }

    /// Makes `body` the running body of this track again; 0 if there is none.
    pub(crate) fn runs(&self, body: Id) {
        self.turn_to(body);
    }

    /// Notes that a task's body must not run.
    pub(crate) fn refused(&self, task: Id, parent: bool) {
        self.note(What::Ended { body: task, ok: false });
        if parent {
            self.note(What::Completed { body: task });
        }
    }

    /// Notes that access `record` of a task was granted because `by` was released.
    pub(crate) fn granted(&self, record: &Record, by: &Record) {
        let (task, by) = (record.task(), by.task());
        let waits = task.header().role() == task::Role::Wait;
        let access = if waits { Event::WAIT } else { task.place_of(record) };
        self.note(What::Granted { task: task.record_id(), by: by.record_id(), access });
    }

    /// Notes that a task with granted accesses was found. It is unknown whose release led to it.
    pub(crate) fn found(&self, task: TaskRef) {
        let waits = task.header().role() == task::Role::Wait;
        for record in task.records() {
            let access = if waits { Event::WAIT } else { task.place_of(record) };
            self.note(What::Granted { task: task.record_id(), by: 0, access });
        }
    }

    /// Notes that the running body satisfied the last precondition of a pending task.
    pub(crate) fn met(&self, task: TaskRef) {
        self.note(What::Granted { task: task.record_id(), by: self.body(), access: Event::PRECONDITION });
    }

    /// Notes that task `by` handed the exclusion of access `record` to a task.
    pub(crate) fn handed(&self, record: &Record, by: TaskRef) {
        let task = record.task();
        self.note(What::Handed { task: task.record_id(), by: by.record_id(), access: task.place_of(record) });
    }

    /// The running body opens a scope on another runtime, by `enter`. On that runtime, this thread
    /// has the worker of log `to`. If both have the same recorder, the body waits here and opens
    /// the scope there.
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

    /// The running body waits by `wait`, which gets the number of the body.
    pub(crate) fn waits_for<R>(&self, cause: Cause, on: u64, wait: impl FnOnce(Id) -> R) -> R {
        let body = self.body();
        self.waits(body, cause, on, || wait(body))
    }

    /// Notes that the thread has no work while `wait` runs.
    pub(crate) fn idles(&self, wait: impl FnOnce()) {
        if self.is_on() {
            self.note(What::Idle);
        }
        wait();
        if self.is_on() {
            self.note(What::Awake);
        }
    }

    /// The running body, if it is recorded, waits by `wait`. The cause has not been noted yet.
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
