//! Fork-join: Fibonacci numbers without a cut-off. A spawn is a join: each makes one of its halves stealable.

use super::{Request, Suite};
use crate::graph::{Case, Graph};
use crate::row::{Row, compare};
use crate::runtimes::Runtime;
use crate::turns::{Started, by_turns};

/// What the programs of C++ compute: their joins cost ten times as much, and a number 6 less has 1 join in 18.
const FOR_PROGRAMS: u64 = 6;

pub fn measure(suite: &Suite, request: &Request, started: &mut Started) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (shape, graph) in request.shapes(suite) {
        for &workers in request.workers(suite) {
            let mut some = request.rows(suite, shape, workers, Case::empty(graph));
            for row in &mut some {
                row.case.graph = fitting(graph, row.runtime);
            }
            by_turns(started, &mut some, request.reps, &request.progress)?;
            compare(&mut some);
            rows.extend(some);
        }
    }
    Ok(rows)
}

fn fitting(graph: Graph, runtime: &str) -> Graph {
    match graph {
        Graph::Fib { n } if Runtime::find(runtime).is_some_and(Runtime::is_program) => {
            Graph::Fib { n: n.saturating_sub(FOR_PROGRAMS).max(2) }
        }
        other => other,
    }
}
