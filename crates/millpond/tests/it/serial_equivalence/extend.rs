//! Adds operations to half of the programs: declared loops, waits for several tasks, and grids with
//! their stencils.
//!
//! It has its own random numbers. So the program of a seed keeps its other operations.

use std::mem::take;

use super::program::{Body, Fault, Id, Leaf, Loop, Mode, Op, Over, Program, Task, Use, Work};
use super::value::ELEMENTS;
use crate::common::rng::Rng;

/// The shapes of grids: rows, and columns.
const SHAPES: [(usize, usize); 5] = [(1, 2), (1, 4), (2, 2), (2, 3), (3, 3)];

/// Adds operations to a program, with this percentage of faults.
pub fn extend(program: &mut Program, seed: u64, faults: usize) {
    let mut rng = Rng::new(seed.rotate_left(32) ^ 0x10_0b5);
    if rng.percent(50) {
        return;
    }
    let chance = rng.pick(&[10, 20, 40]);
    let mut sight = Sight { slots: program.roots.iter().map(|root| root.0).collect(), ..Sight::default() };
    if program.roots.len() > 1 && rng.percent(60) {
        let rows = Task::rows(program.roots.len());
        program.grid = Some((rows, program.roots.len() / rows));
        sight.grids.push((rows, sight.slots.clone()));
    }
    let mut extender = Extender { rng, ids: program.ids, chance, faults, budget: 40 };
    extender.body(&mut program.body, sight, true);
    program.ids = extender.ids;
}

struct Extender {
    rng: Rng,
    ids: Id,
    /// Percent of the places that get an operation.
    chance: usize,
    faults: usize,
    /// Tasks that may still be added.
    budget: usize,
}

/// What a scope can refer to. Some of it may not be allowed: `clean` leaves that out.
#[derive(Default)]
struct Sight {
    slots: Vec<Id>,
    joins: Vec<Id>,
    /// Rows, and tiles.
    grids: Vec<(usize, Vec<Id>)>,
}

impl Extender {
    fn id(&mut self) -> Id {
        self.ids += 1;
        self.ids - 1
    }

    fn body(&mut self, body: &mut Body, mut sight: Sight, waits: bool) {
        let before = take(&mut body.0);
        for mut op in before {
            self.more(body, &mut sight, waits);
            self.see(&mut op, &mut sight);
            body.0.push(op);
        }
        self.more(body, &mut sight, waits);
    }

    /// What an operation makes visible. Extends its own scope.
    fn see(&mut self, op: &mut Op, sight: &mut Sight) {
        match op {
            Op::Spawn(task) => {
                task.keep |= self.rng.percent(20);
                if task.keep {
                    sight.joins.push(task.id);
                }
                let data: Vec<_> = task.of(Mode::Inout).map(|one| one.slot).collect();
                let slots = task.uses.iter().map(|one| one.slot).collect();
                let may_be_portable = task.may_be_portable();
                if let Work::Nest(inner) = &mut task.work {
                    let grids = if data.len() > 1 { vec![(Task::rows(data.len()), data)] } else { Vec::new() };
                    self.body(inner, Sight { slots, grids, ..Sight::default() }, !may_be_portable);
                }
            }
            Op::Pending { nest: Some(inner), .. } => self.body(inner, Sight::default(), true),
            Op::Own { slot, .. } => sight.slots.push(*slot),
            Op::Drop { slot } => sight.slots.retain(|one| one != slot),
            Op::Join { task, .. } => sight.joins.retain(|one| one != task),
            _ => {}
        }
    }

