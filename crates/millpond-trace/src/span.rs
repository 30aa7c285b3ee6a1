//! The span: the run's time with enough processors, and without overhead outside bodies.
//!
//! It replays the recorded bodies, each for its own time, as soon as possible ([TP](crate#sources)
//! §2.3's ASAP schedule, which is optimal without exclusions).
//!
//! - A task starts when its spawner has reached the spawn, its dependences are complete, and it has
//!   its exclusions. Dependences come from the spawn tree ([DDS](crate#sources) §4: "depth … of the
//!   spawn tree") and from data.
//! - A waiting body continues when the awaited task or datum is complete. Waits for the window, and
//!   for events outside the runtime, take no time here.
//! - Commutative tasks get exclusions as in the runtime: in the order of their requests. A task
//!   with several takes one after the other, in the same order as all tasks. Finding the best order
//!   would be a hard problem.
//!
//! The replay also records each body's last wait, which gives the critical path.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::ops::Range;

use millpond::depend::Mode;

use crate::graph::{Gen, Graph};
use crate::model::{Body, Does, Ix, Kind, On, Run};

/// The result of the replay.
#[derive(Debug)]
pub(crate) struct Span {
    /// The time from the start until everything is complete.
    pub(crate) ticks: u64,
    /// Bodies that completed in the recording, but not here.
    pub(crate) incomplete: u64,
    /// The critical path, from its start.
    pub(crate) path: Vec<Stretch>,
}

/// A part of the critical path: a part of a body's own time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stretch {
    pub(crate) body: Ix,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// The cause of an event.
#[derive(Clone, Copy, Debug)]
enum Since {
    /// The body reached a point in its own time.
    Strand(Ix, u64),
    /// The body was complete.
    Complete(Ix),
    Begin,
}

#[derive(Clone, Debug)]
struct State {
    /// Unmet preconditions: the spawn, generations, and a pending task's preconditions.
    unmet: u32,
    /// The cause of the last one.
    since: Since,
    started: Option<u64>,
    next_op: u32,
    /// The body's own time at the last operation.
    own: u64,
    ended: bool,
    /// Children and opened scopes that are not complete.
    outstanding: u32,
    completed: Option<u64>,
    /// The last cause: the end of the body or of a descendant.
    complete_since: Since,
    /// Its waits: until when, and for what.
    stood: Vec<(u64, Since)>,
    /// The bodies that continue when it is complete.
    waiters: Vec<Ix>,
    /// Its exclusions in [`Replay::turns`], and the number of those taken so far.
    turns: Range<u32>,
    had: u32,
}

#[derive(Clone, Debug, Default)]
struct GenState {
    left: u32,
    last: Option<Ix>,
    /// Tasks with an access after it, and bodies waiting for it.
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
    exclusions: Vec<Exclusion>,
    /// The exclusions of each task, ascending: indices into `exclusions`.
    turns: Vec<u32>,
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
            turns: 0..0,
            had: 0,
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
        let (exclusions, turns, steps) = (Vec::new(), Vec::new(), BinaryHeap::new());
        let mut replay = Replay { run, graph, states, generations, exclusions, turns, steps, sequence: 0, now: 0 };
        replay.number_turns();
        replay
    }

    /// Finds the exclusions of every task: one per version, as in the runtime.
    fn number_turns(&mut self) {
        let (run, graph) = (self.run, self.graph);
        let (mut numbers, mut own) = (HashMap::new(), Vec::new());
        for (ix, task) in run.tasks() {
            let generations =
                graph.of_access[task.accesses.start as usize..task.accesses.end as usize].iter().flatten();
            for generation in generations.map(|&generation| &graph.generations[generation as usize]) {
                if generation.mode == Mode::Commutative {
                    let next = numbers.len() as u32;
                    let key = (generation.scope, generation.datum, generation.version);
                    own.push(*numbers.entry(key).or_insert(next));
                }
            }
            own.sort_unstable();
            // A damaged recording may name one twice. Then a task would wait for itself.
            own.dedup();
            let first = self.turns.len() as u32;
            self.turns.append(&mut own);
            self.state(ix).turns = first..self.turns.len() as u32;
        }
        self.exclusions.resize_with(numbers.len(), Exclusion::default);
    }

    fn state(&mut self, ix: Ix) -> &mut State {
        &mut self.states[ix as usize]
    }

    fn push(&mut self, at: u64, step: Step) {
        self.sequence += 1;
        self.steps.push(Reverse((at, self.sequence, step)));
    }

    /// Starts the scopes without an opening body. On one track they start one after the other, in
    /// the order of time, because one thread opened them. Also meets the preconditions of tasks
    /// spawned or released from outside.
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
        // A damaged recording may meet it too often, which must not panic.
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

    /// From now on a task waits only for its exclusions. It takes one after the other, and starts
    /// with the last.
    fn ready(&mut self, task: Ix) {
        let State { turns, had, .. } = self.state(task);
        for turn in turns.start + *had..turns.end {
            let exclusion = &mut self.exclusions[self.turns[turn as usize] as usize];
            if exclusion.held {
                exclusion.queue.push_back(task);
                return;
            }
            exclusion.held = true;
            self.states[task as usize].had += 1;
        }
        self.push(self.now, Step::Go(task));
    }

    /// The body continues at its next operation.
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

    /// Does an operation. Returns false if the body waits.
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
            Does::Set(..) => {}
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
        // In a damaged recording, a scope may be opened twice, or by two bodies. A scope that has
        // begun keeps its cause, so that causes come first.
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
        for turn in self.state(ix).turns.clone() {
            self.give_back(ix, self.turns[turn as usize]);
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

    /// A waiting body continues.
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

    /// Returns an exclusion. The next task in its queue gets it, and continues with its next one.
    fn give_back(&mut self, by: Ix, exclusion: u32) {
        let exclusion = &mut self.exclusions[exclusion as usize];
        let Some(next) = exclusion.queue.pop_front() else {
            exclusion.held = false;
            return;
        };
        self.due_to(next, Since::Complete(by));
        self.state(next).had += 1;
        self.ready(next);
    }

    fn span(mut self) -> Span {
        let completed = |ix: Ix| self.states[ix as usize].completed;
        let last = self.run.known().filter_map(|(ix, _)| Some((completed(ix)?, ix))).max();
        let missing = |(ix, body): &(Ix, &Body)| body.completed.is_some() && completed(*ix).is_none();
        let incomplete = self.run.known().filter(missing).count() as u64;
        let Some((ticks, last)) = last else { return Span { ticks: 0, incomplete, path: Vec::new() } };
        Span { ticks, incomplete, path: self.path(last) }
    }

    /// Goes back from the completion of `last`, always along the last cause.
    fn path(&mut self, last: Ix) -> Vec<Stretch> {
        let mut path = Vec::new();
        let mut since = Since::Complete(last);
        loop {
            match since {
                Since::Begin => break,
                Since::Complete(body) => since = self.states[body as usize].complete_since,
                Since::Strand(body, to) => {
                    let state = &mut self.states[body as usize];
                    // Each wait is passed once. Otherwise a wait of zero time would lead to an
                    // endless loop.
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
