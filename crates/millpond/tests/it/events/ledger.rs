//! The state of each body, event by event, and the rules that events must follow.

use std::collections::HashMap;
use std::fmt;
use std::iter;
use std::mem;

use millpond::depend::Mode;
use millpond::record::{Cause, Event, Id, Role, Track, What};

use Rule::*;

/// The events that a sink received, in order.
pub type Told = Vec<(Track, Event)>;

/// The rules for the events of a recording. A body is *over* when it has ended and its children are
/// complete, if it can have children that outlive it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// On a track, time never decreases.
    TimeGoesOn,
    /// A body is opened or spawned once, before any other event of it.
    ComesOnce,
    /// A body opens a scope on the track on which it runs. A body that waits for that scope may
    /// open it on another track.
    OpenedByWhoRuns,
    /// The parent of a task is not over. The parent of a join's half runs on the track of the
    /// spawn.
    HasSpawner,
    /// A task's name, indices and accesses follow its spawn directly.
    FollowsSpawn,
    /// A task's accesses are granted before it starts. The accesses of a waiting body are granted
    /// while it waits.
    GrantedToWhoWaits,
    /// A task starts at most once, and never after its end.
    StartsOnce,
    /// A body that starts on top of another one is its child, or the child of a body whose scope it
    /// uses.
    StartsOnSpawner,
    /// A body acts on the track on which it runs. It may also act where the closure of its own
    /// scope runs, or where it waits for a scope of another runtime. It must be on top to wait or
    /// join. A session runs on no track.
    ActsWhereItRuns,
    /// A waiting body is resumed on the track of the event, while no body runs there.
    ResumedWhereItWaits,
    /// What a body has waited for is over: a task, a scope, or its children on a datum.
    WaitIsOver,
    /// A body ends once: on top of its track, or without a start and with an error.
    EndsOnce,
    /// A scope, a session or a parent is complete once, after its end. No other body has this
    /// event.
    CompletesOnce,
    /// A body is over after its children.
    OverAfterChildren,
    /// No body runs on an idle worker.
    IdleRunsNothing,
    /// At the end of the recording every body is over, and no body runs.
    AllIsOver,
}

impl Rule {
    fn kept_if(self, holds: bool) -> Result<(), Rule> {
        if holds { Ok(()) } else { Err(self) }
    }
}

/// A broken rule.
pub struct Breach {
    rule: Rule,
    /// The event that breaks it, and the events before. `None` if the end of the recording breaks
    /// it.
    last: Told,
    ledger: Ledger,
}

/// Replays the events of whole scopes. The clock returns each time once.
pub fn breach(told: &Told) -> Option<Breach> {
    let mut ledger = Ledger::default();
    let mut in_time: Vec<_> = told.iter().enumerate().collect();
    in_time.sort_by_key(|(_, (_, event))| event.at);
    for (at, &(nth, (track, event))) in in_time.iter().enumerate() {
        if let Err(rule) = ledger.event(nth, track.number, event.what) {
            let last = in_time[..=at].iter().rev().take(40).map(|&(_, told)| *told).collect();
            return Some(Breach { rule, last, ledger });
        }
    }
    ledger.end().err().map(|rule| Breach { rule, last: Told::new(), ledger })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Scope,
    Session,
    Task(Role),
}

