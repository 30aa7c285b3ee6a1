//! The serial interpreter: runs a program in reference order and says what must be seen.
//!
//! It has no tasks in flight: a task runs where it is spawned, and a parent's children run inside
//! it. It shares only arithmetic with the bodies that the runtime runs.

use std::collections::{BTreeMap, BTreeSet};

use super::datum::{Datum, State};
use super::program::{Adds, Body, Fault, Id, Loop, Mode, Op, Over, Program, Task, Work};
use super::value::{ELEMENTS, Plain, changed, item, mix, own_part};

/// The name of a task in errors: its id, or only the place of its spawn.
pub type Label = Option<Id>;

/// The tasks any of which may be named as the cause: members of one generation are unordered.
pub type Causes = BTreeSet<Label>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    Panicked(Id),
    Poisoned(Causes),
    Unwritten(usize),
    NeverWritten(usize),
    Duplicate(usize, usize),
    Abandoned,
}

/// What an error must say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub label: Label,
    pub why: Why,
}

impl Failure {
    /// Where the chain of poisonings began.
    pub fn causes(&self) -> Causes {
        match &self.why {
            Why::Poisoned(causes) => causes.clone(),
            _ => Causes::from([self.label]),
        }
    }

    /// Whether another failure may have led to this one.
    fn is_consequence(&self) -> bool {
        matches!(self.why, Why::Poisoned(_) | Why::Unwritten(_))
    }
}

/// What a run must show.
#[derive(Debug, Default)]
pub struct Expected {
    /// The digests of the tasks that run; of those that panic too.
    pub ran: BTreeMap<Id, u64>,
    /// What waits return.
    pub seen: BTreeMap<Id, Result<u64, Failure>>,
    /// The values at the end.
    pub roots: Vec<Result<u64, Failure>>,
    pub scope: Option<Failure>,
    /// Own value of the scope's closure.
    pub value: u64,
}

/// What waits contribute to a body that goes on after a failure.
pub const FAILED: u64 = 0xDEAD;

/// Runs a program.
pub fn run(program: &Program) -> Expected {
    let mut model = Model { ordered: program.ordered, expected: Expected::default() };
    let data = program.roots.iter().map(|&(id, set)| (id, Datum::root(id, set))).collect();
    let mut scope = Scope { data, ..Scope::default() };
    let value = model.body(&program.body, &mut scope, 0).unwrap_or(0);
    model.end_pendings(&program.body, &mut scope);
    let Model { mut expected, .. } = model;
    expected.value = value;
    expected.scope = scope.failure();
    let result = |id: &Id| {
        let datum = scope.data.get(id).expect("roots stay");
        datum.look().map(|plain| plain.digest()).map_err(|why| Failure { label: None, why })
    };
    expected.roots = program.roots.iter().map(|(id, _)| result(id)).collect();
    expected
}

struct Model {
    ordered: bool,
    expected: Expected,
}

/// A scope while its body runs.
#[derive(Default)]
struct Scope {
    data: BTreeMap<Id, Datum>,
    joins: BTreeMap<Id, Result<u64, Failure>>,
    /// The first cause in reference order, and the first consequence.
    cause: Option<Failure>,
    consequence: Option<Failure>,
    /// Pending tasks with a precondition that was dropped.
    abandoned: BTreeSet<Id>,
}

impl Scope {
    fn fail(&mut self, failure: &Failure) {
        let first = if failure.is_consequence() { &mut self.consequence } else { &mut self.cause };
        first.get_or_insert_with(|| failure.clone());
    }

    fn failure(&self) -> Option<Failure> {
        self.cause.clone().or_else(|| self.consequence.clone())
    }

    fn datum(&mut self, id: Id) -> &mut Datum {
        self.data.get_mut(&id).expect("a clean program names what it has")
    }
}

