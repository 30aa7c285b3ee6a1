//! Random life cycle programs.
//!
//! The steps of all actors are drawn in one order. A step waits only for earlier steps and for
//! tasks. Tasks wait for hands and for earlier tasks. In the closure of a scope, the rules of
//! [`Runtime::scope`] limit what a thread may wait for:
//!
//! - It waits through the scope, which runs other tasks meanwhile.
//! - In the first runtime it may call the second one, never the reverse. Tasks of the second
//!   runtime wait only for tasks of the second runtime. (A body that waits on a caller's seat
//!   continues when the caller returns.)
//!
//! [`Runtime::scope`]: millpond::Runtime::scope

use std::sync::LazyLock;

use millpond::catalogue::Names;
use millpond::stack::Theft;
use millpond::{Idle, Inline};

use super::program::*;
use super::sessions::SessionState;
use super::tasks::Model;
use super::work::mix;
use crate::common::rng::Rng;

pub struct Generator {
    pub rng: Rng,
    pub program: Program,
    /// By domain.
    pub models: Vec<Model>,
    pub sessions: Vec<SessionState>,
    pub joins: Vec<JoinState>,
    actors: Vec<ActorState>,
    /// The number of permits that may still be forgotten.
    pub permits: usize,
    /// With their scopes.
    handles: Vec<(usize, usize)>,
    /// Whether tasks and drops may fail.
    pub faulty: bool,
    /// Whether anything may be forgotten, and whether that includes values that keep threads.
    pub forgets: bool,
    pub forgets_threads: bool,
}

pub struct JoinState {
    pub runtime: usize,
    pub taken: bool,
    /// Its value may leak.
    pub light: bool,
}

struct ActorState {
    frames: Vec<Frame>,
    released: [bool; 2],
}

/// An open scope, or the place outside all scopes.
struct Frame {
    scope: Option<usize>,
    runtime: usize,
    /// Within a scope of another runtime: waits for no other actor.
    away: bool,
    steps: Vec<Step>,
}

/// What the actor may do in this place.
#[derive(Clone, Copy)]
pub struct Place {
    pub actor: usize,
    /// The smallest runtime that it may wait for.
    pub least: usize,
    pub away: bool,
}

fn config(rng: &mut Rng, calm: bool) -> Config {
    static ALL: LazyLock<Vec<Names<'static>>> = LazyLock::new(|| Names::all().collect());
    let names = match rng.below(8) {
        0..4 => Names::default(),
        4..6 => Names { scheme: "stack", ..Names::default() },
        _ => rng.pick(&ALL),
    };
    let mut config = Config {
        workers: rng.pick(&[1, 1, 2, 2, 3, 4]),
        window: rng.pick(&[1, 2, 64, 4096, 4096, 4096]),
        inline: rng.pick(&[Inline::Auto, Inline::Auto, Inline::Never, Inline::Always]),
        idle: rng.pick(&[Idle::Hybrid, Idle::Hybrid, Idle::Hybrid, Idle::Sleep]),
        stack_size: rng.pick(&[128 << 10, 256 << 10]),
        // From numbers of its own, so that the other choices of a seed stay the same.
        theft: Rng::new(rng.clone().next()).pick(&[Theft::Chains, Theft::Paper]),
        deterministic: rng.percent(15),
        dumps: rng.percent(15),
        names,
    };
    if config.workers <= 2 && rng.percent(3) {
        config.idle = Idle::Busy;
    }
    if calm {
        // Its threads may remain, asleep.
        (config.workers, config.idle, config.names) = (1, Idle::Hybrid, Names::default());
    }
    config
}

pub fn program(seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let (faulty, forgets) = (rng.percent(40), rng.percent(20));
    let forgets_threads = forgets && rng.percent(10);
    let runtimes: Vec<_> = (0..1 + rng.below(2)).map(|_| config(&mut rng, forgets_threads)).collect();
    let actors = if rng.percent(15) { 7 } else { 1 + rng.below(4) };
    let mut items = Vec::new();
    for _ in 0..rng.below(3) {
        items.push(item(&mut rng, faulty, forgets));
    }
    let program = Program {
        seed,
        runtimes,
        actors: Vec::new(),
        hands: 1 + rng.below(3),
        sitters: rng.percent(20),
        domains: Vec::new(),
        joins: 0,
        signals: 0,
        items,
        handles: 0,
        tasks: 0,
    };
    let outside = || Frame { scope: None, runtime: 0, away: false, steps: Vec::new() };
    let actor = |_| ActorState { frames: vec![outside()], released: [false; 2] };
    let mut generator = Generator {
        rng,
        program,
        models: Vec::new(),
        sessions: Vec::new(),
        joins: Vec::new(),
        actors: (0..actors).map(actor).collect(),
        permits: if forgets { 4 } else { 0 },
        handles: Vec::new(),
        faulty,
        forgets,
        forgets_threads,
    };
    let steps = 6 + generator.rng.below(10) + actors * generator.rng.below(10);
    (0..steps).for_each(|_| generator.any_step());
    generator.end()
}

