//! Fibers: pooled stacks for worker loops, so that a waiting body can be suspended.
//!
//! A worker's own thread is the *carrier*: it resumes one fiber at a time. A fiber runs the worker
//! loop. When a body on it waits, the fiber is parked with its stack, and the carrier continues
//! with another fiber. The same worker resumes it, so data on a body's stack never change threads.
//! An idle fiber goes back to the pool. It keeps nothing of the thread there, so the next thread
//! with the worker's seat may use it.

use std::cell::{Cell, RefCell};
use std::io;
use std::ptr::NonNull;
use std::sync::OnceLock;

use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::current::OnStack;
use super::overflow::{self, Here, Running};
#[cfg(feature = "stack")]
use super::stack_head::StackHead;
use super::turns::replace_held;
use crate::sync::global::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{process, system};
use crate::task::TaskRef;

/// The carrier's order to a fiber.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// Run the worker loop, beginning with this task.
    Run(TaskRef),
    /// Continue where the fiber was parked.
    Resume,
    /// End the coroutine.
    Exit,
}

/// Why a fiber gave the thread back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Its loop is idle.
    Idle,
    /// A body waits.
    Parked,
}

/// One stack, with the worker loop on it.
pub(crate) struct Fiber {
    coroutine: RefCell<Option<Coroutine<Order, Left, (), DefaultStack>>>,
    yielder: Cell<*const Yielder<Order, Left>>,
    /// The worker loop. The coroutine loads it for each task, so that the compiler cannot inline it
    /// into suspended code. The next task may come on another thread, so nothing that the compiler
    /// knows of this thread may live until then.
    entry: unsafe fn(*const (), TaskRef),
    /// The lowest address of the stack.
    limit: usize,
    sanitizer: sanitizer::Context,
    /// The context that resumed it, for the sanitizer.
    carrier: Cell<sanitizer::Handle>,
}

impl std::fmt::Debug for Fiber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fiber").field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// The fibers of one worker.
#[derive(Debug)]
pub(crate) struct Fibers {
    free: RefCell<Vec<NonNull<Fiber>>>,
    current: Cell<Option<NonNull<Fiber>>>,
    parked: Cell<usize>,
    on_thread: Cell<u32>,
    /// The running task, if it came from a pool, or the running dataflow stack.
    running: Cell<Running>,
    stack_size: usize,
}

/// How many stacks the process has.
static STACKS: AtomicUsize = AtomicUsize::new(0);

/// The limit for the stacks of the process. A stack and its guard page are two mappings. The limit
/// leaves room for the other mappings of the process.
fn most_stacks() -> usize {
    const OTHER_MAPPINGS: usize = 2048;
    static MAX_STACKS: OnceLock<usize> = OnceLock::new();
    *process::once(&MAX_STACKS, || {
        let text = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
        text.trim().parse::<usize>().map_or(usize::MAX, |maps| maps.saturating_sub(OTHER_MAPPINGS) / 2)
    })
}

/// Checks that the system has `number` stacks of this size: reserves them all, and gives them back.
pub(crate) fn try_stacks(number: usize, size: usize) -> io::Result<()> {
    let mut stacks = Vec::new();
    for _ in 0..number {
        stacks.push(DefaultStack::new(size)?);
    }
    Ok(())
}

/// Whether the system has refused a stack, and none was given back since.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Whether no further stack may be made.
#[inline]
pub(crate) fn are_scarce() -> bool {
    REFUSED.load(Ordering::Relaxed) || STACKS.load(Ordering::Relaxed) >= most_stacks()
}

/// If the system limits addresses, a new stack leaves this many bytes to the program's allocator.
/// An allocation that fails ends the process.
const FOR_ALLOCATIONS: usize = 32 << 20;

fn reserve_stack(size: usize) -> Option<DefaultStack> {
    let is_room = system::addresses_left().is_none_or(|left| left >= size.saturating_add(FOR_ALLOCATIONS));
    let stack = if is_room { DefaultStack::new(size).ok() } else { None };
    REFUSED.store(stack.is_none(), Ordering::Relaxed);
    stack
}

/// How many stacks are kept for the next use. More are rare, and go back to the system.
const KEPT: usize = 64;

impl Fibers {
    pub(crate) fn new(stack_size: usize) -> Self {
        Fibers {
            free: RefCell::default(),
            current: Cell::new(None),
            parked: Cell::new(0),
            on_thread: Cell::new(0),
            running: Cell::new(Running::NOTHING),
            stack_size,
        }
    }

    /// Notes that the body of a task begins or has finished. If the body overflows its stack, the
    /// report names this task. This costs two stores per task. If another task runs on top of a
    /// body, `on_top` notes the lower one again afterwards.
    #[inline(always)]
    pub(super) fn note_running(&self, task: Option<TaskRef>) {
        self.running.set(task.map_or(Running::NOTHING, Running::task));
    }

