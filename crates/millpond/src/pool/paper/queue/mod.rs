//! Queues for one thread at a time (TP §4.2): a worker's own queue, or a queue behind a lock.

use crate::task::TaskRef;

mod array;
mod double_list;
mod list;

pub(crate) use array::Array;
pub(crate) use double_list::DoubleList;
pub(crate) use list::List;

/// The index of a node in a list, or `END`.
type NodeIndex = u32;

const END: NodeIndex = NodeIndex::MAX;

/// Holds tasks. Its working end is last in, first out.
pub trait Queue: Default + Send {
    /// Adds a task at the working end.
    fn push(&mut self, task: TaskRef);

    /// Takes the task at the working end.
    fn pop(&mut self) -> Option<TaskRef>;

    /// The task at the working end.
    fn newest(&self) -> Option<TaskRef>;

    /// The number of tasks.
    fn len(&self) -> usize;
}

/// A queue that also has an opposite end.
pub trait TwoEnds: Queue {
    /// Takes the oldest task.
    fn pop_oldest(&mut self) -> Option<TaskRef>;
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::pool::testing::{number, task};

    /// Many more tasks than fit into an array.
    const MANY: usize = 5000;

    fn last_in_first_out<Q: Queue>() {
        let mut queue = Q::default();
        for round in 1..=3 {
            for n in 1..=MANY {
                queue.push(task(n));
                assert_eq!((queue.newest().map(number), queue.len()), (Some(n), n), "round {round}");
            }
            for n in (1..=MANY).rev() {
                assert_eq!(queue.pop().map(number), Some(n), "round {round}");
            }
            assert_eq!((queue.pop(), queue.newest(), queue.len()), (None, None, 0));
        }
        // Goes up and down around the place where one array ends and the next begins.
        let mut expected = Vec::new();
        for n in 1..=MANY {
            queue.push(task(n));
            expected.push(n);
            for _ in 0..n % 3 {
                assert_eq!(queue.pop().map(number), expected.pop());
            }
        }
    }

    #[test]
    fn every_queue_is_last_in_first_out() {
        last_in_first_out::<List>();
        last_in_first_out::<Array>();
        last_in_first_out::<DoubleList>();
    }

    #[test]
    fn from_both_ends_each_once() {
        let mut queue = DoubleList::default();
        (1..=9).for_each(|n| queue.push(task(n)));
        let oldest: Vec<_> = std::iter::from_fn(|| queue.pop_oldest()).take(4).map(number).collect();
        assert_eq!(oldest, [1, 2, 3, 4]);
        assert_eq!(queue.pop().map(number), Some(9));
        queue.push(task(10));
        let rest: Vec<_> = std::iter::from_fn(|| queue.pop_oldest()).map(number).collect();
        assert_eq!(rest, [5, 6, 7, 8, 10]);
        queue.push(task(1));
        assert_eq!((queue.pop_oldest().map(number), queue.pop()), (Some(1), None));
    }
}
