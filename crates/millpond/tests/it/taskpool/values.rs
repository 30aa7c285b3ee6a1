//! Arguments of any kind, and the memory manager's half of the interface.

use std::sync::Arc;

use millpond::catalogue::MEMORY;
use millpond::taskpool::TaskPool;

use super::{Any, any};

#[repr(align(64))]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wide([u8; 3]);

#[repr(align(128))]
struct TooWide;

/// Runs a task with the argument `value`, with every memory manager.
fn arrives<A: Send + Sync + Clone + PartialEq + std::fmt::Debug>(value: A) {
    for row in MEMORY {
        let pool: Any<(A, Arc<A>)> = any(1, "default", row.name);
        pool.init(0, |_, (found, expected)| assert_eq!(found, *expected), (value.clone(), Arc::new(value.clone())));
        pool.run(0);
        assert_eq!(pool.counts()[0].tasks, 1);
    }
}

#[test]
fn small_large_and_aligned() {
    arrives(());
    arrives(1_u8);
    arrives(Wide([1, 2, 3]));
    arrives([7_u64; 40]);
    arrives([7_u64; 2000]);
    arrives("text".to_owned());
    for row in MEMORY {
        let pool: Any<Wide> = any(1, "default", row.name);
        let mut worker = pool.worker(0);
        let arguments: Vec<_> = (0..9).map(|n| worker.alloc_arg(Wide([n; 3]))).collect();
        for (argument, n) in arguments.into_iter().zip(0..) {
            assert_eq!((&raw const *argument).addr() % 64, 0, "{}", row.name);
            assert_eq!(worker.free_arg(argument), Wide([n; 3]));
        }
    }
}

#[test]
#[should_panic(expected = "an argument is aligned to 64 at most")]
fn one_that_is_aligned_to_more_is_refused() {
    drop(TaskPool::<TooWide>::create(1));
}

#[test]
fn what_is_not_given_back_is_dropped_and_its_block_freed() {
    for row in MEMORY {
        let held = Arc::new(());
        let pool: Any<Arc<()>> = any(2, "default", row.name);
        for number in [0, 1] {
            let mut worker = pool.worker(number);
            drop(worker.alloc_arg(held.clone()));
            let argument = worker.alloc_arg(held.clone());
            drop(worker.alloc_task(|_, _| (), argument));
        }
        assert_eq!(Arc::strong_count(&held), 1, "{}", row.name);
        // AddressSanitizer reports a block that is not freed.
        assert_eq!(pool.finalize(), 0);
    }
}

#[test]
fn a_task_by_hand() {
    let pool = TaskPool::<Vec<u32>>::create(2);
    let mut worker = pool.worker(0);
    let mut argument = worker.alloc_arg(vec![1]);
    argument.push(2);
    let task = worker.alloc_task(|_, numbers| assert_eq!(numbers, [1, 2, 3]), argument);
    let (function, mut argument) = worker.free_task(task);
    argument.push(3);
    let task = worker.alloc_task(function, argument);
    worker.put_task(task);
    drop(worker);
    // Another worker gets it, and may free its blocks.
    pool.run(1);
    assert_eq!((pool.counts()[0].tasks, pool.counts()[1].tasks), (0, 1));
}

#[test]
#[should_panic(expected = "an argument or a task of another pool")]
fn an_argument_of_another_pool_is_refused() {
    let (one, other) = (TaskPool::<u32>::create(1), TaskPool::<u32>::create(1));
    let argument = one.worker(0).alloc_arg(1);
    other.worker(0).free_arg(argument);
}

#[test]
#[should_panic(expected = "an argument or a task of another pool")]
fn a_task_of_another_pool_is_refused() {
    let (one, other) = (TaskPool::<u32>::create(1), TaskPool::<u32>::create(1));
    let argument = one.worker(0).alloc_arg(1);
    let task = one.worker(0).alloc_task(|_, _| (), argument);
    other.worker(0).put_task(task);
}