    /// Runs another task on top of the running body.
    pub(super) fn on_top<R>(&self, run: impl FnOnce() -> R) -> R {
        let running = self.running.get();
        let result = run();
        self.running.set(running);
        result
    }

    /// Runs tasks of a dataflow stack, perhaps on top of a body. If one of them overflows this
    /// stack, the report names it.
    #[cfg(feature = "stack")]
    pub(super) fn in_stack<R>(&self, stack: NonNull<StackHead>, run: impl FnOnce() -> R) -> R {
        self.on_top(|| {
            self.running.set(Running::stack(stack));
            run()
        })
    }

    /// How many bodies are parked.
    pub(crate) fn parked(&self) -> usize {
        self.parked.get()
    }

    /// The running fiber; `None` on the carrier.
    pub(crate) fn current(&self) -> Option<NonNull<Fiber>> {
        self.current.get()
    }

    /// Where the running fiber's stack ends. `None` on the thread's own stack, which the runtime
    /// must not fill.
    pub(crate) fn stack_limit(&self) -> Option<usize> {
        // SAFETY: this code runs on the current fiber, so it is alive.
        self.current.get().map(|fiber| unsafe { fiber.as_ref() }.limit)
    }

    /// Whether the pool has a fiber, or the system memory for one more. If so, the next `take`
    /// finds it.
    pub(crate) fn reserve(&self, worker: *const (), entry: unsafe fn(*const (), TaskRef)) -> bool {
        if !self.free.borrow().is_empty() {
            return true;
        }
        if STACKS.load(Ordering::Relaxed) >= most_stacks() {
            return false;
        }
        let Some(stack) = reserve_stack(self.stack_size) else { return false };
        self.free.borrow_mut().push(Self::make(stack, worker, entry));
        true
    }

    /// A fiber from the pool, or a new one, whose loop is `entry(worker, task)`. `None` if the
    /// system has no memory for another stack.
    pub(crate) fn take(&self, worker: *const (), entry: unsafe fn(*const (), TaskRef)) -> Option<NonNull<Fiber>> {
        let free = { self.free.borrow_mut().pop() };
        free.or_else(|| reserve_stack(self.stack_size).map(|stack| Self::make(stack, worker, entry)))
    }

    /// How many tasks run on the thread's own stack because there was no other.
    pub(crate) fn on_thread(&self) -> u32 {
        self.on_thread.get()
    }

    pub(crate) fn run_on_thread(&self, run: impl FnOnce()) {
        self.on_thread.set(self.on_thread.get() + 1);
        run();
        self.on_thread.set(self.on_thread.get() - 1);
    }

