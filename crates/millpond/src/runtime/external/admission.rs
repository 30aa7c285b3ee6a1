//! The admission of a scope: it counts external tasks and lets them in.
//!
//! Each seat has its own counts and needs no read-modify-write: one thread holds a seat at a time.
//! The sums are exact when the scope is quiet (`runtime::count`, step 7), except for threads
//! outside that let tasks in at that moment. Such a thread counts the task in the scope first, then
//! here. So an owner that sees the second count sees the first.

use std::alloc::Layout;
use std::panic::Location;
use std::pin::pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

use crossbeam_utils::CachePadded;

use super::future::{FutureCode, Turn, Turned};
use crate::access::Root;
use crate::engine::Engine;
use crate::pool::Put;
use crate::runtime::external::tasks::{Pending, Precondition, WaitError};
use crate::runtime::scope_state::ScopeState;
use crate::runtime::spawn::Options;
use crate::runtime::spawn::body::{Body, Code, payload, write_body};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::task::{NewTask, Role, Shape, TaskRef, VTable, flag};
use crate::worker::current::worker_of;
use crate::worker::seats::Shared;

/// The first place in reference order of an external task.
const EXTERNAL: u64 = 1 << 62;

/// The position of the seat's bits in a place; the number of the task is below.
const SEAT_SHIFT: u32 = 44;

