//! Computes when everything is complete, if bodies wait only for data, spawns and joins. It follows
//! the order of the program.
//!
//! A task starts when its spawner has reached its spawn and its dependences are complete. So all
//! its times are known before the next operation of its spawner. The number of workers is
//! unlimited. Only `Work` takes time; the combination of a reduction takes none.

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
    /// The time when the earlier generations are complete.
    before: u64,
    /// The time when it is complete, as far as known.
    complete: u64,
}

impl Datum {
    /// The time when an access that comes now is granted.
    fn enter(&mut self, mode: Mode) -> u64 {
        // Commutative tasks run one after the other, in an order that makes no difference
        // (`Mode::Commutative`).
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
    /// The time when a body that starts at `now` is complete, with its descendants.
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
                // A body that may only read waits for writers. In this scope there are none.
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
