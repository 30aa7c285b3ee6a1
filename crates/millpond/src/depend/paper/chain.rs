//! Lists of accesses in separate nodes, for schemes that do not embed their lists (TG §4.1, §4.2).

use std::ptr::NonNull;

use crate::depend::store::{Kept, Local, Store};
use crate::sync::Guarded;
use crate::task::Record;

/// One access on a list.
#[derive(Debug, Default)]
pub struct Node {
    record: Guarded<Option<NonNull<Record>>>,
    next: Guarded<Link>,
}

type Link = Option<NonNull<Node>>;

/// Takes the lock of the store for a fork.
pub(super) fn take_lock() -> Box<dyn std::any::Any> {
    crate::depend::store::take_lock::<Node>()
}

impl Kept for Node {
    fn store() -> &'static Store<Self> {
        static STORE: Store<Node> = Store::new();
        &STORE
    }

    fn end_model(&self) {
        self.next.set(None);
    }
}

/// A list, which its holder uses under a lock. All zeros is an empty list.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Chain {
    head: Guarded<Link>,
    tail: Guarded<Link>,
}

impl Chain {
    /// Whether the list is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.head.get().is_none()
    }

    /// Adds an access at the end. O(1).
    pub(super) fn push(&self, nodes: &mut Local<Node>, record: &Record) {
        let new = nodes.take();
        // SAFETY: the node was just taken, and no other thread knows it.
        let node = unsafe { new.as_ref() };
        node.record.set(Some(record.into()));
        node.next.set(None);
        match self.tail.replace(Some(new)) {
            // SAFETY: a node stays on the list until it is taken off.
            Some(tail) => unsafe { tail.as_ref() }.next.set(Some(new)),
            None => self.head.set(Some(new)),
        }
    }

    /// Removes and returns the first access. O(1).
    pub(super) fn pop(&self, nodes: &mut Local<Node>) -> Option<NonNull<Record>> {
        let first = self.head.get()?;
        // SAFETY: as in `push`.
        let node = unsafe { first.as_ref() };
        let record = node.record.get();
        self.head.set(node.next.get());
        if node.next.get().is_none() {
            self.tail.set(None);
        }
        nodes.give(first);
        record
    }

    /// Removes an access if it is on this list, by a scan along the list (TG §4.1). O(length).
    pub(super) fn remove(&self, nodes: &mut Local<Node>, record: &Record) {
        let (mut before, mut at): (Link, Link) = (None, self.head.get());
        while let Some(here) = at {
            // SAFETY: as in `push`.
            let node = unsafe { here.as_ref() };
            let next = node.next.get();
            if node.record.get() == Some(record.into()) {
                match before {
                    // SAFETY: as in `push`.
                    Some(before) => unsafe { before.as_ref() }.next.set(next),
                    None => self.head.set(next),
                }
                if next.is_none() {
                    self.tail.set(before);
                }
                return nodes.give(here);
            }
            (before, at) = (at, next);
        }
    }

    /// Calls `with` for each access. O(length).
    pub(super) fn for_each(&self, mut with: impl FnMut(NonNull<Record>)) {
        let mut at = self.head.get();
        while let Some(node) = at {
            // SAFETY: as in `push`.
            let node = unsafe { node.as_ref() };
            node.record.get().into_iter().for_each(&mut with);
            at = node.next.get();
        }
    }
}
