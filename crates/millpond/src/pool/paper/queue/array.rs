//! An array allocated at the start. The paper's array has a fixed size. Here, another array follows
//! when one is full.

use std::mem;

use super::Queue;
use crate::task::TaskRef;

/// The number of tasks in one array: 8 KiB.
const ARRAY_TASKS: usize = 1024;

/// See the [module](self).
#[derive(Debug)]
pub struct Array {
    top: Vec<TaskRef>,
    /// The arrays below, all full.
    full: Vec<Vec<TaskRef>>,
    /// An emptied array. It is kept, so that a queue that grows and shrinks does not allocate each
    /// time.
    empty: Option<Vec<TaskRef>>,
}

impl Default for Array {
    fn default() -> Self {
        Array { top: Vec::with_capacity(ARRAY_TASKS), full: Vec::new(), empty: None }
    }
}

impl Array {
    #[cold]
    fn go_up(&mut self) {
        let empty = self.empty.take().unwrap_or_else(|| Vec::with_capacity(ARRAY_TASKS));
        self.full.push(mem::replace(&mut self.top, empty));
    }

    #[cold]
    fn pop_below(&mut self) -> Option<TaskRef> {
        let below = self.full.pop()?;
        self.empty = Some(mem::replace(&mut self.top, below));
        self.top.pop()
    }
}

impl Queue for Array {
    #[inline]
    fn push(&mut self, task: TaskRef) {
        if self.top.len() == ARRAY_TASKS {
            self.go_up();
        }
        self.top.push(task);
    }

    #[inline]
    fn pop(&mut self) -> Option<TaskRef> {
        match self.top.pop() {
            None => self.pop_below(),
            task => task,
        }
    }

    #[inline]
    fn newest(&self) -> Option<TaskRef> {
        self.top.last().or_else(|| self.full.last()?.last()).copied()
    }

    #[inline]
    fn len(&self) -> usize {
        self.top.len() + self.full.len() * ARRAY_TASKS
    }
}
