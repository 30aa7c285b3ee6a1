//! Reports a body that overflows a stack of [`fiber`](super::fiber). std reports only overflows of
//! thread stacks.
//!
//! Below each stack is a guard page. A fault there raises a signal, whose handler runs on its own
//! stack. A thread-local tells the handler which stack runs on its thread. The handler prints the
//! task's name, and ends the process as std does. It passes every other fault on to the previous
//! handler. It makes only calls that are safe in a signal handler: it allocates nothing and takes
//! no lock.

use std::cell::Cell;
use std::fmt::{self, Write};
use std::ptr::{self, NonNull};

use super::stack_head::StackHead;
use crate::sync::system::{self, SignalStack};
use crate::task::TaskRef;

/// The stack of a body.
#[derive(Clone, Copy)]
pub(super) struct Here {
    /// The guard page: the lowest page of the stack.
    pub(super) guard: usize,
    /// How many bytes bodies have.
    pub(super) size: usize,
    /// What runs on it.
    pub(super) running: *const Cell<Running>,
}

impl Here {
    const THREAD: Here = Here { guard: 0, size: 0, running: ptr::null() };
}

/// The running task of a worker, or its dataflow stack (marked in the lowest bit), or nothing. It
/// is one word, so that noting it costs one store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running(*const ());

impl Running {
    pub(super) const NOTHING: Running = Running(ptr::null());

    pub(super) fn task(task: TaskRef) -> Self {
        Running(task.0.as_ptr().cast_const().cast())
    }

    pub(super) fn stack(stack: NonNull<StackHead>) -> Self {
        Running(stack.as_ptr().cast_const().cast::<()>().map_addr(|at| at | 1))
    }

    /// The task whose body runs, if it is known.
    ///
    /// # Safety
    ///
    /// The task or the stack runs.
    unsafe fn body(self) -> Option<TaskRef> {
        if self.0.addr() & 1 == 0 {
            return NonNull::new(self.0.cast_mut().cast()).map(TaskRef);
        }
        let stack = NonNull::new(self.0.map_addr(|at| at & !1).cast_mut().cast::<StackHead>())?;
        // SAFETY: as the caller promises.
        unsafe { StackHead::running(stack) }
    }
}

thread_local! {
    static HERE: Cell<Here> = const { Cell::new(Here::THREAD) };
}

/// Notes that the thread switches to this stack. Returns the previous one.
pub(super) fn turn_to(here: Here) -> Here {
    HERE.replace(here)
}

/// Installs the handler. Only the first call has an effect.
pub(crate) fn watch() {
    // A sanitizer has its own handlers.
    if cfg!(not(any(millpond_asan, millpond_tsan))) {
        system::on_fault(print_overflow);
    }
}

/// Gives this thread a stack for the handler, if it has none. std gives one to each thread that it
/// starts.
pub(crate) fn prepare_thread() {
    thread_local! {
        static STACK: Option<SignalStack> = SignalStack::if_there_is_none();
    }
    // A thread that is about to end needs none.
    let _ended = STACK.try_with(|_| ());
}

/// If the fault at this address is an overflow of the stack that runs here, prints the report and
/// returns true. Then the process must end.
fn print_overflow(address: usize) -> bool {
    let Ok(here) = HERE.try_with(Cell::get) else { return false };
    if here.guard == 0 || !(here.guard..here.guard + system::page_size()).contains(&address) {
        return false;
    }
    // SAFETY: this thread runs the stack of that worker.
    let running = unsafe { here.running.as_ref() }.map_or(Running::NOTHING, Cell::get);
    // SAFETY: the body has not ended.
    let task = unsafe { running.body() };
    let mut text = Text { bytes: [0; 1024], len: 0 };
    // Text that does not fit is cut off.
    let _cut = text.tell(task, here.size);
    system::print_error(text.written());
    true
}

/// A line buffer: a signal handler must not allocate.
struct Text {
    bytes: [u8; 1024],
    len: usize,
}

impl Text {
    fn tell(&mut self, task: Option<TaskRef>, size: usize) -> fmt::Result {
        let name = system::thread_name();
        let name = name.split(|&byte| byte == 0).next().and_then(|name| std::str::from_utf8(name).ok()).unwrap_or("?");
        writeln!(self, "\nthread '{name}' has overflowed its stack")?;
        match task {
            // The task's block exists until its body has ended.
            Some(task) => write!(self, "millpond: task `{}` ran on a stack of {size} bytes", task.label())?,
            None => write!(self, "millpond: a body ran on a stack of {size} bytes")?,
        }
        writeln!(self, ": choose a larger one by `Builder::stack_size`\nfatal runtime error: stack overflow, aborting")
    }

    fn written(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.bytes[self.len..];
        let fits = text.len().min(room.len());
        room[..fits].copy_from_slice(&text.as_bytes()[..fits]);
        self.len += fits;
        if fits == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}
