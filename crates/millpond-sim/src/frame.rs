//! A frame of a stack: the children of a running or finished task ([DDS](crate#sources) §3, Fig.
//! 2).

use std::collections::BTreeSet;

use crate::order::Order;
use crate::program::{Children, Program, Size, Work};

/// A stack of the simulation. Numbers are not reused.
pub(crate) type StackId = u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Waiting,
    /// The owner of the stack runs it.
    Begun,
    /// A thief runs it, on this stack.
    Stolen(StackId),
    Done,
}

#[derive(Debug)]
pub(crate) struct Child<T> {
    pub(crate) task: T,
    pub(crate) size: Size,
    pub(crate) state: State,
    /// The total work of the siblings before it.
    before: Work,
    /// The work of the parent's body before this child's creation.
    created: Work,
}

#[derive(Debug)]
pub(crate) struct Frame<T> {
    pub(crate) children: Vec<Child<T>>,
    /// The owner's position: all children before it are finished.
    pub(crate) next: usize,
    order: Option<Order>,
    /// With an order: the children that have not begun and whose predecessors are finished.
    ready: BTreeSet<u32>,
    /// Without an order: no child before this one is waiting.
    free: usize,
    /// The children ever taken by a thief, from `next` on.
    taken: BTreeSet<u32>,
}

impl<T: Clone> Frame<T> {
    /// The children of a task.
    pub(crate) fn of<P: Program<Task = T>>(program: &P, task: &T) -> Self {
        let mut children = Children::new();
        program.children(task, &mut children);
        let order = Order::of(&children);
        let mut before = 0;
        let children: Vec<_> = children
            .tasks
            .into_iter()
            .zip(children.created)
            .map(|(task, created)| {
                let size = program.size(&task);
                let child = Child { task, size, state: State::Waiting, before, created };
                before += size.work;
                child
            })
            .collect();
        let met = |child: &u32| order.as_ref().is_some_and(|order| order.is_met(*child));
        let ready = (0..children.len() as u32).filter(met).collect();
        Frame { children, next: 0, order, ready, free: 0, taken: BTreeSet::new() }
    }

    /// The number of tasks of its children and all their descendants.
    pub(crate) fn tasks(&self) -> u64 {
        self.children.iter().map(|child| child.size.tasks).sum()
    }

    /// The lowest frame of a stack: the stolen closure, or the whole program.
    pub(crate) fn root(task: T, size: Size) -> Self {
        let children = vec![Child { task, size, state: State::Waiting, before: 0, created: 0 }];
        Frame { children, next: 0, order: None, ready: BTreeSet::new(), free: 0, taken: BTreeSet::new() }
    }

    /// The owner begins its current child. It need not check the order, because all children before
    /// are finished.
    pub(crate) fn begin(&mut self) {
        self.children[self.next].state = State::Begun;
        self.ready.remove(&(self.next as u32));
    }

    /// A child is finished, by the owner or a thief.
    pub(crate) fn finish(&mut self, child: usize) {
        self.children[child].state = State::Done;
        if let Some(order) = &mut self.order {
            let (children, ready) = (&self.children, &mut self.ready);
            order.finish(child as u32, |met| {
                if children[met as usize].state == State::Waiting {
                    ready.insert(met);
                }
            });
        }
    }

    /// The owner continues with the next child.
    pub(crate) fn step(&mut self) {
        self.next += 1;
        while self.taken.first().is_some_and(|&child| (child as usize) < self.next) {
            self.taken.pop_first();
        }
    }

    /// The child that a thief would take: the first ready one ([DDS](crate#sources) §3) among those
    /// created within this much of the body's work.
    pub(crate) fn first_ready(&mut self, body: Work) -> Option<usize> {
        let first =
            if self.order.is_some() { self.ready.first().map(|&child| child as usize) } else { self.first_free() };
        first.filter(|&child| self.children[child].created <= body)
    }

    /// Without an order: the first child that is not taken.
    fn first_free(&mut self) -> Option<usize> {
        self.free = self.free.max(self.next);
        while self.children.get(self.free).is_some_and(|child| child.state != State::Waiting) {
            self.free += 1;
        }
        Some(self.free).filter(|&child| child < self.children.len())
    }

    pub(crate) fn steal(&mut self, child: usize, by: StackId) {
        self.children[child].state = State::Stolen(by);
        self.ready.remove(&(child as u32));
        self.taken.insert(child as u32);
    }

    /// The thief is lost: its closure is available again.
    pub(crate) fn put_back(&mut self, child: usize) {
        self.children[child].state = State::Waiting;
        self.free = self.free.min(child);
        if self.order.is_some() {
            self.ready.insert(child as u32);
        }
    }

    /// The stacks on which its children run.
    pub(crate) fn stolen(&self) -> impl Iterator<Item = StackId> {
        self.taken.iter().filter_map(|&child| match self.children[child as usize].state {
            State::Stolen(by) => Some(by),
            _ => None,
        })
    }

    /// The work from child `from` up to the next child taken by a thief, and whether such a child
    /// exists.
    pub(crate) fn undisturbed(&self, from: usize) -> (Work, bool) {
        let first = self.taken.range(from as u32..).next();
        let before = |child: usize| {
            let end = || self.children.last().map_or(0, |last| last.before + last.size.work);
            self.children.get(child).map_or_else(end, |child| child.before)
        };
        let to = first.map_or(self.children.len(), |&child| child as usize);
        (before(to) - before(from), first.is_some())
    }
}
