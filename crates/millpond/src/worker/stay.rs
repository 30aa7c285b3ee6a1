//! How a body waits on its own thread, and when the worker suspends the body instead.
//!
//! User code may hold a lock, a borrow or a thread-local across a wait. So the thread of a waiting
//! body runs only what the body waits for, as long as it finds such tasks:
//!
//! 1. It runs tasks below the body, from the working end of this worker's part of the pool
//!    (`Worker::wait`).
//! 2. If it finds none, it lends its seat to a spare thread (`spares`), which works in its place.
//!    Without a spare, the thread idles.
//! 3. After a while, it runs tasks below the body from anywhere in the pool
//!    ([`Worker::search_for`]). Other workers may never reach these tasks: they may be behind
//!    others that all want the lock of this body. If this stack has no room for another body, the
//!    thread suspends this body, and runs the task on another stack.
//! 4. It suspends this stack and runs other tasks in three cases. If other bodies of the thread are
//!    suspended, it does so instead of step 2, because its carrier must resume them. If there is no
//!    spare and the thread does not know which tasks end the wait (`Awaited::is_known`), it does so
//!    at once. An example is the wait for a session's datum. If there is no spare and the tasks are
//!    known, it does so when no body has begun anywhere for 2 ms (`STUCK`). Until then it takes
//!    step 3 at growing intervals.
//!
//! The carrier of a thread with suspended bodies does the same for all of them. It lends its seat,
//! and searches for what they wait for. Without a spare, it searches a little before each other
//! task. On the dataflow stack, a stack job continues the scope of a body. The carrier runs it next
//! after the body was suspended (`Worker::want_stack_job`).
//!
//! In the child of a fork, no other thread works for a runtime of the parent. There a scope's only
//! thread goes from step 1 to step 3, through the whole pool, and then to step 4. A body of a scope
//! that was open at the fork runs nothing while it waits.
//!
//! The end of a session needs all its tasks, like the end of a scope. Step 3 searches for them. The
//! join of a session's task needs that task, and the tasks that it depends on. The latter are not
//! known, but they were spawned before. So if no body has begun anywhere for 2 ms, step 3 also
//! takes earlier tasks of the session, and tasks below them. One of these may need a lock that this
//! body holds, although the join does not need that task. Then the program does not end. The same
//! holds for a wait for a session's datum, and for a wait for room.
//!
//! A body that waits for something outside the runtime, such as a future, is suspended at once. Its
//! thread lends its seat, if it can, and waits for what its bodies wait for.

use std::ptr::NonNull;
use std::time::{Duration, Instant};

use super::{Worker, wait::Waiter};
use crate::error::Kind;
use crate::memory::Memory;
use crate::pool::{Leave, Put};
use crate::task::{Role, TaskRef};
use crate::worker::engine::WorkerEngine;
use crate::worker::engine::store::TaskStore;
use crate::worker::forks::Private;
use crate::worker::scope_state::ScopeState;

/// How long a thread sleeps between two checks of an event that no thread announces.
pub(super) const PAUSE: Duration = Duration::from_micros(50);

/// How long a thread waits until it searches the pool itself. The first pause depends on whether
/// the seat is lent. After each search that finds nothing, the pause doubles, up to `MAX_PAUSE`.
const FIRST_PAUSE_LENT: Duration = Duration::from_millis(1);
const FIRST_PAUSE: Duration = PAUSE;
const MAX_PAUSE: Duration = Duration::from_millis(64);

/// How many tasks the first search checks. The number doubles each time.
const FIRST_SEARCH: usize = 64;

/// If no body has begun anywhere for this long, a thread suspends its body if its seat is not lent.
const STUCK: Duration = Duration::from_millis(2);

/// What a wait is for, as far as this thread could run it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Awaited {
    /// Tasks below a scope. The scope is open until the wait is over.
    Below(NonNull<ScopeState>),
    /// This task: a fork that was offered.
    Task(TaskRef),
    /// Tasks of a session: either `task`, or several. The session exists until the wait is over,
    /// and the task exists as long as its join.
    OfSession { session: NonNull<ScopeState>, task: Option<TaskRef> },
    /// Tasks that may depend on anything.
    Others,
}

impl Awaited {
    /// Whether a task that this thread could run might end the wait.
    fn may_be_found(self) -> bool {
        !matches!(self, Awaited::Others)
    }

