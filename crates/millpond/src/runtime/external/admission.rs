//! The admission of a scope: how many tasks came through them, and how those are let in.
//!
//! Each seat counts for itself, without a read-modify-write: one thread holds a seat at a time. The sums are exact when
//! the scope is quiet (`runtime::count`, 7), but for threads outside that let tasks in at that very time: what such a one
//! lets in it counts in the scope first, then here, so an owner that sees the second sees the first.

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

/// Where the places of tasks that came through a door begin.
const DOOR: u64 = 1 << 62;

/// How far the seat is from the number, in a place.
const SEAT_SHIFT: u32 = 44;

/// Whether a task with this place in reference order came through a door.
pub(crate) fn is_admission(order: u64) -> bool {
    order >= DOOR
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Admission {
    seats: Box<[CachePadded<AtSeat>]>,
    scope_state: NonNull<ScopeState>,
    /// The runtime's, whose type `ops` knows.
    shared: NonNull<()>,
    ops: &'static Ops,
}

/// What code that does not know the engine asks of a runtime. The first argument is its `Shared`.
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

// SAFETY: what is shared of a runtime may be used by any thread, and of a scope what is used here.
unsafe impl Send for Admission {}
// SAFETY: as above.
unsafe impl Sync for Admission {}

#[derive(Debug, Default)]
struct AtSeat {
    made: AtomicU64,
    let_in: AtomicU64,
}

impl Admission {
    /// Of a scope of this runtime.
    pub(in crate::runtime) fn of<E: Engine>(shared: &Shared<E>, scope_state: NonNull<ScopeState>) -> Self {
        Self::new(shared.seats(), scope_state, NonNull::from(shared).cast(), Ops::of::<E>())
    }

    fn new(seats: usize, scope_state: NonNull<ScopeState>, shared: NonNull<()>, ops: &'static Ops) -> Self {
        Admission { seats: (0..seats).map(|_| CachePadded::default()).collect(), scope_state, shared, ops }
    }

    /// All preconditions of a task are met: it goes to the workers. No reference: the task may end its scope before this
    /// returns.
    ///
    /// # Safety
    ///
    /// It was held, behind these admission.
    pub(in crate::runtime) unsafe fn let_in(this: NonNull<Admission>, task: TaskRef) {
        // SAFETY: the scope does not end before the task.
        let Admission { ops, shared, .. } = unsafe { this.as_ref() };
        let (ops, shared) = (*ops, *shared);
        // SAFETY: the runtime is there as long as the scope.
        unsafe { (ops.let_in)(shared, task) }
    }

    /// Subtracts what keeps the scope outstanding, from any thread. No reference: the admission may be gone before it returns.
    ///
    /// # Safety
    ///
    /// It was counted, by [`ScopeState::count_hidden_spawn`].
    pub(in crate::runtime) unsafe fn leave(this: NonNull<Admission>) {
        // SAFETY: the scope, whose admission these are, is outstanding as long as it counts this.
        let Admission { ops, shared, scope_state, .. } = unsafe { this.as_ref() };
        let (ops, shared, scope_state) = (*ops, *shared, *scope_state);
        // SAFETY: as above; and the runtime is there as long as the scope.
        unsafe { (ops.leave)(shared, scope_state) }
    }

    /// Makes a task but for its payload: held, with one precondition. Bytes are not counted: while somebody outside holds
    /// it, the task takes no room in the window, and the spawns that the window lets through may be what meets its
    /// preconditions.
    pub(in crate::runtime) fn make(&self, vtable: &'static VTable, payload: Layout, mut options: Options) -> TaskRef {
        options.bytes = 0;
        // SAFETY: who has the admission keeps the scope from ending.
        unsafe { (self.ops.make)(self.shared, self, vtable, payload, options) }
    }

    /// Makes a task of code and closure.
    ///
    /// # Safety
    ///
    /// The table is that of such a closure, which lives as long as the scope's tasks.
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
    /// It lives as long as the scope's tasks.
    pub(in crate::runtime) unsafe fn future<F: Future<Output = ()> + Send>(&self, options: Options, future: F) {
        let task = self.make_future(options, future);
        // SAFETY: just made.
        unsafe { (self.ops.start)(self.shared, task) }
    }

    /// Makes a task of a future.
    ///
    /// # Safety
    ///
    /// It lives as long as the scope's tasks.
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

    /// Polls a future in the middle of a leaf, whose stack is put aside while it waits.
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
        // SAFETY: who has the admission keeps the scope from ending.
        unsafe { (self.ops.wait)(self.shared, self, place, &mut poll) }?;
        Ok(output.expect("the future was ready"))
    }

    /// The scope's.
    pub(in crate::runtime) fn scope_state(&self) -> NonNull<ScopeState> {
        self.scope_state
    }

    /// Counts a task that is held; its place in reference order, behind all that the body spawns itself.
    #[inline]
    pub(crate) fn count_made(&self, seat: usize) -> u64 {
        DOOR + ((seat as u64) << SEAT_SHIFT) + bump(&self.seats[seat].made)
    }

    /// All preconditions of a task are met.
    #[inline]
    pub(crate) fn count_let_in(&self, seat: usize) {
        bump(&self.seats[seat].let_in);
    }

    /// How many tasks somebody holds; see the [module](self).
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
/// It is one, and is there as long as the scope.
unsafe fn the<'a, E: Engine>(shared: NonNull<()>) -> &'a Shared<E> {
    // SAFETY: as the caller promises.
    unsafe { shared.cast().as_ref() }
}

/// # Safety
///
/// As `the`, and `Admission::let_in`.
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
/// As `the`, and the scope counts what is subtracted here.
unsafe fn leave<E: Engine>(shared: NonNull<()>, scope_state: NonNull<ScopeState>) {
    // SAFETY: passed on.
    let shared = unsafe { the::<E>(shared) };
    // The scope may end by this, and its owner go on, while this thread still wakes it.
    let _kept = shared.keep();
    // SAFETY: passed on. It is a root scope, so nobody goes on with it.
    let _complete = unsafe { scope_state.as_ref() }.finish(1);
}

/// # Safety
///
/// As `the`, and the scope is there.
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
/// As `the`, and the task is a future that was just made.
unsafe fn start<E: Engine>(shared: NonNull<()>, task: TaskRef) {
    // SAFETY: passed on.
    match worker_of(unsafe { the::<E>(shared) }) {
        Some(worker) => worker.poll_here(task),
        // SAFETY: passed on; held until now.
        None => unsafe { let_in::<E>(shared, task) },
    }
}

/// # Safety
///
/// As `the`, and the scope is there.
unsafe fn wait<E: Engine>(
    shared: NonNull<()>,
    admission: &Admission,
    place: Place,
    poll: Poller<'_>,
) -> Result<(), WaitError> {
    // SAFETY: passed on.
    let worker = worker_of(unsafe { the::<E>(shared) });
    worker.expect("a future is waited for in a task of the door's scope").poll_in_place(admission, place, poll)
}

#[cfg(all(test, loom))]
impl Admission {
    /// Of no runtime.
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

/// Counts without a read-modify-write: only who holds the seat writes. What was counted before.
#[inline]
fn bump(counter: &AtomicU64) -> u64 {
    let before = counter.load(Ordering::Relaxed);
    counter.store(before + 1, Ordering::Release);
    before
}
