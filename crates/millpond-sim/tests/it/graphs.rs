//! Task graphs of the Standard Task Graph Set's format: simulated times beside known optima.

use std::path::Path;

use millpond_sim::programs::TaskGraph;
use millpond_sim::{Config, Costs, Outcome, Program, simulate};

const SECOND: u64 = 1_000_000_000;
/// A steal takes a millisecond. With less, almost all events of an idle second are requests.
const LATENCY: f64 = 1e-3;
/// The time of all steals in a run of a few tasks, at most.
const STEALS: f64 = 0.1;

fn graph(text: &str) -> TaskGraph {
    TaskGraph::parse(Path::new("g.stg"), text, SECOND, Costs::NONE).unwrap()
}

fn run(graph: &TaskGraph, processors: usize) -> Outcome {
    let outcome = simulate(graph, &Config { latency: LATENCY, ..Config::of(processors) }).unwrap();
    assert_eq!(outcome.tasks, graph.size(&graph.root()).tasks);
    assert!((outcome.busy_seconds - outcome.work_seconds).abs() < 1e-9);
    outcome
}

/// Between two stages of four tasks each task waits for two.
const STAGES: &str = "8
0 0 0
1 3 1 0
2 3 1 0
3 3 1 0
4 3 1 0
5 2 2 1 2
6 2 2 2 3
7 2 2 3 4
8 2 2 4 1
9 0 4 5 6 7 8
# Optimal Schedule Length on 1 processor : 20
# Optimal Schedule Length on 2 processors : 10
# Optimal Schedule Length on 4 processors : 5
";

/// Program order is not optimal: 3, 3, 2, 2, 2 take 7 on two processors, not 6.
const UNEVEN: &str = "5
0 0 0
1 3 1 0
2 3 1 0
3 2 1 0
4 2 1 0
5 2 1 0
6 0 5 1 2 3 4 5
# Optimal Schedule Length on 2 processors : 6
";

#[test]
fn an_optimum_is_reached_and_another_is_not() {
    let stages = graph(STAGES);
    for optimum in stages.optima() {
        let (seconds, best) = (run(&stages, optimum.processors).seconds, optimum.length as f64);
        assert!(seconds >= best - 1e-9 && seconds < best + STEALS, "{optimum:?}: {seconds}");
    }
    assert_eq!((stages.processors(), stages.optima().len()), (Some(1), 3));
    let uneven = graph(UNEVEN);
    let seconds = run(&uneven, 2).seconds;
    assert!((7.0..7.0 + STEALS).contains(&seconds), "{seconds}");
    assert_eq!(uneven.optimum(2).map(|optimum| optimum.length), Some(6));
}

/// The best time of all schedules: of all orders in which each task takes the first processor that
/// is free. One of them is optimal.
struct Exhaustive<'a> {
    times: &'a [u64],
    predecessors: &'a [Vec<usize>],
    best: u64,
}

impl Exhaustive<'_> {
    fn search(&mut self, ends: &mut Vec<Option<u64>>, free: &[u64]) {
        let sofar = ends.iter().flatten().copied().max().unwrap_or(0);
        if sofar >= self.best {
            return;
        }
        if ends.iter().all(Option::is_some) {
            self.best = sofar;
            return;
        }
        for task in 0..ends.len() {
            let before: Option<Vec<u64>> = self.predecessors[task].iter().map(|&before| ends[before]).collect();
            let (None, Some(before)) = (ends[task], before) else { continue };
            let first = (0..free.len()).min_by_key(|&processor| free[processor]).unwrap();
            let mut after = free.to_vec();
            after[first] = after[first].max(before.into_iter().max().unwrap_or(0)) + self.times[task];
            ends[task] = Some(after[first]);
            self.search(ends, &after);
            ends[task] = None;
        }
    }
}

/// Graphs of up to six tasks, against the optimum by exhaustive search, and against the bound of
/// every schedule without needless idling (R. L. Graham, *Bounds on multiprocessing timing
/// anomalies*, 1969): W/p + (1 − 1/p)·D.
#[test]
fn random_graphs_are_between_the_optimum_and_grahams_bound() {
    let mut state = 7_u64;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let mut reached = 0;
    for case in 0..200 {
        let count = 2 + below(5) as usize;
        let times: Vec<u64> = (0..count).map(|_| 1 + below(9)).collect();
        let predecessors: Vec<Vec<usize>> =
            (0..count).map(|task| (0..task).filter(|_| below(3) == 0).collect()).collect();
        let mut text = format!("{count}\n0 0 0\n");
        for task in 0..count {
            let before: Vec<String> = predecessors[task].iter().map(|before| (before + 1).to_string()).collect();
            let before = if before.is_empty() { vec!["0".to_owned()] } else { before };
            text += &format!("{} {} {} {}\n", task + 1, times[task], before.len(), before.join(" "));
        }
        let all: Vec<String> = (1..=count).map(|task| task.to_string()).collect();
        text += &format!("{} 0 {count} {}\n", count + 1, all.join(" "));
        let graph = graph(&text);
        for processors in [1, 2, 3] {
            let mut exhaustive = Exhaustive { times: &times, predecessors: &predecessors, best: u64::MAX };
            exhaustive.search(&mut vec![None; count], &vec![0; processors]);
            let (outcome, best) = (run(&graph, processors), exhaustive.best as f64);
            assert!(outcome.seconds >= best - 1e-9, "case {case}: {} is less than {best}\n{text}", outcome.seconds);
            let (work, p) = (outcome.work_seconds, processors as f64);
            let bound = work / p + (1.0 - 1.0 / p) * outcome.span_seconds.unwrap() + STEALS;
            assert!(outcome.seconds <= bound, "case {case}: {} is more than {bound}\n{text}", outcome.seconds);
            reached += u32::from(outcome.seconds < best + STEALS);
        }
    }
    assert!(reached > 400 && reached < 600, "{reached} of 600 are optimal");
}

#[test]
fn a_file_that_cannot_be_read() {
    let error = TaskGraph::read(Path::new("/no/such.stg"), SECOND, Costs::NONE).unwrap_err().to_string();
    assert_eq!(error, "/no/such.stg: cannot read it: No such file or directory (os error 2)");
}