    fn make(stack: DefaultStack, worker: *const (), entry: unsafe fn(*const (), TaskRef)) -> NonNull<Fiber> {
        STACKS.fetch_add(1, Ordering::Relaxed);
        let limit = stack.limit().get();
        let fiber = NonNull::from(Box::leak(Box::new(Fiber {
            coroutine: RefCell::new(None),
            yielder: Cell::new(std::ptr::null()),
            entry,
            limit,
            sanitizer: sanitizer::Context::new(),
            carrier: Cell::new(sanitizer::NONE),
        })));
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<Order, Left>, first| {
            // SAFETY: a fiber is freed only after its coroutine has ended.
            let this = unsafe { fiber.as_ref() };
            this.yielder.set(yielder);
            let mut order = first;
            while let Order::Run(task) = order {
                // SAFETY: the carrier that resumed this fiber is the worker's thread.
                unsafe { (this.entry)(worker, task) };
                sanitizer::switch_to(this.carrier.get());
                order = yielder.suspend(Left::Idle);
            }
            sanitizer::switch_to(this.carrier.get());
        });
        // SAFETY: just made.
        *unsafe { fiber.as_ref() }.coroutine.borrow_mut() = Some(coroutine);
        fiber
    }

    /// Switches from the carrier to a fiber. Returns when the fiber gives the thread back.
    pub(crate) fn resume(&self, fiber: NonNull<Fiber>, order: Order) {
        debug_assert!(self.current.get().is_none(), "only the carrier resumes");
        if matches!(order, Order::Resume) {
            self.parked.set(self.parked.get() - 1);
        }
        match self.switch(fiber, order) {
            CoroutineResult::Yield(Left::Parked) => self.parked.set(self.parked.get() + 1),
            CoroutineResult::Yield(Left::Idle) => self.put_back(fiber),
            CoroutineResult::Return(()) => {
                STACKS.fetch_sub(1, Ordering::Relaxed);
                REFUSED.store(false, Ordering::Relaxed);
                // SAFETY: `make` leaked a box, the coroutine has ended, and nothing else refers to
                // the fiber.
                drop(unsafe { Box::from_raw(fiber.as_ptr()) });
            }
        }
    }

    fn switch(&self, fiber: NonNull<Fiber>, order: Order) -> CoroutineResult<Left, ()> {
        // SAFETY: the fiber is in the pool or parked, so it is alive.
        let this = unsafe { fiber.as_ref() };
        self.current.set(Some(fiber));
        this.carrier.set(sanitizer::current());
        let mut coroutine = this.coroutine.borrow_mut().take().expect("a fiber is resumed by its carrier only");
        let (on_stack, running, turn) =
            (OnStack::save(), self.running.replace(Running::NOTHING), replace_held(std::ptr::null()));
        let here = Here { guard: this.limit, size: self.stack_size, running: &raw const self.running };
        let before = overflow::turn_to(here);
        this.sanitizer.enter();
        let left = coroutine.resume(order);
        overflow::turn_to(before);
        replace_held(turn);
        self.running.set(running);
        on_stack.restore();
        *this.coroutine.borrow_mut() = Some(coroutine);
        self.current.set(None);
        left
    }

    fn put_back(&self, fiber: NonNull<Fiber>) {
        if self.free.borrow().len() < KEPT {
            self.free.borrow_mut().push(fiber);
        } else {
            self.resume(fiber, Order::Exit);
        }
    }

    /// Gives the thread back from the running fiber to the carrier, until the worker resumes the
    /// fiber.
    pub(crate) fn park(&self) {
        let fiber = self.current.get().expect("a fiber parks itself");
        // SAFETY: this code runs on the fiber.
        let this = unsafe { fiber.as_ref() };
        sanitizer::switch_to(this.carrier.get());
        let (on_stack, running, turn) = (OnStack::save(), self.running.get(), replace_held(std::ptr::null()));
        // SAFETY: the yielder lives as long as its coroutine runs.
        unsafe { &*this.yielder.get() }.suspend(Left::Parked);
        replace_held(turn);
        self.running.set(running);
        on_stack.restore();
    }

    /// Ends all pooled fibers except the `kept` ones that were used last.
    pub(crate) fn keep(&self, kept: usize) {
        debug_assert_eq!(self.parked(), 0, "no body waits when its worker ends or its seat is left");
        while self.free.borrow().len() > kept {
            let fiber = self.free.borrow_mut().remove(0);
            self.resume(fiber, Order::Exit);
        }
    }
}

impl Drop for Fibers {
    fn drop(&mut self) {
        self.keep(0);
    }
}

/// ThreadSanitizer follows a thread by its stack, so this module reports every switch to it.
/// Function entries and exits are not balanced across a switch, so the sanitizer's record of them
/// fails. `CONTRIBUTING.md` says how to switch that off.
#[cfg(millpond_tsan)]
mod sanitizer {
    use std::ffi::c_void;

    #[derive(Clone, Copy)]
    pub(super) struct Handle(*mut c_void);
    pub(super) const NONE: Handle = Handle(std::ptr::null_mut());

    unsafe extern "C" {
        fn __tsan_get_current_fiber() -> *mut c_void;
        fn __tsan_create_fiber(flags: u32) -> *mut c_void;
        fn __tsan_destroy_fiber(fiber: *mut c_void);
        fn __tsan_switch_to_fiber(fiber: *mut c_void, flags: u32);
    }

    pub(super) struct Context(Handle);

    impl Context {
        pub(super) fn new() -> Self {
            // SAFETY: a function of the sanitizer's run-time library, which this cfg links. It has
            // no preconditions.
            Context(Handle(unsafe { __tsan_create_fiber(0) }))
        }

        pub(super) fn enter(&self) {
            switch_to(self.0);
        }
    }

    impl Drop for Context {
        fn drop(&mut self) {
            // SAFETY: `new` created it, and it is not the current one: its coroutine has ended.
            unsafe { __tsan_destroy_fiber(self.0.0) }
        }
    }

    pub(super) fn current() -> Handle {
        // SAFETY: no preconditions.
        Handle(unsafe { __tsan_get_current_fiber() })
    }

    pub(super) fn switch_to(handle: Handle) {
        // SAFETY: the handle belongs to a live fiber or to this thread.
        unsafe { __tsan_switch_to_fiber(handle.0, 0) }
    }
}

#[cfg(not(millpond_tsan))]
mod sanitizer {
    #[derive(Clone, Copy)]
    pub(super) struct Handle;
    pub(super) const NONE: Handle = Handle;

    pub(super) struct Context;

    impl Context {
        pub(super) fn new() -> Self {
            Context
        }

        pub(super) fn enter(&self) {}
    }

    pub(super) fn current() -> Handle {
        Handle
    }

    pub(super) fn switch_to(_to: Handle) {}
}
