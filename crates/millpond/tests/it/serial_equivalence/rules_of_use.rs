//! What a program may do: makes any program valid by leaving out what is not.

use super::program::{Body, Fault, Id, Leaf, Loop, Mode, Op, Over, Program, Task, Use, Work};

/// What a scope may do to a datum.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Right {
    Full,
    ReadOnly,
    WriteOnly,
    ShareOnly,
    /// By contributions of this mode: the scope accumulates.
    AddOnly(Mode),
}

#[derive(Clone, Copy)]
struct Slot {
    id: Id,
    right: Right,
    /// Others update the value at the same time, or in an unknown order: it must not be read.
    blind: bool,
    own: bool,
    /// The first tile of its grid, if it is a tile of the scope's own.
    grid: Option<Id>,
}

/// What the next operation of a scope can refer to.
#[derive(Default)]
struct Known {
    slots: Vec<Slot>,
    /// With whether the task returns a value.
    joins: Vec<(Id, bool)>,
    pendings: Vec<Id>,
}

/// Leaves out what is not allowed, so that generator and shrinker need not avoid it.
pub fn clean(program: &mut Program) {
    program.grid = program.grid.filter(|(rows, cols)| rows * cols <= program.roots.len());
    let slot = |&(id, _): &(Id, bool)| Slot { id, right: Right::Full, blind: false, own: false, grid: None };
    let mut known = Known { slots: program.roots.iter().map(slot).collect(), ..Known::default() };
    clean_body(&mut program.body, &mut known, true, program.ordered);
}

fn clean_body(body: &mut Body, known: &mut Known, root: bool, ordered: bool) {
    body.0.retain_mut(|op| known.admit(op, root, ordered));
}

impl Known {
    fn slot(&self, id: Id) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.id == id)
    }

    /// Whether the operation is allowed, once what is wrong inside it is left out.
    fn admit(&mut self, op: &mut Op, root: bool, ordered: bool) -> bool {
        match op {
            Op::Spawn(task) => self.admit_task(task, root, ordered),
            Op::Own { slot, .. } => {
                self.slots.push(Slot::own(*slot, None));
            }
            Op::Grid { slots, .. } => {
                let first = slots.first().copied();
                self.slots.extend(slots.iter().map(|slot| Slot::own(*slot, first)));
            }
            Op::Drop { slot } => {
                let Some(dropped) = self.slot(*slot).copied().filter(|slot| slot.own) else { return false };
                self.slots.retain(|one| one.id != dropped.id && (one.grid.is_none() || one.grid != dropped.grid));
            }
            Op::Set { slot, .. } => {
                return self.slot(*slot).is_some_and(|slot| slot.allows(Mode::Write, ordered));
            }
            Op::WaitOn { slot, assign, blind, .. } => {
                let Some(slot) = self.slot(*slot) else { return false };
                *blind = slot.blind;
                *assign &= slot.right == Right::Full;
                return !matches!(slot.right, Right::WriteOnly | Right::AddOnly(_));
            }
            Op::Join { task, .. } => {
                let at = self.joins.iter().position(|join| join.0 == *task);
                return at.map(|at| self.joins.remove(at)).is_some();
            }
            Op::WaitAll { tasks, .. } => {
                // Each join once, and all of one type.
                let mut values = None;
                tasks.retain(|task| {
                    let at = self.joins.iter().position(|join| join.0 == *task);
                    let at = at.filter(|&at| *values.get_or_insert(self.joins[at].1) == self.joins[at].1);
                    at.map(|at| self.joins.remove(at)).is_some()
                });
            }
            Op::Pending { id, nest } => {
                self.pendings.push(*id);
                if let (Some(body), true) = (nest, root) {
                    clean_body(body, &mut Known::default(), false, ordered);
                }
                return root;
            }
            Op::Meet { pending, .. } => return self.pendings.contains(pending),
            Op::Seal { pending } => {
                let at = self.pendings.iter().position(|one| one == pending);
                return at.map(|at| self.pendings.remove(at)).is_some();
            }
            Op::Cancel => {}
            Op::Panic { .. } => return !root,
        }
        true
    }

    fn admit_task(&mut self, task: &mut Task, root: bool, ordered: bool) {
        task.uses.retain(|one| self.slot(one.slot).is_some_and(|slot| slot.allows(one.mode, ordered)));
        for one in &mut task.uses {
            one.blind = self.slot(one.slot).is_some_and(|slot| slot.blind);
            one.passed = self.slot(one.slot).is_some_and(|slot| matches!(slot.right, Right::AddOnly(_)));
        }
        task.uses.sort_by_key(|one| (one.passed, one.mode));
        if let Work::Loop(one) = task.work {
            (task.returns, task.holds) = (false, Vec::new());
            order_of_loop(&mut task.uses, &one);
        }
        leave_one_duplicate(task);
        // A task that contributes returns nothing, so that there are fewer kinds of spawns.
        task.returns &= !task.contributes();
        task.holds.retain(|(pending, _)| root && self.pendings.contains(pending));
        if task.keep {
            self.joins.push((task.id, task.returns));
        }
        let accumulates = task.accumulates();
        match &mut task.work {
            Work::Leaf(leaf) => clean_leaf(leaf, task.uses.iter()),
            Work::Loop(one) => clean_loop(one, &task.uses),
            Work::Nest(body) => {
                let slots = task.uses.iter().map(|one| Slot::handed_on(one, accumulates)).collect();
                clean_body(body, &mut Known { slots, ..Known::default() }, false, ordered);
            }
        }
    }
}

