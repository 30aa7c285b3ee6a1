//! Every available runtime gives the correct answer on every graph that it can express, with empty
//! bodies and with longer ones.

use crate::graph::{Case, Graph};
use crate::runtimes::{CEILING, RUNTIMES, Runtime, SERIAL};
use crate::turns::Started;

/// Every shape, small; and in its smallest size.
const GRAPHS: &[Graph] = &[
    Graph::Fib { n: 12 },
    Graph::Fib { n: 2 },
    Graph::Flat { tasks: 3000 },
    Graph::Flat { tasks: 1 },
    Graph::Bimodal { tasks: 2000 },
    Graph::Chains { chains: 1, length: 1000 },
    Graph::Chains { chains: 7, length: 100 },
    Graph::Generations { rounds: 2 },
    Graph::Cholesky { tiles: 9 },
    Graph::Cholesky { tiles: 2 },
    Graph::MatmulIjk { tiles: 7 },
    Graph::MatmulKij { tiles: 7 },
    Graph::Args { accesses: 1, tasks: 100 },
    Graph::Args { accesses: 4, tasks: 100 },
    Graph::Args { accesses: 8, tasks: 100 },
    Graph::Args { accesses: 20, tasks: 100 },
    Graph::Loop { items: 1, ns: 1, times: 3 },
    Graph::Loop { items: 5000, ns: 100, times: 7 },
];

fn takes_part(runtime: &Runtime, graph: Graph) -> bool {
    // The ceiling has another sum, and its processes are the command, not this test. `tests/cli.rs`
    // runs it.
    runtime.name != CEILING && runtime.missing().is_none() && (runtime.can)(graph)
}

fn every_graph_is_right(workers: usize) {
    let mut started = Started::default();
    for &graph in GRAPHS {
        for steps in [0, 300] {
            let case = Case { graph, steps, long_steps: 10 * steps };
            let want = started.want(&case).expect("a loop");
            for runtime in RUNTIMES.iter().filter(|runtime| takes_part(runtime, graph)) {
                let got = started.run(runtime.name, workers, &case).map(|outcome| (outcome.sum, outcome.ran));
                let (sum, ran) = got.unwrap_or_else(|why| panic!("{}: {case:?}: {why}", runtime.name));
                assert_eq!(sum, want, "{}: {case:?}", runtime.name);
                if !matches!(graph, Graph::Fib { .. } | Graph::Loop { .. }) {
                    assert_eq!(ran.iter().sum::<u64>(), graph.tasks(), "{}: {case:?}", runtime.name);
                }
            }
        }
    }
}

#[test]
fn every_runtime_is_right_with_one_worker() {
    every_graph_is_right(1);
}

#[test]
fn every_runtime_is_right_with_two_workers() {
    every_graph_is_right(2);
}

#[test]
fn the_serial_loop_tells_graphs_apart() {
    let mut started = Started::default();
    let mut sum = |graph| started.run(SERIAL, 1, &Case::empty(graph)).expect("a loop").sum;
    let both = [sum(Graph::MatmulIjk { tiles: 5 }), sum(Graph::MatmulKij { tiles: 5 })];
    // The order of updates matters within a tile, not between tiles.
    assert_eq!(both[0], both[1]);
    assert_ne!(both[0], sum(Graph::MatmulIjk { tiles: 4 }));
    assert_ne!(sum(Graph::Chains { chains: 2, length: 4 }), sum(Graph::Chains { chains: 4, length: 2 }));
}
