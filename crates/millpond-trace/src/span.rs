//! The span: how long the run would take with enough processors and no overhead but that of its bodies.
//!
//! Replays the recorded bodies, each for its own time, as soon as possible (TP §2.3's ASAP schedule, which is optimal
//! where nothing excludes anything else): a task starts when its spawner has come to the spawn, what it depends on is
//! complete (DDS §4: "depth … of the spawn tree" and of the data), and its exclusions are free. A body that waits goes on
//! when what it waits for is complete; for the window and for the world outside nobody waits here. Commutative tasks are
//! admitted in the order in which they could start; the best order of several exclusions would be a hard problem.
//!
//! It also remembers what each body waited for last, which gives the critical path.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use millpond::depend::Mode;

use crate::graph::{Gen, Graph};
use crate::model::{Body, Does, Ix, Kind, On, Run};

/// What the replay found.
#[derive(Debug)]
pub(crate) struct Span {
    /// From the start to the completion of everything.
    pub(crate) ticks: u64,
    /// Bodies that completed in the recording and not here.
    pub(crate) incomplete: u64,
    /// The critical path, from its start.
    pub(crate) path: Vec<Stretch>,
}

/// A part of the critical path: some of a body's own time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stretch {
    pub(crate) body: Ix,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// Why something happened when it did.
#[derive(Clone, Copy, Debug)]
enum Since {
    /// The body came to a point of its own, at that time.
    Strand(Ix, u64),
    /// The body was complete.
    Complete(Ix),
    Begin,
}

#[derive(Clone, Debug)]
struct State {
    /// Preconditions that are not met: the spawn, generations, a pending task's.
    unmet: u32,
    /// The last of them.
    since: Since,
    started: Option<u64>,
    next_op: u32,
    /// Own time at the last operation.
    own: u64,
    ended: bool,
    /// Children and opened scopes that are not complete.
    outstanding: u32,
    completed: Option<u64>,
    /// What came last: the end of the body or a descendant.
    complete_since: Since,
    /// Waits that made it stand still: until when, for what.
    stood: Vec<(u64, Since)>,
    /// Who goes on when it is complete.
    waiters: Vec<Ix>,
}

#[derive(Clone, Debug, Default)]
struct GenState {
    left: u32,
    last: Option<Ix>,
    /// Tasks with an access after it, and bodies that wait.
    tasks: Vec<Ix>,
    bodies: Vec<Ix>,
}

#[derive(Default)]
struct Exclusion {
    held: bool,
    queue: VecDeque<Ix>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// The body does its next operation, or ends.
    Go(Ix),
    Complete(Ix),
}

struct Replay<'a> {
    run: &'a Run,
    graph: &'a Graph,
    states: Vec<State>,
    generations: Vec<GenState>,
    exclusions: HashMap<(Ix, u64), Exclusion>,
    steps: BinaryHeap<Reverse<(u64, u64, Step)>>,
    sequence: u64,
    now: u64,
}

impl Span {
    pub(crate) fn of(run: &Run, graph: &Graph) -> Span {
        let mut replay = Replay::new(run, graph);
        replay.begin();
        while let Some(Reverse((at, _, step))) = replay.steps.pop() {
            replay.now = at;
            match step {
                Step::Go(body) => replay.go(body),
                Step::Complete(body) => replay.complete(body),
            }
        }
        replay.span()
    }
}

impl<'a> Replay<'a> {
    fn new(run: &'a Run, graph: &'a Graph) -> Self {
        let state = State {
            unmet: 0,
            since: Since::Begin,
            started: None,
            next_op: 0,
            own: 0,
            ended: false,
            outstanding: 0,
            completed: None,
            complete_since: Since::Begin,
            stood: Vec::new(),
            waiters: Vec::new(),
        };
        let mut states = vec![state; run.bodies.len()];
        let generation = |left: &Vec<Ix>| GenState { left: left.len() as u32, ..GenState::default() };
        let mut generations: Vec<_> = graph.generations.iter().map(|g| generation(&g.members)).collect();
        for (ix, task) in run.tasks() {
            states[ix as usize].unmet = 1 + u32::from(task.pending);
            for access in task.accesses.clone() {
                if let Some(before) = graph.before_access(access) {
                    states[ix as usize].unmet += 1;
                    generations[before as usize].tasks.push(ix);
                }
            }
            if let Some(spawner) = task.spawner {
                states[spawner as usize].outstanding += 1;
            }
        }
        let steps = BinaryHeap::new();
        Replay { run, graph, states, generations, exclusions: HashMap::new(), steps, sequence: 0, now: 0 }
    }

    fn state(&mut self, ix: Ix) -> &mut State {
        &mut self.states[ix as usize]
    }

