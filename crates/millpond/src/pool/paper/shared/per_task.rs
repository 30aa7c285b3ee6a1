//! A doubly linked list with a lock for each task, so that threads work at both ends at once (TP
//! §4.2).
//!
//! ```text
//!     first  ⇄  node  ⇄  node  ⇄  …  ⇄  last          first and last hold no task
//! ```
//!
//! The locks of two neighbours guard the links between them: `next` of the first and `prev` of the
//! second. A thread that holds a node's lock may read both links of that node. So a put takes two
//! locks. A take takes three: the end's, the node's, and the lock of the node behind it.
//!
//! - At `first`, a thread waits for locks, in the direction of `next`.
//! - At `last`, a thread waits for the lock of `last` while it holds no other lock. It only tries
//!   the other locks, against that direction. If one of them is held, the thread releases all and
//!   starts again.
//!
//! So threads never wait in a circle: a thread waits only for a node behind all nodes that it
//! holds.
//!
//! A node whose task was taken is used again, at the same end. An end without spare nodes takes the
//! other end's, if that end's lock is free. The memory of a node stays allocated until the list is
//! dropped.
//!
//! A node is not used again while another thread tries its lock. That thread holds the lock of a
//! neighbour, and the neighbour's link says that the two are neighbours. To take the node, a thread
//! needs the same lock.

use std::marker::PhantomData;
use std::mem;
use std::ptr::{self, NonNull};

use super::super::lock::{Held, Lock, LockKind};
use super::super::settings::Settings;
use super::Shared;
use crate::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};
use crate::sync::{Guarded as Checked, spin_loop, yield_thread};
use crate::task::TaskRef;

/// See the [module](self).
pub struct PerTask<O> {
    first: Terminal,
    last: Terminal,
    lock: LockKind,
    order: PhantomData<fn() -> O>,
}

/// The order in which tasks are taken.
pub trait Order: 'static {
    /// Whether `take` returns the oldest task. If not, it returns the newest, and other workers
    /// take at the other end.
    const FIFO: bool;
}

/// First in, first out.
pub enum Fifo {}

/// Last in, first out.
pub enum Lifo {}

impl Order for Fifo {
    const FIFO: bool = true;
}

impl Order for Lifo {
    const FIFO: bool = false;
}

/// An end of the list.
struct Terminal {
    node: NonNull<Node>,
    /// Nodes that hold no task. The lock of `node` guards them.
    spare: Checked<Vec<NonNull<Node>>>,
    /// The number of tasks that were put at this end, minus the number taken here. It wraps around.
    /// The lock of `node` guards writes.
    net: AtomicUsize,
}

struct Node {
    lock: Lock,
    task: Checked<Option<TaskRef>>,
    // The locks guard these, as the module says. They are atomic because `looks_empty` reads one
    // without a lock.
    prev: AtomicPtr<Node>,
    next: AtomicPtr<Node>,
}

// SAFETY: the nodes belong to the list. Threads use them under the locks that the module names.
unsafe impl<O> Send for PerTask<O> {}
// SAFETY: as above.
unsafe impl<O> Sync for PerTask<O> {}

impl Node {
    fn new(lock: LockKind) -> NonNull<Node> {
        let null = || AtomicPtr::new(ptr::null_mut());
        let node = Node { lock: Lock::new(lock), task: Checked::new(None), prev: null(), next: null() };
        NonNull::from(Box::leak(Box::new(node)))
    }
}

impl Terminal {
    fn new(lock: LockKind) -> Self {
        Terminal { node: Node::new(lock), spare: Checked::new(Vec::new()), net: AtomicUsize::new(0) }
    }

    /// Adds 1 for a put, or -1 for a take. The caller holds the lock of this end.
    fn count(&self, change: isize) {
        self.net.store(self.net.load(Relaxed).wrapping_add_signed(change), Relaxed);
    }
}

/// The node at a pointer.
fn at<'a>(node: NonNull<Node>) -> &'a Node {
    // SAFETY: nodes stay until the list is dropped, and the list hands out no reference.
    unsafe { node.as_ref() }
}

/// What a link points to.
fn linked(link: &AtomicPtr<Node>) -> NonNull<Node> {
    NonNull::new(link.load(Relaxed)).expect("between the ends there is always a neighbour")
}

/// Makes two nodes neighbours. The caller holds the lock of each, unless it is new.
fn link(prev: NonNull<Node>, next: NonNull<Node>) {
    at(prev).next.store(next.as_ptr(), Relaxed);
    at(next).prev.store(prev.as_ptr(), Relaxed);
}

impl<O> PerTask<O> {
    /// Makes a node for a task. The caller holds the lock of the end `mine`.
    fn node(&self, task: TaskRef, mine: &Terminal, other: &Terminal) -> NonNull<Node> {
        let mut spare = mine.spare.take();
        if spare.is_empty()
            && let Some(_held) = at(other.node).lock.try_lock()
        {
            spare = other.spare.take();
        }
        let node = spare.pop().unwrap_or_else(|| Node::new(self.lock));
        mine.spare.set(spare);
        at(node).task.set(Some(task));
        mine.count(1);
        node
    }