    /// Whether it is known which tasks end the wait.
    fn is_known(self) -> bool {
        !matches!(self, Awaited::Others | Awaited::OfSession { task: None, .. })
    }

    /// Whether a task from the pool leads to this and to nothing else. If `stuck`, a task that may
    /// lead to this also counts.
    fn is(self, task: TaskRef, stuck: bool) -> bool {
        match self {
            // A stack job runs tasks of the stack that holds its scope's tasks. Other workers run
            // no task of this stack further down than the waiting body before that body continues
            // (`stack::thief::theft`, 2).
            // SAFETY: the awaited scope is open. The scope of a task in the pool exists, except for
            // forks.
            Awaited::Below(scope_state) => task.header().role() != Role::Fork && unsafe { is_below(task, scope_state) },
            Awaited::Task(awaited) => task == awaited,
            Awaited::OfSession { task: awaited, .. } if awaited == Some(task) => true,
            Awaited::OfSession { session, task: awaited } => {
                // SAFETY: as above.
                stuck && task.header().role() != Role::Fork && unsafe { is_below(task, session) } && {
                    let scope = task.header().scope_state();
                    scope != session || awaited.is_none_or(|awaited| task.header().order() < awaited.header().order())
                }
            }
            Awaited::Others => false,
        }
    }
}

/// # Safety
///
/// The scope of the task and `scope_state` are both open.
unsafe fn is_below(task: TaskRef, scope_state: NonNull<ScopeState>) -> bool {
    // SAFETY: as the caller promises.
    let scope = unsafe { task.header().scope_state().as_ref() };
    // SAFETY: as the caller promises.
    scope.is_below(unsafe { scope_state.as_ref() })
}

/// How long a wait has lasted, and what it has seen.
#[derive(Debug)]
pub(super) struct Patience {
    pause: Option<Duration>,
    search: usize,
    /// The number of bodies that had begun at the last check, and since when it is unchanged.
    begun: u64,
    since: Instant,
}

impl Patience {
    pub(super) fn new() -> Self {
        Patience { pause: None, search: FIRST_SEARCH, begun: 0, since: Instant::now() }
    }

    /// How long to wait until the next search.
    fn pause(&self, lent: bool) -> Duration {
        self.pause.unwrap_or(if lent { FIRST_PAUSE_LENT } else { FIRST_PAUSE })
    }

    fn found_nothing(&mut self, lent: bool) {
        self.pause = Some((2 * self.pause(lent)).min(MAX_PAUSE));
        self.search = self.search.saturating_mul(2);
    }

    /// Whether no body has begun for longer than `STUCK`.
    fn is_over(&mut self, begun: u64) -> bool {
        if begun != self.begun {
            (self.begun, self.since) = (begun, Instant::now());
        }
        self.since.elapsed() > STUCK
    }
}

/// What a waiting thread searches for.
#[derive(Clone, Copy, Debug)]
enum Sought {
    /// What this body, or the caller of a scope, waits for.
    This(Awaited),
    /// What the suspended bodies of this thread wait for, as far as it is known.
    ByBodies,
}

impl Sought {
    /// Whether a thread keeps waiting if no spare thread takes its seat. A thread with suspended
    /// bodies does not: each task that it runs may let one of them continue.
    fn goes_on_unlent(self, patience: &mut Patience, begun: u64) -> bool {
        match self {
            Sought::This(awaited) => awaited.is_known() && !patience.is_over(begun),
            Sought::ByBodies => false,
        }
    }
}

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    Ran,
    /// This stack has no room for the task. The carrier runs it after this body is suspended.
    ForAnotherStack,
}

impl<E: WorkerEngine> Worker<E> {
    /// Waits until a parked waiter was woken. See the [module](self).
    pub(super) fn suspend(&self, waiter: &Waiter, awaited: Awaited) {
        debug_assert_eq!(self.forks.private(), Private::None, "forks of one stack only (`forks`, 5)");
        match self.fibers.current() {
            None => self.wait_on_carrier(waiter, awaited, &|| false),
            Some(_) if !waiter.is_outside() && self.may_lend() && self.stay(waiter, awaited) => {}
            Some(fiber) => {
                self.want_stack_job(awaited);
                waiter.keep(fiber);
                let closed = self.forks.set_aside();
                let is_known = !waiter.is_outside() && awaited.is_known();
                if is_known {
                    self.awaited.borrow_mut().push((waiter.into(), awaited));
                }
                self.fibers.park();
                if is_known {
                    self.awaited.borrow_mut().retain(|(other, _)| *other != waiter.into());
                }
                self.forks.put_back(closed);
            }
        }
        debug_assert!(waiter.is_delivered());
    }