impl Model {
    /// Runs a body; `None` if it panics.
    fn body(&mut self, body: &Body, scope: &mut Scope, seed: u64) -> Option<u64> {
        let mut acc = seed;
        for op in &body.0 {
            match op {
                Op::Spawn(task) => self.spawn(task, scope, mix(acc, task.id as u64)),
                Op::Own { slot, set } => {
                    scope.data.insert(*slot, Datum::root(*slot, *set));
                }
                Op::Grid { slots, set, .. } => {
                    scope.data.extend(slots.iter().map(|slot| (*slot, Datum::root(*slot, *set))));
                }
                Op::Set { id, slot } => {
                    scope.datum(*slot).set(Plain::fresh(mix(acc, *id as u64)));
                }
                Op::WaitOn { id, slot, assign, blind } => {
                    acc = self.wait_on(scope.datum(*slot), acc, *id, *assign, *blind);
                }
                Op::Join { id, task } => {
                    let result = scope.joins.get(task).expect("kept").clone();
                    acc = mix(acc, *result.as_ref().unwrap_or(&FAILED));
                    self.expected.seen.insert(*id, result);
                }
                Op::WaitAll { id, tasks } => {
                    let result = all(tasks.iter().map(|task| scope.joins.get(task).expect("kept")));
                    acc = mix(acc, *result.as_ref().unwrap_or(&FAILED));
                    self.expected.seen.insert(*id, result);
                }
                Op::Meet { pending, satisfy: false } => {
                    scope.abandoned.insert(*pending);
                }
                Op::Panic { .. } => return None,
                Op::Drop { .. } | Op::Cancel | Op::Pending { .. } => {}
                Op::Meet { .. } | Op::Seal { .. } => {}
            }
        }
        Some(acc)
    }

    fn wait_on(&mut self, datum: &mut Datum, acc: u64, id: Id, assign: bool, blind: bool) -> u64 {
        datum.interrupt();
        let found = datum.look();
        let digest = match found {
            Ok(plain) if !blind => plain.digest(),
            Ok(_) => 0,
            Err(_) => FAILED,
        };
        let acc = mix(acc, digest);
        if found.is_ok() && assign {
            update(&mut datum.value, mix(acc, id as u64), blind);
        }
        let seen = found.map(|_| digest).map_err(|why| Failure { label: None, why });
        self.expected.seen.insert(id, seen);
        acc
    }

    fn spawn(&mut self, task: &Task, scope: &mut Scope, seed: u64) {
        let result = self.run_task(task, scope, seed);
        if let Err(failure) = &result {
            scope.fail(failure);
        }
        if task.keep {
            let value = result.map(|value| if task.returns { value } else { 0 });
            scope.joins.insert(task.id, value);
        }
    }

    fn run_task(&mut self, task: &Task, scope: &mut Scope, seed: u64) -> Result<u64, Failure> {
        if let Some((first, second, slot)) = task.duplicate() {
            let failure = Failure { label: label(task), why: Why::Duplicate(first, second) };
            scope.abandoned.extend(task.holds.iter().map(|hold| hold.0));
            return Err(misused(task, scope, slot, failure));
        }
        let generations: Vec<_> = task.dependences().map(|one| scope.datum(one.slot).enter(one.mode)).collect();
        let refused = task.dependences().zip(&generations).enumerate().find_map(|(arg, (one, at))| {
            let why = scope.datum(one.slot).refuses(one.mode, *at, arg)?;
            Some(Failure { label: label(task), why })
        });
        let result = match refused {
            Some(failure) => Err(failure),
            None => match &task.work {
                Work::Leaf(leaf) => self.leaf(task, leaf.fault, scope, seed),
                Work::Nest(body) => return self.nest(task, body, scope, &generations, seed),
                Work::Loop(one) => self.each(task, one, scope, seed),
            },
        };
        if let Err(failure) = &result {
            poison(task, scope, &generations, failure);
        }
        self.end_holds(task, scope, result.is_ok());
        result
    }

    /// A body that did not get to its end has dropped its preconditions.
    fn end_holds(&self, task: &Task, scope: &mut Scope, ended: bool) {
        // A leaf that forgot to set something did get to its end.
        let unwritten = matches!(&task.work, Work::Leaf(leaf) if matches!(leaf.fault, Fault::Unwritten(_)));
        let ended = ended || (unwritten && self.expected.ran.contains_key(&task.id));
        let dropped = task.holds.iter().filter(|(_, satisfy)| !ended || !satisfy);
        scope.abandoned.extend(dropped.map(|hold| hold.0));
    }

