//! Fork-join: Fibonacci numbers without a cut-off. Each spawn is a join, which makes one of its
//! halves stealable.

use super::{Request, Suite};
use crate::graph::Graph;
use crate::row::Row;
use crate::runtimes::Runtime;
use crate::turns::Started;

/// The reduction of the number for C++ programs, whose joins cost ten times as much. A number 6
/// less has 1/18 of the joins.
const FOR_PROGRAMS: u64 = 6;

pub fn measure(suite: &Suite, request: &Request, started: &mut Started) -> Result<Vec<Row>, String> {
    request.measure_empty(suite, started, |_, row| row.case.graph = fitting(row.case.graph, row.runtime))
}

fn fitting(graph: Graph, runtime: &str) -> Graph {
    match graph {
        Graph::Fib { n } if Runtime::find(runtime).is_some_and(Runtime::is_program) => {
            Graph::Fib { n: n.saturating_sub(FOR_PROGRAMS).max(2) }
        }
        other => other,
    }
}