impl Kind {
    /// Whether the body can have children that outlive it.
    fn completes(self) -> bool {
        matches!(self, Kind::Scope | Kind::Session | Kind::Task(Role::Parent))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Spawned,
    /// Runs on that track, perhaps below other bodies.
    Runs(u32),
    Waits {
        track: u32,
        cause: Cause,
        on: u64,
    },
    Ended,
    Over,
}

/// The state of a body.
#[derive(Debug)]
struct Body {
    kind: Kind,
    /// The body that spawned it or opened the scope, or 0.
    spawner: Id,
    state: State,
    /// The body that runs on its track after it has ended, or 0.
    below: Id,
    /// The number of children that are not over.
    children: u32,
    /// The children that use the current version of each datum.
    uses: HashMap<u64, Vec<(Id, Mode)>>,
}

/// The state of a track.
#[derive(Debug, Default)]
struct Line {
    /// The number of events before its last one.
    told: usize,
    /// The body on top of the track, or 0.
    top: Id,
    /// The task that was spawned, if since then only events that describe it have followed.
    spawned: Id,
}

/// See the [module](self).
#[derive(Debug, Default)]
struct Ledger {
    bodies: HashMap<Id, Body>,
    tracks: HashMap<u32, Line>,
}

impl Ledger {
    fn event(&mut self, nth: usize, track: u32, what: What) -> Result<(), Rule> {
        let line = self.line(track);
        let (top, before) = (line.top, mem::replace(&mut line.told, nth));
        let spawned = mem::take(&mut line.spawned);
        TimeGoesOn.kept_if(before <= nth)?;
        match what {
            What::Opened { scope, within, .. } => self.opened(track, scope, within),
            What::Session { scope, .. } => {
                self.comes(scope, Kind::Session, 0)?;
                self.body(scope).map(|body| body.state = State::Ended)
            }
            What::Spawned { role, task, spawner, .. } => {
                HasSpawner.kept_if(spawner != 0 && (role != Role::Fork || spawner == top))?;
                self.line(track).spawned = task;
                self.comes(task, Kind::Task(role), spawner)
            }
            What::Named { .. } | What::Indexed { .. } => self.follows(track, spawned),
            What::Declared { mode, datum } => {
                self.follows(track, spawned)?;
                self.declared(spawned, mode, datum)
            }
            What::Granted { task, by, access } => {
                // Any thread may satisfy a precondition, in a body or not.
                ActsWhereItRuns.kept_if(access != Event::PRECONDITION || by == top)?;
                self.granted(task, access)
            }
            What::Handed { task, .. } => GrantedToWhoWaits.kept_if(self.body(task)?.state == State::Spawned),
            What::Started { task } => self.started(track, task),
            What::Spawning { body } | What::Issued { body } => self.acts(track, body),
            What::Set { body, datum, .. } => {
                self.acts(track, body)?;
                self.body(body).map(|body| drop(body.uses.remove(&datum)))
            }
            What::Joined { body, task } => {
                ActsWhereItRuns.kept_if(body == top)?;
                WaitIsOver.kept_if(self.body(task)?.state == State::Over)
            }
            What::Waits { body, cause, on } => {
                ActsWhereItRuns.kept_if(body == top)?;
                self.line(track).top = 0;
                self.body(body).map(|body| body.state = State::Waits { track, cause, on })
            }
            What::Resumed { body } => self.resumed(track, body),
            What::Ended { body, ok } => self.ended(track, body, ok),
            What::Completed { body } => self.completed(track, body),
            What::Idle | What::Awake => IdleRunsNothing.kept_if(top == 0),
            What::Stole | What::StoleClosures { .. } => Ok(()),
            What::AtTheft => IdleRunsNothing.kept_if(top == 0),
            other => panic!("no rule says anything of {other:?}"),
        }
    }

    fn end(&self) -> Result<(), Rule> {
        let over = self.bodies.values().all(|body| body.state == State::Over);
        AllIsOver.kept_if(over && self.tracks.values().all(|line| line.top == 0))
    }

    fn line(&mut self, track: u32) -> &mut Line {
        self.tracks.entry(track).or_default()
    }

    fn body(&mut self, id: Id) -> Result<&mut Body, Rule> {
        self.bodies.get_mut(&id).ok_or(ComesOnce)
    }

    fn is_over(&self, id: Id) -> bool {
        self.bodies.get(&id).is_some_and(|body| body.state == State::Over)
    }

    fn comes(&mut self, id: Id, kind: Kind, spawner: Id) -> Result<(), Rule> {
        if spawner != 0 {
            let spawner = self.body(spawner)?;
            HasSpawner.kept_if(spawner.state != State::Over)?;
            spawner.children += 1;
        }
        let body = Body { kind, spawner, state: State::Spawned, below: 0, children: 0, uses: HashMap::new() };
        ComesOnce.kept_if(id != 0 && self.bodies.insert(id, body).is_none())
    }

    fn opened(&mut self, track: u32, scope: Id, within: Id) -> Result<(), Rule> {
        let top = self.line(track).top;
        let opener = self.bodies.get(&within).map(|body| body.state);
        let waits = matches!(opener, Some(State::Waits { cause: Cause::Join, on, .. }) if on == scope);
        OpenedByWhoRuns.kept_if(within == top || top == 0 && waits)?;
        self.comes(scope, Kind::Scope, within)?;
        self.runs(track, scope)
    }

    fn follows(&mut self, track: u32, spawned: Id) -> Result<(), Rule> {
        self.line(track).spawned = spawned;
        FollowsSpawn.kept_if(spawned != 0)
    }

    fn declared(&mut self, task: Id, mode: Mode, datum: u64) -> Result<(), Rule> {
        let spawner = self.body(task)?.spawner;
        let uses = self.body(spawner)?.uses.entry(datum).or_default();
        if mode == Mode::Write {
            // The access belongs to a new version.
            uses.clear();
        }
        uses.push((task, mode));
        Ok(())
    }

    fn granted(&mut self, task: Id, access: u16) -> Result<(), Rule> {
        let body = self.body(task)?;
        GrantedToWhoWaits.kept_if(match access {
            // A body can wait for it anywhere, and that place may be in no body.
            Event::WAIT if body.kind == Kind::Session => body.state != State::Over,
            Event::WAIT => matches!(body.state, State::Waits { cause: Cause::Datum | Cause::Written, .. }),
            _ => body.state == State::Spawned,
        })
    }

    fn started(&mut self, track: u32, task: Id) -> Result<(), Rule> {
        let top = self.line(track).top;
        let &mut Body { state, spawner, .. } = self.body(task)?;
        StartsOnce.kept_if(state == State::Spawned)?;
        let on_spawner = self.body(spawner)?.state == State::Runs(track) || self.is_around(spawner, top);
        StartsOnSpawner.kept_if(top == 0 || on_spawner)?;
        self.runs(track, task)
    }

