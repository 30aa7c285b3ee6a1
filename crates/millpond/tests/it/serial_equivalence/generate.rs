//! Random programs, each from one number.

use std::collections::BTreeSet;

use super::extend::extend;
use super::program::{Body, Fault, Id, Leaf, Mode, Op, Program, Task, Use, Work};
use super::rules_of_use::clean;
use crate::common::rng::Rng;

const DEPTH: usize = 3;

/// The probabilities of one program. They are drawn first, so that programs differ in character.
struct Taste {
    rng: Rng,
    ids: Id,
    /// The modes of its accesses, some more than once.
    modes: Vec<Mode>,
    /// Percent of the tasks that fail by themselves.
    faults: usize,
    /// Percent of the tasks that are parents, by depth.
    nests: [usize; DEPTH + 1],
    /// Percent of the operations of a scope that are not spawns.
    others: usize,
    yields: usize,
    /// Percent of the tasks that certainly have no name and return nothing.
    plain: usize,
    /// Whether scopes wait, and spawn external tasks.
    waits: bool,
    /// Tasks that may still be generated.
    budget: usize,
}

/// What the scope that is being generated can refer to. Some of it may not be allowed: `clean`
/// leaves that out.
#[derive(Default)]
struct Sight {
    slots: Vec<Id>,
    own: Vec<Id>,
    joins: Vec<Id>,
    pendings: Vec<Id>,
    last: Vec<(Id, Mode)>,
    /// The parent may accumulate.
    adds: bool,
}

/// The program of a seed.
pub fn program(seed: u64, ordered: bool) -> Program {
    let mut taste = Taste::new(seed);
    let count = 2 + taste.rng.below(5);
    let unset = taste.rng.pick(&[0, 0, 20, 50]);
    let roots: Vec<_> = (0..count).map(|_| (taste.id(), !taste.rng.percent(unset))).collect();
    let mut sight = Sight { slots: roots.iter().map(|root| root.0).collect(), ..Sight::default() };
    let length = 1 + taste.rng.pick(&[4, 10, 20, 40]);
    let length = 1 + taste.rng.below(length);
    let mut body = taste.body(&mut sight, length, 0);
    if taste.rng.percent(12) {
        taste.cancel(&mut body);
    }
    let mut program = Program { roots, body, grid: None, in_place: BTreeSet::new(), ordered, ids: taste.ids };
    clean(&mut program);
    program.in_place = in_place(&program, taste.rng);
    extend(&mut program, seed, taste.faults);
    clean(&mut program);
    program
}

/// One datum in ten; in some programs many.
fn in_place(program: &Program, mut rng: Rng) -> BTreeSet<Id> {
    let mut data: Vec<_> = program.roots.iter().map(|root| root.0).collect();
    program.body.each(&mut |op| {
        if let Op::Own { slot, .. } = op {
            data.push(*slot);
        }
    });
    let chance = rng.pick(&[0, 0, 10, 30]);
    data.retain(|_| rng.percent(chance));
    data.into_iter().collect()
}

