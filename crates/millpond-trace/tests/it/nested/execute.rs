//! Runs programs on a clock that only their work advances.

use std::cell::Cell;

use millpond::record::Recorder;
use millpond::{Error, Runtime, Spawn};
use millpond_trace::Profile;

use super::Figures;
use super::program::{Body, Does, Op, Step, Task};
use super::slots::{Slot, accesses, held_slots};

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

pub fn recorder() -> Recorder {
    Recorder::with_clock(|| NOW.get())
}

/// The report of a program. No program fails.
pub fn figures(program: &Body, rt: &Runtime) -> Result<Figures, Error> {
    let report = rt.profile(|s| body(s, rt, program, Vec::new()))?;
    let ns = |seconds: f64| (seconds * 1e9).round() as u64;
    let path = report.labels.iter().map(|label| ns(label.on_critical_path)).sum();
    Ok(Figures { work: ns(report.work), span: ns(report.span), path })
}

fn body<'s, S: Spawn<'s>>(s: &S, rt: &'s Runtime, body: &'s Body, declared: Vec<Slot<S::Brand>>) {
    let mut slots = declared;
    slots.resize_with(body.data, || Slot::Full(s.handle(0)));
    let mut joins = Vec::new();
    for op in &body.ops {
        match op {
            Op::Step(one) => step(rt, one),
            Op::Spawn(task) => {
                let join = spawn(s, rt, task, &slots);
                joins.push((!task.is_commutative()).then_some(join));
            }
            Op::WaitOn(datum) => slots[*datum].wait_on(s),
            Op::Set(datum) => slots[*datum].set(s),
            Op::Join(task) => {
                if let Some(join) = joins.get_mut(*task).and_then(Option::take) {
                    s.wait(join).expect("no task fails");
                }
            }
        }
    }
}

fn spawn<'s, S: Spawn<'s>>(s: &S, rt: &'s Runtime, task: &'s Task, slots: &[Slot<S::Brand>]) -> S::Join<()> {
    let accesses = accesses(task, slots);
    match &task.does {
        Does::Leaf(all) => s.spawn(accesses, |(_, writes, ..)| {
            writes.into_iter().for_each(|out| out.set(0));
            steps(rt, all);
        }),
        Does::Parent(inner) => s.nest(accesses, |s, held| {
            let slots = held_slots(held);
            // A datum that is declared as written must be written.
            slots.iter().filter(|slot| matches!(slot, Slot::Write(_))).for_each(|slot| slot.set(s));
            body(s, rt, inner, slots);
        }),
    }
}

fn steps(rt: &Runtime, steps: &[Step]) {
    steps.iter().for_each(|one| step(rt, one));
}

fn step(rt: &Runtime, step: &Step) {
    match step {
        Step::Work(time) => NOW.set(NOW.get() + time),
        Step::Fork(one, other) => _ = millpond::join(|| steps(rt, one), || steps(rt, other)),
        Step::Scope(inner) => rt.scope(|s| body(s, rt, inner, Vec::new())).expect("no scope fails"),
    }
}
