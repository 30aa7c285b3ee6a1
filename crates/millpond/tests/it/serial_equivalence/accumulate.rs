//! Leaves that accumulate where the interpreter reduces.

use millpond::{self as mp, Acc, Handle, Reducer, Spawn, all};

use super::execute::{Hash, Run};
use super::leaf;
use super::program::{Mode, Task, Work};
use super::slots::Slots;
use super::value::{Add, Compose, Value, Xor};

/// Spawns such a leaf. At its end it calls `at_end`.
pub fn spawn<'s, S: Spawn<'s>>(
    s: mp::Task<'_, S>,
    run: &'s Run,
    task: &'s Task,
    slots: &Slots<S::Brand>,
    seed: Hash,
    at_end: impl FnOnce() + Send + 's,
) -> S::Join<()> {
    let Work::Leaf(leaf) = &task.work else { unreachable!("only leaves accumulate") };
    let (read, write, inout, commutative, concurrent, ..) = slots.accesses(task);
    let of = |mode| slots.handles(task, mode);
    let add = all(of(Mode::Add), |handle: &Handle<_, _>| handle.accumulate(Add));
    let xor = all(of(Mode::Xor), |handle: &Handle<_, _>| handle.accumulate(Xor));
    let compose = all(of(Mode::Compose), |handle: &Handle<_, _>| handle.accumulate(Compose));
    let accesses = (read, write, inout, commutative, concurrent, (add, xor, compose));
    s.spawn(accesses, move |(read, write, inout, commutative, concurrent, (mut add, mut xor, mut compose))| {
        let (add, xor, compose) = (copies(&mut add), copies(&mut xor), copies(&mut compose));
        leaf::run(run, task, leaf, (read, write, inout, commutative, concurrent, add, xor, compose), seed);
        at_end();
    })
}

fn copies<'a, O: Reducer<Value>>(accs: &'a mut [Acc<'_, Value, O>]) -> Vec<&'a mut Value> {
    accs.iter_mut().map(Acc::partial).collect()
}
