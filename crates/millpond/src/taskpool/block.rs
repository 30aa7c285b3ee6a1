//! The two blocks of a task: the pool's record of it, and its argument (TP Figure 2,
//! `tpool_task_t`).

use std::fmt::{self, Debug, Formatter};
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::ptr::{self, NonNull};

use super::{Function, TaskPool};
use crate::memory::{Block, Memory};
use crate::pool::Pool;
use crate::task::ScopePtr;
use crate::task::{Header, NewTask, TaskRef, VTable};

/// The largest alignment that a block can have.
const MAX_ALIGN_BYTES: usize = 64;

/// The smallest size whose blocks have that alignment.
const ALIGNED: usize = 97;

/// The part of a record behind its header.
struct Work<A, M: Memory, P: Pool> {
    function: Function<A, M, P>,
    argument: Block,
}

/// The size to request for a `T`.
const fn size_for<T>() -> usize {
    let size = if size_of::<T>() == 0 { 1 } else { size_of::<T>() };
    if align_of::<T>() > crate::memory::BLOCK_ALIGN && size < ALIGNED { ALIGNED } else { size }
}

pub(super) fn check_alignment<A>() {
    let (name, align) = (std::any::type_name::<A>(), align_of::<A>());
    assert!(align <= MAX_ALIGN_BYTES, "an argument is aligned to {MAX_ALIGN_BYTES} at most, {name} to {align}");
}

/// An argument in a block of the memory manager, made by
/// [`Worker::alloc_arg`](super::Worker::alloc_arg). If it is neither put nor freed, the value is
/// dropped, and the block is freed only when the pool ends.
///
/// ```
/// use millpond::taskpool::TaskPool;
///
/// let pool = TaskPool::<String>::create(1);
/// let mut worker = pool.worker(0);
/// let mut argument = worker.alloc_arg("a".to_owned());
/// argument.push('b');
/// assert_eq!(worker.free_arg(argument), "ab");
/// ```
pub struct ArgBlock<'p, A, M: Memory, P: Pool> {
    pool: &'p TaskPool<A, M, P>,
    block: Block,
}

/// A task that is not in the pool, made by [`Worker::alloc_task`](super::Worker::alloc_task) or
/// taken by [`Worker::get`](super::Worker::get). If it is neither put nor freed, the argument is
/// dropped, and the blocks are freed only when the pool ends.
pub struct TaskBlock<'p, A, M: Memory, P: Pool> {
    pool: &'p TaskPool<A, M, P>,
    task: TaskRef,
}

impl<'p, A, M: Memory, P: Pool> ArgBlock<'p, A, M, P> {
    /// Puts a value into a block.
    #[inline]
    pub(super) fn new(pool: &'p TaskPool<A, M, P>, local: &mut M::Local, value: A) -> Self {
        let block = pool.memory.alloc(local, size_for::<A>());
        // SAFETY: the block belongs to this call, is large enough, and is aligned as its size
        // promises.
        unsafe { block.start.cast::<A>().write(value) };
        ArgBlock { pool, block }
    }

    /// Takes the value out of the block, and returns both.
    ///
    /// # Panics
    ///
    /// If it belongs to another pool.
    #[inline]
    pub(super) fn into_parts(self, pool: &TaskPool<A, M, P>) -> (A, Block) {
        let its_pool = self.pool;
        let block = self.into_block();
        // Rebuilt only where it is dropped, so that it stays in registers otherwise.
        if !ptr::eq(its_pool, pool) {
            refuse(ArgBlock { pool: its_pool, block });
        }
        // SAFETY: the block holds a value, which nothing else takes.
        (unsafe { block.start.cast::<A>().read() }, block)
    }

    #[inline]
    fn into_block(self) -> Block {
        ManuallyDrop::new(self).block
    }
}

