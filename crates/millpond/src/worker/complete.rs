//! Completion: what happens when a task ends. It is iterative, so the nesting depth is unlimited.

use std::ptr::NonNull;

use super::Worker;
use super::nest_frame::NestFrame;
use crate::depend::tracker::Tracker;
use crate::depend::{Mode, Released};
use crate::error::{Error, Kind};
use crate::handle::Datum;
use crate::handle::reduction::Reduction;
use crate::handle::version::{State, Version};
use crate::panics::PanicPayload;
use crate::pool::Put;
use crate::record::What;
use crate::task::{Record, Role, TaskRef, flag};
use crate::worker::engine::WorkerEngine;
use crate::worker::scope_state::ScopeState;

/// Whether a body has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyStarted {
    /// It did not start: only its closure existed.
    No,
    /// It started: there is a result, unless it panicked.
    Yes,
}

/// Whether a task may start. If not, [`refusal`] gives the reason.
#[inline]
pub(crate) fn may_start(task: TaskRef) -> bool {
    let header = task.header();
    // SAFETY: the scope outlives its tasks.
    let cancelled = unsafe { header.scope_state().as_ref() }.is_cancelled();
    !cancelled && !header.has(flag::MISUSED) && !header.is_called_off() && task.records().iter().all(serves)
}

/// Why a task that is about to start must not start.
#[cold]
pub(crate) fn refusal(task: TaskRef) -> Option<Error> {
    let header = task.header();
    // SAFETY: the scope outlives its tasks.
    let scope_state = unsafe { header.scope_state().as_ref() };
    if header.has(flag::MISUSED) {
        return scope_state.misuse_of(header.order());
    }
    if scope_state.is_cancelled() || (header.is_cancelled() && scope_state.is_sessions()) {
        return Some(Error::new(task.label(), Kind::Cancelled));
    }
    if header.is_abandoned() {
        return Some(Error::new(task.label(), Kind::Abandoned));
    }
    let unserved = |(_, record): &(usize, &Record)| !serves(record);
    let (arg, record) = task.records().iter().enumerate().find(unserved)?;
    Some(match record.version().state() {
        State::Failed(cause) => Error::poisoned(task.label(), &cause),
        _ => Error::new(task.label(), Kind::NeverWritten { arg }),
    })
}

/// Whether the version has what the access needs.
#[inline]
pub(crate) fn serves(record: &Record) -> bool {
    match record.declared() {
        Mode::Write => true,
        Mode::Read | Mode::Inout => record.version().is_produced(),
        Mode::Commutative | Mode::Concurrent | Mode::Reduce => record.version().serves(record.group()),
    }
}

/// Settles the versions of a task. A failed task produces nothing.
pub(crate) fn settle(task: TaskRef, result: Result<(), Error>, poison: bool) -> Result<(), Error> {
    let result = result.and_then(|()| check_outputs(task));
    match &result {
        Ok(()) => {}
        Err(error) if poison => task.records().iter().for_each(|record| poison_one(record, error.root())),
        // A descendant failed. That need not affect the parent's own part of a reduction.
        Err(error) if task.header().has(flag::REDUCE) => {
            fail_totals(task, error.root());
            return contribute(task).and(result);
        }
        Err(_) => {}
    }
    result
}

/// Whether this is a `write` that the body has not set.
fn is_unwritten(record: &Record) -> bool {
    record.declared() == Mode::Write && !record.version().is_produced()
}

/// Checks the outputs of a body without a failure: all are written, and all parts of reductions are
/// handed in.
#[inline]
fn check_outputs(task: TaskRef) -> Result<(), Error> {
    let header = task.header();
    if header.has(flag::WRITE)
        && let Some(arg) = task.records().iter().position(is_unwritten)
    {
        return Err(Error::new(task.label(), Kind::Unwritten { arg }));
    }
    if header.has(flag::REDUCE) { contribute(task) } else { Ok(()) }
}

