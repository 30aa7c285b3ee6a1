//! Replays events into bodies.
//!
//! The replay goes track by track; a body's events may be on several. It never compares times of
//! different tracks. So drifting clocks (as in a test) give the same bodies, with the same own
//! times.

use std::collections::{HashMap, HashSet};

use millpond::record::{Cause, Event, Role, Track};

use super::{Access, Body, Does, Ix, Kind, Line, On, Op, Run, Segment, Set, Wait};
use crate::format::{Ev, LabelText, RawWhat, Recording};

/// Turns events into bodies.
#[derive(Default)]
pub(super) struct Replay {
    indices: HashMap<u64, Ix>,
    bodies: Vec<Body>,
    accesses: Vec<Access>,
    ops: Vec<Op>,
    waits: Vec<Wait>,
    sets: Vec<Set>,
    /// Grants of bodies that waited, with the time.
    wait_grants: Vec<(Ix, Option<Ix>, u64)>,
    tracks: Vec<Line>,
    has_stacks: bool,
    now: OnTrack,
}

/// The state of a track's replay.
#[derive(Default)]
struct OnTrack {
    at: u64,
    running: Option<Ix>,
    /// When the current segment of `running` began.
    since: u64,
    /// The wait that ended then.
    after: Option<u32>,
    /// The body that continues after the end of a body on top of it.
    below: HashMap<Ix, Option<Ix>>,
    spawning: Option<u64>,
    idle: Option<u64>,
    /// The start of its wait for a stolen closure.
    at_theft: Option<u64>,
    last_spawned: Option<Ix>,
    waiting: HashMap<Ix, u32>,
}

impl Replay {
    pub(super) fn begin_track(&mut self, track: Track) {
        // Before its first event, it slept or did not exist.
        self.now = OnTrack { idle: Some(0), ..OnTrack::default() };
        self.tracks.push(Line::of(track));
    }

    /// A track that is idle at its end stays idle.
    pub(super) fn end_track(&mut self) {
        self.end_wait_at_theft();
        self.now.at = u64::MAX;
        self.end_idle();
    }

    /// Workers without events slept all the time.
    pub(super) fn add_sleepers(&mut self, workers: usize) {
        let told: HashSet<_> = self.tracks.iter().filter_map(|line| line.track.worker).collect();
        let used: HashSet<_> = self.tracks.iter().map(|line| line.track.number).collect();
        let unused = (0..u32::MAX).filter(|number| !used.contains(number));
        for (worker, number) in (0..workers as u32).filter(|worker| !told.contains(worker)).zip(unused) {
            self.begin_track(Track { number, worker: Some(worker) });
            self.end_track();
        }
    }

    fn line(&mut self) -> &mut Line {
        self.tracks.last_mut().expect("a track was begun")
    }

