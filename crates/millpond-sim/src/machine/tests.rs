//! That nobody keeps account of undisturbed processors changes nothing.

use super::Machine;
use crate::config::Config;
use crate::program::{Costs, Program};
use crate::programs::{Fib, Knary, NQueens, Stencil};
use crate::speeds::speeds;

fn same(program: &impl Program, of: &str, processors: usize) {
    let mut config = Config::of(processors);
    config.speeds = speeds(of, processors, 7).unwrap();
    let lazy = Machine::new(program, &config).run().unwrap();
    let mut machine = Machine::new(program, &config);
    machine.eager = true;
    let eager = machine.run().unwrap();
    let figures = |o: &crate::Outcome| (o.seconds, o.tasks, o.steals, o.own_steals, o.failed_attempts, o.bytes);
    assert_eq!(figures(&lazy), figures(&eager));
    assert_eq!(lazy.load.busy, eager.load.busy);
}

#[test]
fn looking_at_everybody_all_the_time_changes_nothing() {
    for (of, processors) in [("constant", 7), ("uniform:1..4", 13), ("uniform:1..4:0.01", 5), ("churn:0.05:0.01", 9)] {
        same(&Fib::new(20, 5, 50_000, Costs::PAPER), of, processors);
        same(&Knary::new(5, 5, 2, 0, 50_000, Costs::PAPER), of, processors);
        same(&NQueens::new(10, 6, 1_000_000_000, Costs::PAPER, 3), of, processors);
        same(&Stencil::new(50, 4, 20, 50_000, Costs::PAPER), of, processors);
    }
}