/// Fails the data to which a parent accumulates, because a descendant failed. Their copies hold all
/// that the descendants added, and the failed one may have added anything.
#[cold]
fn fail_totals(task: TaskRef, cause: &Error) {
    for record in task.records().iter().filter(|record| record.accumulates()) {
        record.version().fail_in_group(record.group(), cause);
    }
}

#[cold]
fn contribute(task: TaskRef) -> Result<(), Error> {
    let mut result = Ok(());
    for record in task.records() {
        if let (Some(reduction), Some(part)) = (record.reduction(), NonNull::new(record.link())) {
            record.set_link(std::ptr::null_mut());
            if let Err(caught) = reduction.contribute(record.member(), part) {
                let error = panicked(task, &caught);
                // Failed here, because a parent whose body succeeded does not fail the versions
                // that it used.
                record.version().fail_in_group(record.group(), error.root());
                result = result.and(Err(error));
            }
        }
    }
    result
}

/// The reduction that a combine task ends.
pub(crate) fn reduction_of(task: TaskRef) -> NonNull<Reduction> {
    NonNull::from(task.records()[0].reduction().expect("a combine task accesses a reduction"))
}

/// The failure of a task whose body or reducer panicked, or whose body returned an error.
#[cold]
pub(crate) fn panicked(task: TaskRef, caught: &PanicPayload) -> Error {
    caught.error(task.label())
}

/// Tells the scope that a drop panicked: of a value that this task was the last to use, or of the
/// task's own value.
#[cold]
pub(crate) fn report_drop(task: TaskRef, caught: &PanicPayload) {
    // SAFETY: the task is not counted as complete yet, so its scope is alive.
    unsafe { task.header().scope_state().as_ref() }.fail_for_join(task.header().order(), panicked(task, caught));
}

fn poison_one(record: &Record, cause: &Error) {
    let version = record.version();
    match record.declared() {
        Mode::Read => {}
        Mode::Write | Mode::Inout => version.fail(cause.clone()),
        Mode::Commutative | Mode::Concurrent => version.fail_in_group(record.group(), cause),
        Mode::Reduce => {
            version.fail_in_group(record.group(), cause);
            record.discard_part(true);
        }
    }
}

impl<E: WorkerEngine> Worker<E> {
    /// A leaf has succeeded. Returns the parent that is complete with it, if any: the caller
    /// continues with that one.
    #[inline]
    pub(super) fn conclude_well(&self, task: TaskRef) -> Option<TaskRef> {
        let header = task.header();
        if header.has(flag::WRITE | flag::REDUCE | flag::EXTRAS) || header.role() != Role::Leaf {
            return self.conclude(task, Ok(()), true, BodyStarted::Yes);
        }
        self.release(task);
        let scope_state = header.scope_state();
        // SAFETY: the scope outlives its tasks, and this one is counted below.
        self.retire(task, unsafe { scope_state.as_ref() });
        self.count_finished(scope_state)
    }

    /// A task has ended. Returns the parent that is complete with it, if any: the caller continues
    /// with that one.
    #[inline(never)]
    pub(crate) fn conclude(
        &self,
        task: TaskRef,
        result: Result<(), Error>,
        poison: bool,
        started: BodyStarted,
    ) -> Option<TaskRef> {
        let header = task.header();
        let result = if header.role() == Role::Combine {
            result.inspect_err(|error| self.poison_combined(task, error))
        } else {
            settle(task, result, poison)
        };
        self.release(task);
        let scope_state = header.scope_state();
        // SAFETY: the scope outlives its tasks, and this one is counted below.
        let scope = unsafe { scope_state.as_ref() };
        if task.bytes() != 0 {
            scope.sub_bytes(task.bytes());
        }
        if let Err(error) = result {
            self.report(task, scope, error, started);
        }
        if header.role() == Role::Combine {
            self.end_reduction(task);
        }
        self.retire_apart(task, scope);
        self.count_finished(scope_state)
    }

    #[cold]
    pub(crate) fn poison_combined(&self, task: TaskRef, error: &Error) {
        let record = &task.records()[0];
        if record.version().is_produced() {
            record.version().fail(error.root().clone());
        }
    }