    fn push(&mut self, at: u64, step: Step) {
        self.sequence += 1;
        self.steps.push(Reverse((at, self.sequence, step)));
    }

    /// Starts the scopes that no body opened: those of one track one after the other, in the order of time, since one
    /// thread opened them; and what was spawned or let in from outside.
    fn begin(&mut self) {
        let mut roots: Vec<_> =
            self.run.known().filter(|(_, b)| b.kind == Kind::Scope && b.spawner.is_none()).collect();
        roots.sort_by_key(|(_, body)| (body.track, body.started));
        let mut before: Option<(Option<u32>, Ix)> = None;
        for (ix, body) in roots {
            match before {
                Some((track, before)) if track == body.track && !body.session => {
                    self.state(before).waiters.push(ix);
                }
                _ => self.push(0, Step::Go(ix)),
            }
            if !body.session {
                before = Some((body.track, ix));
            }
        }
        let spawned: std::collections::HashSet<_> = self.run.ops.iter().filter_map(|op| spawns(op.what)).collect();
        let met: std::collections::HashSet<_> = self.run.ops.iter().filter_map(|op| meets(op.what)).collect();
        let from_outside: Vec<_> = self.run.tasks().map(|(ix, task)| (ix, task.pending)).collect();
        for (ix, pending) in from_outside {
            if !spawned.contains(&ix) {
                self.meet(ix, Since::Begin);
            }
            if pending && !met.contains(&ix) {
                self.meet(ix, Since::Begin);
            }
        }
    }

    /// One precondition of a task is met.
    fn meet(&mut self, task: Ix, since: Since) {
        let state = self.state(task);
        // A recording that says it more often than it can be is not worth a panic.
        if state.unmet > 0 {
            state.unmet -= 1;
            let met = state.unmet == 0;
            self.due_to(task, since);
            if met {
                self.ready(task);
            }
        }
    }

    fn due_to(&mut self, body: Ix, since: Since) {
        let state = self.state(body);
        if state.started.is_none() {
            state.since = since;
        }
    }

    fn ready(&mut self, task: Ix) {
        match self.busy_exclusion(task) {
            Some(key) => self.exclusions.entry(key).or_default().queue.push_back(task),
            None => {
                for key in self.keys(task) {
                    self.exclusions.entry(key).or_default().held = true;
                }
                self.push(self.now, Step::Go(task));
            }
        }
    }

    fn keys(&self, task: Ix) -> Vec<(Ix, u64)> {
        let scope = self.run.body(task).spawner.unwrap_or(task);
        let commutative = self.run.accesses_of(task).iter().filter(|access| access.mode == Mode::Commutative);
        commutative.map(|access| (scope, access.datum)).collect()
    }

    fn busy_exclusion(&self, task: Ix) -> Option<(Ix, u64)> {
        self.keys(task).into_iter().find(|key| self.exclusions.get(key).is_some_and(|exclusion| exclusion.held))
    }

    /// The body goes on at its next operation.
    fn go(&mut self, ix: Ix) {
        let ops = self.run.ops_of(ix);
        let (now, next) = (self.now, self.state(ix).next_op);
        self.state(ix).started.get_or_insert(now);
        let due = ops.get(next as usize).map_or(self.run.body(ix).own, |op| op.own);
        let own = self.state(ix).own;
        if due > own {
            self.state(ix).own = due;
            return self.push(now.saturating_add(due - own), Step::Go(ix));
        }
        let Some(op) = ops.get(next as usize).copied() else { return self.end(ix) };
        self.state(ix).next_op += 1;
        if self.does(ix, op.what) {
            self.push(now, Step::Go(ix));
        }
    }

    /// Does an operation; false if the body stands still.
    fn does(&mut self, ix: Ix, what: Does) -> bool {
        let here = Since::Strand(ix, self.now);
        match what {
            Does::Spawn(task) => {
                if self.run.body(task).known {
                    self.meet(task, here);
                }
            }
            Does::Meet(task) => {
                if self.run.body(task).known {
                    self.meet(task, here);
                }
            }
            Does::Set(_) => {}
            Does::Join(task) => return self.awaits(ix, task),
            Does::Open(scope) => return self.opens(ix, scope),
            Does::Wait(number) => match self.run.waits[number as usize].on {
                On::Body(scope) if self.run.body(scope).kind == Kind::Scope => return self.opens(ix, scope),
                On::Body(task) => return self.awaits(ix, task),
                On::Datum(_) => {
                    if let Some(before) = self.graph.of_wait[number as usize] {
                        return self.awaits_generation(ix, before);
                    }
                }
                On::Nothing => {}
            },
        }
        true
    }

