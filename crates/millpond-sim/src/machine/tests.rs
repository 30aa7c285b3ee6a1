//! Lazy catching up changes nothing, and thieves do not ask without end.

use millpond::depend::Mode;

use super::Machine;
use crate::config::{Config, Error};
use crate::network::Link;
use crate::networks::parse_network;
use crate::program::{Children, Costs, Program, Size, Work};
use crate::programs::{Fib, Knary, NQueens, Stencil};
use crate::speeds::speeds;

fn same(program: &impl Program, of: &str, processors: usize) {
    let paper = Config::of(processors);
    // Thieves that take several closures, and pay to take from their own stacks.
    let recorded = Config { own_latency: 3e-5, at_once: 2.5, ..paper.clone() };
    // Three clusters at two sites, whose results travel.
    let link = |latency| Link { latency, bandwidth: 1e7 };
    let network = parse_network(&format!("1+{}/1", processors - 2), link(2e-4), link(3e-3)).unwrap();
    let grid = Config { network: Some(network), send_results: true, ..recorded.clone() };
    let travelling = Config { send_results: true, ..paper.clone() };
    [paper, recorded, grid, travelling].into_iter().for_each(|config| same_with(program, of, config));
}

fn same_with(program: &impl Program, of: &str, mut config: Config) {
    let processors = config.speeds.len();
    config.speeds = speeds(of, processors, 7).unwrap();
    let lazy = Machine::new(program, &config).run().unwrap();
    let mut machine = Machine::new(program, &config);
    machine.eager = true;
    let eager = machine.run().unwrap();
    let figures = |o: &crate::Outcome| (o.seconds, o.tasks, o.steals, o.own_steals, o.failed_attempts, o.bytes);
    let of_network = |o: &crate::Outcome| (o.local_steals, o.remote_steals, o.distant_steals, o.results);
    assert_eq!(of_network(&lazy), of_network(&eager));
    assert_eq!(figures(&lazy), figures(&eager));
    assert_eq!(lazy.load.busy, eager.load.busy);
}

#[test]
fn catching_up_at_every_event_changes_nothing() {
    for (of, processors) in [("constant", 7), ("uniform:1..4", 13), ("uniform:1..4:0.01", 5), ("churn:0.05:0.01", 9)] {
        same(&Fib::new(20, 5, 50_000, Costs::PAPER), of, processors);
        same(&Knary::new(5, 5, 2, 0, 50_000, Costs::PAPER), of, processors);
        same(&NQueens::new(10, 6, 1_000_000_000, Costs::PAPER, 3), of, processors);
        same(&Stencil::new(50, 4, 20, 50_000, Costs::PAPER), of, processors);
        same(&Soon, of, processors);
    }
}

/// A tree of bodies that create their children while running. Every second child runs after the
/// previous one. The task is its height.
struct Soon;

const BODY: Work = 80_000;
const CHILDREN: u64 = 5;

impl Program for Soon {
    type Task = u32;

    fn root(&self) -> u32 {
        4
    }
    fn size(&self, &height: &u32) -> Size {
        let tasks = (0..=height).map(|level| CHILDREN.pow(level)).sum();
        Size { work: tasks * BODY, tasks }
    }
    fn body(&self, _: &u32) -> Work {
        BODY
    }
    fn children(&self, &height: &u32, children: &mut Children<u32>) {
        for child in 0..if height == 0 { 0 } else { CHILDREN } {
            children.at(child * BODY / CHILDREN);
            children.spawn(height - 1, [(child / 2, Mode::Inout)]);
        }
    }
    fn span(&self) -> Option<Work> {
        None
    }
}

#[test]
fn what_is_taken_at_once_need_be_no_integer() {
    let (knary, config) = (Knary::new(2, 100, 0, 0, BODY, Costs::NONE), Config { at_once: 2.25, ..Config::of(2) });
    let mut machine = Machine::new(&knary, &config);
    machine.processors[0].alive = true;
    machine.assign_root();
    // It runs the first of its children.
    machine.now = 1.5 * BODY as f64 / 1e9;
    machine.catch_up(0);
    let mut takes = || {
        machine.take_from(1, 0).expect("there are many");
        machine.take_sent(1).len()
    };
    assert_eq!([(); 8].map(|()| takes()), [2, 2, 2, 3, 2, 2, 2, 3]);
}

#[test]
fn thieves_give_up_when_there_is_no_end() {
    // One task, and a thief that asks for another each microsecond.
    let simulated = |seconds: u64| {
        let (one, config) = (Fib::new(1, 1, seconds * 1_000_000_000, Costs::NONE), Config::of(2));
        let config = Config { latency: 1e-6, ..config };
        let mut machine = Machine::new(&one, &config);
        machine.refusals_per_check = 1000;
        machine.run()
    };
    let Err(Error::Refused { refused, seconds, share, .. }) = simulated(10_000) else { panic!("too long") };
    assert!(refused == 1000 && (seconds - 1e-3).abs() < 1e-5 && (share - 1e-7).abs() < 1e-9, "{seconds}, {share}");
    // A shorter task tolerates as many refusals, because they are a larger share of it.
    assert_eq!(simulated(1).unwrap().seconds, 1.0);
}

#[test]
fn one_task_that_prepares_much_is_waited_for() {
    // A thief asks 10^5 times while the first tasks are created, a millionth of the work. Then no
    // processor is idle.
    let knary = Knary::new(2, 1000, 0, 0, 100_000_000, Costs { task: 100_000, argument: 0 });
    let config = Config { latency: 1e-6, ..Config::of(2) };
    let mut machine = Machine::new(&knary, &config);
    machine.refusals_per_check = 50_000;
    let outcome = machine.run().unwrap();
    assert!(outcome.failed_attempts > 50_000 && outcome.idle_share < 0.01, "{outcome:?}");
}