    fn leaf(&mut self, task: &Task, fault: Fault, scope: &mut Scope, seed: u64) -> Result<u64, Failure> {
        let mut digest = seed;
        for one in task.of(Mode::Read).chain(task.of(Mode::Inout)) {
            let value = scope.datum(one.slot).value.digest();
            digest = mix(digest, if one.blind { 0 } else { value });
        }
        self.expected.ran.insert(task.id, digest);
        for (arg, one) in task.uses.iter().enumerate() {
            let by = mix(digest, arg as u64);
            let datum = scope.datum(one.slot);
            match one.mode {
                Mode::Read => {}
                Mode::Write => datum.set_value(Plain::fresh(by)),
                Mode::Inout => update(&mut datum.value, by, one.blind),
                Mode::Commutative => datum.value.commute(by, self.ordered),
                Mode::Concurrent => datum.value.shared = datum.value.shared.wrapping_add(by),
                Mode::Add => datum.value.add(by),
                Mode::Xor => datum.value.xor(by),
                Mode::Compose => datum.value.compose((by | 1, mix(by, 1))),
            }
        }
        let why = match fault {
            Fault::None => return Ok(digest),
            Fault::PanicFirst | Fault::PanicLast => Why::Panicked(task.id),
            // The which-th of the writes, which come behind the reads.
            Fault::Unwritten(which) => Why::Unwritten(task.of(Mode::Read).count() + which),
        };
        Err(Failure { label: label(task), why })
    }

    fn each(&mut self, task: &Task, one: &Loop, scope: &mut Scope, seed: u64) -> Result<u64, Failure> {
        if one.items() == 0 {
            // No body runs.
            return Ok(0);
        }
        if one.panicking().is_some() {
            // Which other items run depends on the schedule.
            self.expected.ran.insert(task.id, 0);
            return Err(Failure { label: label(task), why: Why::Panicked(task.id) });
        }
        let uses = task.loop_uses(one);
        let numbers = match one.over {
            Over::Range { from, to } => from..to,
            Over::Chunks { .. } => 0..ELEMENTS,
        };
        let read = uses.read.filter(|one| !one.blind).map_or(0, |one| scope.datum(one.slot).value.digest());
        let others = uses.chunks.filter(|one| !one.blind).map(|one| scope.datum(one.slot).value.elements);
        let mut digest = 0_u64;
        for number in numbers {
            let by = item(seed, number, read, others.map_or(0, |others| others[number]));
            let mut seen = 0;
            if let Some(one) = uses.changed {
                let element = &mut scope.datum(one.slot).value.elements[number];
                seen = if one.blind { 0 } else { *element };
                *element = changed(*element, by, one.blind);
            }
            if let Some(one) = uses.shared {
                let value = &mut scope.datum(one.slot).value;
                value.shared = value.shared.wrapping_add(by);
            }
            digest = digest.wrapping_add(mix(by, seen));
        }
        self.expected.ran.insert(task.id, digest);
        Ok(0)
    }

    fn nest(
        &mut self,
        task: &Task,
        body: &Body,
        scope: &mut Scope,
        generations: &[u64],
        seed: u64,
    ) -> Result<u64, Failure> {
        let mut inner = Scope::default();
        for one in &task.uses {
            inner.data.insert(one.slot, scope.datum(one.slot).hold(one.mode));
        }
        add_own(task, &mut inner, seed);
        let value = self.body(body, &mut inner, seed);
        let own = value.is_none().then(|| {
            let panicked = panic_of(body);
            Failure { label: label(task), why: Why::Panicked(panicked) }
        });
        let mut unwritten = None;
        for (arg, one) in task.distinct() {
            let at = &generations[arg];
            let held = inner.data.remove(&one.slot).expect("declared");
            if one.mode == Mode::Write && held.state == State::Unset {
                unwritten.get_or_insert(arg);
            }
            scope.datum(one.slot).take_back(one.mode, *at, held, own.is_some());
        }
        contribute(task, &mut inner, scope);
        self.expected.ran.insert(task.id, value.unwrap_or(seed));
        self.end_holds(task, scope, value.is_some());
        // The body's own failure comes after those of its children.
        own.iter().for_each(|own| inner.fail(own));
        let unwritten = unwritten.map(|arg| Failure { label: label(task), why: Why::Unwritten(arg) });
        let Some(failure) = inner.failure().or(unwritten) else {
            return Ok(value.expect("it did not panic"));
        };
        if value.is_none() {
            poison(task, scope, generations, &failure);
        }
        if task.accumulates() {
            fail_totals(task, scope, generations, &failure);
        }
        for one in task.of(Mode::Write) {
            scope.datum(one.slot).fail_if_unset(failure.causes());
        }
        Err(failure)
    }

