//! The priority queue for tasks of positive priority. All seats share it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use crate::task::TaskRef;

/// A heap behind a lock. While it is empty, taking a task costs one load of a line that no thread
/// writes.
#[derive(Default)]
pub(super) struct Urgent {
    /// Written under the lock. Without the lock it is a hint. It is exact across two SeqCst fences,
    /// as in the sleep protocol.
    len: AtomicUsize,
    heap: Mutex<Heap>,
}

/// Highest priority first. Among equals, first in, first out.
#[derive(Default)]
struct Heap {
    entries: BinaryHeap<Entry>,
    arrivals: u64,
}

struct Entry {
    /// The rank: priority, then age.
    key: (i8, Reverse<u64>),
    task: TaskRef,
}

impl Urgent {
    pub(super) fn push(&self, task: TaskRef, priority: i8) {
        let mut heap = self.heap.lock();
        let key = (priority, Reverse(heap.arrivals));
        heap.entries.push(Entry { key, task });
        heap.arrivals += 1;
        self.len.store(heap.entries.len(), Relaxed);
    }

    #[inline]
    pub(super) fn pop(&self) -> Option<TaskRef> {
        if self.is_empty() { None } else { self.pop_locked() }
    }

    /// Takes the most urgent task if it is `wanted`.
    #[inline]
    pub(super) fn pop_if(&self, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        if self.is_empty() { None } else { self.pop_locked_if(wanted) }
    }

    #[cold]
    fn pop_locked_if(&self, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        let mut heap = self.heap.lock();
        let entry = heap.entries.peek().is_some_and(|entry| wanted(entry.task)).then(|| heap.entries.pop()).flatten();
        self.len.store(heap.entries.len(), Relaxed);
        entry.map(|entry| entry.task)
    }

    #[cold]
    fn pop_locked(&self) -> Option<TaskRef> {
        let mut heap = self.heap.lock();
        let entry = heap.entries.pop();
        self.len.store(heap.entries.len(), Relaxed);
        entry.map(|entry| entry.task)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len.load(Relaxed) == 0
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Entry {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::pool::testing::{number, task};

    #[test]
    fn priority_then_age() {
        let urgent = Urgent::default();
        assert!(urgent.is_empty());
        assert_eq!(urgent.pop(), None);
        for (n, priority) in [(1, 1), (2, 5), (3, 1), (4, 127), (5, 5)] {
            urgent.push(task(n), priority);
        }
        assert!(!urgent.is_empty());
        let order: Vec<_> = std::iter::from_fn(|| urgent.pop()).map(number).collect();
        assert_eq!(order, [4, 2, 5, 1, 3]);
        assert!(urgent.is_empty());
    }
}