    /// Perhaps adds an operation.
    fn more(&mut self, body: &mut Body, sight: &mut Sight, waits: bool) {
        if self.budget == 0 || !self.rng.percent(self.chance) {
            return;
        }
        match self.rng.below(10) {
            0..=4 => body.0.push(Op::Spawn(self.of_loop(sight))),
            5 | 6 if waits && !sight.joins.is_empty() => {
                let tasks = (0..1 + self.rng.below(4)).map(|_| self.rng.pick(&sight.joins)).collect();
                body.0.push(Op::WaitAll { id: self.id(), tasks });
            }
            7 => {
                let (rows, cols) = self.rng.pick(&SHAPES);
                let slots: Vec<_> = (0..rows * cols).map(|_| self.id()).collect();
                sight.slots.extend(&slots);
                body.0.push(Op::Grid { slots: slots.clone(), rows, set: !self.rng.percent(20) });
                self.sweep(body, sight, (rows, &slots));
                sight.grids.push((rows, slots));
            }
            8 | 9 if !sight.grids.is_empty() => {
                let at = self.rng.below(sight.grids.len());
                let (rows, slots) = sight.grids[at].clone();
                self.sweep(body, sight, (rows, &slots));
            }
            _ => {}
        }
    }

    fn task(&mut self, sight: &mut Sight, uses: Vec<Use>, work: Work) -> Task {
        self.budget = self.budget.saturating_sub(1);
        let (id, keep) = (self.id(), self.rng.percent(40));
        if keep {
            sight.joins.push(id);
        }
        Task {
            id,
            uses,
            work,
            keep,
            returns: true,
            named: self.rng.percent(80),
            priority: self.rng.pick(&[0, 0, 1]),
            bytes: self.rng.pick(&[0, 0, 100]),
            holds: Vec::new(),
            twice: self.rng.percent(self.faults / 4),
        }
    }

    fn of_loop(&mut self, sight: &mut Sight) -> Task {
        let count = if sight.slots.is_empty() { 0 } else { self.rng.pick(&[0, 1, 1, 2, 2, 3, 4]) };
        let modes = [Mode::Inout, Mode::Inout, Mode::Read, Mode::Read, Mode::Concurrent];
        let one_use = |_| Use::new(self.rng.pick(&sight.slots), self.rng.pick(&modes));
        let uses = (0..count).map(one_use).collect();
        let over = if self.rng.percent(30) {
            let from = self.rng.below(10);
            Over::Range { from, to: from + self.rng.pick(&[0, 1, 5, 40]) }
        } else {
            Over::Chunks { size: 1 + self.rng.below(ELEMENTS + 1) }
        };
        let panics = self.rng.percent(self.faults).then(|| self.rng.below(40));
        let work = Loop { over, zips: self.rng.percent(60), panics, slow: self.rng.pick(&[0, 0, 0, 1, 10]) };
        self.task(sight, uses, Work::Loop(work))
    }

    /// A task for each tile, which changes it and reads its neighbours; or one for the whole grid.
    fn sweep(&mut self, body: &mut Body, sight: &mut Sight, (rows, slots): (usize, &[Id])) {
        let cols = slots.len() / rows;
        if self.rng.percent(25) {
            let uses: Vec<_> = slots.iter().map(|&slot| Use::new(slot, Mode::Inout)).collect();
            let mut inner = Body::default();
            self.tiles(&mut inner, &mut Sight::default(), slots, cols);
            let task = self.task(sight, uses, Work::Nest(inner));
            body.0.push(Op::Spawn(task));
        } else {
            self.tiles(body, sight, slots, cols);
        }
    }

    fn tiles(&mut self, body: &mut Body, sight: &mut Sight, slots: &[Id], cols: usize) {
        for at in 0..slots.len() {
            let (row, col) = (at / cols, at % cols);
            let around = [
                (row > 0).then(|| at - cols),
                (col > 0).then(|| at - 1),
                (col + 1 < cols).then_some(at + 1),
                Some(at + cols).filter(|below| *below < slots.len()),
            ];
            let uses = around.into_iter().flatten().map(|at| (at, Mode::Read)).chain([(at, Mode::Inout)]);
            let uses = uses.map(|(at, mode)| Use::new(slots[at], mode)).collect();
            let fault = if self.rng.percent(self.faults) { Fault::PanicLast } else { Fault::None };
            let yields = self.rng.pick(&[0, 0, 0, 1]);
            let task = self.task(sight, uses, Work::Leaf(Leaf { fault, cancels: false, yields }));
            body.0.push(Op::Spawn(task));
        }
    }
}
