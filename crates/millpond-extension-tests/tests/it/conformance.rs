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

/// Runtimes of members of the catalogue and of the parts of this crate.
fn runtimes(all: [Names<'_>; 2]) {
    let registry = Registry::default()
        .with_pool::<RoundRobin>(Row::of_pool::<RoundRobin>("a locked deque per worker", "here"))
        .and_then(|registry| registry.with_memory::<Malloc>(Row::of_memory::<Malloc>("the global allocator", "here")))
        .and_then(|registry| registry.with_scheme::<Queues>(Row::of_scheme::<Queues>("a queue per version", "here")))
        .expect("the names are new");
    all.into_iter().for_each(|names| conformance::runtime(&registry, names));
}

/// The default parts. If the stack is the default scheme, it takes no other pool and memory
/// manager.
fn usual() -> Names<'static> {
    Names { scheme: "list", ..Names::default() }
}

#[test]
fn of_runtimes_with_the_pool() {
    runtimes([
        Names { pool: "round-robin", ..usual() },
        Names { scheme: "tickets", pool: "round-robin", memory: "cgbk" },
    ]);
}

#[test]
fn of_runtimes_with_the_memory_manager() {
    runtimes([
        Names { memory: "system", ..usual() },
        Names { scheme: "queues", pool: "round-robin", memory: "system" },
    ]);
}

#[test]
fn of_runtimes_with_the_scheme() {
    runtimes([Names { scheme: "queues", ..usual() }, Names { scheme: "queues", pool: "dq8", memory: "dgbkof" }]);
}
