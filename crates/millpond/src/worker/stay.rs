//! How a body waits that must be put aside, or may not be: on its own thread.
//!
//! User code may hold a lock, a borrow or a thread-local over a wait. So a thread whose body waits runs nothing but what the
//! body waits for, as long as it can be had:
//!
//! 1. Tasks below the body, from the working end of this worker's part of the pool (`Worker::wait`).
//! 2. Nothing: the slot is lent to a spare thread (`spares`), which works in this one's place. Without a spare the slot lies
//!    idle.
//! 3. After a while, tasks below the body from anywhere in the pool ([`Worker::search_for`]). They may lie where nobody comes
//!    to them: behind others, all of which want the lock that this body holds.
//!    If this stack has no room for another body, the task that is found runs on one of its own, below this one, which is put aside.
//! 4. Without a spare, if it could run nothing itself (a session's datum) or no body has begun anywhere for long: the stack is put
//!    aside, and the thread runs other tasks. At once, if other bodies of the thread are put aside, which it has to resume.
//!
//! The carrier of a thread with bodies that are put aside does the same for all of them: it lends its slot, and searches for what they
//! wait for. If it cannot lend, it searches a little before each other task that it runs. On the dataflow stack, what goes on with a
//! body's scope is at hand when the body is put aside (a stack job). The carrier runs it next (`Worker::want_stack_job`).
//!
//! In the child of a fork no other thread works for a runtime of the parent. There a scope's only thread waits for no other one: it
//! goes from 1 at once to 3, through the whole pool, and then to 4. A body of a scope that was open at the fork runs nothing.
//!
//! The end of a session needs all its tasks, as that of a scope does: they are looked for in step 3. The join of a session's task
//! needs that task, and what it depends on: that is not known, but it was spawned before. So if no body has begun anywhere for long,
//! step 3 also takes earlier tasks of the session, and those below them. One of them may need a lock that this body holds without being
//! needed itself; then the program does not end. The same holds of a wait for a session's datum, or for room.
//!
//! A body that waits for something outside the runtime, a future, is put aside at once: its thread lends its slot, if it can,
//! and waits for what its bodies wait for.

use std::ptr::NonNull;
use std::time::{Duration, Instant};

use super::{Worker, turns, wait::Waiter};
use crate::engine::Engine;
use crate::engine::store::TaskStore;
use crate::error::Kind;
use crate::memory::Memory;
use crate::pool::{Leave, Put};
use crate::runtime::scope_state::ScopeState;
use crate::task::{Role, TaskRef};
use crate::worker::forks::Private;

/// How often a thread that lets others run yields its processor, and then sleeps: on a busy machine the thread that works in its
/// place may get none for long.
const YIELDS: u32 = 64;
const SLEEPS: u32 = 8;

/// How long a thread that looks by itself sleeps between two looks.
pub(super) const PAUSE: Duration = Duration::from_micros(50);

/// How long a wait takes until its thread searches the pool for what it can run itself: at first, where its slot is lent and
/// where it is not, and at most. Each time that it finds nothing it waits twice as long.
const FIRST_PAUSE_LENT: Duration = Duration::from_millis(1);
const FIRST_PAUSE: Duration = PAUSE;
const LONGEST_PAUSE: Duration = Duration::from_millis(64);

/// Through so many tasks it searches at first; each time through twice as many.
const FIRST_SEARCH: usize = 64;

/// For so long no body may begin anywhere until a thread whose slot is not lent puts its body aside.
const STUCK: Duration = Duration::from_millis(2);