    /// Call this before suspending this stack. The stack job that continues the awaited scope
    /// becomes the next task of this thread. Another worker might have suspended bodies itself, and
    /// no spare thread for its seat.
    fn want_stack_job(&self, awaited: Awaited) {
        while let Some(stack_job) = E::Tasks::next_stack_job(self) {
            if self.wanted.get().is_none() && awaited.is(stack_job, false) && self.has_another_stack() {
                self.wanted.set(Some(stack_job));
            } else {
                self.put(stack_job, Put::Spawned);
            }
        }
    }

    /// Waits for a parked waiter on this stack. Returns false if this stack must be suspended.
    fn stay(&self, waiter: &Waiter, awaited: Awaited) -> bool {
        // The stack job that continues the awaited scope runs here: other workers may have no
        // thread for it.
        self.want_stack_job(awaited);
        if let Some(wanted) = self.wanted.take() {
            if !self.stack_left_for_bodies() {
                self.wanted.set(Some(wanted));
                return false;
            }
            self.execute_on_top(wanted);
        }
        self.look_for_mail();
        let mut patience = Patience::new();
        loop {
            self.collect_mail();
            if waiter.is_delivered() {
                return true;
            }
            // Tasks that this thread ran may have been suspended. Its carrier must resume them.
            if !self.may_lend() || !self.wait_a_while(Sought::This(awaited), None, &mut patience, &|| false) {
                return false;
            }
        }
    }

    /// Like `stay`, for the caller of a scope on its own stack. That thread may have suspended
    /// bodies on fibers. Also returns when `done` is true: tasks of this worker make it true.
    pub(crate) fn wait_on_carrier(&self, waiter: &Waiter, awaited: Awaited, done: &dyn Fn() -> bool) {
        // The available stack jobs run tasks of this caller's own stack. Each needs another stack
        // to run on.
        while self.has_stack_for_task()
            && let Some(stack_job) = E::Tasks::next_stack_job(self)
        {
            self.run_from_carrier(stack_job, 1);
        }
        let mut patience = Patience::new();
        loop {
            // A resumed loop runs nothing after its body.
            _ = self.begin_turn(1);
            self.resume_mail();
            if waiter.is_delivered() || done() {
                // The caller's code continues now, and may take long.
                self.turn_from_work();
                return self.step_back(Leave::Seat);
            }
            self.look_for_mail();
            if self.fibers.parked() == 0 && self.has_mail() {
                continue;
            }
            // This happens with mail, too: a body that wakes itself lets other tasks run.
            let waits = match self.fibers.parked() {
                0 => self.wait_a_while(Sought::This(awaited), None, &mut patience, done),
                _ => self.wait_with_bodies(None, &mut patience, done),
            };
            if !waits {
                return self.carry_until(&|| waiter.is_delivered() || done());
            }
        }
    }

    /// Waits, for a few instructions, for a waiter that another thread is waking.
    pub(crate) fn wait_for_delivery(&self, waiter: &Waiter) {
        while !waiter.is_delivered() {
            _ = self.begin_turn(1);
            self.resume_mail();
            crate::sync::yield_thread();
        }
    }

    /// Checks for mail for a while, before a spare thread takes over. Most waits after a theft are
    /// short.
    fn look_for_mail(&self) {
        let shared = self.shared();
        if shared.spares.are_none() {
            return;
        }
        self.step_back(Leave::Seat);
        shared.sleep.look(&|| self.has_mail() || shared.has_work());
    }

    /// While bodies of this thread are suspended, its carrier runs only what they wait for. Waits a
    /// while for mail, or until `done`. Returns false if the thread must not keep waiting.
    pub(super) fn wait_with_bodies(
        &self,
        at_most: Option<Duration>,
        patience: &mut Patience,
        done: &dyn Fn() -> bool,
    ) -> bool {
        self.wait_a_while(Sought::ByBodies, at_most, patience, done)
    }

