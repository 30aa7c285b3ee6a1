//! The runtimes: a table entry and a file for each, which runs a graph on it.

pub mod ceiling;
mod chili;
mod millpond;
mod program;
mod rayon;
mod serial;

use crate::graph::{Case, Graph};
use crate::work::Outcome;
use program::Program;

/// A started runtime with a fixed number of workers.
pub trait Peer {
    /// Runs a case that it can express. The data are made before the clock starts, and dropped
    /// after it stops.
    fn run(&mut self, case: &Case) -> Result<Outcome, String>;
}

/// A runtime of the table.
pub struct Runtime {
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// Whether it can express a graph.
    pub can: fn(Graph) -> bool,
    /// Its start.
    start: Start,
}

enum Start {
    /// By a function of this program.
    Here(fn(usize) -> Result<Box<dyn Peer>, String>),
    /// As a program made by the build script, if possible.
    Program(&'static Program),
}

/// Every runtime, in the order of the tables.
pub static RUNTIMES: &[Runtime] = &[
    Runtime {
        name: SERIAL,
        summary: "The bodies in a plain loop; no runtime at all",
        can: |_| true,
        start: Start::Here(serial::start),
    },
    Runtime {
        name: CEILING,
        summary: "The bodies in one serial process per worker, without dependences: what the machine can reach",
        can: is_graph,
        start: Start::Here(ceiling::start),
    },
    Runtime {
        name: MILLPOND,
        summary: "millpond at its defaults: short ready tasks run at their spawn",
        can: |_| true,
        start: Start::Here(millpond::start),
    },
    Runtime {
        name: QUEUED,
        summary: "millpond without that: every task goes through the pool",
        can: is_graph,
        start: Start::Here(millpond::start_queued),
    },
    Runtime {
        name: STACK,
        summary: "millpond: the distributed dataflow stack as its engine",
        can: is_no_loop,
        start: Start::Here(millpond::start_stack),
    },
    Runtime {
        name: "millpond-joiner",
        summary: "millpond: Joiner::join, through the worker at hand",
        can: is_join,
        start: Start::Here(millpond::start_joiner),
    },
    Runtime {
        name: "rayon",
        summary: "rayon: join, scope for independent tasks, par_chunks_mut for loops",
        can: |graph| is_join(graph) || is_independent(graph) || is_loop(graph),
        start: Start::Here(rayon::start),
    },
    Runtime {
        name: "chili",
        summary: "chili: Scope::join, which makes one join in 64 stealable",
        can: is_join,
        start: Start::Here(chili::start),
    },
    Runtime {
        name: "chili-every",
        summary: "chili: Scope::join_with_heartbeat_every::<1>, which makes every join stealable",
        can: is_join,
        start: Start::Here(chili::start_every),
    },
    Runtime {
        name: "onetbb",
        summary: "oneTBB: flow graph, task_group for independent tasks, parallel_invoke",
        can: is_no_loop,
        start: Start::Program(&program::ONETBB),
    },
    Runtime {
        name: "libgomp",
        summary: "OpenMP of g++: task depend, taskwait",
        can: is_no_loop,
        start: Start::Program(&program::LIBGOMP),
    },
    Runtime {
        name: "libomp",
        summary: "OpenMP of clang++: task depend, taskwait; one thread skips dependences",
        can: is_no_loop,
        start: Start::Program(&program::LIBOMP),
    },
    Runtime {
        name: "starpu",
        summary: "StarPU: implicit dependences; the submitting thread is no worker",
        can: is_graph,
        start: Start::Program(&program::STARPU),
    },
];

/// The plain loop.
pub const SERIAL: &str = "serial";
/// Several such loops at the same time. It takes part in one suite only.
pub const CEILING: &str = "ceiling";
/// The reference of comparisons.
pub const MILLPOND: &str = "millpond";
/// The same, without tasks run at their spawn.
pub const QUEUED: &str = "millpond-queued";

/// The same, on the dataflow stack.
pub const STACK: &str = "millpond-stack";

fn is_join(graph: Graph) -> bool {
    matches!(graph, Graph::Fib { .. })
}

fn is_loop(graph: Graph) -> bool {
    matches!(graph, Graph::Loop { .. })
}

fn is_graph(graph: Graph) -> bool {
    !is_join(graph) && !is_loop(graph)
}

fn is_no_loop(graph: Graph) -> bool {
    !is_loop(graph)
}

fn is_independent(graph: Graph) -> bool {
    matches!(graph, Graph::Flat { .. } | Graph::Bimodal { .. })
}

impl Runtime {
    /// The runtime of that name.
    pub fn find(name: &str) -> Option<&'static Runtime> {
        RUNTIMES.iter().find(|runtime| runtime.name == name)
    }

    /// Starts it.
    pub fn start(&self, workers: usize) -> Result<Box<dyn Peer>, String> {
        match self.start {
            Start::Here(start) => start(workers),
            Start::Program(program) => Ok(program.peer(workers)),
        }
    }

    /// The message if it is missing: how to install it, and where the reason is.
    pub fn missing(&self) -> Option<String> {
        match self.start {
            Start::Program(program) if !program.is_here() => Some(program.missing()),
            _ => None,
        }
    }

    /// Whether it is a separate program.
    pub fn is_program(&self) -> bool {
        matches!(self.start, Start::Program(_))
    }
}
