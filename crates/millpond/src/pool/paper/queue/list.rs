//! A singly linked list. The links are in the blocks of the tasks (`task::link`), so the memory
//! manager decides where they lie (TP §4.2).

use super::super::settings::Settings;
use super::Queue;
use crate::task::{Neighbours, TaskRef};

/// See the [module](self).
#[derive(Debug)]
pub struct List {
    newest: Option<TaskRef>,
    len: usize,
}

impl Queue for List {
    fn new(_settings: &Settings) -> Self {
        List { newest: None, len: 0 }
    }

    #[inline]
    fn push(&mut self, task: TaskRef) {
        task.set_neighbours(Neighbours::one(self.newest));
        self.newest = Some(task);
        self.len += 1;
    }

    #[inline]
    fn pop(&mut self) -> Option<TaskRef> {
        let task = self.newest?;
        self.newest = task.neighbours().other(None);
        self.len -= 1;
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
        let older = |task: &TaskRef| task.neighbours().other(None);
        std::iter::successors(self.newest, older).map(|task| task.as_ptr().addr().get()).collect()
    }
}