impl<'p, A, M: Memory, P: Pool> TaskBlock<'p, A, M, P> {
    /// Makes the record of a task.
    ///
    /// # Panics
    ///
    /// If the argument belongs to another pool.
    #[inline]
    pub(super) fn new(
        pool: &'p TaskPool<A, M, P>,
        local: &mut M::Local,
        function: Function<A, M, P>,
        argument: ArgBlock<'p, A, M, P>,
    ) -> Self {
        if !ptr::eq(argument.pool, pool) {
            refuse(argument);
        }
        const { assert!(align_of::<Work<A, M, P>>() <= align_of::<Header>()) };
        let block = pool.memory.alloc(local, size_of::<Header>() + size_of::<Work<A, M, P>>());
        let new = NewTask {
            vtable: &VTable::OF_POOLS,
            scope: ScopePtr::DANGLING,
            order: 0,
            place: const { Location::caller() },
            priority: 0,
            extras: None,
            accesses: 0,
        };
        // SAFETY: the block belongs to this call, and a record begins with a header.
        let task = unsafe { TaskRef::create(block, new) };
        // SAFETY: the block has room for it.
        unsafe { Self::work_of(task).write(Work { function, argument: argument.into_block() }) };
        TaskBlock { pool, task }
    }

    /// A task that was taken from the pool.
    ///
    /// # Safety
    ///
    /// The task belongs to this pool, which hands each task to one taker.
    #[inline]
    pub(super) unsafe fn taken(pool: &'p TaskPool<A, M, P>, task: TaskRef) -> Self {
        TaskBlock { pool, task }
    }

    /// The task as the pool holds it. It must be `taken` once.
    ///
    /// # Panics
    ///
    /// If it belongs to another pool.
    #[inline]
    pub(super) fn into_ref(self, pool: &TaskPool<A, M, P>) -> TaskRef {
        let (its_pool, task) = self.into_raw();
        if !ptr::eq(its_pool, pool) {
            refuse(TaskBlock { pool: its_pool, task });
        }
        task
    }

    #[inline]
    fn into_raw(self) -> (&'p TaskPool<A, M, P>, TaskRef) {
        let this = ManuallyDrop::new(self);
        (this.pool, this.task)
    }

    /// Takes the record apart, and returns its block as well.
    ///
    /// # Panics
    ///
    /// If it belongs to another pool.
    #[inline]
    pub(super) fn into_parts(self, pool: &'p TaskPool<A, M, P>) -> (Function<A, M, P>, ArgBlock<'p, A, M, P>, Block) {
        let task = self.into_ref(pool);
        // SAFETY: `new` has written it, and nothing else uses it.
        let Work { function, argument } = unsafe { Self::work_of(task).as_ref() };
        // Read field by field, as it was written. A single read of both fields would wait for both
        // stores.
        let block = Block { start: argument.start, tag: argument.tag };
        (*function, ArgBlock { pool, block }, task.block())
    }

    /// The address of a record's work.
    #[inline]
    fn work_of(task: TaskRef) -> NonNull<Work<A, M, P>> {
        // SAFETY: the block continues after the header.
        unsafe { task.0.add(1) }.cast()
    }
}

/// Drops an argument or a task of another pool, and panics.
#[cold]
#[inline(never)]
fn refuse<T>(what: T) -> ! {
    drop(what);
    panic!("an argument or a task of another pool")
}

impl<A, M: Memory, P: Pool> Deref for ArgBlock<'_, A, M, P> {
    type Target = A;

    fn deref(&self) -> &A {
        // SAFETY: the block holds a value as long as this exists.
        unsafe { self.block.start.cast().as_ref() }
    }
}

impl<A, M: Memory, P: Pool> DerefMut for ArgBlock<'_, A, M, P> {
    fn deref_mut(&mut self) -> &mut A {
        // SAFETY: as above, and nothing else uses the value.
        unsafe { self.block.start.cast().as_mut() }
    }
}

impl<A, M: Memory, P: Pool> Drop for ArgBlock<'_, A, M, P> {
    fn drop(&mut self) {
        self.pool.stray.lock().push(self.block);
        // SAFETY: the block holds a value, which nothing uses after this.
        unsafe { self.block.start.cast::<A>().drop_in_place() };
    }
}

impl<A, M: Memory, P: Pool> Drop for TaskBlock<'_, A, M, P> {
    fn drop(&mut self) {
        let (_, argument, block) = TaskBlock { pool: self.pool, task: self.task }.into_parts(self.pool);
        self.pool.stray.lock().push(block);
        drop(argument);
    }
}

impl<A: Debug, M: Memory, P: Pool> Debug for ArgBlock<'_, A, M, P> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ArgBlock").field(&**self).finish()
    }
}

impl<A, M: Memory, P: Pool> Debug for TaskBlock<'_, A, M, P> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskBlock").finish_non_exhaustive()
    }
}
