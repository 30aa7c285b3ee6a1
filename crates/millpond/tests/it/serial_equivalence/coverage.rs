//! Random programs contain what they should test.

use std::collections::BTreeMap;

use super::config::Config;
use super::generate;
use super::model::{self, Expected};
use super::program::{Body, Id, Mode, Op, Task, Use};

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

/// How many tasks of a body, and of the bodies below, are like this.
fn count(body: &Body, is_one: fn(&Task) -> bool) -> usize {
    let of = |op: &Op| {
        let here = if let Op::Spawn(task) = op { usize::from(is_one(task)) } else { 0 };
        here + op.inner().map_or(0, |inner| count(inner, is_one))
    };
    body.0.iter().map(of).sum()
}

/// A stack can store all of these as compact tasks (`counted`).
#[test]
fn many_tasks_have_a_name_or_several_accesses_and_are_compact() {
    fn is_usual(task: &Task) -> bool {
        let usual = [Mode::Read, Mode::Write, Mode::Inout];
        !task.returns && task.bytes == 0 && task.uses.iter().all(|one| usual.contains(&one.mode) && !one.passed)
    }
    let programs: Vec<_> = (0..2000).map(|seed| generate::program(seed, Config::of(seed).deterministic)).collect();
    let in_all = |is_one| programs.iter().map(|program| count(&program.body, is_one)).sum::<usize>();
    let named = in_all(|task| is_usual(task) && task.named);
    let of_several = in_all(|task| is_usual(task) && task.uses.len() > 3);
    assert!(named > 2000 && of_several > 50, "{named} with a name, {of_several} with several accesses");
}