    #[cold]
    pub(crate) fn report(&self, task: TaskRef, scope: &ScopeState, error: Error, started: BodyStarted) {
        let header = task.header();
        if header.role() == Role::Combine && matches!(error.kind(), Kind::NeverWritten { .. }) {
            // No member found a value either, so each member has failed.
            return;
        }
        if !header.has(flag::COUNTED) {
            scope.fail_for_join(header.order(), error);
            if scope.is_owned_by(self.seat()) {
                scope.forget_failures();
            }
        } else {
            scope.fail(header.order(), &error);
            // SAFETY: the task is counted, and its join cannot look before the state says "done".
            unsafe { (header.vtable().fail)(task, error, started == BodyStarted::Yes) }
        }
    }

    /// Gives exclusions back and releases all accesses, the last one first. If a successor needs
    /// several of them, it waits for the last one granted to it, so it is checked once.
    #[inline]
    pub(crate) fn release(&self, task: TaskRef) {
        let excludes = task.header().has(flag::COMMUTATIVE);
        for record in task.records().iter().rev() {
            if excludes && record.mode() == Mode::Commutative {
                self.release_exclusion(task, record.version());
            }
            self.release_one(record);
        }
    }

    /// Releases one access. A task that this grants becomes ready if it waited for nothing else.
    #[inline]
    pub(crate) fn release_one(&self, record: &Record) {
        let version = record.version_at();
        // SAFETY: this access to the version is outstanding.
        let meta = unsafe { version.as_ref() }.meta();
        let tracker = self.tracker();
        // SAFETY: the access was issued and granted, and is released once.
        let released = unsafe { tracker.release(self.scheme_shared(), self.scheme_local(), meta, record) };
        let Released { granted, last } = released;
        let mut next = granted;
        while let Some(granted) = next {
            Record::prefetch_task(granted);
            // SAFETY: a record stays valid until it is released, and it is granted below.
            let granted = unsafe { granted.as_ref() };
            next = NonNull::new(granted.link().cast());
            self.grant(granted, record);
        }
        if tracker.searches() && tracker.has_ready(self.scheme_shared()) {
            self.shared().sleep.work_arrived_in_order();
        }
        if last {
            // SAFETY: the scheme says that this was the last access to a retired version.
            if let Err(caught) = unsafe { Version::free(version) } {
                report_drop(record.task(), &caught);
            }
        }
    }

    /// Access `record` is granted because `by` was released.
    #[inline]
    fn grant(&self, record: &Record, by: &Record) {
        let task = record.task();
        if task.header().has(flag::RECORDED) {
            self.log.granted(record, by);
        }
        // SAFETY: a release has granted it.
        if unsafe { self.tracker().granted(record) } {
            self.ready(task, Put::Released);
        }
    }

    /// The combine task has ended: nothing uses the reduction any more.
    #[cold]
    pub(crate) fn end_reduction(&self, task: TaskRef) {
        let reduction = reduction_of(task);
        // SAFETY: the reduction lives until it is freed below.
        let datum: NonNull<Datum> = unsafe { reduction.as_ref() }.datum();
        // SAFETY: all members were released before the combine task was granted.
        if let Err(caught) = unsafe { Reduction::free(reduction) } {
            report_drop(task, &caught);
        }
        // SAFETY: the reduction owned a part of its datum.
        unsafe { Datum::drop_part(datum) };
    }

    /// Like `retire`, but not inlined: for loops that have no registers left.
    #[inline(never)]
    pub(crate) fn retire_apart(&self, task: TaskRef, scope: &ScopeState) {
        self.retire(task, scope);
    }

