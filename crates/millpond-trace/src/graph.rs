//! The dependences of a run: which accesses form a generation, and what each waits for
//! ([TG](crate#sources) §3.2).
//!
//! They follow from the declarations and their order, not from the events. A task depends on the
//! one before it even if it never waited because that one had completed. A `write` waits for no
//! task: it starts a version (TG §3.3).

use std::collections::{HashMap, HashSet};

use millpond::depend::Mode;
use millpond::record::{Cause, Role};

use crate::model::{Body, Does, Ix, Kind, On, Op, Run};

/// The index of a generation in [`Graph::generations`].
pub(crate) type Gen = u32;

/// Mutually unordered accesses to one version.
#[derive(Debug)]
pub(crate) struct Generation {
    pub(crate) mode: Mode,
    /// The scope and the datum, and the numbers of its earlier versions and generations.
    pub(crate) scope: Ix,
    pub(crate) datum: u64,
    pub(crate) version: u32,
    /// The previous generation of the same version. Its members come first.
    pub(crate) after: Option<Gen>,
    pub(crate) members: Vec<Ix>,
}

#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) generations: Vec<Generation>,
    /// The generation of each access, indexed like [`Run::accesses`].
    pub(crate) of_access: Vec<Option<Gen>>,
    /// The awaited generation of each wait for a datum, indexed like [`Run::waits`].
    pub(crate) of_wait: Vec<Option<Gen>>,
    /// The children of each body, in reference order.
    pub(crate) children: Vec<Vec<Ix>>,
}

/// The current state of one datum in one scope.
#[derive(Clone, Copy)]
struct Current {
    /// The youngest generation; `None` if a new version has no access yet.
    youngest: Option<Gen>,
    version: u32,
    /// Whether a body has waited for the youngest generation: later accesses do not join it.
    closed: bool,
}

impl Graph {
    pub(crate) fn of(run: &Run) -> Graph {
        let mut graph = Graph {
            generations: Vec::new(),
            of_access: vec![None; run.accesses.len()],
            of_wait: vec![None; run.waits.len()],
            children: vec![Vec::new(); run.bodies.len()],
        };
        for (ix, task) in run.tasks() {
            if let Some(spawner) = task.spawner {
                graph.children[spawner as usize].push(ix);
            }
        }
        let deep = Deep::of(run);
        for (ix, body) in run.known() {
            graph.scope(run, &deep, ix, body);
        }
        graph
    }

    fn scope(&mut self, run: &Run, deep: &Deep, ix: Ix, body: &Body) {
        let mut data = HashMap::new();
        self.children[ix as usize].sort_by_key(|&child| run.body(child).order);
        if body.session {
            // Any thread using the session spawns its tasks and sets its data.
            let mut sets = run.sets_of(ix).iter().peekable();
            for child in self.children[ix as usize].clone() {
                while let Some(set) = sets.next_if(|set| set.order < run.body(child).order) {
                    next_version(&mut data, set.datum);
                }
                self.task(run, ix, child, &mut data);
            }
            return;
        }
        // A scope opened in between can use its handles and spawn its tasks.
        let (mut open, mut seen) = (vec![run.ops_of(ix).iter()], HashSet::new());
        while let Some(ops) = open.last_mut() {
            let Some(op) = ops.next() else {
                open.pop();
                continue;
            };
            match op.what {
                Does::Spawn(child) if run.body(child).spawner == Some(ix) => self.task(run, ix, child, &mut data),
                Does::Set(scope, datum) if scope == ix => next_version(&mut data, datum),
                Does::Wait(number) => self.wait(run, number, &mut data),
                _ => {}
            }
            // Each scope once, because in a damaged recording scopes may open one another.
            let inner = deep.opened(run, op).filter(|&scope| scope != ix && seen.insert(scope));
            open.extend(inner.map(|scope| run.ops_of(scope).iter()));
        }
    }

    /// A body waits for a datum, if the datum belongs to the scope of `data`.
    fn wait(&mut self, run: &Run, number: u32, data: &mut HashMap<u64, Current>) {
        let wait = &run.waits[number as usize];
        let On::Datum(datum) = wait.on else { return };
        let mode = if wait.cause == Cause::Written { Mode::Read } else { Mode::Inout };
        let before = self.before(data, datum, mode);
        if let Some(current) = data.get_mut(&datum).filter(|_| before.is_some()) {
            self.of_wait[number as usize] = before;
            current.closed |= current.youngest == before;
        }
    }

    /// The generation that an access of `mode` would wait for if it were issued now.
    fn before(&self, data: &HashMap<u64, Current>, datum: u64, mode: Mode) -> Option<Gen> {
        let youngest = data.get(&datum)?.youngest?;
        let generation = &self.generations[youngest as usize];
        if mode.shares() && generation.mode == mode { generation.after } else { Some(youngest) }
    }

