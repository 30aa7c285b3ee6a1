//! What a recording says, body by body.
//!
//! Events are replayed track by track; a body's events may be on several. Nothing here compares times of different
//! tracks, so that clocks which run apart (a test's) give the same bodies and the same times of their own.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use millpond::depend::Mode;
use millpond::record::{Cause, Event, Role, Track};

use crate::format::{Ev, LabelText, ReadError, Recording, Told};

/// The index of a body in [`Run::bodies`].
pub(crate) type Ix = u32;

/// What kind of body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// The closure of a root scope, or a session.
    Scope,
    Task(Role),
}

/// A body: a task, or the closure of a root scope.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) kind: Kind,
    pub(crate) label: u32,
    pub(crate) count: u8,
    pub(crate) indices: [u32; 4],
    /// Whose child it is; of a scope, the body that opened it.
    pub(crate) spawner: Option<Ix>,
    pub(crate) order: u64,
    pub(crate) accesses: Range<u32>,
    pub(crate) spawned: u64,
    /// When its last access was granted, and the task whose release did it; `None` if it had not to wait.
    pub(crate) granted: Option<(u64, Option<Ix>)>,
    /// The same for its last exclusion.
    pub(crate) handed: Option<(u64, Option<Ix>)>,
    pub(crate) started: Option<u64>,
    pub(crate) ended: Option<u64>,
    pub(crate) completed: Option<u64>,
    /// Index into [`Run::tracks`].
    pub(crate) track: Option<u32>,
    /// What it did itself, spawning included.
    pub(crate) own: u64,
    /// It ran on top of another body: at its spawn, or as a half that was taken back.
    pub(crate) on_top: bool,
    pub(crate) pending: bool,
    /// A scope without a closure.
    pub(crate) session: bool,
    pub(crate) ok: bool,
    /// It was opened or spawned within the recording.
    pub(crate) known: bool,
    /// Index range in [`Run::ops`].
    pub(crate) ops: Range<u32>,
}

/// An access of a task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) mode: Mode,
    pub(crate) datum: u64,
}

/// What a body does besides computing, and after how much of its own time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    pub(crate) body: Ix,
    pub(crate) own: u64,
    pub(crate) what: Does,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Does {
    Spawn(Ix),
    /// Waits, as [`Run::waits`] has it.
    Wait(u32),
    /// Uses the result of a task.
    Join(Ix),
    Set(u64),
    /// Opens a root scope, and goes on when that is complete.
    Open(Ix),
    /// Meets the last precondition of a pending task.
    Meet(Ix),
}

/// A body stands still.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) body: Ix,
    pub(crate) cause: Cause,
    pub(crate) on: On,
    pub(crate) track: u32,
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// The task whose release ended it, for a datum.
    pub(crate) by: Option<Ix>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Body(Ix),
    Datum(u64),
    Nothing,
}

/// What happened on a track.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) track: Track,
    /// Which body ran when; touching segments of one body are one.
    pub(crate) runs: Vec<Segment>,
    /// When there was nothing to do: from the first look in vain until something ran; from 0 to the first event too, and
    /// without end if nothing ran any more.
    pub(crate) idle: Vec<(u64, u64)>,
    pub(crate) steals: u64,
    /// Time in spawning.
    pub(crate) spawning: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) body: Ix,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// A recording, understood.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) labels: Vec<String>,
    pub(crate) bodies: Vec<Body>,
    pub(crate) accesses: Vec<Access>,
    pub(crate) ops: Vec<Op>,
    pub(crate) waits: Vec<Wait>,
    pub(crate) tracks: Vec<Line>,
    pub(crate) ticks_per_second: f64,
    pub(crate) workers: usize,
}

impl Run {
    pub(crate) fn of(recording: &Recording) -> Result<Run, ReadError> {
        let mut builder = Builder::default();
        for track in recording.tracks() {
            builder.begin_track(track);
            recording.replay(track, |event| builder.event(event))?;
            builder.end_track();
        }
        builder.add_sleepers(recording.workers);
        Ok(builder.finish(recording))
    }

    pub(crate) fn body(&self, ix: Ix) -> &Body {
        &self.bodies[ix as usize]
    }

    pub(crate) fn ops_of(&self, ix: Ix) -> &[Op] {
        let ops = &self.body(ix).ops;
        &self.ops[ops.start as usize..ops.end as usize]
    }

    pub(crate) fn accesses_of(&self, ix: Ix) -> &[Access] {
        let accesses = &self.body(ix).accesses;
        &self.accesses[accesses.start as usize..accesses.end as usize]
    }

    /// All bodies with their indices, but those that were there before the recording.
    pub(crate) fn known(&self) -> impl Iterator<Item = (Ix, &Body)> {
        self.bodies.iter().enumerate().filter(|(_, body)| body.known).map(|(ix, body)| (ix as Ix, body))
    }