/// Whether a task with this place in reference order is an external task.
pub(crate) fn is_admission(order: u64) -> bool {
    order >= EXTERNAL
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Admission {
    seats: Box<[CachePadded<AtSeat>]>,
    scope_state: NonNull<ScopeState>,
    /// The runtime's `Shared`; `ops` knows its type.
    shared: NonNull<()>,
    ops: &'static Ops,
}

/// Operations of a runtime, for code that does not know the engine. The first argument is the
/// runtime's `Shared`.
#[derive(Debug)]
struct Ops {
    let_in: unsafe fn(NonNull<()>, TaskRef),
    leave: unsafe fn(NonNull<()>, NonNull<ScopeState>),
    make: unsafe fn(NonNull<()>, &Admission, &'static VTable, Layout, Options) -> TaskRef,
    start: unsafe fn(NonNull<()>, TaskRef),
    wait: unsafe fn(NonNull<()>, &Admission, Place, Poller<'_>) -> Result<(), WaitError>,
}

type Place = &'static Location<'static>;

/// Polls a future as this task, if there is one.
type Poller<'p> = &'p mut dyn FnMut(Option<TaskRef>) -> Turned;

// SAFETY: any thread may use a runtime's `Shared`, and the parts of a scope state that are used
// here.
unsafe impl Send for Admission {}
// SAFETY: as above.
unsafe impl Sync for Admission {}

#[derive(Debug, Default)]
struct AtSeat {
    made: AtomicU64,
    let_in: AtomicU64,
}

impl Admission {
    /// The admission of a scope of this runtime.
    pub(in crate::runtime) fn of<E: Engine>(shared: &Shared<E>, scope_state: NonNull<ScopeState>) -> Self {
        Self::new(shared.seats(), scope_state, NonNull::from(shared).cast(), Ops::of::<E>())
    }

    fn new(seats: usize, scope_state: NonNull<ScopeState>, shared: NonNull<()>, ops: &'static Ops) -> Self {
        Admission { seats: (0..seats).map(|_| CachePadded::default()).collect(), scope_state, shared, ops }
    }

    /// Sends a task to the workers: all its preconditions are met. Takes no reference, because the
    /// task may end its scope before this returns.
    ///
    /// # Safety
    ///
    /// This admission held the task.
    pub(in crate::runtime) unsafe fn let_in(this: NonNull<Admission>, task: TaskRef) {
        // SAFETY: the scope does not end before the task.
        let Admission { ops, shared, .. } = unsafe { this.as_ref() };
        let (ops, shared) = (*ops, *shared);
        // SAFETY: the runtime lives as long as the scope.
        unsafe { (ops.let_in)(shared, task) }
    }

    /// Subtracts one count that keeps the scope outstanding, from any thread. Takes no reference,
    /// because the admission may be gone before this returns.
    ///
    /// # Safety
    ///
    /// [`ScopeState::count_hidden_spawn`] added the count.
    pub(in crate::runtime) unsafe fn leave(this: NonNull<Admission>) {
        // SAFETY: the admission's scope is outstanding as long as it has this count.
        let Admission { ops, shared, scope_state, .. } = unsafe { this.as_ref() };
        let (ops, shared, scope_state) = (*ops, *shared, *scope_state);
        // SAFETY: as above; and the runtime lives as long as the scope.
        unsafe { (ops.leave)(shared, scope_state) }
    }

    /// Makes a task without its payload: held, with one precondition. Its bytes are not counted.
    /// While code outside holds the task, it takes no room in the window, because spawns that the
    /// window lets through may meet its preconditions.
    pub(in crate::runtime) fn make(&self, vtable: &'static VTable, payload: Layout, mut options: Options) -> TaskRef {
        options.bytes = 0;
        // SAFETY: the owner of the admission keeps the scope from ending.
        unsafe { (self.ops.make)(self.shared, self, vtable, payload, options) }
    }

    /// Makes a task of code and closure.
    ///
    /// # Safety
    ///
    /// The table belongs to such a closure, which lives as long as the scope's tasks.
    pub(in crate::runtime) unsafe fn make_body<F>(&self, vtable: &'static VTable, f: F, options: Options) -> Pending {
        let payload = payload::<(), F, ()>();
        let task = self.make(vtable, payload, options);
        // SAFETY: the task has room for this payload.
        unsafe { write_body::<(), F>(task.payload_at(payload.align()), Body { shape: (), f }) };
        Pending::of(task)
    }

    /// Makes a leaf.
    ///
    /// # Safety
    ///
    /// The closure lives as long as the scope's tasks.
    pub(in crate::runtime) unsafe fn leaf<F: FnOnce(()) + Send>(&self, options: Options, f: F) -> Pending {
        // SAFETY: passed on.
        unsafe { self.make_body(Code::<'_, Root, (), F, (), ()>::LEAF, f, options) }
    }

    /// Runs a future as a task.
    ///
    /// # Safety
    ///
    /// The future lives as long as the scope's tasks.
    pub(in crate::runtime) unsafe fn future<F: Future<Output = ()> + Send>(&self, options: Options, future: F) {
        let task = self.make_future(options, future);
        // SAFETY: just made.
        unsafe { (self.ops.start)(self.shared, task) }
    }

    /// Makes a task of a future.
    ///
    /// # Safety
    ///
    /// The future lives as long as the scope's tasks.
    pub(in crate::runtime) unsafe fn pending_future<F: Future<Output = ()> + Send>(
        &self,
        options: Options,
        future: F,
    ) -> Pending {
        Pending::of(self.make_future(options, future))
    }

    fn make_future<F: Future<Output = ()> + Send>(&self, options: Options, future: F) -> TaskRef {
        let task = self.make(FutureCode::<F>::TABLE, Layout::new::<F>(), options);
        // SAFETY: the block has room for it.
        unsafe { task.payload::<F>().write(future) };
        task
    }

    /// Polls a future in the middle of a leaf. The leaf's stack is suspended while the future
    /// waits.
    pub(in crate::runtime) fn wait_in_place<F: Future>(&self, place: Place, future: F) -> Result<F::Output, WaitError> {
        let (mut future, mut output) = (pin!(future), None);
        let mut poll = |task: Option<TaskRef>| {
            let (polled, alarmed) = match task {
                Some(task) => Turn::<Precondition>::poll(task, future.as_mut()),
                None => (future.as_mut().poll(&mut Context::from_waker(Waker::noop())), false),
            };
            match polled {
                Poll::Ready(ready) => {
                    output = Some(ready);
                    Turned::Ready
                }
                Poll::Pending if alarmed => Turned::Waits,
                Poll::Pending => Turned::Lost,
            }
        };
        // SAFETY: the owner of the admission keeps the scope from ending.
        unsafe { (self.ops.wait)(self.shared, self, place, &mut poll) }?;
        Ok(output.expect("the future was ready"))
    }

    /// The state of the admission's scope.
    pub(in crate::runtime) fn scope_state(&self) -> NonNull<ScopeState> {
        self.scope_state
    }

    /// Counts a held task. Returns its place in reference order, after everything that the body
    /// spawns itself.
    #[inline]
    pub(crate) fn count_made(&self, seat: usize) -> u64 {
        EXTERNAL + ((seat as u64) << SEAT_SHIFT) + bump(&self.seats[seat].made)
    }

    /// Counts a task with all preconditions met.
    #[inline]
    pub(crate) fn count_let_in(&self, seat: usize) {
        bump(&self.seats[seat].let_in);
    }

    /// The number of held tasks; see the [module](self).
    pub(crate) fn held(&self) -> u64 {
        let sum =
            |of: fn(&AtSeat) -> &AtomicU64| -> u64 { self.seats.iter().map(|at| of(at).load(Ordering::Acquire)).sum() };
        let let_in = sum(|at| &at.let_in);
        sum(|at| &at.made) - let_in
    }
}

impl Ops {
    const fn of<E: Engine>() -> &'static Ops {
        &Ops { let_in: let_in::<E>, leave: leave::<E>, make: make::<E>, start: start::<E>, wait: wait::<E> }
    }
}

/// # Safety
///
/// `shared` is a `Shared<E>`, and lives as long as the scope.
unsafe fn the<'a, E: Engine>(shared: NonNull<()>) -> &'a Shared<E> {
    // SAFETY: as the caller promises.
    unsafe { shared.cast().as_ref() }
}

/// # Safety
///
/// As for `the` and `Admission::let_in`.
unsafe fn let_in<E: Engine>(shared: NonNull<()>, task: TaskRef) {
    // SAFETY: passed on.
    let shared = unsafe { the::<E>(shared) };
    // The task may end its scope before this thread has left.
    let _kept = shared.keep();
    shared.visit(|worker| {
        worker.count_let_in(task);
        if task.header().has(flag::RECORDED) {
            worker.log.met(task);
        }
        worker.ready(task, Put::Spawned);
    });
}

/// # Safety
///
/// As for `the`. The scope has the count that is subtracted here.
unsafe fn leave<E: Engine>(shared: NonNull<()>, scope_state: NonNull<ScopeState>) {
    // SAFETY: passed on.
    let shared = unsafe { the::<E>(shared) };
    // The subtraction may end the scope, and its owner may continue while this thread still wakes
    // it.
    let _kept = shared.keep();
    // SAFETY: passed on. It is a root scope, so no other thread completes it.
    let _complete = unsafe { scope_state.as_ref() }.finish(1);
}

/// # Safety
///
/// As for `the`. The scope exists.
unsafe fn make<E: Engine>(
    shared: NonNull<()>,
    admission: &Admission,
    vtable: &'static VTable,
    payload: Layout,
    options: Options,
) -> TaskRef {
    // SAFETY: as the caller promises.
    let scope_state = unsafe { admission.scope_state.as_ref() };
    // SAFETY: passed on.
    unsafe { the::<E>(shared) }.visit(|worker| {
        let order = admission.count_made(worker.seat().index());
        let recorded = scope_state.record() != 0;
        let id = if recorded { worker.log.next_id() } else { 0 };
        let extras = match (recorded, options.is_plain()) {
            (true, _) => Some(options.recorded(id)),
            (false, true) => None,
            (false, false) => Some(options.extras()),
        };
        let shape = Shape { extras: extras.is_some(), accesses: 0, nest: vtable.role == Role::Nest };
        let block = worker.alloc(shape.block_size(payload));
        let (place, priority) = (options.place, options.priority);
        let new = NewTask { vtable, scope_state: admission.scope_state, order, place, priority, extras, accesses: 0 };
        // SAFETY: the block is fresh and has the size of these parts.
        let task = unsafe { TaskRef::create(block, new) };
        if recorded {
            worker.log.spawned(task, scope_state.record());
        }
        task.header().only_one_unmet();
        task
    })
}

/// # Safety
///
/// As for `the`. The task is a future that was just made.
unsafe fn start<E: Engine>(shared: NonNull<()>, task: TaskRef) {
    // SAFETY: passed on.
    match worker_of(unsafe { the::<E>(shared) }) {
        Some(worker) => worker.poll_here(task),
        // SAFETY: passed on; the task was held until now.
        None => unsafe { let_in::<E>(shared, task) },
    }
}

/// # Safety
///
/// As for `the`. The scope exists.
unsafe fn wait<E: Engine>(
    shared: NonNull<()>,
    admission: &Admission,
    place: Place,
    poll: Poller<'_>,
) -> Result<(), WaitError> {
    // SAFETY: passed on.
    let worker = worker_of(unsafe { the::<E>(shared) });
    worker.expect("a task of the same scope waits for the future").poll_in_place(admission, place, poll)
}

#[cfg(all(test, loom))]
impl Admission {
    /// An admission without a runtime.
    pub(in crate::runtime) fn unowned(seats: usize) -> Self {
        const OPS: &Ops = &Ops {
            let_in: |_, _| unreachable!(),
            leave: |_, _| unreachable!(),
            make: |_, _, _, _, _| unreachable!(),
            start: |_, _| unreachable!(),
            wait: |_, _, _, _| unreachable!(),
        };
        Self::new(seats, NonNull::dangling(), NonNull::dangling(), OPS)
    }
}

/// Counts without a read-modify-write: only the holder of the seat writes. Returns the count
/// before.
#[inline]
fn bump(counter: &AtomicU64) -> u64 {
    let before = counter.load(Ordering::Relaxed);
    counter.store(before + 1, Ordering::Release);
    before
}
