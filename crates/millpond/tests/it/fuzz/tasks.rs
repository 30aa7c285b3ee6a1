//! The tasks of random life cycle programs, and what is known of them.

use super::generate::{Generator, Place, number_after};
use super::program::*;
use super::sessions::SessionState;

/// What is known of a domain's data while its steps are drawn.
#[derive(Default)]
pub struct Model {
    pub number: Option<u64>,
    pub number_is_poisoned: bool,
    pub object_is_poisoned: bool,
    /// In a shared session: for each actor, the smallest number that it reads. Empty if that is
    /// unknown, too.
    pub own: Vec<u64>,
}

impl Generator {
    fn id(&mut self) -> usize {
        self.program.tasks += 1;
        self.program.tasks - 1
    }

    /// A leaf that has no access, and does not fail.
    pub fn plain_task(&mut self, domain: usize) -> Task {
        let mut deeds = Vec::new();
        if self.rng.percent(30) {
            deeds.push(Deed::Pause(self.rng.pick(&[20, 100, 200])));
        }
        if self.rng.percent(10) {
            deeds.push(Deed::Fork);
        }
        Task {
            id: self.id(),
            access: Access::None,
            by: self.rng.below(1000) as u64,
            finds: Finds::Anything,
            fails: Fails::No,
            sure: !self.program.domains[domain].cancels,
            value: Value::None,
            deeds,
            parent: None,
        }
    }

    /// A task with its captures.
    fn task_with_deeds(&mut self, place: Place, domain: usize) -> Task {
        let mut task = self.plain_task(domain);
        let runtime = self.rng.below(2);
        // A runtime that the actor still has, and not an earlier one than its own.
        if self.rng.percent(6) && runtime >= self.program.domains[domain].runtime && self.may_call(place, runtime) {
            task.deeds.push(match self.rng.percent(60) {
                true => Deed::Scope { runtime },
                false => Deed::Session { runtime },
            });
        }
        // Not its own session. Unless the session is of the task's runtime, its tasks do not wait
        // for tasks of this runtime.
        if self.rng.percent(6) && !place.away && !self.sessions.is_empty() {
            let at = self.rng.below(self.sessions.len());
            let SessionState { domain: session, turn, how } = self.sessions[at];
            let least = place.least.max(self.program.domains[domain].runtime);
            if session != domain && self.program.domains[session].runtime >= least {
                let state = self.sessions.swap_remove(at);
                self.note_end(&state);
                task.deeds.push(Deed::End { session, turn, how });
            }
        }
        if self.rng.percent(8)
            && !place.away
            && let Some(join) = self.take_join(place.least)
        {
            let how = match self.rng.below(4) {
                0 if self.forgets_threads && self.joins[join].light => Joined::Forgotten,
                0..2 => Joined::Polled(1),
                _ => Joined::Dropped,
            };
            task.deeds.push(Deed::Join { join, how });
        }
        task
    }

    /// A task that may not run does not use a session whose outcome must be certain.
    fn leave_sure_sessions(&mut self, task: &mut Task) {
        let sure = task.sure;
        task.deeds.retain(|deed| match *deed {
            Deed::End { session, turn, how } if !(sure || self.program.domains[session].cancels) => {
                self.program.domains[session].number = None;
                self.sessions.push(SessionState { domain: session, turn, how });
                false
            }
            _ => true,
        });
    }

    /// A task of a session or a scope. If its join may cancel it, its outcome is not certain.
    pub fn task(&mut self, place: Place, domain: usize, cancelled: bool) -> Task {
        let mut task = self.task_with_deeds(place, domain);
        let (numbers, objects) = (
            [Access::Read, Access::Concurrent, Access::Inout, Access::Commutative, Access::Reduce, Access::Write],
            [Access::ReadObject, Access::InoutObject, Access::WriteObject],
        );
        task.access = match self.rng.below(10) {
            0..4 => self.rng.pick(&numbers),
            4..6 => self.rng.pick(&objects),
            _ => Access::None,
        };
        if self.rng.percent(25) {
            task.parent = Some(self.parent(place, domain));
            task.access =
                self.rng.pick(&[Access::None, Access::None, Access::Read, Access::Inout, Access::InoutObject]);
        }
        task.value = match self.rng.below(10) {
            0..4 => Value::None,
            4..6 if self.forgets => Value::Light,
            6 if self.faulty => Value::Bomb,
            _ => Value::Heap,
        };
        if self.faulty && self.rng.percent(12) {
            task.fails = match self.rng.below(3) {
                0 => Fails::Bomb,
                1 if task.access == Access::None && task.parent.is_none() => Fails::Returns,
                _ => Fails::Panics,
            };
        }
        if self.program.domains[domain].shared {
            self.let_commute(&mut task, cancelled);
        }
        self.account(&mut task, domain, place.actor, cancelled);
        self.leave_sure_sessions(&mut task);
        task
    }

    /// In a shared session the first task is unknown. So every task changes the number by addition
    /// only, and no task that may fail poisons anything.
    fn let_commute(&mut self, task: &mut Task, cancelled: bool) {
        match task.access {
            Access::Inout if task.parent.is_some() => task.access = Access::InoutObject,
            Access::Inout | Access::Write => task.access = Access::Commutative,
            _ => {}
        }
        let poisons = cancelled || task.fails != Fails::No;
        if poisons && !matches!(task.access, Access::Read | Access::ReadObject) {
            task.access = Access::None;
        }
    }