fn item(rng: &mut Rng, faulty: bool, forgets: bool) -> Item {
    let mut uses: Vec<_> = (0..rng.below(4)).map(|_| rng.pick(&[Use::Dropped, Use::Taken, Use::GivenBack])).collect();
    if forgets && rng.percent(30) {
        uses.push(Use::Forgotten);
    }
    Item { uses, looks: rng.below(3), releases: rng.below(2), bomb: faulty && rng.percent(30) }
}

impl Generator {
    fn end(mut self) -> Program {
        // The closures end in any order.
        while let Some(actor) = self.any_actor(|actor| actor.frames.len() > 1) {
            self.close(actor);
        }
        let sessions = std::mem::take(&mut self.sessions);
        for session in sessions {
            // Some remain until the end.
            if self.rng.percent(80) {
                let actor = self.rng.below(self.actors.len());
                self.end_session(actor, &session);
            }
        }
        for actor in 0..self.actors.len() {
            for runtime in 0..self.program.runtimes.len() {
                if self.rng.percent(50) {
                    self.release(actor, runtime);
                }
            }
        }
        let frame = |actor: ActorState| actor.frames.into_iter().next().expect("what is outside of all").steps;
        self.program.actors = self.actors.into_iter().map(frame).collect();
        self.program
    }

    fn any_actor(&mut self, which: impl Fn(&ActorState) -> bool) -> Option<usize> {
        let those: Vec<_> = (0..self.actors.len()).filter(|&actor| which(&self.actors[actor])).collect();
        (!those.is_empty()).then(|| self.rng.pick(&those))
    }

    pub fn push(&mut self, actor: usize, step: Step) {
        self.actors[actor].frames.last_mut().expect("one is outside of all").steps.push(step);
    }

    pub fn place(&self, actor: usize) -> Place {
        let frames = &self.actors[actor].frames;
        let least = frames.iter().map(|frame| frame.runtime).max().unwrap_or(0);
        Place { actor, least, away: frames.iter().any(|frame| frame.away) }
    }

    /// Whether the actor still has the runtime, and may call it in this place.
    pub fn may_call(&self, place: Place, runtime: usize) -> bool {
        runtime >= place.least && runtime < self.program.runtimes.len() && !self.actors[place.actor].released[runtime]
    }

    pub fn domain(&mut self, runtime: usize, cancels: bool) -> usize {
        let bombs = self.faulty && self.rng.percent(15);
        let forgets = self.forgets && self.rng.percent(20);
        self.program.domains.push(Domain {
            runtime,
            cancels,
            may_fail: bombs,
            bombs: bombs && !forgets,
            forgets,
            ..Domain::default()
        });
        let number = (!cancels).then_some(1);
        self.models.push(Model { number, own: vec![1; self.actors.len()], ..Model::default() });
        self.program.domains.len() - 1
    }

    fn any_step(&mut self) {
        let actor = self.rng.below(self.actors.len());
        let in_scope = self.actors[actor].frames.last().and_then(|frame| frame.scope);
        match (self.rng.below(100), in_scope) {
            (0..4, _) => {
                let turns = self.rng.pick(&[50, 150, 200, 300, 1000]);
                self.push(actor, Step::Pause(turns));
            }
            (4..10, _) => self.open_session(actor),
            (10..14, _) => {
                if !self.sessions.is_empty() && self.may_end(actor) {
                    let at = self.rng.below(self.sessions.len());
                    let session = self.sessions.swap_remove(at);
                    self.end_session(actor, &session);
                }
            }
            (14..18, _) => self.end_join(actor),
            (18..25, _) => self.knock(actor),
            (25..26, _) => {
                let runtime = self.rng.below(self.program.runtimes.len());
                if !self.actors[actor].released[runtime] {
                    self.push(actor, Step::Dump { runtime });
                }
            }
            (26..28, _) => {
                let runtime = self.rng.below(self.program.runtimes.len());
                if self.rng.percent(30) {
                    self.release(actor, runtime);
                }
            }
            (28..42, None) | (28..32, Some(_)) => self.open_scope(actor),
            (42..100, None) | (32..50, Some(_)) => self.use_session(actor),
            (50..58, Some(_)) => self.close(actor),
            (_, Some(scope)) => self.in_scope(actor, scope),
            (100.., None) => unreachable!("below 100"),
        }
    }

    /// An actor does not end sessions of a runtime that it may not wait for.
    fn may_end(&self, actor: usize) -> bool {
        let place = self.place(actor);
        !place.away && self.sessions.iter().all(|session| self.program.domains[session.domain].runtime >= place.least)
    }

