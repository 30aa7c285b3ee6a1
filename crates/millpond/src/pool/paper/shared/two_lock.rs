//! The two-lock queue of M. M. Michael and M. L. Scott, *Simple, fast, and practical non-blocking and blocking concurrent
//! queue algorithms*, PODC 1996, Figure 2 (TP's \[23\]): first in, first out; one lock to put, another to take.
//!
//! The node at the head is a dummy; its successor has the oldest task.
//!
//! - Put, with the tail's lock: the new node has no successor; it becomes the successor of the last one, by a release
//!   store, and the last one.
//! - Take, with the head's lock: the successor of the dummy, by an acquire load, gives up its task, and is the dummy from
//!   then on. The old one is nobody's: it was not the last, so no put looks at it.
//!
//! The two meet only at the link of the dummy when the queue is empty: take sees the new node, with its task, or none.
//!
//! Nodes that takes leave are used again: a put that has none takes all that are there, if the head's lock is free. Nobody
//! waits for a lock with another one in hand.

use std::mem;
use std::ptr::{self, NonNull};

use super::super::lock::{Guarded, LockKind};
use super::Shared;
use crate::sync::Guarded as Checked;
use crate::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::task::TaskRef;

/// See the [module](self).
pub struct TwoLock {
    head: Guarded<Head>,
    tail: Guarded<Tail>,
    /// How many tasks were taken, and put; each written under its lock.
    taken: AtomicUsize,
    put: AtomicUsize,
}

struct Head {
    dummy: NonNull<Node>,
    spare: Vec<NonNull<Node>>,
}

struct Tail {
    last: NonNull<Node>,
    spare: Vec<NonNull<Node>>,
}

// SAFETY: nodes are the queue's, and reached by who has the lock, as the module says.
unsafe impl Send for Head {}
// SAFETY: as above.
unsafe impl Send for Tail {}

struct Node {
    task: Checked<Option<TaskRef>>,
    next: AtomicPtr<Node>,
}

impl Node {
    fn new() -> NonNull<Node> {
        let node = Node { task: Checked::new(None), next: AtomicPtr::new(ptr::null_mut()) };
        NonNull::from(Box::leak(Box::new(node)))
    }
}

impl Head {
    /// The node of the oldest task.
    fn oldest(&self) -> Option<NonNull<Node>> {
        // SAFETY: nodes live as long as the queue.
        NonNull::new(unsafe { self.dummy.as_ref() }.next.load(Ordering::Acquire))
    }

    /// Takes the task of that node.
    fn take(&mut self, oldest: NonNull<Node>) -> Option<TaskRef> {
        self.spare.push(mem::replace(&mut self.dummy, oldest));
        // SAFETY: nodes live as long as the queue; who has the head's lock may touch the task of what it has reached.
        unsafe { oldest.as_ref() }.task.take()
    }
}

impl TwoLock {
    fn taken(&self, head: &mut Head, oldest: NonNull<Node>) -> Option<TaskRef> {
        self.taken.store(self.taken.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        head.take(oldest)
    }

    fn node(&self, tail: &mut Tail) -> NonNull<Node> {
        if tail.spare.is_empty() {
            self.head.try_with(|head| mem::swap(&mut head.spare, &mut tail.spare));
        }
        tail.spare.pop().unwrap_or_else(Node::new)
    }
}

impl Shared for TwoLock {
    fn new(lock: LockKind) -> Self {
        let dummy = Node::new();
        TwoLock {
            head: Guarded::new(lock, Head { dummy, spare: Vec::new() }),
            tail: Guarded::new(lock, Tail { last: dummy, spare: Vec::new() }),
            taken: AtomicUsize::new(0),
            put: AtomicUsize::new(0),
        }
    }

    fn put(&self, task: TaskRef) -> bool {
        self.tail.with(|tail| {
            let node = self.node(tail);
            // SAFETY: nodes live as long as the queue; this one is nobody's.
            let fresh = unsafe { node.as_ref() };
            fresh.task.set(Some(task));
            fresh.next.store(ptr::null_mut(), Ordering::Relaxed);
            let last = mem::replace(&mut tail.last, node);
            // SAFETY: as above; the last node is not given up before it has a successor.
            unsafe { last.as_ref() }.next.store(node.as_ptr(), Ordering::Release);
            let before = self.put.load(Ordering::Relaxed);
            self.put.store(before + 1, Ordering::Relaxed);
            // Without a SeqCst fence here this may miss a take whose thread falls asleep without seeing this put (`Shared::put`).
            before == self.taken.load(Ordering::Relaxed)
        })
    }

    fn take(&self) -> Option<TaskRef> {
        self.take_if(|_| true)
    }

    fn take_if(&self, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        self.head.with(|head| {
            let oldest = head.oldest()?;
            // SAFETY: nodes live as long as the queue; its task was set before it could be reached.
            let task = unsafe { oldest.as_ref() }.task.get()?;
            if wanted(task) { self.taken(head, oldest) } else { None }
        })
    }

    fn steal(&self, more: impl FnOnce(usize) -> usize, stolen_tasks: &mut Vec<TaskRef>) -> Option<TaskRef> {
        let len = self.put.load(Ordering::Relaxed).saturating_sub(self.taken.load(Ordering::Relaxed));
        let first = self.take()?;
        stolen_tasks.extend((0..more(len)).map_while(|_| self.take()));
        Some(first)
    }

    fn looks_empty(&self) -> bool {
        // In this order: what is taken was put before, so nothing looks taken that is there.
        let taken = self.taken.load(Ordering::Relaxed);
        taken == self.put.load(Ordering::Relaxed)
    }
}

impl Drop for TwoLock {
    fn drop(&mut self) {
        let mut nodes = self.tail.with(|tail| mem::take(&mut tail.spare));
        self.head.with(|head| {
            nodes.append(&mut head.spare);
            while let Some(next) = head.oldest() {
                nodes.push(mem::replace(&mut head.dummy, next));
            }
            nodes.push(head.dummy);
        });
        for node in nodes {
            // SAFETY: each is in one place: spare, or in the list, of which nobody else knows any more.
            drop(unsafe { Box::from_raw(node.as_ptr()) });
        }
    }
}
