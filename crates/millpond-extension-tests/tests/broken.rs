//! Parts that break their contracts do not pass.
//!
//! A binary of its own: the test that panics in the broken scheme leaves versions in the tables of
//! `Queues`, which belong to the process. A later version at the same address would never be ready.

use std::ptr;

use millpond::conformance;
use millpond::depend::{Mode, Record, Released, Scheme};
use millpond::memory::{Block, Memory};
use millpond::pool::{Leave, Pool, Put, TaskRef};
use millpond_extension_tests::memory::Malloc;
use millpond_extension_tests::pool::{Local, RoundRobin};
use millpond_extension_tests::scheme::{Meta, Queues};

/// A pool that forgets each task with a priority, or keeps a copy of it.
struct Wrong<const KEEPS: bool>(RoundRobin);

// SAFETY: not at all, and no runtime uses it.
unsafe impl<const KEEPS: bool> Pool for Wrong<KEEPS> {
    type Local = Local;
    type Choice = ();
    const NAME: &'static str = "wrong";
    const HONOURS_PRIORITY: bool = false;

    fn with(seats: usize, (): &()) -> (Self, Vec<Local>) {
        let (pool, locals) = RoundRobin::new(seats);
        (Wrong(pool), locals)
    }

    fn put(&self, local: &mut Local, task: TaskRef, why: Put) -> bool {
        // SAFETY: the task is being put into this pool.
        let chosen = unsafe { task.priority() } > 0;
        if KEEPS || !chosen {
            self.0.put(local, task, why);
        }
        if KEEPS && chosen {
            self.0.put(local, task, why);
        }
        KEEPS || !chosen
    }

    fn take(&self, local: &mut Local) -> Option<TaskRef> {
        self.0.take(local)
    }

    fn take_if(&self, local: &mut Local, wanted: impl Fn(TaskRef) -> bool) -> (Option<TaskRef>, bool) {
        self.0.take_if(local, wanted)
    }

    fn steal(&self, local: &mut Local) -> Option<TaskRef> {
        self.0.steal(local)
    }

    fn expose(&self, local: &mut Local) -> bool {
        self.0.expose(local)
    }

    fn leave(&self, local: &mut Local, leave: Leave) -> bool {
        self.0.leave(local, leave)
    }

    fn hungry(&self, searching: bool) {
        self.0.hungry(searching);
    }

    fn is_hungry(&self) -> bool {
        self.0.is_hungry()
    }

    fn has_work(&self) -> bool {
        self.0.has_work()
    }
}

#[test]
#[should_panic(expected = "another one finds all tasks")]
fn a_pool_that_loses_tasks() {
    conformance::pool::<Wrong<false>>();
}

#[test]
#[should_panic(expected = "was taken 1 times before")]
fn a_pool_that_returns_a_task_twice() {
    conformance::pool::<Wrong<true>>();
}

/// Blocks that begin in the middle of a line.
struct Shifted;

const SHIFT: usize = 32;

// SAFETY: large blocks are not aligned, and no runtime uses it.
unsafe impl Memory for Shifted {
    type Local = ();
    type Choice = ();
    const NAME: &'static str = "shifted";

    fn with(seats: usize, (): &()) -> (Self, Vec<()>) {
        (Shifted, vec![(); seats])
    }

    fn largest_stable(&self) -> usize {
        0
    }

    fn alloc(&self, local: &mut (), size: usize) -> Block {
        let block = Malloc.alloc(local, size + SHIFT);
        // SAFETY: the block is larger than that.
        let start = unsafe { block.start.byte_add(SHIFT) };
        // SAFETY: as above; no other thread knows the block.
        unsafe { start.cast::<u64>().write(0) };
        Block { start, ..block }
    }

    unsafe fn free(&self, local: &mut (), block: Block) {
        // SAFETY: `alloc` moved the start that far.
        let start = unsafe { block.start.byte_sub(SHIFT) };
        // SAFETY: the block of `Malloc`, which nothing uses.
        unsafe { Malloc.free(local, Block { start, ..block }) };
    }

    fn idle(&self, (): &mut ()) {}
}

#[test]
#[should_panic(expected = "shifted: alignment of 101 bytes")]
fn a_memory_manager_that_does_not_align() {
    conformance::memory::<Shifted>();
}

/// A scheme that loses the last access of each generation that it grants.
struct Forgetful;

// SAFETY: a task may never be ready, and no runtime uses it.
unsafe impl Scheme for Forgetful {
    type Meta = Meta;
    type Local = ();
    type Shared = ();
    const NAME: &'static str = "forgetful";

    fn is_idle(meta: &Meta) -> bool {
        Queues::is_idle(meta)
    }

    fn is_ready(meta: &Meta, mode: Mode) -> bool {
        Queues::is_ready(meta, mode)
    }

    fn prefetch(_meta: &Meta, _record: &Record) {}

    unsafe fn issue(local: &mut (), meta: &Meta, record: &Record) -> bool {
        // SAFETY: the caller's; so below.
        unsafe { Queues::issue(local, meta, record) }
    }

    unsafe fn release(shared: &(), local: &mut (), meta: &Meta, record: &Record) -> Released {
        // SAFETY: as above.
        let released = unsafe { Queues::release(shared, local, meta, record) };
        if let Some(first) = released.granted {
            // SAFETY: a granted record stays valid until it is released.
            let first = unsafe { first.as_ref() };
            // SAFETY: the scheme has the record until it returns it.
            unsafe { first.write_link(ptr::null_mut()) };
        }
        released
    }

    unsafe fn retire(meta: &Meta) -> bool {
        // SAFETY: as above.
        unsafe { Queues::retire(meta) }
    }
}

#[test]
#[should_panic(expected = "left == right")]
fn a_scheme_that_loses_accesses() {
    conformance::scheme::<Forgetful>();
}