    /// The body with that number; `None` for 0.
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
        let (now, since, after) = (self.now.at, self.now.since, self.now.after.take());
        if let Some(body) = self.now.running {
            let body_at = self.at(body);
            body_at.own = body_at.own.saturating_add(now.saturating_sub(since));
            let segment = Segment { body, from: since, to: now, after };
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

    /// Records an operation of the running body.
    fn does(&mut self, what: Does) {
        if let Some(body) = self.now.running {
            self.switch(Some(body));
            let own = self.at(body).own;
            self.ops.push(Op { body, own, what });
        }
    }

    fn end_wait_at_theft(&mut self) {
        if let Some(from) = self.now.at_theft.take() {
            let to = self.now.at;
            self.line().at_thefts.push((from, to));
        }
    }

    fn end_idle(&mut self) {
        if let Some(from) = self.now.idle.take() {
            let to = self.now.at;
            self.line().idle.push((from, to));
        }
    }

    pub(super) fn event(&mut self, event: Ev) {
        // Clocks of different processors may differ a little.
        self.now.at = self.now.at.max(event.at);
        let now = self.now.at;
        self.end_wait_at_theft();
        match event.what {
            RawWhat::Opened { scope, within, label } => self.opened(scope, within, label),
            RawWhat::Session { scope, label } => self.session(scope, label),
            RawWhat::Spawning { .. } => self.now.spawning = Some(now),
            RawWhat::Spawned { role, task, spawner, order, label } => self.spawned(role, task, spawner, order, label),
            RawWhat::Named { label } => self.with_last_spawned(|body| body.label = label),
            RawWhat::Indexed { count, indices } => {
                self.with_last_spawned(|body| (body.count, body.indices) = (count, indices));
            }
            RawWhat::Access { mode, datum } => {
                self.accesses.push(Access { mode, datum });
                let end = self.accesses.len() as u32;
                self.with_last_spawned(|body| body.accesses.end = end);
            }
            RawWhat::Issued { .. } => self.end_spawning(),
            RawWhat::Granted { task, by, access } => self.granted(task, by, access),
            RawWhat::Handed { task, by, .. } => {
                if let (Some(task), by) = (self.body(task), self.body(by)) {
                    later(&mut self.at(task).handed, now, by);
                }
            }
            RawWhat::Started { task } => self.started(task),
            RawWhat::Ended { body, ok } => self.ended(body, ok),
            RawWhat::Completed { body } => self.completed(body),
            RawWhat::Waits { body, cause, on } => self.waits(body, cause, on),
            RawWhat::Resumed { body } => self.resumed(body),
            RawWhat::Joined { task, .. } => {
                if let Some(task) = self.body(task) {
                    self.does(Does::Join(task));
                }
            }
            RawWhat::Set { body, order, datum } => {
                if let Some(scope) = self.body(body) {
                    self.does(Does::Set(scope, datum));
                    self.sets.push(Set { scope, order, datum });
                }
            }
            RawWhat::Stole => self.stole(1),
            RawWhat::StoleClosures { closures } => {
                self.has_stacks = true;
                self.stole(closures);
            }
            RawWhat::AtTheft => self.now.at_theft = Some(now),
            RawWhat::Idle => _ = self.now.idle.get_or_insert(now),
            // A worker whose scans fail is still idle, until a body runs.
            RawWhat::Awake => {}
        }
    }

    fn stole(&mut self, tasks: u32) {
        let (at, line) = (self.now.at, self.line());
        line.steals = line.steals.saturating_add(tasks.into());
        line.scans.push((at, tasks));
    }

    fn opened(&mut self, scope: u64, within: u64, label: u32) {
        let (Some(scope), within) = (self.body(scope), self.body(within)) else { return };
        let (now, track) = (self.now.at, self.tracks.len() as u32 - 1);
        // A body running on another track waits there for the scope, and has an event there.
        let here = within.filter(|&within| self.now.running == Some(within));
        if here.is_some() {
            self.does(Does::Open(scope));
        }
        self.now.below.insert(scope, here);
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
            let line = self.line();
            line.spawning = line.spawning.saturating_add(spent);
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
            // The body that opened a scope continues when the scope is complete.
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
        let wait = self.now.waiting.remove(&body);
        if let Some(wait) = wait {
            self.waits[wait as usize].to = now;
        }
        self.switch(Some(body));
        self.now.after = wait;
    }

    pub(super) fn finish(mut self, recording: &Recording) -> Run {
        self.attribute_wait_grants();
        self.forget_strangers();
        self.name_tracks();
        self.sets.sort_by_key(|set| (set.scope, set.order));
        for body in &mut self.bodies {
            if !matches!(body.kind, Kind::Scope | Kind::Task(Role::Parent)) {
                body.completed = body.ended;
            }
        }
        // All operations of a body are on one track, in order, except for external tasks. A stable
        // sort keeps the order.
        self.ops.sort_by_key(|op| op.body);
        let mut start = 0;
        for ops in self.ops.chunk_by(|a, b| a.body == b.body) {
            let end = start + ops.len() as u32;
            self.bodies[ops[0].body as usize].ops = start..end;
            start = end;
        }
        let mut labels: Vec<_> = recording.labels.iter().map(LabelText::to_string).collect();
        labels.push("(not recorded)".to_owned());
        let nameless = labels.len() as u32 - 1;
        self.bodies.iter_mut().for_each(|body| body.label = body.label.min(nameless));
        let Replay { bodies, accesses, ops, waits, sets, tracks, has_stacks, .. } = self;
        let (ticks_per_second, workers) = (recording.ticks_per_second, recording.workers);
        Run { labels, bodies, accesses, ops, waits, sets, tracks, has_stacks, ticks_per_second, workers }
    }

    /// A child of an unknown body is unknown, too, because its dependences are not in the
    /// recording.
    fn forget_strangers(&mut self) {
        let is_scope = |body: &Body| body.kind == Kind::Scope;
        let decided = |body: &Body| if body.known && !is_scope(body) { None } else { Some(body.known) };
        let mut known: Vec<_> = self.bodies.iter().map(decided).collect();
        let mut chain = Vec::new();
        for first in 0..self.bodies.len() {
            let mut at = first;
            let answer = loop {
                if let Some(answer) = known[at] {
                    break answer;
                }
                // A cycle leads to no scope.
                known[at] = Some(false);
                chain.push(at);
                match self.bodies[at].spawner {
                    Some(spawner) => at = spawner as usize,
                    None => break false,
                }
            };
            chain.drain(..).for_each(|on_it| known[on_it] = Some(answer));
        }
        for (body, known) in self.bodies.iter_mut().zip(&known) {
            body.known = *known == Some(true);
        }
        for ix in 0..self.bodies.len() {
            // A scope opened by such a body is treated as a root.
            let opener = self.bodies[ix].spawner.filter(|_| is_scope(&self.bodies[ix]));
            if opener.is_some_and(|opener| !self.bodies[opener as usize].known) {
                self.bodies[ix].spawner = None;
            }
        }
    }

    /// Names the tracks. Workers of several runtimes with the same number have different names.
    fn name_tracks(&mut self) {
        let mut order: Vec<_> = (0..self.tracks.len()).collect();
        order.sort_by_key(|&track| self.tracks[track].track.number);
        let (mut workers, mut callers) = (HashSet::new(), 0..);
        for track in order {
            let line = &mut self.tracks[track];
            line.name = match line.track.worker {
                None => format!("caller {}", callers.next().unwrap_or(u32::MAX)),
                Some(worker) if workers.insert(worker) => format!("worker {worker}"),
                Some(worker) => format!("worker {worker}, track {}", line.track.number),
            };
        }
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
            // The waits are in the order of time, because a body has one wait at a time.
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
