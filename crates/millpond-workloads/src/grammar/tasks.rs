//! The task program. A task declares the shared variables that it or its descendants read or set.
//! So the answer is the serial program's, and tasks without shared variables run in parallel. A
//! task without children is a leaf.

use super::label::labelled;
use super::machine::{Frame, NoVariables, Task, Variables};
use super::program::{Program, Type};
use super::syntax::Fault;
use super::tally::Tally;
use crate::spin::work;
use millpond::{Access, Full, Handle, Inout, Read, ReadOnly, Spawn};

/// The shared data of all tasks.
#[derive(Clone, Copy)]
pub struct Common<'s> {
    pub program: &'s Program,
    pub tally: &'s Tally,
}

/// Spawns the initial tasks. The handles are for all shared variables.
pub fn tasks<'s, S: Spawn<'s>>(s: &S, common: Common<'s>, initial: &[Task], shared: &[Handle<i64, S::Brand>]) {
    let places: Vec<_> = (0..shared.len()).collect();
    let held = || Held { of_reads: &[], reads: &[], of_writes: &places, writes: shared };
    initial.iter().for_each(|task| spawn(s, common, *task, held()));
}

/// The shared variables accessible in a scope, by their indices.
struct Held<'h, B> {
    of_reads: &'h [usize],
    reads: &'h [Handle<i64, B, ReadOnly>],
    of_writes: &'h [usize],
    writes: &'h [Handle<i64, B, Full>],
}

/// The accesses of a task: the variables that it reads, and those that it sets.
type Accesses<'h, B> = (Vec<Access<'h, i64, Read, B>>, Vec<Access<'h, i64, Inout, B>>);

impl<'h, B> Held<'h, B> {
    fn accesses(&self, kind: &Type) -> Accesses<'h, B> {
        let read = |shared| match place(self.of_reads, shared) {
            Some(place) => self.reads[place].read(),
            None => self.writes[declared(self.of_writes, shared)].read(),
        };
        let inout = |shared| self.writes[declared(self.of_writes, shared)].inout();
        (kind.reads.iter().copied().map(read).collect(), kind.writes.iter().copied().map(inout).collect())
    }
}

fn place(of: &[usize], shared: usize) -> Option<usize> {
    of.binary_search(&shared).ok()
}

/// A type declares what its children use (`resolve`).
fn declared(of: &[usize], shared: usize) -> usize {
    place(of, shared).expect("a task's type declares what it uses")
}

fn spawn<'s, S: Spawn<'s>>(s: &S, common: Common<'s>, task: Task, held: Held<'_, S::Brand>) {
    let kind = &common.program.types[task.kind];
    if kind.reads.is_empty() && kind.writes.is_empty() {
        return spawn_free(s, common, task);
    }
    if !kind.creates() {
        labelled(s, common.program, &task).spawn(held.accesses(kind), move |(reads, writes)| {
            let mut variables = OfLeaf { kind, reads, writes };
            leaf(common, begin(common, task, &mut variables), variables);
        });
        return;
    }
    labelled(s, common.program, &task).nest(held.accesses(kind), move |s, (reads, writes)| {
        let mut variables = OfParent { scope: s, kind, reads, writes };
        let frame = begin(common, task, &mut variables);
        parent(common, frame, variables);
    });
}

/// Spawns a task without shared variables. Its production is known now.
fn spawn_free<'s, S: Spawn<'s>>(s: &S, common: Common<'s>, task: Task) {
    let frame = begin(common, task, &mut NoVariables);
    let labelled = labelled(s, common.program, &task);
    if frame.creates() {
        labelled.nest((), move |s, ()| {
            let kind = &common.program.types[task.kind];
            parent(common, frame, OfParent { scope: s, kind, reads: Vec::new(), writes: Vec::new() });
        });
    } else {
        labelled.spawn((), move |()| leaf(common, frame, NoVariables));
    }
}

fn begin<'s>(common: Common<'s>, task: Task, variables: &mut impl Variables) -> Frame<'s> {
    sound(Frame::new(common.program, task, variables))
}

/// The serial program ran all tasks before, so there is no error.
fn sound<T>(found: Result<T, Fault>) -> T {
    found.unwrap_or_else(|Fault { at, what }| panic!("{at}: {what}"))
}

fn leaf(common: Common<'_>, mut frame: Frame<'_>, mut variables: impl Variables) {
    common.tally.count(frame.kind());
    let child = sound(frame.step(&mut variables, |units| take(common, units)));
    assert!(child.is_none(), "a leaf has no children");
}

fn parent<'s, 't, S: Spawn<'s>>(common: Common<'s>, mut frame: Frame<'s>, mut variables: OfParent<'t, 's, S>) {
    common.tally.count(frame.kind());
    while let Some(child) = sound(frame.step(&mut variables, |units| take(common, units))) {
        spawn(variables.scope, common, child, variables.held());
    }
}

fn take(common: Common<'_>, units: u64) {
    common.tally.take(units);
    work(units);
}

/// The variables of a leaf.
struct OfLeaf<'p, 't> {
    kind: &'p Type,
    reads: Vec<&'t i64>,
    writes: Vec<&'t mut i64>,
}

impl Variables for OfLeaf<'_, '_> {
    fn get(&mut self, shared: usize) -> i64 {
        match place(&self.kind.reads, shared) {
            Some(place) => *self.reads[place],
            None => *self.writes[declared(&self.kind.writes, shared)],
        }
    }

    fn set(&mut self, shared: usize, value: i64) {
        *self.writes[declared(&self.kind.writes, shared)] = value;
    }
}

/// The variables of a parent. To use a variable, it waits for its earlier children with this
/// variable.
struct OfParent<'t, 's, S: Spawn<'s>> {
    scope: &'t S,
    kind: &'s Type,
    reads: Vec<Handle<i64, S::Brand, ReadOnly>>,
    writes: Vec<Handle<i64, S::Brand, Full>>,
}

impl<'s, S: Spawn<'s>> OfParent<'_, 's, S> {
    fn held(&self) -> Held<'_, S::Brand> {
        let Self { kind, reads, writes, .. } = self;
        Held { of_reads: &kind.reads, reads, of_writes: &kind.writes, writes }
    }
}

impl<'s, S: Spawn<'s>> Variables for OfParent<'_, 's, S> {
    fn get(&mut self, shared: usize) -> i64 {
        match place(&self.kind.reads, shared) {
            Some(place) => *self.scope.wait_on(&mut self.reads[place]).expect("no task fails"),
            None => {
                let place = declared(&self.kind.writes, shared);
                *self.scope.wait_on(&mut self.writes[place]).expect("no task fails")
            }
        }
    }

    fn set(&mut self, shared: usize, value: i64) {
        let place = declared(&self.kind.writes, shared);
        *self.scope.wait_on(&mut self.writes[place]).expect("no task fails") = value;
    }
}