    /// All tasks.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = (Ix, &Body)> {
        self.known().filter(|(_, body)| body.kind != Kind::Scope)
    }

    /// The label without indices.
    pub(crate) fn label(&self, ix: Ix) -> &str {
        &self.labels[self.body(ix).label as usize]
    }

    /// The label with its indices.
    pub(crate) fn title(&self, ix: Ix) -> String {
        let body = self.body(ix);
        let indices: Vec<_> = body.indices[..usize::from(body.count)].iter().map(u32::to_string).collect();
        if indices.is_empty() {
            self.label(ix).to_owned()
        } else {
            format!("{}({})", self.label(ix), indices.join(","))
        }
    }

    pub(crate) fn seconds(&self, ticks: u64) -> f64 {
        ticks as f64 / self.ticks_per_second
    }
}

/// Reads events into bodies.
#[derive(Default)]
struct Builder {
    indices: HashMap<u64, Ix>,
    bodies: Vec<Body>,
    accesses: Vec<Access>,
    ops: Vec<Op>,
    waits: Vec<Wait>,
    /// Grants of bodies that waited, with the time.
    wait_grants: Vec<(Ix, Option<Ix>, u64)>,
    tracks: Vec<Line>,
    now: OnTrack,
}

/// Where the replay of a track is.
#[derive(Default)]
struct OnTrack {
    at: u64,
    running: Option<Ix>,
    /// Since when the last segment of `running` lasts.
    since: u64,
    /// Who runs when a body that started on top has ended.
    below: HashMap<Ix, Option<Ix>>,
    spawning: Option<u64>,
    idle: Option<u64>,
    last_spawned: Option<Ix>,
    waiting: HashMap<Ix, u32>,
}

impl Builder {
    fn begin_track(&mut self, track: Track) {
        // Before its first event it slept, or was not there.
        self.now = OnTrack { idle: Some(0), ..OnTrack::default() };
        self.tracks.push(Line { track, runs: Vec::new(), idle: Vec::new(), steals: 0, spawning: 0 });
    }

    /// What is idle at the end of its track stays so.
    fn end_track(&mut self) {
        self.now.at = u64::MAX;
        self.end_idle();
    }

    /// Workers that told nothing slept all the time.
    fn add_sleepers(&mut self, workers: usize) {
        let told: HashSet<_> = self.tracks.iter().filter_map(|line| line.track.worker).collect();
        let unused = self.tracks.iter().map(|line| line.track.number.saturating_add(1)).max().unwrap_or(0);
        for (worker, number) in (0..workers as u32).filter(|worker| !told.contains(worker)).zip(unused..) {
            self.begin_track(Track { number, worker: Some(worker) });
            self.end_track();
        }
    }

    fn line(&mut self) -> &mut Line {
        self.tracks.last_mut().expect("a track was begun")
    }

    /// The body of that number; none for 0.
    fn body(&mut self, id: u64) -> Option<Ix> {
        if id == 0 {
            return None;
        }
        let next = self.bodies.len() as Ix;
        let ix = *self.indices.entry(id).or_insert(next);
        if ix == next {
            self.bodies.push(Body::unknown());
        }
        Some(ix)
    }

    fn at(&mut self, ix: Ix) -> &mut Body {
        &mut self.bodies[ix as usize]
    }

    /// Another body runs from now on, or none.
    fn switch(&mut self, to: Option<Ix>) {
        let (now, since) = (self.now.at, self.now.since);
        if let Some(body) = self.now.running {
            self.at(body).own += now.saturating_sub(since);
            let segment = Segment { body, from: since, to: now };
            match self.line().runs.last_mut() {
                Some(last) if last.body == body && last.to == since => last.to = now,
                _ => self.line().runs.push(segment),
            }
        }
        (self.now.running, self.now.since) = (to, now);
        if to.is_some() {
            self.end_idle();
        }
    }

    /// The body that runs does something.
    fn does(&mut self, what: Does) {
        if let Some(body) = self.now.running {
            self.switch(Some(body));
            let own = self.at(body).own;
            self.ops.push(Op { body, own, what });
        }
    }

    fn end_idle(&mut self) {
        if let Some(from) = self.now.idle.take() {
            let to = self.now.at;
            self.line().idle.push((from, to));
        }
    }

