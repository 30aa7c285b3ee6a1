//! A singly linked list. It allocates nodes when needed, and uses them again.

use super::{END, NodeIndex, Queue};
use crate::task::TaskRef;

/// See the [module](self).
#[derive(Debug)]
pub struct List {
    nodes: Vec<Node>,
    newest: NodeIndex,
    /// The first node that holds no task.
    spare: NodeIndex,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    task: TaskRef,
    next: NodeIndex,
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
                self.newest = node_index(self.nodes.len());
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

/// Checks that the index of a node is a `NodeIndex`.
fn node_index(index: usize) -> NodeIndex {
    let node = NodeIndex::try_from(index).expect("a task takes a line at least, so there are fewer");
    assert!(node != END, "4294967295 tasks are ready");
    node
}
