//! What does a task cost? The bodies count themselves and mix a few numbers, in a call that is not
//! inlined.

use super::{Named, Request, Suite};
use crate::graph::Graph;
use crate::row::Row;
use crate::turns::Started;

/// The graphs.
pub const SHAPES: &[Named] = &[
    ("flat", Graph::Flat { tasks: 1_000_000 }),
    ("chain", Graph::Chains { chains: 1, length: 1_000_000 }),
    ("threegen", Graph::Generations { rounds: 500 }),
    ("cholesky", Graph::Cholesky { tiles: 64 }),
    ("matmul-ijk", Graph::MatmulIjk { tiles: 64 }),
    ("matmul-kij", Graph::MatmulKij { tiles: 64 }),
    ("args1", Graph::Args { accesses: 1, tasks: 1_000_000 }),
    ("args4", Graph::Args { accesses: 4, tasks: 250_000 }),
    ("args8", Graph::Args { accesses: 8, tasks: 125_000 }),
    ("args20", Graph::Args { accesses: 20, tasks: 50_000 }),
];

pub fn measure(suite: &Suite, request: &Request, started: &mut Started) -> Result<Vec<Row>, String> {
    request.measure_empty(suite, started, |started, row| {
        request.progress.say(|| format!("{}: how long it takes", row.name()));
        match started.fitting(row.runtime, row.workers, row.case.graph) {
            Ok(graph) => row.case.graph = graph,
            Err(why) => row.failure = Some(why),
        }
    })
}