    fn event(&mut self, event: Ev) {
        // Clocks of different processors may differ by a little.
        self.now.at = self.now.at.max(event.at);
        let now = self.now.at;
        match event.told {
            Told::Opened { scope, within, label } => self.opened(scope, within, label),
            Told::Session { scope, label } => self.session(scope, label),
            Told::Spawning { .. } => self.now.spawning = Some(now),
            Told::Spawned { role, task, spawner, order, label } => self.spawned(role, task, spawner, order, label),
            Told::Named { label } => self.with_last_spawned(|body| body.label = label),
            Told::Indexed { count, indices } => {
                self.with_last_spawned(|body| (body.count, body.indices) = (count, indices));
            }
            Told::Access { mode, datum } => {
                self.accesses.push(Access { mode, datum });
                let end = self.accesses.len() as u32;
                self.with_last_spawned(|body| body.accesses.end = end);
            }
            Told::Issued { .. } => self.end_spawning(),
            Told::Granted { task, by, access } => self.granted(task, by, access),
            Told::Handed { task, by, .. } => {
                if let (Some(task), by) = (self.body(task), self.body(by)) {
                    later(&mut self.at(task).handed, now, by);
                }
            }
            Told::Started { task } => self.started(task),
            Told::Ended { body, ok } => self.ended(body, ok),
            Told::Completed { body } => self.completed(body),
            Told::Waits { body, cause, on } => self.waits(body, cause, on),
            Told::Resumed { body } => self.resumed(body),
            Told::Joined { task, .. } => {
                if let Some(task) = self.body(task) {
                    self.does(Does::Join(task));
                }
            }
            Told::Set { datum, .. } => self.does(Does::Set(datum)),
            Told::Stole => self.line().steals += 1,
            Told::Idle => _ = self.now.idle.get_or_insert(now),
            // What looks for work and finds none is idle still; a body that runs ends it.
            Told::Awake => {}
        }
    }

    fn opened(&mut self, scope: u64, within: u64, label: u32) {
        let (Some(scope), within) = (self.body(scope), self.body(within)) else { return };
        let (now, track) = (self.now.at, self.tracks.len() as u32 - 1);
        let within = within.filter(|&within| self.now.running == Some(within));
        self.does(Does::Open(scope));
        self.now.below.insert(scope, within);
        self.switch(Some(scope));
        let body = self.at(scope);
        (body.kind, body.label, body.spawner, body.known) = (Kind::Scope, label, within, true);
        (body.spawned, body.started, body.track) = (now, Some(now), Some(track));
    }

    fn session(&mut self, scope: u64, label: u32) {
        let (now, Some(scope)) = (self.now.at, self.body(scope)) else { return };
        let body = self.at(scope);
        (body.kind, body.label, body.session, body.known) = (Kind::Scope, label, true, true);
        (body.spawned, body.started, body.ended) = (now, Some(now), Some(now));
    }

    fn spawned(&mut self, role: Role, task: u64, spawner: u64, order: u64, label: u32) {
        let (Some(task), spawner) = (self.body(task), self.body(spawner)) else { return };
        let (now, start) = (self.now.at, self.accesses.len() as u32);
        self.now.last_spawned = Some(task);
        match (self.now.running, spawner) {
            // The end of a scope combines its reductions.
            (None, Some(spawner)) if !self.at(spawner).session => {
                let own = self.at(spawner).own;
                self.ops.push(Op { body: spawner, own, what: Does::Spawn(task) });
            }
            _ => self.does(Does::Spawn(task)),
        }
        let body = self.at(task);
        (body.kind, body.label, body.spawner, body.order) = (Kind::Task(role), label, spawner, order);
        (body.spawned, body.known, body.accesses) = (now, true, start..start);
    }

    fn with_last_spawned(&mut self, change: impl FnOnce(&mut Body)) {
        if let Some(task) = self.now.last_spawned {
            change(self.at(task));
        }
    }

    fn end_spawning(&mut self) {
        if let Some(from) = self.now.spawning.take() {
            let spent = self.now.at.saturating_sub(from);
            self.line().spawning += spent;
        }
    }

    fn granted(&mut self, task: u64, by: u64, access: u16) {
        let (Some(task), by) = (self.body(task), self.body(by)) else { return };
        let now = self.now.at;
        if access == Event::WAIT {
            self.wait_grants.push((task, by, now));
            return;
        }
        if access == Event::PRECONDITION {
            self.at(task).pending = true;
            self.does(Does::Meet(task));
        }
        later(&mut self.at(task).granted, now, by);
    }

    fn started(&mut self, task: u64) {
        let Some(task) = self.body(task) else { return };
        let (now, track, below) = (self.now.at, self.tracks.len() as u32 - 1, self.now.running);
        if below.is_some() {
            self.end_spawning();
        }
        self.now.below.insert(task, below);
        self.switch(Some(task));
        let body = self.at(task);
        (body.started, body.track, body.on_top) = (Some(now), Some(track), below.is_some());
    }