    /// The effect of the task on its domain, as far as it is known.
    fn account(&mut self, task: &mut Task, domain: usize, actor: usize, cancelled: bool) {
        let (plan, model) = (&mut self.program.domains[domain], &mut self.models[domain]);
        let of_object = matches!(task.access, Access::ReadObject | Access::InoutObject | Access::WriteObject);
        let writes = matches!(task.access, Access::Write | Access::WriteObject);
        let poisoned = match (task.access, of_object) {
            (Access::None, _) => false,
            (_, true) => model.object_is_poisoned && !writes,
            (_, false) => model.number_is_poisoned && !writes,
        };
        // The drop of an old version may fail a task.
        task.sure = !(plan.cancels || poisoned || cancelled || of_object && plan.bombs);
        plan.may_fail |= task.value == Value::Bomb;
        if matches!(task.access, Access::Read | Access::Concurrent) {
            task.finds = match (task.sure, plan.shared) {
                (true, false) => model.number.map_or(Finds::Anything, Finds::Exactly),
                (true, true) => model.own.get(actor).map_or(Finds::Anything, |least| Finds::AtLeast(*least)),
                _ => Finds::Anything,
            };
        }
        let changes = !matches!(task.access, Access::None | Access::Read | Access::Concurrent | Access::ReadObject);
        if task.fails != Fails::No || cancelled {
            plan.may_fail = true;
            plan.must_fail |= task.sure;
            match of_object {
                true => model.object_is_poisoned |= changes,
                // Concurrent accesses may change it, too.
                false if changes || task.access == Access::Concurrent => {
                    (model.number, model.number_is_poisoned) = (None, true);
                }
                false => {}
            }
            return;
        }
        if !of_object && changes {
            if writes && task.sure {
                model.number_is_poisoned = false;
            }
            model.number = match (model.number, task.sure, writes) {
                (_, true, true) => Some(task.by),
                (Some(number), true, false) => Some(number_after(number, task.access, task.by)),
                _ => None,
            };
            if let (true, Some(own)) = (task.sure, model.own.get_mut(actor)) {
                *own = number_after(*own, task.access, task.by);
            }
        }
        if task.access == Access::WriteObject && task.sure {
            model.object_is_poisoned = false;
        }
    }

    fn parent(&mut self, place: Place, domain: usize) -> Parent {
        let mut children = Vec::new();
        for _ in 0..self.rng.below(4) {
            let mut child = self.plain_task(domain);
            child.sure = false;
            child.value = self.rng.pick(&[Value::None, Value::Heap]);
            children.push(child);
        }
        let mut waits = self.waits(place, domain, false);
        if self.rng.percent(30) {
            waits.insert(self.rng.below(waits.len() + 1), WaitsFor::Children);
        }
        Parent { children, waits }
    }

    /// What a task waits for: hands and other tasks.
    fn waits(&mut self, place: Place, domain: usize, may_be_lost: bool) -> Vec<WaitsFor> {
        let mut waits = Vec::new();
        if self.rng.percent(50) {
            let fire = match self.rng.below(10) {
                0 if may_be_lost && self.faulty => Fire::Lost,
                1 if self.forgets => Fire::Forgetting,
                2 | 3 => Fire::Twice,
                4 | 5 => Fire::Early,
                6 | 7 => Fire::Late,
                _ => Fire::Once,
            };
            waits.push(match self.rng.percent(75) {
                true => WaitsFor::Signal(self.program.signals, fire),
                false => WaitsFor::SignalOnce(self.program.signals, fire),
            });
            self.program.signals += 1;
        }
        if self.rng.percent(20) && !self.program.items.is_empty() {
            waits.push(WaitsFor::Item(self.rng.below(self.program.items.len())));
        }
        let least = self.program.domains[domain].runtime.max(place.least);
        if self.rng.percent(15)
            && !place.away
            && let Some(join) = self.take_join(least)
        {
            waits.push(match self.rng.percent(70) {
                true => WaitsFor::Join(join),
                false => WaitsFor::JoinOnce(join),
            });
        }
        waits
    }

    pub fn external(&mut self, place: Place, domain: usize) -> External {
        let mut task = self.task_with_deeds(place, domain);
        let kind =
            self.rng.pick(&[Through::Leaf, Through::Parent, Through::Future, Through::FromALeaf, Through::InPlace]);
        let waits = match kind {
            Through::Leaf => Vec::new(),
            Through::Parent => {
                task.parent = Some(self.parent(place, domain));
                Vec::new()
            }
            _ => self.waits(place, domain, true),
        };
        let mut holds = Vec::new();
        for _ in 0..self.rng.below(4) {
            holds.push(match self.rng.below(10) {
                0 if self.faulty => Held::Dropped,
                1..4 if !self.program.items.is_empty() => Held::Item(self.rng.below(self.program.items.len())),
                _ => Held::Satisfied,
            });
        }
        if self.faulty && self.rng.percent(8) {
            task.fails = self.rng.pick(&[Fails::Panics, Fails::Bomb]);
        }
        let lost = waits.iter().any(|wait| matches!(wait, WaitsFor::Signal(_, Fire::Lost)));
        let plan = &mut self.program.domains[domain];
        if lost || holds.contains(&Held::Dropped) {
            task.sure = false;
            plan.may_fail = true;
        } else if task.fails != Fails::No {
            plan.may_fail = true;
            plan.must_fail |= task.sure;
        }
        self.leave_sure_sessions(&mut task);
        External { kind, task, waits, holds, by_a_hand: self.rng.percent(40) }
    }

    /// A signal for the wait in a task that was spawned through a scope handle.
    pub fn signal(&mut self) -> Option<usize> {
        if !self.rng.percent(60) {
            return None;
        }
        self.program.signals += 1;
        Some(self.program.signals - 1)
    }
}