/// Leaves out what a loop cannot declare, and orders the rest as [`Loop`] says.
fn order_of_loop(uses: &mut Vec<Use>, one: &Loop) {
    let changes = matches!(one.over, Over::Chunks { .. }) && uses.iter().any(|one| one.mode == Mode::Inout);
    let most = |mode| match mode {
        Mode::Inout => usize::from(changes),
        Mode::Read => 1 + usize::from(one.reads_chunks(changes)),
        Mode::Concurrent => 1,
        _ => 0,
    };
    let all = uses.clone();
    let of = |mode| all.iter().filter(move |one| one.mode == mode).take(most(mode));
    *uses = [Mode::Inout, Mode::Read, Mode::Concurrent].into_iter().flat_map(of).copied().collect();
}

/// A loop over chunks needs a datum that has some.
fn clean_loop(one: &mut Loop, uses: &[Use]) {
    let has_chunks = uses.iter().any(|one| one.mode != Mode::Concurrent);
    if matches!(one.over, Over::Chunks { .. }) && !has_chunks {
        one.over = Over::Range { from: 0, to: one.items() };
    }
}

fn clean_leaf<'a>(leaf: &mut Leaf, uses: impl Iterator<Item = &'a Use>) {
    let writes = uses.filter(|one| one.mode == Mode::Write).count();
    if let Fault::Unwritten(which) = leaf.fault {
        leaf.fault = if writes == 0 { Fault::None } else { Fault::Unwritten(which % writes) };
    }
}

/// Leaves out all but the first access to a datum and what may repeat it. If the task is allowed to
/// name a datum `twice`, the first other repetition stays.
fn leave_one_duplicate(task: &mut Task) {
    let (mut seen, mut twice) = (Vec::<Use>::new(), task.twice);
    // Two accumulators of a parent have two places in reference order.
    let is_parent = matches!(task.work, Work::Nest(_));
    task.uses.retain(|one| {
        let earlier = seen.iter().find(|earlier| earlier.slot == one.slot);
        let may_repeat = |earlier: &Use| match one.passed {
            true => !is_parent || one.mode != Mode::Compose,
            false => earlier.mode == one.mode && one.mode.repeats(),
        };
        let may_be = earlier.is_none_or(may_repeat);
        seen.push(*one);
        may_be || !one.passed && std::mem::take(&mut twice)
    });
}

impl Slot {
    fn own(id: Id, grid: Option<Id>) -> Slot {
        Slot { id, right: Right::Full, blind: false, own: true, grid }
    }

    fn allows(&self, mode: Mode, ordered: bool) -> bool {
        if mode == Mode::Compose && (self.blind || !ordered) {
            return false;
        }
        match self.right {
            Right::Full => !(self.blind && mode == Mode::Write),
            Right::ReadOnly => mode == Mode::Read,
            Right::WriteOnly => mode == Mode::Write,
            Right::ShareOnly => matches!(mode, Mode::Read | Mode::Concurrent),
            Right::AddOnly(only) => mode == only,
        }
    }

    /// What a parent gets that declared an access.
    fn handed_on(one: &Use, accumulates: bool) -> Slot {
        let (right, blind) = match one.mode {
            Mode::Read => (Right::ReadOnly, one.blind),
            Mode::Write => (Right::WriteOnly, false),
            Mode::Inout => (Right::Full, one.blind),
            Mode::Commutative => (Right::Full, true),
            Mode::Concurrent => (Right::ShareOnly, true),
            Mode::Add | Mode::Xor | Mode::Compose if accumulates => (Right::AddOnly(one.mode), false),
            // A private copy: no other task sees it.
            Mode::Add | Mode::Xor | Mode::Compose => (Right::Full, false),
        };
        Slot { id: one.slot, right, blind, own: false, grid: None }
    }
}
