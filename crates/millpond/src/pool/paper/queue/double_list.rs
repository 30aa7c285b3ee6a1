//! A doubly linked list. The links are in the blocks of the tasks (`task::link`), so the memory
//! manager decides where they lie (TP §4.2). The two links of a task are one word, the exclusive or
//! of both: a queue takes tasks at its ends only.

use super::super::settings::Settings;
use super::{Queue, TwoEnds};
use crate::task::{Neighbours, TaskRef};

/// See the [module](self).
#[derive(Debug)]
pub struct DoubleList {
    newest: Option<TaskRef>,
    oldest: Option<TaskRef>,
    len: usize,
}

impl DoubleList {
    /// Takes the task at one of the ends. Returns it and its neighbour, which is at that end now.
    #[inline]
    fn unlink(&mut self, end: Option<TaskRef>) -> Option<(TaskRef, Option<TaskRef>)> {
        let task = end?;
        let neighbour = task.neighbours().other(None);
        if let Some(neighbour) = neighbour {
            neighbour.set_neighbours(neighbour.neighbours().toggle(task));
        }
        self.len -= 1;
        Some((task, neighbour))
    }
}

impl Queue for DoubleList {
    fn new(_settings: &Settings) -> Self {
        DoubleList { newest: None, oldest: None, len: 0 }
    }

    #[inline]
    fn push(&mut self, task: TaskRef) {
        task.set_neighbours(Neighbours::one(self.newest));
        match self.newest {
            Some(before) => before.set_neighbours(before.neighbours().toggle(task)),
            None => self.oldest = Some(task),
        }
        self.newest = Some(task);
        self.len += 1;
    }

    #[inline]
    fn pop(&mut self) -> Option<TaskRef> {
        let (task, before) = self.unlink(self.newest)?;
        self.newest = before;
        if before.is_none() {
            self.oldest = None;
        }
        Some(task)
    }

    #[inline]
    fn newest(&self) -> Option<TaskRef> {
        self.newest
    }

    #[inline]
    fn len(&self) -> usize {
        self.len
    }

    #[cfg(all(test, not(loom)))]
    fn places(&self) -> Vec<usize> {
        let (mut newer, mut next) = (None, self.newest);
        std::iter::from_fn(|| {
            let task = next?;
            (newer, next) = (next, task.neighbours().other(newer));
            Some(task.as_ptr().addr().get())
        })
        .collect()
    }
}

impl TwoEnds for DoubleList {
    #[inline]
    fn pop_oldest(&mut self) -> Option<TaskRef> {
        let (task, after) = self.unlink(self.oldest)?;
        self.oldest = after;
        if after.is_none() {
            self.newest = None;
        }
        Some(task)
    }
}
