//! Tasks in blocks of four, and singly linked lists of such blocks (TP §6.3). A block moves as a
//! whole from one queue to another.

use crate::task::TaskRef;

/// The number of tasks in a block.
pub(super) const FOUR: usize = 4;

/// Up to four tasks, last in, first out.
#[derive(Debug, Default)]
pub(super) struct Four {
    tasks: [Option<TaskRef>; FOUR],
    len: usize,
    next: Option<Box<Four>>,
}

impl Four {
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.len == FOUR
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a task. The block must have room.
    #[inline]
    pub(super) fn push(&mut self, task: TaskRef) {
        self.tasks[self.len] = Some(task);
        self.len += 1;
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<TaskRef> {
        self.len = self.len.checked_sub(1)?;
        self.tasks[self.len]
    }

    /// Takes the task that [`pop`](Four::pop) would take, if it is `wanted`.
    pub(super) fn pop_if(&mut self, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        let newest = self.tasks[self.len.checked_sub(1)?]?;
        if wanted(newest) { self.pop() } else { None }
    }
}

/// A list of blocks, last in, first out.
#[derive(Debug, Default)]
pub(super) struct Fours {
    head: Option<Box<Four>>,
    len: usize,
}

// SAFETY: the tasks move with the list.
unsafe impl Send for Fours {}

impl Fours {
    #[inline]
    pub(super) fn push(&mut self, mut block: Box<Four>) {
        block.next = self.head.take();
        self.head = Some(block);
        self.len += 1;
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Box<Four>> {
        let mut block = self.head.take()?;
        self.head = block.next.take();
        self.len -= 1;
        Some(block)
    }

    /// Takes the newest task of the newest block, if it is `wanted`. Then removes the block if it
    /// is empty.
    pub(super) fn pop_task_if(&mut self, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        let block = self.head.as_deref_mut()?;
        let task = block.pop_if(wanted);
        if block.is_empty() {
            self.pop();
        }
        task
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }
}

/// Empty blocks that one worker uses again. Their number is limited, because a worker that takes
/// other workers' blocks gets more than it gives.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "lists take them as they are")]
pub(super) struct Spare(Vec<Box<Four>>);

// SAFETY: empty blocks hold no tasks.
unsafe impl Send for Spare {}

impl Spare {
    const MAX_SPARE_BLOCKS: usize = 64;

    #[inline]
    pub(super) fn take(&mut self) -> Box<Four> {
        self.0.pop().unwrap_or_default()
    }

    #[inline]
    pub(super) fn keep(&mut self, block: Box<Four>) {
        debug_assert!(block.is_empty() && block.next.is_none());
        if self.0.len() < Self::MAX_SPARE_BLOCKS {
            self.0.push(block);
        }
    }
}

impl Drop for Fours {
    fn drop(&mut self) {
        // One by one: dropping a long list recursively would need a deep stack.
        while self.pop().is_some() {}
    }
}
