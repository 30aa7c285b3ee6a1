//! Where the queues of `sq1` and `sq2` keep their tasks, under two memory managers (TP §4.2). A
//! manager places the nodes of a list. It does not place the slots of an array.

use std::panic::Location;

use super::named::{Named, Variant};
use super::params::Params;
use super::variants::{Dq5, Sq1, Sq2};
use crate::memory::Memory;
use crate::memory::variants::{Dgbk, Dgbkof};
use crate::pool::{Pool, Put};
use crate::task::{Header, NewTask, ScopePtr, TaskRef, VTable};

const TASKS: usize = 20;

/// The bytes of a task's block: a class of its own for the size of a header.
const BLOCK_BYTES: isize = 64;

/// A task in a block of the manager.
fn make<M: Memory>(manager: &M, local: &mut M::Local) -> TaskRef {
    let block = manager.alloc(local, size_of::<Header>());
    let new = NewTask {
        vtable: &VTable::OF_POOLS,
        scope: ScopePtr::DANGLING,
        order: 0,
        place: Location::caller(),
        priority: 0,
        extras: None,
        accesses: 0,
    };
    // SAFETY: the block is new, and has room for a header.
    unsafe { TaskRef::create(block, new) }
}

/// Puts tasks into a pool. `places` returns where its queue keeps them. Returns the distance from
/// each of these places to the next, and whether the places are the tasks' blocks.
fn distances<V: Variant, M: Memory>(places: fn(&Named<V>) -> Vec<usize>) -> (Vec<isize>, bool) {
    let (manager, mut blocks) = M::new(1);
    let (pool, mut locals) = Named::<V>::with(1, &Params::default());
    let tasks: Vec<_> = (0..TASKS).map(|_| make(&manager, &mut blocks[0])).collect();
    tasks.iter().for_each(|task| _ = pool.put(&mut locals[0], *task, Put::Spawned));
    let mut places = places(&pool);
    places.reverse();
    let starts: Vec<_> = tasks.iter().map(|task| task.as_ptr().addr().get()).collect();
    let inside = places == starts;
    let distances = places.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]).cast_signed()).collect();
    while let Some(task) = pool.take(&mut locals[0]) {
        // SAFETY: the block is this manager's, and nothing uses the task any more.
        unsafe { manager.free(&mut blocks[0], task.block()) };
    }
    (distances, inside)
}

/// `dgbk` cuts blocks from an array one by one, in ascending order. `dgbkof` puts all blocks of an
/// array on its list, so they come in descending order, except the first.
#[test]
fn a_manager_places_the_nodes_of_a_list_and_not_the_slots_of_an_array() {
    let list = |pool: &Named<Sq1>| pool.placement.places();
    let (ascending, inside) = distances::<Sq1, crate::memory::Named<Dgbk>>(list);
    assert!(inside && ascending == [BLOCK_BYTES; TASKS - 1], "{ascending:?}");
    let (descending, inside) = distances::<Sq1, crate::memory::Named<Dgbkof>>(list);
    assert!(inside && descending[1..] == [-BLOCK_BYTES; TASKS - 2], "{descending:?}");

    let array = |pool: &Named<Sq2>| pool.placement.places();
    for (slots, inside) in
        [distances::<Sq2, crate::memory::Named<Dgbk>>(array), distances::<Sq2, crate::memory::Named<Dgbkof>>(array)]
    {
        assert!(!inside && slots == [size_of::<TaskRef>().cast_signed(); TASKS - 1], "{slots:?}");
    }
}

/// The double list of `dq5` too.
#[test]
fn a_manager_places_the_nodes_of_a_double_list() {
    let list = |pool: &Named<Dq5>| pool.placement.places(0);
    let (ascending, inside) = distances::<Dq5, crate::memory::Named<Dgbk>>(list);
    assert!(inside && ascending == [BLOCK_BYTES; TASKS - 1], "{ascending:?}");
    let (descending, inside) = distances::<Dq5, crate::memory::Named<Dgbkof>>(list);
    assert!(inside && descending[1..] == [-BLOCK_BYTES; TASKS - 2], "{descending:?}");
}