/// What a wait is for, as far as this thread could run it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Awaited {
    /// Tasks below a scope, which is open until the wait is over.
    Below(NonNull<ScopeState>),
    /// This task: a fork that was offered.
    Task(TaskRef),
    /// Tasks of a session, which stays until the wait is over: one, which stays as long as its join, or some.
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

    /// Whether a task from the pool leads to this, and to nothing else; if nothing else goes on, whether it may lead to this.
    fn is(self, task: TaskRef, stuck: bool) -> bool {
        match self {
            // A stack job runs tasks of the stack that its scope's tasks lie in. Tasks of this stack that lie further down than the
            // body that waits are not run by others before it goes on (`stack::thief::theft`, 2).
            // SAFETY: the scope is open; and that of a task in the pool is there, but for forks.
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
/// Both the task's scope and the other one are open.
unsafe fn is_below(task: TaskRef, scope_state: NonNull<ScopeState>) -> bool {
    // SAFETY: the caller's.
    let scope = unsafe { task.header().scope_state().as_ref() };
    // SAFETY: the caller's.
    scope.is_below(unsafe { scope_state.as_ref() })
}

/// How far a wait has come.
#[derive(Debug)]
pub(super) struct Patience {
    pause: Option<Duration>,
    search: usize,
    /// Bodies that had begun when it was looked last, and since when they are so many.
    begun: u64,
    since: Instant,
}

impl Patience {
    pub(super) fn new() -> Self {
        Patience { pause: None, search: FIRST_SEARCH, begun: 0, since: Instant::now() }
    }

    /// How long to wait until the next look.
    fn pause(&self, lent: bool) -> Duration {
        self.pause.unwrap_or(if lent { FIRST_PAUSE_LENT } else { FIRST_PAUSE })
    }

    fn looked_in_vain(&mut self, lent: bool) {
        self.pause = Some((2 * self.pause(lent)).min(LONGEST_PAUSE));
        self.search = self.search.saturating_mul(2);
    }

    /// Whether so many bodies had begun for long.
    fn is_over(&mut self, begun: u64) -> bool {
        if begun != self.begun {
            (self.begun, self.since) = (begun, Instant::now());
        }
        self.since.elapsed() > STUCK
    }
}

/// What a thread that waits looks for.
#[derive(Clone, Copy, Debug)]
enum Sought {
    /// What this body, or the caller of a scope, waits for.
    This(Awaited),
    /// What the bodies wait for that this thread has put aside, as far as it is known.
    ByBodies,
}

impl Sought {
    /// Whether a thread goes on waiting if no spare thread takes its slot. With bodies that are put aside it does not: each of
    /// them may go on by what the thread runs next.
    fn goes_on_unlent(self, patience: &mut Patience, begun: u64) -> bool {
        match self {
            Sought::This(awaited) => awaited.is_known() && !patience.is_over(begun),
            Sought::ByBodies => false,
        }
    }
}

/// What a search has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    Ran,
    /// This stack has no room for the task: the carrier runs it once this body is put aside.
    ForAnotherStack,
}

impl<E: Engine> Worker<E> {
    /// Waits until a parked waiter was woken; see the [module](self).
    pub(super) fn suspend(&self, waiter: &Waiter, awaited: Awaited) {
        debug_assert_eq!(self.forks.private(), Private::None, "forks of one stack only (`forks`, 5)");
        match self.fibers.current() {
            None => self.wait_on_carrier(waiter, awaited, || false),
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

    /// Before this stack is put aside: what goes on with the scope that is waited for comes next on this thread. Others that ran it
    /// might have bodies put aside, too, and no spare thread for their slots.
    fn want_stack_job(&self, awaited: Awaited) {
        while let Some(stack_job) = E::Tasks::next_stack_job(self) {
            if self.wanted.get().is_none() && awaited.is(stack_job, false) && self.has_another_stack() {
                self.wanted.set(Some(stack_job));
            } else {
                self.put(stack_job, Put::Spawned);
            }
        }
    }

    /// Waits for a parked waiter on this stack; false if it is to be put aside.
    fn stay(&self, waiter: &Waiter, awaited: Awaited) -> bool {
        // What goes on with the scope that is waited for. Others may have no thread for it.
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
            // Bodies of this thread may have been put aside while it ran what it had found. Its carrier has to resume them.
            if !self.may_lend() || !self.wait_a_while(Sought::This(awaited), None, &mut patience, &|| false) {
                return false;
            }
        }
    }

    /// As `stay`, by the caller of a scope on its own stack, which may have suspended bodies on fibers; or until `done`, which what
    /// this worker runs brings about.
    pub(crate) fn wait_on_carrier(&self, waiter: &Waiter, awaited: Awaited, done: impl Fn() -> bool) {
        // Errands at hand lead to tasks of this caller's own stack, and each needs a stack to run on.
        while self.has_stack_for_task()
            && let Some(stack_job) = E::Tasks::next_stack_job(self)
        {
            self.run_from_carrier(stack_job, 1);
        }
        let mut patience = Patience::new();
        loop {
            // Who is resumed runs nothing after it.
            _ = self.begin_turn(1);
            self.resume_mail();
            if waiter.is_delivered() || done() {
                // What goes on now may take long.
                self.turn_from_work();
                return self.step_back(Leave::Seat);
            }
            self.look_for_mail();
            if self.fibers.parked() == 0 && self.has_mail() {
                continue;
            }
            // With mail, too: a body that wakes itself lets others run.
            let waits = match self.fibers.parked() {
                0 => self.wait_a_while(Sought::This(awaited), None, &mut patience, &done),
                _ => self.wait_with_bodies(None, &mut patience, &done),
            };
            if !waits {
                return self.carry_until(|| waiter.is_delivered() || done());
            }
        }
    }

    /// Waits for a waiter that somebody is waking, for some instructions.
    pub(crate) fn wait_for_delivery(&self, waiter: &Waiter) {
        while !waiter.is_delivered() {
            _ = self.begin_turn(1);
            self.resume_mail();
            crate::sync::yield_thread();
        }
    }

    /// Looks a while for mail, before others are to work: most waits that follow a theft are short.
    fn look_for_mail(&self) {
        let shared = self.shared();
        if shared.spares.are_none() {
            return;
        }
        self.step_back(Leave::Seat);
        shared.sleep.look(|| self.has_mail() || shared.has_work());
    }

    /// While bodies of this thread are put aside, its carrier runs nothing but what they wait for: waits a while for mail, or until
    /// `done`. False if nothing will come of that.
    pub(super) fn wait_with_bodies(
        &self,
        at_most: Option<Duration>,
        patience: &mut Patience,
        done: &dyn Fn() -> bool,
    ) -> bool {
        self.wait_a_while(Sought::ByBodies, at_most, patience, done)
    }

    /// Lends the slot, if it can, and waits for mail, or until `done`; after some time it runs what it finds itself. False if nothing
    /// will come of that.
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
        // What this worker has counted just now may be it.
        let found = || self.has_mail() || done();
        self.log.idles(|| self.shared().sleep.wait_for_call(self.seat.index(), found, at_most));
        if lent {
            self.take_slot_back();
        }
        if !may_find || self.has_mail() || done() {
            return true;
        }
        let stuck = patience.is_over(begun());
        match self.run_from_anywhere(sought, patience.search, stuck) {
            Found::Ran => *patience = Patience::new(),
            Found::Nothing => patience.looked_in_vain(lent),
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

    /// Whether a task from the pool leads to what is waited for (`Awaited::is`).
    fn is_sought(&self, sought: Sought, task: TaskRef, stuck: bool) -> bool {
        match sought {
            Sought::This(awaited) => awaited.is(task, stuck),
            Sought::ByBodies => self.awaited.borrow().iter().any(|(_, awaited)| awaited.is(task, stuck)),
        }
    }

    /// Runs a task from the pool that leads to what is waited for, if one is among `most`.
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

    /// Takes a task out of the pool that is wanted, if one is among `most`. All others, which have to be taken out for that, are put
    /// back.
    fn search_for(&self, most: usize, is_wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        // On a fiber, on another one.
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
        // The newest is put last.
        others.into_iter().rev().for_each(|task| self.put(task, Put::Spawned));
        // The body may go on for long after this.
        self.leave_tasks(Leave::Seat);
        found
    }

    /// As `suspend`, in a scope that was open at a fork, in the child: nothing of the runtime runs there, and only other code of
    /// the child can wake the waiter.
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

    /// Runs a task from below `scope_state` that this worker has, if any, on another stack. This body goes on when that task has ended or
    /// waits.
    pub(crate) fn runs_one_apart(&self, scope_state: &ScopeState) -> bool {
        if self.is_carrier() || !self.has_another_stack() {
            return false;
        }
        let Some(task) = self.take_of(scope_state) else { return false };
        self.wanted.set(Some(task));
        self.log.waits_for_others(|| self.step_aside());
        true
    }

    /// Goes back to the carrier, which resumes this body with its mail.
    fn step_aside(&self) {
        self.forks.offer_all();
        self.flush_all();
        let waiter = Waiter::outside(&self.seat);
        if waiter.park() {
            // Into the inbox at once: the carrier comes to it after this stack was left.
            Waiter::wake_at((&raw const waiter).cast_mut());
            self.suspend(&waiter, Awaited::Others);
        }
    }

    /// Lets other tasks run before this body goes on, which waits for something outside.
    pub(crate) fn let_others_run(&self) {
        turns::park();
        self.log.waits_for_others(|| {
            if self.is_carrier() {
                self.forks.offer_all();
                self.flush_all();
                // Nobody else resumes the bodies that this thread has put aside.
                _ = self.begin_turn(1);
                self.resume_mail();
                let begun = self.shared().bodies_begun();
                if !self.watch_a_while(|| self.shared().bodies_begun() != begun) {
                    self.run_something(1, false);
                }
            } else {
                self.step_aside();
            }
        });
    }

    /// Watches others run, until `enough`, or for some time.
    pub(crate) fn watch_others(&self, enough: impl Fn() -> bool) {
        self.log.waits_for_others(|| {
            self.forks.offer_all();
            _ = self.watch_a_while(enough);
        });
    }

    /// Long enough for others to run short tasks, and to be given a processor; whether another thread has worked in this one's
    /// place.
    fn watch_a_while(&self, enough: impl Fn() -> bool) -> bool {
        self.step_back(Leave::Seat);
        let lent = self.lend();
        for turn in 0..YIELDS + SLEEPS {
            if enough() {
                break;
            }
            if turn < YIELDS { crate::sync::yield_thread() } else { std::thread::sleep(PAUSE) }
        }
        if lent {
            self.take_slot_back();
        }
        lent
    }

    /// As `stay`, until something is so of which nobody tells this worker: it looks now and then.
    pub(crate) fn stay_until(&self, done: impl Fn() -> bool) -> bool {
        if !self.may_lend() || !self.lend() {
            return false;
        }
        self.step_back(Leave::Seat);
        while !done() {
            self.shared().sleep.wait_for_call(self.seat.index(), || self.seat.has_mail(), Some(PAUSE));
            self.collect_mail();
        }
        self.take_slot_back();
        true
    }

    /// Whether this thread is no other suspended body's.
    fn may_lend(&self) -> bool {
        self.fibers.parked() == 0
    }

    /// Gives the slot to a spare thread; false if there is none.
    fn lend(&self) -> bool {
        self.turn_from_work();
        self.shared().lend()
    }

    fn take_slot_back(&self) {
        let shared = self.shared();
        shared.spares.take_back().for_each(|seat| shared.worker(seat).seat.ring());
    }
}