impl Taste {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let count = 1 + rng.below(10);
        let modes = (0..count).map(|_| rng.pick(&Mode::ALL)).collect();
        let faults = rng.pick(&[0, 0, 0, 3, 10, 25]);
        let nest = rng.pick(&[0, 15, 30, 60]);
        let nests = [nest, nest, nest / 2, 0];
        let others = rng.pick(&[0, 10, 30, 50]);
        let yields = rng.pick(&[0, 0, 10, 50]);
        let plain = rng.pick(&[0, 0, 80]);
        let taste = Taste { rng, ids: 0, modes, faults, nests, others, yields, plain, waits: true, budget: 60 };
        if taste.rng.clone().percent(25) { taste.of_portable_tasks() } else { taste }
    }

    /// Programs with short tasks, most of whose parents may be portable
    /// (`Task::may_be_portable`).
    fn of_portable_tasks(self) -> Self {
        let modes = vec![Mode::Read, Mode::Write, Mode::Inout];
        let (others, yields) = (self.others / 2, self.yields / 5);
        Taste { modes, others, yields, nests: [60, 60, 40, 0], plain: 95, waits: false, ..self }
    }

    fn id(&mut self) -> Id {
        self.ids += 1;
        self.ids - 1
    }

    fn body(&mut self, sight: &mut Sight, length: usize, depth: usize) -> Body {
        let mut ops = Vec::new();
        for _ in 0..length {
            let op = if self.rng.percent(self.others) {
                self.other(sight, depth)
            } else if self.budget > 0 {
                Some(Op::Spawn(self.task(sight, depth)))
            } else {
                None
            };
            ops.extend(op);
        }
        if self.rng.percent(self.faults / 2) {
            ops.push(Op::Panic { id: self.id() });
        }
        Body(ops)
    }

    fn other(&mut self, sight: &mut Sight, depth: usize) -> Option<Op> {
        let choice = self.rng.below(match depth {
            _ if !self.waits => 4,
            0 => 14,
            _ => 10,
        });
        Some(match choice {
            0 | 1 => {
                let (slot, set) = (self.id(), self.rng.percent(50));
                sight.slots.push(slot);
                sight.own.push(slot);
                Op::Own { slot, set }
            }
            2 if !sight.own.is_empty() => Op::Drop { slot: self.rng.pick(&sight.own) },
            2 | 3 if !sight.slots.is_empty() => Op::Set { id: self.id(), slot: self.rng.pick(&sight.slots) },
            4..=6 if !sight.slots.is_empty() => {
                let (id, slot) = (self.id(), self.rng.pick(&sight.slots));
                Op::WaitOn { id, slot, assign: self.rng.percent(40), blind: false }
            }
            7..=9 if !sight.joins.is_empty() => Op::Join { id: self.id(), task: self.rng.pick(&sight.joins) },
            10 | 11 => self.pending(sight),
            12 if !sight.pendings.is_empty() => {
                let pending = self.rng.pick(&sight.pendings);
                Op::Meet { pending, satisfy: self.rng.percent(90) }
            }
            13 if !sight.pendings.is_empty() => Op::Seal { pending: self.rng.pick(&sight.pendings) },
            _ => return None,
        })
    }

    fn pending(&mut self, sight: &mut Sight) -> Op {
        let id = self.id();
        sight.pendings.push(id);
        let nest = self.rng.percent(30).then(|| {
            let mut inner = Sight::default();
            self.own_first(&mut inner)
        });
        Op::Pending { id, nest }
    }

    /// A body that can only work on data of its own.
    fn own_first(&mut self, sight: &mut Sight) -> Body {
        let slot = self.id();
        sight.slots.push(slot);
        let length = 1 + self.rng.below(4);
        let mut body = self.body(sight, length, 1);
        body.0.insert(0, Op::Own { slot, set: true });
        body
    }

    fn task(&mut self, sight: &mut Sight, depth: usize) -> Task {
        self.budget -= 1;
        let id = self.id();
        let count = self.rng.pick(&[0, 1, 1, 1, 2, 2, 3, 4]);
        let uses: Vec<_> = (0..count).filter_map(|_| self.one_use(sight)).collect();
        let keep = self.rng.percent(25);
        if keep {
            sight.joins.push(id);
        }
        let nests = self.nests[depth];
        let nests = if sight.adds && nests > 0 { nests.max(40) } else { nests };
        let work = if self.rng.percent(nests) {
            let slots: Vec<_> = uses.iter().map(|one| one.slot).collect();
            // If it may accumulate, its tasks often contribute to that.
            let reductions: Vec<_> = uses.iter().filter(|one| one.mode.is_reduction()).collect();
            let adds = !reductions.is_empty() && (sight.adds || id % 2 == 1);
            let last = if adds { reductions.iter().map(|one| (one.slot, one.mode)).collect() } else { Vec::new() };
            let length = self.rng.below(6) + if adds { 2 } else { 0 };
            Work::Nest(self.body(&mut Sight { slots, last, adds, ..Sight::default() }, length, depth + 1))
        } else {
            Work::Leaf(self.leaf())
        };
        let says = if self.rng.percent(self.plain) { 0 } else { 50 };
        let mut task = Task {
            id,
            uses,
            work,
            keep,
            returns: self.rng.percent(says),
            named: self.rng.percent(says),
            priority: self.rng.pick(&[0, 0, 0, 1, -1, 127]),
            bytes: self.rng.pick(&[0, 0, 0, 1, 100, 10_000]),
            holds: if says == 0 { Vec::new() } else { self.holds(sight) },
            twice: self.rng.percent(self.faults / 4),
        };
        let reduces = task.uses.iter().any(|one| one.mode.is_reduction());
        if reduces && id % 2 == 1 && matches!(task.work, Work::Nest(_)) {
            // It accumulates (`Task::accumulates`).
            (task.named, task.returns) = (true, false);
        }
        task
    }

    fn holds(&mut self, sight: &Sight) -> Vec<(Id, bool)> {
        let mut holds = Vec::new();
        while !sight.pendings.is_empty() && holds.len() < 2 && self.rng.percent(40) {
            holds.push((self.rng.pick(&sight.pendings), !self.rng.percent(self.faults / 2)));
        }
        holds
    }

    /// An access; often of the same mode as the one before, so that generations get long.
    fn one_use(&mut self, sight: &mut Sight) -> Option<Use> {
        if sight.slots.is_empty() {
            return None;
        }
        let slot = self.rng.pick(&sight.slots);
        let before = sight.last.iter().rfind(|last| last.0 == slot).map(|last| last.1);
        let repeats = if sight.adds && before.is_some_and(Mode::is_reduction) { 85 } else { 50 };
        let mode = match before {
            Some(mode) if self.rng.percent(repeats) => mode,
            _ => self.rng.pick(&self.modes),
        };
        sight.last.push((slot, mode));
        Some(Use::new(slot, mode))
    }

    fn leaf(&mut self) -> Leaf {
        let fault = if self.rng.percent(self.faults) {
            let which = self.rng.below(4);
            self.rng.pick(&[Fault::PanicFirst, Fault::PanicLast, Fault::Unwritten(which)])
        } else {
            Fault::None
        };
        let yields = if self.rng.percent(self.yields) { 1 + self.rng.below(3) as u8 } else { 0 };
        Leaf { fault, cancels: false, yields }
    }

    /// One cancellation, by a scope or by a leaf.
    fn cancel(&mut self, body: &mut Body) {
        let at = self.rng.below(body.0.len() + 1);
        match body.0.get_mut(at) {
            Some(Op::Spawn(Task { work: Work::Leaf(leaf), .. })) if self.rng.percent(60) => {
                leaf.cancels = true;
            }
            Some(Op::Spawn(Task { work: Work::Nest(inner), .. })) if self.rng.percent(60) => {
                self.cancel(inner);
            }
            _ => body.0.insert(at, Op::Cancel),
        }
    }
}
