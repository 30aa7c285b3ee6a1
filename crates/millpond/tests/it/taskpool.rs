//! The task pool without dependences. Each task runs once, on every pool and every memory manager,
//! whatever its users do.

mod bounds;
mod each_once;
mod phases;
mod values;

use millpond::Idle;
use millpond::memory::AnyMemory;
use millpond::memory::variants::by_name as manager_of;
use millpond::pool::AnyPool;
use millpond::pool::params::Params;
use millpond::pool::variants::by_name as pool_of;
use millpond::taskpool::TaskPool;

/// A task pool with parts that are chosen by name.
type Any<A> = TaskPool<A, AnyMemory, AnyPool>;

/// The pool of these names.
fn any<A: Send>(workers: usize, pool: &str, memory: &str) -> Any<A> {
    let memory = manager_of(memory).expect("a memory manager");
    let pool = pool_of(pool, Params::default()).expect("a pool");
    TaskPool::create_with(workers, &memory, &pool, Idle::ByPool)
}
