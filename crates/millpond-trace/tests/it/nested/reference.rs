//! When everything is complete if bodies wait for data only, spawns and joins; worked out in the order of the program.
//!
//! A task starts when its spawner has come to its spawn and what it depends on is complete. So all that it does is
//! known before the next operation of its spawner is looked at. There are as many workers as it takes, and nothing but
//! `Work` takes time: not the combination of a reduction either.

use super::Figures;
use super::program::{Access, Body, Does, Mode, Op, Right, Step, Task};

/// Work and span of a program, which starts at 0.
pub fn figures(program: &Body) -> Figures {
    let mut clock = Clock::default();
    let span = clock.body(program, &[], 0);
    Figures { work: clock.work, span, path: span }
}

/// A datum in one scope: the youngest generation of accesses to its youngest version.
#[derive(Clone, Default)]
struct Datum {
    mode: Option<Mode>,
    /// When the generations before it are complete.
    before: u64,
    /// When it is, as far as it is known.
    complete: u64,
}

impl Datum {
    /// When an access that comes now is granted.
    fn enter(&mut self, mode: Mode) -> u64 {
        // Commutative tasks come one after the other, in an order that makes no difference (`Mode::Commutative`).
        let alone = matches!(mode, Mode::Write | Mode::Inout | Mode::Commutative);
        if mode == Mode::Write {
            *self = Datum::default();
        }
        if self.mode != Some(mode) || alone {
            (self.mode, self.before) = (Some(mode), self.complete);
        }
        self.before
    }

    fn leave(&mut self, at: u64) {
        self.complete = self.complete.max(at);
    }
}

#[derive(Default)]
struct Clock {
    /// So far.
    work: u64,
}

impl Clock {
    /// When a body that starts at `now` is complete, with its descendants.
    fn body(&mut self, body: &Body, declared: &[Access], mut now: u64) -> u64 {
        let mut data = vec![Datum::default(); body.data];
        let (mut joins, mut complete) = (Vec::new(), now);
        for op in &body.ops {
            match op {
                Op::Step(step) => now = self.step(step, now),
                Op::Spawn(task) => {
                    let end = self.task(task, &mut data, now);
                    complete = complete.max(end);
                    joins.push((!task.is_commutative()).then_some(end));
                }
                // Who may only read waits for those that write, of which there are none in this scope.
                Op::WaitOn(datum) if Right::of(*datum, declared) == Right::Read => {}
                Op::WaitOn(datum) => now = now.max(data[*datum].complete),
                Op::Set(datum) => data[*datum] = Datum::default(),
                Op::Join(task) => now = now.max(joins.get_mut(*task).and_then(Option::take).unwrap_or(0)),
            }
        }
        complete.max(now)
    }

    fn task(&mut self, task: &Task, data: &mut [Datum], spawned: u64) -> u64 {
        let granted = task.accesses.iter().map(|access| data[access.datum].enter(access.mode));
        let start = granted.fold(spawned, u64::max);
        let end = match &task.does {
            Does::Leaf(steps) => self.steps(steps, start),
            Does::Parent(body) => self.body(body, &task.accesses, start),
        };
        task.accesses.iter().for_each(|access| data[access.datum].leave(end));
        end
    }

    fn steps(&mut self, steps: &[Step], now: u64) -> u64 {
        steps.iter().fold(now, |now, step| self.step(step, now))
    }

    fn step(&mut self, step: &Step, now: u64) -> u64 {
        match step {
            Step::Work(time) => {
                self.work += time;
                now + time
            }
            Step::Fork(one, other) => self.steps(one, now).max(self.steps(other, now)),
            Step::Scope(body) => self.body(body, &[], now),
        }
    }
}