    /// It runs from now on, on top of the other bodies of that track.
    fn runs(&mut self, track: u32, id: Id) -> Result<(), Rule> {
        let below = mem::replace(&mut self.line(track).top, id);
        self.body(id).map(|body| (body.state, body.below) = (State::Runs(track), below))
    }

    fn acts(&mut self, track: u32, id: Id) -> Result<(), Rule> {
        let top = self.line(track).top;
        let body = self.bodies.get(&id).ok_or(ComesOnce)?;
        ActsWhereItRuns.kept_if(match body.kind {
            Kind::Session => body.state != State::Over,
            _ => body.state == State::Runs(track) || self.is_around(id, top) || self.is_away(track, body.state),
        })
    }

    /// Whether a body waits on that track for a scope of another runtime, whose closure may use the
    /// body's scope.
    fn is_away(&self, track: u32, state: State) -> bool {
        let State::Waits { track: here, cause: Cause::Join, on } = state else { return false };
        here == track && self.bodies.get(&on).is_some_and(|scope| scope.kind == Kind::Scope)
    }

    fn is_around(&self, outer: Id, inner: Id) -> bool {
        self.around(inner).any(|around| around == outer)
    }

    /// The body. For a scope's closure, also the bodies whose handles and scopes it can use: the
    /// opener, its opener, and so on.
    fn around(&self, id: Id) -> impl Iterator<Item = Id> {
        let opener = |id: &Id| self.bodies.get(id).filter(|body| body.kind == Kind::Scope).map(|body| body.spawner);
        iter::successors(Some(id), opener)
    }

    fn resumed(&mut self, track: u32, id: Id) -> Result<(), Rule> {
        let top = self.line(track).top;
        let State::Waits { track: waited, cause, on } = self.body(id)?.state else { return Err(ResumedWhereItWaits) };
        ResumedWhereItWaits.kept_if(waited == track && top == 0)?;
        WaitIsOver.kept_if(self.was_waited_for(id, cause, on))?;
        self.line(track).top = id;
        self.body(id).map(|body| body.state = State::Runs(track))
    }

    /// Whether everything that a body waited for is over.
    fn was_waited_for(&self, id: Id, cause: Cause, on: u64) -> bool {
        let bodies = self.around(id).filter_map(|around| self.bodies.get(&around));
        let mut uses = bodies.filter_map(|body| body.uses.get(&on)).flatten();
        match cause {
            Cause::Join => on == 0 || self.is_over(on),
            Cause::Datum => uses.all(|(task, _)| self.is_over(*task)),
            Cause::Written => uses.all(|(task, mode)| *mode == Mode::Read || self.is_over(*task)),
            Cause::Window | Cause::Others => on == 0,
        }
    }

    fn ended(&mut self, track: u32, id: Id, ok: bool) -> Result<(), Rule> {
        let top = self.line(track).top;
        let &mut Body { kind, state, below, .. } = self.body(id)?;
        let refused = state == State::Spawned && !ok;
        EndsOnce.kept_if(refused || state == State::Runs(track) && top == id)?;
        if !refused {
            // The opener of a scope continues when the scope is complete.
            self.line(track).top = if kind == Kind::Scope { 0 } else { below };
        }
        self.body(id)?.state = State::Ended;
        if kind.completes() { Ok(()) } else { self.over(id) }
    }

    fn completed(&mut self, track: u32, id: Id) -> Result<(), Rule> {
        let &mut Body { kind, state, below, .. } = self.body(id)?;
        CompletesOnce.kept_if(state == State::Ended && kind.completes())?;
        if kind == Kind::Scope {
            let top = mem::replace(&mut self.line(track).top, below);
            ActsWhereItRuns.kept_if(top == 0)?;
        }
        self.over(id)
    }

    fn over(&mut self, id: Id) -> Result<(), Rule> {
        let body = self.body(id)?;
        body.state = State::Over;
        OverAfterChildren.kept_if(body.children == 0)?;
        match body.spawner {
            0 => Ok(()),
            spawner => self.body(spawner).map(|spawner| spawner.children -= 1),
        }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Breach { rule, last, ledger } = self;
        match last.first() {
            Some((track, event)) => writeln!(f, "{rule:?} is broken on {track:?} by {event:?}")?,
            None => writeln!(f, "{rule:?} is broken")?,
        }
        for (track, line) in &ledger.tracks {
            writeln!(f, "track {track}: {line:?}")?;
        }
        for (id, body) in ledger.bodies.iter().filter(|(_, body)| body.state != State::Over) {
            writeln!(f, "body {id}: {body:?}")?;
        }
        for (track, event) in last.iter().skip(1) {
            writeln!(f, "before, on track {}: {event:?}", track.number)?;
        }
        Ok(())
    }
}
