//! An array of a fixed size, allocated at the start. The paper's program would end when it is full.
//! Here another array of that size follows, as in the paper's "list of arrays" (TP §4.2), and is
//! counted.

use std::mem;
use std::sync::Arc;

use super::super::settings::{Settings, Tally};
use super::Queue;
use crate::task::TaskRef;

/// See the [module](self).
#[derive(Debug)]
pub struct Array {
    top: Vec<TaskRef>,
    /// The number of tasks in one array.
    capacity: usize,
    /// The arrays below, all full.
    full: Vec<Vec<TaskRef>>,
    /// An emptied array. It is kept, so that a queue that grows and shrinks does not allocate each
    /// time.
    empty: Option<Vec<TaskRef>>,
    /// Counts the arrays beyond the first.
    tally: Arc<Tally>,
}

impl Array {
    #[cold]
    fn go_up(&mut self) {
        let empty = self.empty.take().unwrap_or_else(|| {
            self.tally.add_array();
            Vec::with_capacity(self.capacity)
        });
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
    const HAS_CAPACITY: bool = true;

    fn new(settings: &Settings) -> Self {
        let capacity = settings.params.capacity.max(1);
        let tally = settings.tally.clone();
        Array { top: Vec::with_capacity(capacity), capacity, full: Vec::new(), empty: None, tally }
    }

    #[inline]
    fn push(&mut self, task: TaskRef) {
        if self.top.len() == self.capacity {
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
        self.top.len() + self.full.len() * self.capacity
    }

    #[cfg(all(test, not(loom)))]
    fn places(&self) -> Vec<usize> {
        let arrays = self.full.iter().chain([&self.top]).flatten();
        let mut places: Vec<_> = arrays.map(|slot| std::ptr::from_ref(slot).addr()).collect();
        places.reverse();
        places
    }
}