    fn opens(&mut self, ix: Ix, scope: Ix) -> bool {
        // A recording may say that one is opened twice, or by two; what began keeps its cause, so that causes come before.
        if self.run.body(scope).spawner == Some(ix) && self.state(scope).started.is_none() {
            self.due_to(scope, Since::Strand(ix, self.now));
            self.push(self.now, Step::Go(scope));
        }
        self.awaits(ix, scope)
    }

    fn awaits(&mut self, ix: Ix, on: Ix) -> bool {
        if !self.run.body(on).known || self.state(on).completed.is_some() {
            return true;
        }
        self.state(on).waiters.push(ix);
        false
    }

    fn awaits_generation(&mut self, ix: Ix, before: Gen) -> bool {
        let generation = &mut self.generations[before as usize];
        if generation.left > 0 {
            generation.bodies.push(ix);
        }
        generation.left == 0
    }

    fn end(&mut self, ix: Ix) {
        let here = Since::Strand(ix, self.now);
        let state = self.state(ix);
        if std::mem::replace(&mut state.ended, true) {
            return;
        }
        state.complete_since = here;
        if state.outstanding == 0 {
            self.push(self.now, Step::Complete(ix));
        }
    }

    fn complete(&mut self, ix: Ix) {
        let now = self.now;
        self.state(ix).completed = Some(now);
        for key in self.keys(ix) {
            self.give_back(ix, key);
        }
        for access in self.run.body(ix).accesses.clone() {
            if let Some(generation) = self.graph.of_access[access as usize] {
                self.leave_generation(ix, generation);
            }
        }
        for waiter in std::mem::take(&mut self.state(ix).waiters) {
            self.wake(waiter, Since::Complete(ix));
        }
        if let Some(spawner) = self.run.body(ix).spawner.filter(|_| self.run.body(ix).kind != Kind::Scope) {
            let state = self.state(spawner);
            state.outstanding -= 1;
            if state.outstanding == 0 && state.ended {
                state.complete_since = Since::Complete(ix);
                self.push(now, Step::Complete(spawner));
            }
        }
    }

    /// A body that stood still goes on.
    fn wake(&mut self, ix: Ix, since: Since) {
        let now = self.now;
        self.state(ix).stood.push((now, since));
        self.push(now, Step::Go(ix));
    }

    fn leave_generation(&mut self, ix: Ix, generation: Gen) {
        let left = &mut self.generations[generation as usize];
        (left.left, left.last) = (left.left - 1, Some(ix));
        if left.left == 0 {
            let (tasks, bodies) = (std::mem::take(&mut left.tasks), std::mem::take(&mut left.bodies));
            tasks.into_iter().for_each(|task| self.meet(task, Since::Complete(ix)));
            bodies.into_iter().for_each(|body| self.wake(body, Since::Complete(ix)));
        }
    }

    /// Gives an exclusion to the first that can take all of its own now.
    fn give_back(&mut self, by: Ix, key: (Ix, u64)) {
        self.exclusions.entry(key).or_default().held = false;
        // What cannot have its others waits for one of those now; what can ends the search.
        while let Some(exclusion) = self.exclusions.get_mut(&key).filter(|exclusion| !exclusion.held)
            && let Some(task) = exclusion.queue.pop_front()
        {
            self.due_to(task, Since::Complete(by));
            self.ready(task);
        }
    }

    fn span(mut self) -> Span {
        let completed = |ix: Ix| self.states[ix as usize].completed;
        let last = self.run.known().filter_map(|(ix, _)| Some((completed(ix)?, ix))).max();
        let missing = |(ix, body): &(Ix, &Body)| body.completed.is_some() && completed(*ix).is_none();
        let incomplete = self.run.known().filter(missing).count() as u64;
        let Some((ticks, last)) = last else { return Span { ticks: 0, incomplete, path: Vec::new() } };
        Span { ticks, incomplete, path: self.path(last) }
    }

    /// Goes back from the completion of `last` through what came last each time.
    fn path(&mut self, last: Ix) -> Vec<Stretch> {
        let mut path = Vec::new();
        let mut since = Since::Complete(last);
        loop {
            match since {
                Since::Begin => break,
                Since::Complete(body) => since = self.states[body as usize].complete_since,
                Since::Strand(body, to) => {
                    let state = &mut self.states[body as usize];
                    // Each is passed once: what takes no time comes back to the same moment, for ever.
                    while state.stood.pop_if(|(until, _)| *until > to).is_some() {}
                    let (from, before) = state.stood.pop().unwrap_or((state.started.unwrap_or(0), state.since));
                    if to > from {
                        path.push(Stretch { body, from, to });
                    }
                    since = before;
                }
            }
        }
        path.reverse();
        path
    }
}

fn spawns(what: Does) -> Option<Ix> {
    if let Does::Spawn(task) = what { Some(task) } else { None }
}

fn meets(what: Does) -> Option<Ix> {
    if let Does::Meet(task) = what { Some(task) } else { None }
}
