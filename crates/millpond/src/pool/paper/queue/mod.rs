//! Queues for one thread at a time (TP §4.2): a worker's own queue, or a queue behind a lock.

use super::settings::Settings;
use crate::task::TaskRef;

mod array;
mod double_list;
mod list;

pub(crate) use array::Array;
pub(crate) use double_list::DoubleList;
pub(crate) use list::List;

/// Holds tasks. Its working end is last in, first out.
pub trait Queue: Send {
    /// Whether [`Params::capacity`](super::params::Params::capacity) affects it.
    const HAS_CAPACITY: bool = false;

    /// Makes an empty queue.
    fn new(settings: &Settings) -> Self;

    /// Adds a task at the working end.
    fn push(&mut self, task: TaskRef);

    /// Takes the task at the working end.
    fn pop(&mut self) -> Option<TaskRef>;

    /// The task at the working end.
    fn newest(&self) -> Option<TaskRef>;

    /// The number of tasks.
    fn len(&self) -> usize;

    /// Where the queue's own words for its tasks lie, from the newest task to the oldest: the block
    /// with the link, or the slot of an array.
    #[cfg(all(test, not(loom)))]
    fn places(&self) -> Vec<usize>;
}

/// A queue that also has an opposite end.
pub trait TwoEnds: Queue {
    /// Takes the oldest task.
    fn pop_oldest(&mut self) -> Option<TaskRef>;
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::pool::params::Params;
    use crate::pool::testing::{Tasks, number};

    /// Many more tasks than fit into an array.
    const MANY: usize = 5000;

    fn last_in_first_out<Q: Queue>() {
        let tasks = Tasks::new(MANY);
        let mut queue = Q::new(&Settings::new(Params::default()));
        for round in 1..=3 {
            for n in 1..=MANY {
                queue.push(tasks.task(n));
                assert_eq!((queue.newest().map(number), queue.len()), (Some(n), n), "round {round}");
            }
            assert_eq!(queue.places().len(), MANY, "round {round}");
            for n in (1..=MANY).rev() {
                assert_eq!(queue.pop().map(number), Some(n), "round {round}");
            }
            assert_eq!((queue.pop(), queue.newest(), queue.len()), (None, None, 0));
        }
        // Goes up and down around the place where one array ends and the next begins.
        let mut expected = Vec::new();
        for n in 1..=MANY {
            queue.push(tasks.task(n));
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
        let tasks = Tasks::new(10);
        let mut queue = DoubleList::new(&Settings::new(Params::default()));
        (1..=9).for_each(|n| queue.push(tasks.task(n)));
        let oldest: Vec<_> = std::iter::from_fn(|| queue.pop_oldest()).take(4).map(number).collect();
        assert_eq!(oldest, [1, 2, 3, 4]);
        assert_eq!(queue.pop().map(number), Some(9));
        queue.push(tasks.task(10));
        let rest: Vec<_> = std::iter::from_fn(|| queue.pop_oldest()).map(number).collect();
        assert_eq!(rest, [5, 6, 7, 8, 10]);
        queue.push(tasks.task(1));
        assert_eq!((queue.pop_oldest().map(number), queue.pop()), (Some(1), None));
    }

    #[test]
    fn an_array_has_the_given_size_and_another_one_is_counted() {
        let tasks = Tasks::new(25);
        let settings = Settings::new(Params { capacity: 10, ..Params::default() });
        let mut queue = Array::new(&settings);
        let push = |queue: &mut Array, n| {
            queue.push(tasks.task(n));
            settings.tally.more_arrays()
        };
        let counted: Vec<_> = (1..=25).map(|n| push(&mut queue, n)).collect();
        assert_eq!((&counted[..10], &counted[10..20], &counted[20..]), (&[0; 10][..], &[1; 10][..], &[2; 5][..]));
        // An array that was emptied is used again.
        assert_eq!((0..10).filter_map(|_| queue.pop()).count(), 10);
        assert_eq!((16..=25).map(|n| push(&mut queue, n)).last(), Some(2));
    }
}