    fn ended(&mut self, body: u64, ok: bool) {
        let Some(ix) = self.body(body) else { return };
        let (now, below) = (self.now.at, self.now.below.get(&ix).copied().flatten());
        let kind = self.at(ix).kind;
        if self.now.running == Some(ix) {
            // What opened a scope goes on when that is complete.
            self.switch(below.filter(|_| kind != Kind::Scope));
        }
        let body = self.at(ix);
        (body.ended, body.ok) = (Some(now), ok);
        if kind != Kind::Scope {
            self.now.below.remove(&ix);
        }
    }

    fn completed(&mut self, body: u64) {
        let Some(ix) = self.body(body) else { return };
        let now = self.now.at;
        self.at(ix).completed = Some(now);
        let below = self.now.below.remove(&ix).flatten();
        if self.at(ix).kind == Kind::Scope && self.now.running.is_none() {
            self.switch(below);
        }
    }

    fn waits(&mut self, body: u64, cause: Cause, on: u64) {
        let Some(body) = self.body(body) else { return };
        let (now, track, number) = (self.now.at, self.tracks.len() as u32 - 1, self.waits.len() as u32);
        let on = match cause {
            Cause::Join => self.body(on).map_or(On::Nothing, On::Body),
            Cause::Datum | Cause::Written => On::Datum(on),
            _ => On::Nothing,
        };
        self.does(Does::Wait(number));
        self.waits.push(Wait { body, cause, on, track, from: now, to: now, by: None });
        self.now.waiting.insert(body, number);
        if self.now.running == Some(body) {
            self.switch(None);
        }
    }

    fn resumed(&mut self, body: u64) {
        let Some(body) = self.body(body) else { return };
        let now = self.now.at;
        if let Some(wait) = self.now.waiting.remove(&body) {
            self.waits[wait as usize].to = now;
        }
        self.switch(Some(body));
    }

    fn finish(mut self, recording: &Recording) -> Run {
        self.attribute_wait_grants();
        for body in &mut self.bodies {
            if !matches!(body.kind, Kind::Scope | Kind::Task(Role::Parent)) {
                body.completed = body.ended;
            }
        }
        // All operations of a body are on one track, in order, but those of doors; a stable sort keeps it.
        self.ops.sort_by_key(|op| op.body);
        let mut start = 0;
        for ops in self.ops.chunk_by(|a, b| a.body == b.body) {
            let end = start + ops.len() as u32;
            self.bodies[ops[0].body as usize].ops = start..end;
            start = end;
        }
        let mut labels: Vec<_> = recording.labels.iter().map(LabelText::to_string).collect();
        if labels.is_empty() {
            labels.push(String::new());
        }
        let Builder { bodies, accesses, ops, waits, tracks, .. } = self;
        let (ticks_per_second, workers) = (recording.ticks_per_second, recording.workers);
        Run { labels, bodies, accesses, ops, waits, tracks, ticks_per_second, workers }
    }

    /// Finds for each grant the wait that it ended.
    fn attribute_wait_grants(&mut self) {
        let mut waits: HashMap<Ix, Vec<u32>> = HashMap::new();
        for (number, wait) in self.waits.iter().enumerate() {
            if matches!(wait.on, On::Datum(_)) {
                waits.entry(wait.body).or_default().push(number as u32);
            }
        }
        for (body, by, at) in std::mem::take(&mut self.wait_grants) {
            let Some(numbers) = waits.get(&body) else { continue };
            // They come in the order of time: a body stands still once at a time.
            let first = numbers.partition_point(|&number| self.waits[number as usize].to < at);
            if let Some(wait) = numbers.get(first).map(|&number| &mut self.waits[number as usize])
                && wait.from <= at
            {
                wait.by = by;
            }
        }
    }
}

/// Keeps the later of two releases.
fn later(last: &mut Option<(u64, Option<Ix>)>, at: u64, by: Option<Ix>) {
    if last.is_none_or(|(before, _)| before <= at) {
        *last = Some((at, by));
    }
}

impl Body {
    fn unknown() -> Body {
        Body {
            // Until it is said: what is opened says so on the track where it runs.
            kind: Kind::Task(Role::Leaf),
            label: 0,
            count: 0,
            indices: [0; 4],
            spawner: None,
            order: 0,
            accesses: 0..0,
            spawned: 0,
            granted: None,
            handed: None,
            started: None,
            ended: None,
            completed: None,
            track: None,
            own: 0,
            on_top: false,
            pending: false,
            session: false,
            ok: true,
            known: false,
            ops: 0..0,
        }
    }

    /// When it could have started: its accesses granted, its exclusions taken.
    pub(crate) fn ready(&self) -> u64 {
        let granted = self.granted.map_or(self.spawned, |(at, _)| at);
        self.handed.map_or(granted, |(at, _)| at.max(granted))
    }
}

impl std::fmt::Display for LabelText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LabelText::Name(name) => f.write_str(name),
            LabelText::Place(file, line) => write!(f, "{file}:{line}"),
        }
    }
}
