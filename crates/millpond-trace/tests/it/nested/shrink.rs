//! Makes a failing program smaller, as long as it fails.

use super::program::{Body, Does, Op, Step, Task};

/// The smallest program found for which `fails` holds.
pub fn shrink(program: &Body, fails: impl Fn(&Body) -> bool) -> Body {
    let mut best = program.clone();
    loop {
        let fewer = (0..).map_while(|nth| without(&best, nth));
        let Some(smaller) = inner(&best).cloned().chain(fewer).find(&fails) else { return best };
        best = smaller;
    }
}

/// The bodies directly inside. Each is a program with all rights to its data.
fn inner(program: &Body) -> impl Iterator<Item = &Body> {
    program.ops.iter().filter_map(|op| match op {
        Op::Spawn(Task { does: Does::Parent(body), .. }) | Op::Step(Step::Scope(body)) => Some(body),
        _ => None,
    })
}

/// The program without one of its parts, counted from the outside. `None` if there are no more
/// parts.
fn without(program: &Body, mut nth: usize) -> Option<Body> {
    let mut smaller = program.clone();
    from_ops(&mut smaller.ops, &mut nth).then_some(smaller)
}

/// Removes the part `nth` from a list, or through `inside` from one of its parts. Or counts all
/// parts.
fn take<T>(list: &mut Vec<T>, nth: &mut usize, inside: impl Fn(&mut T, &mut usize) -> bool) -> bool {
    if *nth < list.len() {
        list.remove(*nth);
        return true;
    }
    *nth -= list.len();
    list.iter_mut().any(|part| inside(part, nth))
}

fn from_ops(ops: &mut Vec<Op>, nth: &mut usize) -> bool {
    take(ops, nth, |op, nth| match op {
        Op::Step(step) => from_step(step, nth),
        Op::Spawn(task) => match &mut task.does {
            Does::Leaf(steps) => take(&mut task.accesses, nth, |_, _| false) || take(steps, nth, from_step),
            // It keeps its accesses: its data are numbered by them.
            Does::Parent(body) => from_ops(&mut body.ops, nth),
        },
        Op::WaitOn(_) | Op::Set(_) | Op::Join(_) => false,
    })
}

fn from_step(step: &mut Step, nth: &mut usize) -> bool {
    match step {
        Step::Work(_) => false,
        Step::Fork(one, other) => take(one, nth, from_step) || take(other, nth, from_step),
        Step::Scope(body) => from_ops(&mut body.ops, nth),
    }
}