    /// A join of a session that no other thread ends, of this runtime or a later one.
    pub fn take_join(&mut self, least: usize) -> Option<usize> {
        let free = |join: &&JoinState| !join.taken && join.runtime >= least;
        let those: Vec<_> = (0..self.joins.len()).filter(|&join| free(&&self.joins[join])).collect();
        let join = (!those.is_empty()).then(|| self.rng.pick(&those))?;
        self.joins[join].taken = true;
        Some(join)
    }

    fn end_join(&mut self, actor: usize) {
        let place = self.place(actor);
        if place.away {
            return;
        }
        let Some(join) = self.take_join(place.least) else { return };
        let how = match self.rng.below(12) {
            0 => Joined::Dropped,
            1..4 => Joined::Waited,
            4..6 => Joined::Polled(1 + self.rng.below(3)),
            6 if self.forgets_threads && self.joins[join].light => Joined::Forgotten,
            7 => Joined::Late,
            8..10 => Joined::AwaitedByAHand,
            _ => Joined::ByAHand(self.rng.below(3)),
        };
        self.push(actor, Step::Join { join, how });
    }

    fn open_scope(&mut self, actor: usize) {
        let (place, runtime) = (self.place(actor), self.rng.below(2));
        let frames = &self.actors[actor].frames;
        if frames.len() > 3 || !self.may_call(place, runtime) {
            return;
        }
        let away = frames.last().is_some_and(|frame| frame.scope.is_some() && frame.runtime != runtime);
        let cancels = self.rng.percent(12);
        let scope = self.domain(runtime, cancels);
        self.program.domains[scope].panics = self.faulty && self.rng.percent(8);
        self.actors[actor].frames.push(Frame { scope: Some(scope), runtime, away, steps: Vec::new() });
    }

    fn close(&mut self, actor: usize) {
        let frame = self.actors[actor].frames.pop().expect("an open scope");
        let scope = frame.scope.expect("an open scope");
        self.program.domains[scope].number = self.models[scope].number;
        self.push(actor, Step::Scope { scope, steps: frame.steps });
        // This may have been the last use of the runtime.
        if self.rng.percent(20) {
            self.release(actor, frame.runtime);
        }
    }

    fn release(&mut self, actor: usize, runtime: usize) {
        let state = &self.actors[actor];
        let in_use = state.frames.iter().any(|frame| frame.scope.is_some() && frame.runtime == runtime);
        if in_use || state.released[runtime] {
            return;
        }
        self.actors[actor].released[runtime] = true;
        let how = match self.rng.below(10) {
            0..3 => Released::ByAHand,
            3 if self.forgets_threads => Released::Forgotten,
            _ => Released::Dropped,
        };
        self.push(actor, Step::Release { runtime, how });
    }

    fn in_scope(&mut self, actor: usize, scope: usize) {
        let place = self.place(actor);
        let step = match self.rng.below(30) {
            0..7 => match self.common(scope) {
                Some(step) => InScope::Common(step),
                None => return,
            },
            7 => match self.signal() {
                None => InScope::Quiesce,
                Some(signal) => InScope::QuiesceOr(signal),
            },
            8 => self.crowd(scope),
            9..12 => {
                let handle = self.program.handles;
                self.program.handles += 1;
                self.handles.push((handle, scope));
                InScope::PassHandle(handle)
            }
            12..20 => InScope::External(self.external(place, scope)),
            _ => {
                let task = self.task(place, scope, false);
                let how = match self.rng.below(10) {
                    0..4 => Joined::Dropped,
                    4..6 => Joined::Polled(1 + self.rng.below(2)),
                    // An error would leak.
                    6 if self.forgets
                        && task.sure
                        && task.fails == Fails::No
                        && matches!(task.value, Value::None | Value::Light) =>
                    {
                        Joined::Forgotten
                    }
                    _ => Joined::Waited,
                };
                InScope::Spawn { task, now: self.rng.percent(40), how }
            }
        };
        self.push(actor, Step::Here(step));
    }

    fn crowd(&mut self, scope: usize) -> InScope {
        let tasks = (0..2 + self.rng.below(6)).map(|_| self.plain_task(scope)).collect();
        InScope::Crowd { threads: 2 + self.rng.below(2), tasks }
    }

    fn knock(&mut self, actor: usize) {
        if self.handles.is_empty() {
            return;
        }
        let (handle, scope) = self.rng.pick(&self.handles);
        let task = self.plain_task(scope);
        let kind = self.rng.pick(&[Through::Leaf, Through::Future, Through::FromALeaf, Through::InPlace]);
        let (stays, by) = (self.rng.percent(60), self.rng.pick(&[By::Actor, By::Hand, By::Hand, By::LateHand]));
        let signal = self.signal();
        self.push(actor, Step::Knock(Knock { handle, kind, task, signal, stays, by }));
    }
}

/// The number after a task that has succeeded.
pub fn number_after(number: u64, access: Access, by: u64) -> u64 {
    match access {
        Access::Inout => mix(number, by),
        Access::Commutative | Access::Reduce => number.wrapping_add(by),
        Access::Write => by,
        _ => number,
    }
}