    fn task(&mut self, run: &Run, scope: Ix, task: Ix, data: &mut HashMap<u64, Current>) {
        let first = run.body(task).accesses.start;
        for (place, access) in run.accesses_of(task).iter().enumerate() {
            let generation = self.access(scope, task, access.mode, access.datum, data);
            self.of_access[first as usize + place] = Some(generation);
        }
    }

    fn access(&mut self, scope: Ix, task: Ix, mode: Mode, datum: u64, data: &mut HashMap<u64, Current>) -> Gen {
        if mode == Mode::Write {
            next_version(data, datum);
        }
        let current = data.entry(datum).or_insert(Current { youngest: None, version: 0, closed: false });
        if let Some(youngest) = current.youngest {
            let generation = &mut self.generations[youngest as usize];
            if mode.shares() && generation.mode == mode && !current.closed {
                generation.members.push(task);
                return youngest;
            }
        }
        let new = self.generations.len() as Gen;
        let (after, version) = (current.youngest, current.version);
        self.generations.push(Generation { mode, scope, datum, version, after, members: vec![task] });
        (current.youngest, current.closed) = (Some(new), false);
        new
    }

    /// The generation that access `number` waits for.
    pub(crate) fn before_access(&self, number: u32) -> Option<Gen> {
        self.generations[self.of_access[number as usize]? as usize].after
    }

    /// [TP](crate#sources)'s class of the graph (TP §2.1).
    pub(crate) fn class(&self, run: &Run) -> Class {
        let waits = |body: &Body| {
            run.ops[body.ops.start as usize..body.ops.end as usize].iter().any(|op| match op.what {
                Does::Wait(number) => matches!(run.waits[number as usize].on, On::Body(_) | On::Datum(_)),
                Does::Join(_) | Does::Meet(_) => true,
                _ => false,
            })
        };
        let excludes = |generation: &Generation| generation.mode == Mode::Commutative && generation.members.len() > 1;
        let ordered = self.generations.iter().any(|g| g.after.is_some() || excludes(g));
        // A fork waits for its second half, as for the return of a call.
        let forks = run.tasks().any(|(_, task)| task.kind == Kind::Task(Role::Fork));
        if ordered || forks || run.known().any(|(_, body)| waits(body)) {
            Class::Any
        } else if run.tasks().any(|(ix, _)| !self.children[ix as usize].is_empty()) {
            Class::Hierarchical
        } else {
            Class::Independent
        }
    }
}

/// Scopes opened by bodies that may affect an outer scope: they spawn its tasks, set its data or
/// wait for them. They are few. The others need not be scanned again for each outer scope.
struct Deep(Vec<bool>);

impl Deep {
    fn of(run: &Run) -> Deep {
        let mut deep = Deep(vec![false; run.bodies.len()]);
        for op in &run.ops {
            let concerns_outer = match op.what {
                Does::Spawn(child) => run.body(child).spawner != Some(op.body),
                Does::Set(scope, _) => scope != op.body,
                Does::Wait(number) => matches!(run.waits[number as usize].on, On::Datum(_)),
                _ => false,
            };
            let mut at = Some(op.body).filter(|_| concerns_outer);
            while let Some(scope) = at.filter(|&ix| run.body(ix).kind == Kind::Scope && !deep.0[ix as usize]) {
                deep.0[scope as usize] = true;
                at = run.body(scope).spawner;
            }
        }
        deep
    }

    /// The scope that an operation opens, if it opens one of these.
    fn opened(&self, run: &Run, op: &Op) -> Option<Ix> {
        let scope = match op.what {
            Does::Open(scope) => scope,
            Does::Wait(number) => match run.waits[number as usize].on {
                On::Body(scope) if run.body(scope).kind == Kind::Scope => scope,
                _ => return None,
            },
            _ => return None,
        };
        Some(scope).filter(|&scope| run.body(scope).spawner == Some(op.body) && self.0[scope as usize])
    }
}

fn next_version(data: &mut HashMap<u64, Current>, datum: u64) {
    let current = data.entry(datum).or_insert(Current { youngest: None, version: 0, closed: false });
    *current = Current { youngest: None, version: current.version + 1, closed: false };
}

/// [TP](crate#sources)'s classes of task-based algorithms (TP §2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum Class {
    /// D0: only initial tasks, without dependences.
    #[serde(rename = "D0")]
    Independent,
    /// DH: tasks depend only on their creation.
    #[serde(rename = "DH")]
    Hierarchical,
    /// D∞: any dependences.
    #[serde(rename = "D∞")]
    Any,
}

impl std::fmt::Display for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Class::Independent => "D0 (independent tasks)",
            Class::Hierarchical => "DH (tasks depend on their creation only)",
            Class::Any => "D∞ (any dependences)",
        })
    }
}
