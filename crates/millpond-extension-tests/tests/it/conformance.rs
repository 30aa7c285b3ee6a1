//! The parts of this crate pass `millpond::conformance`.

use millpond::catalogue::{Names, Registry, Row};
use millpond::conformance;
use millpond_extension_tests::memory::Malloc;
use millpond_extension_tests::pool::RoundRobin;
use millpond_extension_tests::scheme::Queues;

#[test]
fn of_the_pool() {
    conformance::pool::<RoundRobin>();
}

#[test]
fn of_the_memory_manager() {
    conformance::memory::<Malloc>();
}

#[test]
fn of_the_scheme() {
    conformance::scheme::<Queues>();
}

/// Each alone, all together, and with members of the catalogue.
#[test]
fn of_runtimes() {
    let registry = Registry::default()
        .with_pool::<RoundRobin>(Row::of_pool::<RoundRobin>("a locked deque per worker", "here"))
        .and_then(|registry| registry.with_memory::<Malloc>(Row::of_memory::<Malloc>("the global allocator", "here")))
        .and_then(|registry| registry.with_scheme::<Queues>(Row::of_scheme::<Queues>("a queue per version", "here")))
        .expect("the names are new");
    // If the stack is the default scheme, it takes no other pool and memory manager.
    let with = Names { scheme: "list", ..Names::default() };
    for names in [
        Names { pool: "round-robin", ..with },
        Names { memory: "system", ..with },
        Names { scheme: "queues", ..with },
        Names { scheme: "queues", pool: "round-robin", memory: "system" },
        Names { scheme: "queues", pool: "dq8", memory: "dgbkof" },
        Names { scheme: "tickets", pool: "round-robin", memory: "cgbk" },
    ] {
        conformance::runtime(&registry, names);
    }
}
