//! The two-lock queue of M. M. Michael and M. L. Scott, *Simple, fast, and practical non-blocking
//! and blocking concurrent queue algorithms*, PODC 1996, Figure 2 (TP's \[23\]). It is first in,
//! first out. It has one lock to put, and another to take.
//!
//! The node at the head is a dummy. Its successor has the oldest task.
//!
//! - Put, with the tail's lock: the new node has no successor. A release store makes it the
//!   successor of the last node; from then on it is the last node.
//! - Take, with the head's lock: an acquire load reads the successor of the dummy. The successor
//!   gives up its task and becomes the dummy. The old dummy is free: it was not the last node, so
//!   no put reads it.
//!
//! A put and a take meet only at the link of the dummy, when the queue is empty. The take sees
//! either the new node with its task, or no node.
//!
//! Nodes freed by takes are used again. A put without a node takes all of them, if the head's lock
//! is free. No thread waits for a lock while it holds another one.

use std::mem;
use std::ptr::{self, NonNull};

use super::super::lock::Guarded;
use super::super::settings::Settings;
use super::Shared;
use crate::sync::Guarded as Checked;
use crate::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::task::TaskRef;

/// See the [module](self).
pub struct TwoLock {
    head: Guarded<Head>,
    tail: Guarded<Tail>,
    /// The numbers of tasks that were taken and put. Each is written under its lock.
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

// SAFETY: the nodes belong to the queue. Only the holder of the lock reaches them, as the module
// says.
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

    /// Takes the task of that node. The node becomes the dummy.
    fn take(&mut self, oldest: NonNull<Node>) -> Option<TaskRef> {
        self.spare.push(mem::replace(&mut self.dummy, oldest));
        // SAFETY: nodes live as long as the queue. The holder of the head's lock may touch the task
        // of a node that it has reached.
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
    fn new(settings: &Settings) -> Self {
        let (dummy, lock) = (Node::new(), settings.params.lock);
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
            // SAFETY: nodes live as long as the queue. No other thread knows this one.
            let fresh = unsafe { node.as_ref() };
            fresh.task.set(Some(task));
            fresh.next.store(ptr::null_mut(), Ordering::Relaxed);
            let last = mem::replace(&mut tail.last, node);
            // SAFETY: as above. The last node is not freed before it has a successor.
            unsafe { last.as_ref() }.next.store(node.as_ptr(), Ordering::Release);
            let before = self.put.load(Ordering::Relaxed);
            self.put.store(before + 1, Ordering::Relaxed);
            // There is no SeqCst fence here. So this may miss a take whose thread falls asleep
            // without seeing this put (`Shared::put`).
            before == self.taken.load(Ordering::Relaxed)
        })
    }

    fn take(&self) -> Option<TaskRef> {
        self.take_if(|_| true)
    }

    fn take_if(&self, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        self.head.with(|head| {
            let oldest = head.oldest()?;
            // SAFETY: nodes live as long as the queue. The task was set before the node could be
            // reached.
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
        // In this order: a task is put before it is taken, so a queue that holds a task never looks
        // empty.
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
            // SAFETY: each node is in one place: spare, or in the list. No other thread has a
            // pointer to it any more.
            drop(unsafe { Box::from_raw(node.as_ptr()) });
        }
    }
}