    /// Pending tasks come last in reference order; what they do touches no other task's data.
    fn end_pendings(&mut self, body: &Body, scope: &mut Scope) {
        for op in &body.0 {
            let Op::Pending { id, nest } = op else { continue };
            if scope.abandoned.contains(id) {
                scope.fail(&Failure { label: None, why: Why::Abandoned });
                continue;
            }
            let mut inner = Scope::default();
            let seed = mix(0, *id as u64);
            let value = match nest {
                Some(body) => self.body(body, &mut inner, seed),
                None => Some(seed),
            };
            self.expected.ran.insert(*id, value.unwrap_or(seed));
            if let (None, Some(body)) = (value, nest) {
                inner.fail(&Failure { label: None, why: Why::Panicked(panic_of(body)) });
            }
            if let Some(failure) = &inner.failure() {
                scope.fail(failure);
            }
        }
    }
}

/// What a wait for several tasks returns: the first failure that is no consequence, else the first
/// one.
fn all<'a>(results: impl Iterator<Item = &'a Result<u64, Failure>> + Clone) -> Result<u64, Failure> {
    let mut failures = results.clone().filter_map(|result| result.as_ref().err());
    let first = failures.clone().next();
    match failures.find(|failure| !failure.is_consequence()).or(first) {
        Some(failure) => Err(failure.clone()),
        None => Ok(results.flatten().fold(0, |all, value| mix(all, *value))),
    }
}

/// An `inout` body's update.
pub fn update(value: &mut Plain, by: u64, blind: bool) {
    if blind {
        value.add(by);
    } else {
        *value = Plain::fresh(by);
    }
}

fn label(task: &Task) -> Label {
    task.named.then_some(task.id)
}

fn panic_of(body: &Body) -> Id {
    let first = body.0.iter().find_map(|op| match op {
        Op::Panic { id } => Some(*id),
        _ => None,
    });
    first.expect("a body that panics has such an operation")
}

/// A failed task produces nothing.
fn poison(task: &Task, scope: &mut Scope, generations: &[u64], failure: &Failure) {
    for (one, at) in task.dependences().zip(generations) {
        scope.datum(one.slot).poison(one.mode, *at, failure.causes());
    }
}

/// The body of a parent itself adds. In reference order, this comes before what its tasks add.
fn add_own(task: &Task, inner: &mut Scope, seed: u64) {
    if !task.accumulates() || task.adds() == Adds::Never {
        return;
    }
    for (arg, one) in task.uses.iter().enumerate().filter(|(_, one)| one.mode.is_reduction()) {
        inner.datum(one.slot).combine(one.mode, own_part(seed, arg));
    }
}

/// Passes on what was added below a parent that contributes. If it failed, so does the parent that
/// accumulates.
fn contribute(task: &Task, inner: &mut Scope, scope: &mut Scope) {
    for one in task.uses.iter().filter(|one| one.passed) {
        // A datum that is named twice was added at the first place.
        if let Some(held) = inner.data.remove(&one.slot) {
            scope.datum(one.slot).combine(one.mode, held.value);
        }
    }
}

/// A parent that failed may have added anything.
fn fail_totals(task: &Task, scope: &mut Scope, generations: &[u64], failure: &Failure) {
    for (one, at) in task.dependences().zip(generations).filter(|(one, _)| one.mode.is_reduction()) {
        scope.datum(one.slot).poison(one.mode, *at, failure.causes());
    }
}

/// A task that names `twice` at two places never runs, and what it would write is not produced.
fn misused(task: &Task, scope: &mut Scope, twice: Id, failure: Failure) -> Failure {
    let modes: Vec<_> = task.dependences().filter(|one| one.slot == twice).map(|one| one.mode).collect();
    // Different modes together are as good as `inout`.
    let both = if modes.iter().all(|mode| *mode == modes[0]) { modes[0] } else { Mode::Inout };
    for one in task.dependences() {
        let mode = if one.slot == twice { both } else { one.mode };
        let datum = scope.datum(one.slot);
        let at = datum.enter(mode);
        datum.poison(mode, at, failure.causes());
    }
    failure
}
