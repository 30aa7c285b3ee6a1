//! Makes a program that fails smaller, as long as it fails.

use std::mem::take;

use super::program::{Body, Fault, Mode, Op, Program, Task, Work};
use super::rules_of_use::clean;

/// The smallest program found for which `fails` holds.
pub fn shrink(program: &Program, fails: impl Fn(&Program) -> bool) -> Program {
    let mut best = program.clone();
    loop {
        let smaller = candidates(&best).into_iter().find(|smaller| fails(smaller));
        match smaller {
            Some(smaller) => best = smaller,
            None => return best,
        }
    }
}

/// The program after some steps, each the number of a candidate: so another process finds it.
pub fn follow(program: &Program, steps: &[usize]) -> Option<Program> {
    let step = |program: Program, &step: &usize| candidates(&program).into_iter().nth(step);
    steps.iter().try_fold(program.clone(), step)
}

/// The steps to the smallest program found for which `fails` holds; it is given the steps.
pub fn path(program: &Program, fails: impl Fn(&[usize]) -> bool) -> Vec<usize> {
    let mut best = Vec::new();
    loop {
        let count = candidates(&follow(program, &best).expect("found before")).len();
        let longer = (0..count).map(|step| [&best[..], &[step]].concat()).find(|path| fails(path));
        match longer {
            Some(path) => best = path,
            None => return best,
        }
    }
}

/// The program with two neighbouring leaves or loops exchanged whose order is sure to show: both
/// update one datum that has a value, and neither fails by itself.
pub fn exchange(program: &Program) -> Option<Program> {
    let ops = &program.body.0;
    let updates = |op: &Op| match op {
        Op::Spawn(Task { uses, work, .. }) => {
            let ends = match work {
                Work::Leaf(leaf) => leaf.fault == Fault::None,
                Work::Loop(one) => one.panics.is_none(),
                Work::Nest(_) => false,
            };
            let sure = ends && uses.len() == 1 && uses[0].mode == Mode::Inout;
            sure.then(|| uses[0].slot)
        }
        _ => None,
    };
    let at = (1..ops.len()).find(|&at| {
        let (one, other) = (updates(&ops[at - 1]), updates(&ops[at]));
        one.is_some() && one == other && one.is_some_and(|slot| program.roots.contains(&(slot, true)))
    })?;
    let mut other = program.clone();
    other.body.0.swap(at - 1, at);
    Some(other)
}

/// Every program that is one step simpler, the largest steps first.
fn candidates(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    let size = count(&program.body);
    let mut chunk = size.next_power_of_two() / 2;
    while chunk > 0 {
        for from in (0..size).step_by(chunk) {
            all.push(without(program, from, chunk));
        }
        chunk /= 2;
    }
    for at in 0..size {
        for change in CHANGES {
            let mut changed = program.clone();
            let did = with_op(&mut changed.body, at, &mut |op| change(op));
            if did {
                clean(&mut changed);
                all.push(changed);
            }
        }
    }
    if program.grid.is_some() {
        all.push(Program { grid: None, ..program.clone() });
    }
    for slot in &program.in_place {
        let mut fewer = program.clone();
        fewer.in_place.remove(slot);
        all.push(fewer);
    }
    for at in 0..program.roots.len() {
        let mut fewer = program.clone();
        fewer.roots.remove(at);
        clean(&mut fewer);
        all.push(fewer);
    }
    all
}

/// Simplifications of one operation; false if there is nothing to simplify.
const CHANGES: [fn(&mut Op) -> bool; 10] = [
    |op| in_task(op, |task| task.uses.pop().is_some()),
    |op| in_task(op, |task| !task.uses.is_empty() && task.uses.drain(..1).count() > 0),
    |op| in_task(op, |task| task.uses.len() > 2 && task.uses.drain(1..2).count() > 0),
    |op| in_task(op, |task| task.holds.pop().is_some()),
    |op| in_task(op, |task| take(&mut task.keep)),
    |op| in_task(op, |task| take(&mut task.bytes) > 0),
    |op| in_task(op, |task| take(&mut task.returns)),
    |op| in_task(op, |task| take(&mut task.priority) != 0),
    |op| in_task(op, calm),
    |op| if let Op::WaitAll { tasks, .. } = op { tasks.pop().is_some() } else { false },
];

/// Takes the fault of a leaf or a loop away, or its slowness.
fn calm(task: &mut Task) -> bool {
    match &mut task.work {
        Work::Leaf(leaf) if leaf.fault != Fault::None => {
            leaf.fault = Fault::None;
            true
        }
        Work::Leaf(leaf) => take(&mut leaf.yields) > 0,
        Work::Loop(one) => one.panics.take().is_some() || take(&mut one.slow) > 0,
        Work::Nest(_) => false,
    }
}

fn in_task(op: &mut Op, change: impl Fn(&mut Task) -> bool) -> bool {
    match op {
        Op::Spawn(task) => change(task),
        _ => false,
    }
}

fn count(body: &Body) -> usize {
    body.0.iter().map(|op| 1 + op.inner().map_or(0, count)).sum()
}

/// Calls `change` with the operation at place `at`, counted through all bodies.
fn with_op(body: &mut Body, mut at: usize, change: &mut dyn FnMut(&mut Op) -> bool) -> bool {
    for op in &mut body.0 {
        if at == 0 {
            return change(op);
        }
        at -= 1;
        let inside = op.inner().map_or(0, count);
        if at < inside {
            return op.inner_mut().is_some_and(|inner| with_op(inner, at, change));
        }
        at -= inside;
    }
    false
}

fn without(program: &Program, from: usize, chunk: usize) -> Program {
    let mut smaller = program.clone();
    let mut place = 0;
    remove(&mut smaller.body, &mut place, &(from..from + chunk));
    clean(&mut smaller);
    smaller
}

fn remove(body: &mut Body, place: &mut usize, gone: &std::ops::Range<usize>) {
    body.0.retain_mut(|op| {
        let stays = !gone.contains(place);
        *place += 1;
        if let Some(inner) = op.inner_mut() {
            remove(inner, place, gone);
        }
        stays
    });
}
