//! A doubly linked list. It allocates nodes when needed, and uses them again.

use super::{END, NodeIndex, Queue, TwoEnds};
use crate::task::TaskRef;

/// See the [module](self).
#[derive(Debug)]
pub struct DoubleList {
    nodes: Vec<Node>,
    newest: NodeIndex,
    oldest: NodeIndex,
    /// The first node that holds no task.
    spare: NodeIndex,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    task: TaskRef,
    older: NodeIndex,
    newer: NodeIndex,
}

impl Default for DoubleList {
    fn default() -> Self {
        DoubleList { nodes: Vec::new(), newest: END, oldest: END, spare: END, len: 0 }
    }
}

impl DoubleList {
    /// Takes the task of a node at one of the ends. The node becomes spare.
    #[inline]
    fn vacate(&mut self, here: NodeIndex) -> TaskRef {
        let node = &mut self.nodes[here as usize];
        let task = node.task;
        node.older = self.spare;
        self.spare = here;
        self.len -= 1;
        task
    }
}

impl Queue for DoubleList {
    #[inline]
    fn push(&mut self, task: TaskRef) {
        let node = Node { task, older: self.newest, newer: END };
        let here = match self.nodes.get_mut(self.spare as usize) {
            Some(spare) => {
                let here = self.spare;
                self.spare = spare.older;
                *spare = node;
                here
            }
            None => {
                self.nodes.push(node);
                NodeIndex::try_from(self.nodes.len() - 1).expect("a task takes a line at least, so there are fewer")
            }
        };
        match self.nodes.get_mut(self.newest as usize) {
            Some(before) => before.newer = here,
            None => self.oldest = here,
        }
        self.newest = here;
        self.len += 1;
    }

    #[inline]
    fn pop(&mut self) -> Option<TaskRef> {
        let here = self.newest;
        let older = self.nodes.get(here as usize)?.older;
        self.newest = older;
        match self.nodes.get_mut(older as usize) {
            Some(node) => node.newer = END,
            None => self.oldest = END,
        }
        Some(self.vacate(here))
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

impl TwoEnds for DoubleList {
    #[inline]
    fn pop_oldest(&mut self) -> Option<TaskRef> {
        let here = self.oldest;
        let newer = self.nodes.get(here as usize)?.newer;
        self.oldest = newer;
        match self.nodes.get_mut(newer as usize) {
            Some(node) => node.older = END,
            None => self.newest = END,
        }
        Some(self.vacate(here))
    }
}
