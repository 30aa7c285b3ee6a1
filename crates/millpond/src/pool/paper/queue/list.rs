//! A singly linked list. It allocates nodes when needed, and uses them again.

use super::Queue;
use crate::task::TaskRef;

/// The index of a node, or `END`.
type Place = u32;

const END: Place = Place::MAX;

/// See the [module](self).
#[derive(Debug)]
pub struct List {
    nodes: Vec<Node>,
    newest: Place,
    /// The first node that holds no task.
    spare: Place,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    task: TaskRef,
    next: Place,
}

impl Default for List {
    fn default() -> Self {
        List { nodes: Vec::new(), newest: END, spare: END, len: 0 }
    }
}

impl Queue for List {
    #[inline]
    fn push(&mut self, task: TaskRef) {
        let node = Node { task, next: self.newest };
        self.len += 1;
        match self.nodes.get_mut(self.spare as usize) {
            Some(spare) => {
                self.newest = self.spare;
                self.spare = spare.next;
                *spare = node;
            }
            None => {
                self.newest = place(self.nodes.len());
                self.nodes.push(node);
            }
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<TaskRef> {
        let node = self.nodes.get_mut(self.newest as usize)?;
        let (here, task) = (self.newest, node.task);
        self.newest = node.next;
        node.next = self.spare;
        self.spare = here;
        self.len -= 1;
        Some(task)
    }

    #[inline]
    fn newest(&self) -> Option<TaskRef> {
        self.nodes.get(self.newest as usize).map(|node| node.task)
    }

    #[inline]
    fn len(&self) -> usize {
        self.len
    }
}

/// Checks that the index of a node is a `Place`.
fn place(index: usize) -> Place {
    let place = Place::try_from(index).expect("a task takes a line at least, so there are fewer");
    assert!(place != END, "4294967295 tasks are ready");
    place
}
