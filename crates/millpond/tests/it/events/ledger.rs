//! What is known of each body, event by event, and the rules that the events keep.

use std::collections::HashMap;
use std::fmt;
use std::iter;
use std::mem;

use millpond::depend::Mode;
use millpond::record::{Cause, Event, Id, Role, Track, What};

use Rule::*;

/// What a sink was told, in that order.
pub type Told = Vec<(Track, Event)>;

/// What the events of a recording promise. A body is *over* when it has ended, and is complete if it can have children
/// that go on without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Along a track, time does not run backwards.
    TimeGoesOn,
    /// A body is opened or spawned once, before anything else is told of it.
    ComesOnce,
    /// A scope is opened by the body that runs on its track, or by one that waits for just this scope on another track.
    OpenedByWhoRuns,
    /// A task is the child of a body that is not over; the half of a join, of the one that runs on its track.
    HasSpawner,
    /// The name, the indices and the accesses of a task follow its spawn at once.
    FollowsSpawn,
    /// A task is granted what it waits for before it starts, a body while it waits.
    GrantedToWhoWaits,
    /// A task starts once at most, and not after it has ended.
    StartsOnce,
    /// What starts on top of another body is a child of one that runs on that track, or of one whose scope that uses.
    StartsOnSpawner,
    /// What a body does, it does where it runs, or where the closure of a scope runs that it has opened, or where it waits
    /// for a scope of another runtime; waiting and joining, on top of that track. Only a session runs nowhere.
    ActsWhereItRuns,
    /// A body that waits is resumed on that track, while nothing runs there.
    ResumedWhereItWaits,
    /// What a body has waited for, or has the result of, is over: a task, a scope, what it has spawned on a datum.
    WaitIsOver,
    /// A body ends once: on top of its track, or without a start, and then not well.
    EndsOnce,
    /// A scope, a session or a parent is complete once, after it has ended; nothing else is.
    CompletesOnce,
    /// A body is over after its children.
    OverAfterChildren,
    /// Nothing runs on an idle worker.
    IdleRunsNothing,
    /// In the end every body is over, and nothing runs.
    AllIsOver,
}

impl Rule {
    fn kept_if(self, holds: bool) -> Result<(), Rule> {
        if holds { Ok(()) } else { Err(self) }
    }
}

/// A rule that is broken.
pub struct Breach {
    rule: Rule,
    /// The event that breaks it, and those before; none if it is the end that does.
    last: Told,
    ledger: Ledger,
}

/// Replays what was told of whole scopes, by a clock that gives every moment once.
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
    /// Whether it can have children that go on without it.
    fn completes(self) -> bool {
        matches!(self, Kind::Scope | Kind::Session | Kind::Task(Role::Parent))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Spawned,
    /// On that track, perhaps with others on top.
    Runs(u32),
    Waits {
        track: u32,
        cause: Cause,
        on: u64,
    },
    Ended,
    Over,
}

/// What is known of a body.
#[derive(Debug)]
struct Body {
    kind: Kind,
    /// The body that spawned it, or that opened the scope. 0 if there is none.
    spawner: Id,
    state: State,
    /// The body that runs on its track after it has ended. 0 if there is none.
    below: Id,
    /// How many children are not over.
    children: u32,
    /// Which children use a datum, in its last version.
    uses: HashMap<u64, Vec<(Id, Mode)>>,
}

/// What is known of a track.
#[derive(Debug, Default)]
struct Line {
    /// How many events were told before its last one.
    told: usize,
    /// The body that runs there, on top of others; 0 is none.
    top: Id,
    /// The task that was spawned, if nothing but what it is has been told since.
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
                // Any thread may satisfy a precondition, in a body or outside of all bodies.
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
            // Of a new version.
            uses.clear();
        }
        uses.push((task, mode));
        Ok(())
    }

    fn granted(&mut self, task: Id, access: u16) -> Result<(), Rule> {
        let body = self.body(task)?;
        GrantedToWhoWaits.kept_if(match access {
            // It waits wherever it is used, and that may be in no body.
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

    /// It runs from now on, on top of what runs there.
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

    /// Whether a body waits on that track for a scope of another runtime, whose closure may use its scope.
    fn is_away(&self, track: u32, state: State) -> bool {
        let State::Waits { track: here, cause: Cause::Join, on } = state else { return false };
        here == track && self.bodies.get(&on).is_some_and(|scope| scope.kind == Kind::Scope)
    }

    fn is_around(&self, outer: Id, inner: Id) -> bool {
        self.around(inner).any(|around| around == outer)
    }

    /// The body, and, if it is a scope's closure, whose handles and scopes it can use: who opened it, and so on.
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

    /// Whether nothing is left of what a body waited for.
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
            // Who has opened a scope goes on when that is complete.
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
