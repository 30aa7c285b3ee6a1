//! The external tasks of a random program, and the preconditions that they wait for.

use millpond::{Engine, ExternalTasks, Pending, Precondition, Scope};

use super::execute::{Hash, Run, body};
use super::program::{Body, Id, Task};
use super::slots::Slots;

/// The external tasks of a scope, and those that may still get preconditions.
pub struct External<'s, E: Engine> {
    tasks: Option<ExternalTasks<'s, E>>,
    open: Vec<(Id, Pending)>,
    /// The scope is that of a portable parent.
    pub portable: bool,
}

/// Preconditions that a task satisfies or drops at its end.
pub type Holds = Vec<(Precondition, bool)>;

pub fn meet(holds: Holds) {
    for (precondition, satisfy) in holds {
        if satisfy {
            precondition.satisfy();
        }
    }
}

impl<'s, E: Engine> External<'s, E> {
    pub fn of(tasks: ExternalTasks<'s, E>) -> Self {
        External { tasks: Some(tasks), ..External::none() }
    }

    pub fn none() -> Self {
        External { tasks: None, open: Vec::new(), portable: false }
    }

    /// Those of a parent, which has none.
    pub fn none_in(portable: bool) -> Self {
        External { portable, ..External::none() }
    }

    fn at(&self, id: Id) -> usize {
        self.open.iter().position(|one| one.0 == id).expect("a clean program names what it has")
    }

    pub fn holds(&self, task: &Task) -> Holds {
        task.holds.iter().map(|&(id, satisfy)| self.hold(id, satisfy)).collect()
    }

    /// A precondition of an external task, and whether it will be satisfied.
    pub fn hold(&self, id: Id, satisfy: bool) -> (Precondition, bool) {
        (self.open[self.at(id)].1.hold(), satisfy)
    }

    /// No further precondition will be added.
    pub fn seal(&mut self, id: Id) {
        let at = self.at(id);
        drop(self.open.remove(at));
    }

    pub fn pending(&mut self, run: &'s Run, id: Id, nest: Option<&'s Body>) {
        let tasks = self.tasks.expect("only the root scope has external tasks");
        let seed = Hash::default().with(id);
        let pending = match nest {
            None => tasks.pending(move || {
                run.start(id, seed);
            }),
            Some(inner) => tasks.pending_nest(move |s: &Scope<'s, 's, _, E>| {
                run.start(id, seed);
                let mut slots = Slots::new();
                let hash = body(s, run, inner, &mut slots, seed, &mut External::<E>::none());
                run.digest(id, hash);
            }),
        };
        self.open.push((id, pending));
    }
}