    /// Lends the seat, if it can, and waits for mail, or until `done`. After some time the thread
    /// runs what it finds itself. Returns false if it must not keep waiting.
    fn wait_a_while(
        &self,
        sought: Sought,
        at_most: Option<Duration>,
        patience: &mut Patience,
        done: &dyn Fn() -> bool,
    ) -> bool {
        let may_find = self.may_be_found(sought);
        let begun = || self.shared().bodies_begun();
        if self.shared().spares.are_none() {
            return may_find && self.run_from_anywhere(sought, usize::MAX, true) == Found::Ran;
        }
        let lent = self.lend();
        if !lent && (!may_find || !sought.goes_on_unlent(patience, begun())) {
            return may_find && self.run_from_anywhere(sought, FIRST_SEARCH, false) == Found::Ran;
        }
        self.step_back(Leave::Seat);
        self.shared().memory.idle(self.memory_local());
        let pause = may_find.then(|| patience.pause(lent));
        let at_most = at_most.into_iter().chain(pause).min();
        // What this worker has just flushed may have ended the wait.
        let found = || self.has_mail() || done();
        self.log.idles(|| self.shared().sleep.wait_for_call(self.seat(), found, at_most));
        if lent {
            self.take_slot_back();
        }
        if !may_find || self.has_mail() || done() {
            return true;
        }
        let stuck = patience.is_over(begun());
        match self.run_from_anywhere(sought, patience.search, stuck) {
            Found::Ran => *patience = Patience::new(),
            Found::Nothing => patience.found_nothing(lent),
            Found::ForAnotherStack => return false,
        }
        true
    }

    /// Whether a task that this thread could run might end the wait.
    fn may_be_found(&self, sought: Sought) -> bool {
        match sought {
            Sought::This(awaited) => awaited.may_be_found(),
            Sought::ByBodies => !self.awaited.borrow().is_empty(),
        }
    }

    /// Whether a task from the pool leads to what is sought (`Awaited::is`).
    fn is_sought(&self, sought: Sought, task: TaskRef, stuck: bool) -> bool {
        match sought {
            Sought::This(awaited) => awaited.is(task, stuck),
            Sought::ByBodies => self.awaited.borrow().iter().any(|(_, awaited)| awaited.is(task, stuck)),
        }
    }

    /// Runs a task from the pool that leads to what is sought, if one is among the first `most`.
    fn run_from_anywhere(&self, sought: Sought, most: usize, stuck: bool) -> Found {
        let Some(task) = self.search_for(most, |task| self.is_sought(sought, task, stuck)) else {
            return Found::Nothing;
        };
        if self.is_carrier() {
            self.run_from_carrier(task, 1);
        } else if self.stack_left_for_bodies() {
            self.execute_on_top(task);
        } else {
            self.wanted.set(Some(task));
            return Found::ForAnotherStack;
        }
        Found::Ran
    }

    /// Takes a wanted task out of the pool, if one is among the first `most`. The tasks before it
    /// are taken out for that, and put back.
    fn search_for(&self, most: usize, is_wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        // On a fiber, the task may need another fiber.
        let has_stack = if self.is_carrier() { self.has_stack_for_task() } else { self.has_another_stack() };
        self.leave_stack_jobs();
        if !self.shared().has_work() || !has_stack {
            return None;
        }
        let mut others = Vec::new();
        let mut found = None;
        while found.is_none() && others.len() < most {
            match self.take_from_anywhere() {
                Some(task) if is_wanted(task) => found = Some(task),
                Some(task) => others.push(task),
                None => break,
            }
        }
        // The newest task is put back last.
        others.into_iter().rev().for_each(|task| self.put(task, Put::Spawned));
        // The body may run for long after this.
        self.leave_tasks(Leave::Seat);
        found
    }

    /// Like `suspend`, in the child of a fork, for a scope that was open at the fork. No thread of
    /// the runtime works there, so only other code of the child can wake the waiter.
    #[cold]
    pub(super) fn wait_after_fork(&self, waiter: &Waiter, awaited: Awaited) {
        if !waiter.park() {
            return;
        }
        assert!(!matches!(awaited, Awaited::Task(_)), "the other half of a join {}", Kind::Forked);
        while !waiter.is_delivered() {
            std::thread::sleep(PAUSE);
            self.collect_mail();
        }
    }
}
