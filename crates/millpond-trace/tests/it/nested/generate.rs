//! Random programs.

use super::program::{Access, Body, Does, Mode, Op, Right, Step, Task};
use crate::cases::Random;

/// The maximum depth of scopes and forks.
const DEPTH: usize = 3;

/// The modes of accesses, several per task. Modes that wait and are waited for are more frequent.
const MODES: [Mode; 8] =
    [Mode::Read, Mode::Read, Mode::Write, Mode::Inout, Mode::Inout, Mode::Concurrent, Mode::Sum, Mode::Max];

pub fn program(random: &mut Random) -> Body {
    let own = random.below(4);
    body(random, &[], own, DEPTH)
}

fn body(random: &mut Random, declared: &[Access], own: usize, depth: usize) -> Body {
    let data = declared.len() + own;
    let mut ops: Vec<Op> = Vec::new();
    for _ in 0..random.below(14) {
        let spawned = ops.iter().filter(|op| matches!(op, Op::Spawn(_))).count();
        let datum = random.below(data.max(1));
        let right = (datum < data).then(|| Right::of(datum, declared));
        ops.push(match random.below(12) {
            0 => Op::Step(step(random, depth)),
            1 if right.is_some_and(Right::reads) => Op::WaitOn(datum),
            2 if right.is_some_and(Right::writes) => Op::Set(datum),
            3 if spawned > 0 => Op::Join(random.below(spawned)),
            _ => Op::Spawn(task(random, declared, data, depth)),
        });
    }
    Body { data, ops }
}

fn task(random: &mut Random, declared: &[Access], data: usize, depth: usize) -> Task {
    let accesses = accesses(random, declared, data);
    let does = if depth > 0 && random.percent(40) {
        let own = random.below(2);
        Does::Parent(body(random, &accesses, own, depth - 1))
    } else {
        Does::Leaf(steps(random, depth))
    };
    Task { accesses, does }
}

fn accesses(random: &mut Random, declared: &[Access], data: usize) -> Vec<Access> {
    let mut accesses: Vec<Access> = Vec::new();
    let most = if data > 0 { random.below(4) } else { 0 };
    for _ in 0..most {
        let datum = random.below(data);
        let modes: &[Mode] = match Right::of(datum, declared) {
            Right::Full => &MODES,
            Right::Read => &[Mode::Read],
            Right::Write => &[Mode::Write],
            Right::Share => &[Mode::Read, Mode::Concurrent],
        };
        let mode = random.pick(modes);
        if accesses.iter().all(|other| other.datum != datum) {
            accesses.push(Access { datum, mode });
        }
    }
    if let [only] = accesses[..]
        && Right::of(only.datum, declared) == Right::Full
        && random.percent(30)
    {
        return vec![Access { mode: Mode::Commutative, ..only }];
    }
    accesses.sort_by_key(|access| access.mode);
    accesses
}

fn steps(random: &mut Random, depth: usize) -> Vec<Step> {
    (0..random.below(3)).map(|_| step(random, depth)).collect()
}

fn step(random: &mut Random, depth: usize) -> Step {
    match random.below(10) {
        0 if depth > 0 => Step::Fork(steps(random, depth - 1), steps(random, depth - 1)),
        1 if depth > 0 => {
            let own = random.below(3);
            Step::Scope(body(random, &[], own, depth - 1))
        }
        _ => Step::Work(1 + random.below(20) as u64),
    }
}