    /// Takes the task of a node that is no longer in the list. The caller holds its lock and the
    /// lock of the end `mine`.
    fn vacate(&self, node: NonNull<Node>, held: Held<'_>, mine: &Terminal) -> Option<TaskRef> {
        let task = at(node).task.take();
        drop(held);
        let mut spare = mine.spare.take();
        spare.push(node);
        mine.spare.set(spare);
        mine.count(-1);
        task
    }

    /// The number of tasks, without a lock: an estimate while other threads put and take.
    fn len(&self) -> usize {
        let len = self.first.net.load(Relaxed).wrapping_add(self.last.net.load(Relaxed));
        // The two loads may see a take, but not its put.
        if len.cast_signed() < 0 { 0 } else { len }
    }

    fn put_first(&self, task: TaskRef) -> bool {
        let first = self.first.node;
        let _first = at(first).lock.lock();
        let node = self.node(task, &self.first, &self.last);
        let next = linked(&at(first).next);
        let _next = at(next).lock.lock();
        link(node, next);
        link(first, node);
        next == self.last.node
    }

    fn put_last(&self, task: TaskRef) -> bool {
        let last = self.last.node;
        for attempt in 1.. {
            let held = at(last).lock.lock();
            let prev = linked(&at(last).prev);
            let Some(_prev) = at(prev).lock.try_lock() else {
                drop(held);
                wait(attempt);
                continue;
            };
            let node = self.node(task, &self.last, &self.first);
            link(node, last);
            link(prev, node);
            return prev == self.first.node;
        }
        unreachable!("it loops until it returns")
    }

    fn take_first(&self, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        let first = self.first.node;
        let _first = at(first).lock.lock();
        let node = linked(&at(first).next);
        if node == self.last.node {
            return None;
        }
        let held = at(node).lock.lock();
        if !at(node).task.get().is_some_and(wanted) {
            return None;
        }
        let next = linked(&at(node).next);
        {
            let _next = at(next).lock.lock();
            link(first, next);
        }
        self.vacate(node, held, &self.first)
    }

    fn take_last(&self) -> Option<TaskRef> {
        let last = self.last.node;
        for attempt in 1.. {
            let end = at(last).lock.lock();
            let node = linked(&at(last).prev);
            if node == self.first.node {
                return None;
            }
            if let Some(held) = at(node).lock.try_lock() {
                let prev = linked(&at(node).prev);
                if let Some(_prev) = at(prev).lock.try_lock() {
                    link(prev, last);
                    return self.vacate(node, held, &self.last);
                }
            }
            drop(end);
            wait(attempt);
        }
        unreachable!("it loops until it returns")
    }
}

/// Waits between two attempts to take locks that other threads hold. A holder may have lost its
/// processor.
fn wait(attempt: u64) {
    if attempt.is_multiple_of(16) { yield_thread() } else { spin_loop() }
}

impl<O: Order> Shared for PerTask<O> {
    fn new(settings: &Settings) -> Self {
        let lock = settings.params.lock;
        let (first, last) = (Terminal::new(lock), Terminal::new(lock));
        link(first.node, last.node);
        PerTask { first, last, lock, order: PhantomData }
    }

    fn put(&self, task: TaskRef) -> bool {
        if O::FIFO { self.put_last(task) } else { self.put_first(task) }
    }

    /// Checks before it locks. Otherwise, searching threads would keep the putter of a first task
    /// from the lock.
    fn take(&self) -> Option<TaskRef> {
        if self.looks_empty() { None } else { self.take_first(|_| true) }
    }

    fn take_if(&self, wanted: impl Fn(TaskRef) -> bool) -> Option<TaskRef> {
        self.take_first(wanted)
    }

    fn steal(&self, more: impl FnOnce(usize) -> usize, stolen_tasks: &mut Vec<TaskRef>) -> Option<TaskRef> {
        let take = || if O::FIFO || self.looks_empty() { self.take() } else { self.take_last() };
        let more = more(self.len());
        let first = take()?;
        stolen_tasks.extend((0..more).map_while(|_| take()));
        Some(first)
    }

    fn looks_empty(&self) -> bool {
        at(self.first.node).next.load(Relaxed) == self.last.node.as_ptr()
    }
}

impl<O> Drop for PerTask<O> {
    fn drop(&mut self) {
        let mut nodes = mem::take(&mut self.first.spare.take());
        nodes.append(&mut self.last.spare.take());
        let mut node = self.first.node;
        while node != self.last.node {
            nodes.push(node);
            node = linked(&at(node).next);
        }
        nodes.push(node);
        for node in nodes {
            // SAFETY: each node is in one place: spare, or in the list. No other thread has a
            // pointer to it any more.
            drop(unsafe { Box::from_raw(node.as_ptr()) });
        }
    }
}
