//! Random programs contain what they should test.

use std::collections::BTreeMap;

use super::config::Config;
use super::generate;
use super::model::{self, Expected};
use super::program::{Body, Id, Op, Use};

/// Through how many parents the accumulator of a task that ran was passed on, at most. `above` has
/// these numbers for the accumulators of the scope.
fn depth(body: &Body, above: &BTreeMap<Id, usize>, expected: &Expected) -> usize {
    let depth_of = |op: &Op| {
        let Op::Spawn(task) = op else { return 0 };
        let of = |one: &Use| if one.passed { above[&one.slot] } else { 0 };
        let own = if expected.ran.contains_key(&task.id) { task.uses.iter().map(of).max() } else { None };
        let mut below = BTreeMap::new();
        if task.accumulates() {
            let reductions = task.uses.iter().filter(|one| one.mode.is_reduction());
            below.extend(reductions.map(|one| (one.slot, of(one) + 1)));
        }
        let inner = op.inner().map_or(0, |inner| depth(inner, &below, expected));
        own.unwrap_or(0).max(inner)
    };
    body.0.iter().map(depth_of).max().unwrap_or(0)
}

#[test]
fn accumulators_are_passed_on_through_several_parents() {
    let is_deep = |seed: &u64| {
        let program = generate::program(*seed, Config::of(*seed).deterministic);
        depth(&program.body, &BTreeMap::new(), &model::run(&program)) >= 2
    };
    let deep = (0..2000).filter(is_deep).count();
    assert!(deep >= 50, "only {deep} of 2000 programs have such tasks");
}