    /// Tells joins that the task has ended, and frees the block unless a join keeps it.
    // Always inlined: it ends each task from the pool.
    #[inline(always)]
    fn retire(&self, task: TaskRef, scope: &ScopeState) {
        let header = task.header();
        let usage = header.state().usage();
        let counted = header.has(flag::COUNTED);
        // If this thread runs the body of the scope, only this thread uses the scope's joins.
        let alone = scope.is_owned_by(self.seat());
        let completed = if alone { header.state().complete_alone() } else { header.state().complete() };
        if completed.watched {
            scope.watchers().tell((task.0, usage));
        }
        if counted && !completed.dropped {
            return;
        }
        if counted {
            // SAFETY: the task is counted and complete, and its join is gone.
            unsafe { (header.vtable().drop_result)(task) }
        }
        self.free(task);
    }

    /// Counts a completion in `scope_state`. Returns the parent that is complete with it, if any.
    #[inline]
    pub(crate) fn count_finished(&self, scope_state: NonNull<ScopeState>) -> Option<TaskRef> {
        // SAFETY: the completion is not counted yet, so the scope is alive.
        if unsafe { scope_state.as_ref() }.is_owned_by(self.seat()) {
            // SAFETY: as above.
            unsafe { scope_state.as_ref() }.count_inline();
            return None;
        }
        let (held, count) = self.tally.get();
        if held == Some(scope_state) {
            self.tally.set((held, count + 1));
            return if count + 1 >= self.shared().config.tally_batch { self.flush() } else { None };
        }
        let finished = self.flush();
        self.tally.set((Some(scope_state), 1));
        finished
    }

    /// Counts a task that external tasks let in; see `worker::count`, 4.
    pub(crate) fn count_let_in(&self, task: TaskRef) {
        let scope_state = task.header().scope_state();
        // SAFETY: the task is outstanding, so its scope is alive.
        let scope = unsafe { scope_state.as_ref() };
        match self.tally.get() {
            _ if scope.is_owned_by(self.seat()) => scope.count_let_in_here(),
            (held, 1) if held == Some(scope_state) => self.tally.set((None, 0)),
            (held, count) if held == Some(scope_state) => self.tally.set((held, count - 1)),
            _ => scope.count_hidden_spawn(),
        }
        let admission = scope.admission().expect("an external task");
        admission.count_let_in(self.seat());
    }

    /// Subtracts the collected completions. Returns the parent that is complete with them, if any.
    pub(super) fn flush(&self) -> Option<TaskRef> {
        let (Some(scope_state), count) = self.tally.replace((None, 0)) else { return None };
        // SAFETY: the collected completions are not counted yet, so the scope is alive.
        let scope = unsafe { scope_state.as_ref() };
        let parent = scope.task();
        if scope.finish(count) { parent } else { None }
    }

    /// Subtracts the collected completions, and completes all parents that are complete with them.
    pub(crate) fn flush_all(&self) {
        let finished = self.flush();
        self.complete_parents(finished);
        debug_assert!(self.tally.get().0.is_none());
    }

    /// Completes a parent, the parent that is complete with it, and so on.
    pub(crate) fn complete_parents(&self, first: Option<TaskRef>) {
        let mut next = first;
        loop {
            while let Some(parent) = next {
                next = self.complete_parent(parent);
            }
            if self.tally.get().0.is_none() {
                return;
            }
            next = self.flush();
        }
    }

    fn complete_parent(&self, task: TaskRef) -> Option<TaskRef> {
        let frame: NonNull<NestFrame> = task.nest_frame_at();
        // SAFETY: the parent's body has run, so its frame exists. It stays until the block is
        // freed.
        let this = unsafe { frame.as_ref() };
        // SAFETY: its scope is complete.
        let error = unsafe { this.hand_back() };
        let poison = this.scope_state().own_failure().is_some();
        if task.header().has(flag::RECORDED) {
            self.log.note(What::Completed { body: task.record_id() });
        }
        // SAFETY: nothing uses the frame any more. `conclude` frees its block.
        unsafe { frame.drop_in_place() };
        // A body that failed left no value.
        let started = if poison { BodyStarted::No } else { BodyStarted::Yes };
        self.conclude(task, error.map_or(Ok(()), Err), poison, started)
    }
}
