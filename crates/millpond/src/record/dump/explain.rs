//! From the table of unfinished bodies to a dump: what state each is in, and what it waits for.
//!
//! The scheme is not asked: it would have to be stopped. Of each scope and datum the unfinished accesses are put in
//! reference order and cut into versions (at a `write`, or where the scope has set the datum) and these into
//! generations (`depend::Mode::shares`). An access that was not granted waits for the generation before its own, if the
//! version has one. What of that is complete already is not in the table, and is not waited for.

use std::collections::HashMap;
use std::iter;
use std::time::Duration;

use super::{Busy, State, Unfinished, WaitsFor, Who};
use crate::clock;
use crate::depend::Mode;
use crate::record::live::{Access, Copied, Entry, Live, Stands};
use crate::record::{Cause, Id, Recorder};
use crate::runtime::doors;

/// What is unfinished now, the oldest first; and what runs, the longest first.
pub(crate) fn explain(live: &Live, recorder: &Recorder) -> (Vec<Unfinished>, Vec<Busy>) {
    let Copied { mut bodies, sets } = live.copy();
    bodies.sort_unstable_by_key(|(id, entry)| (entry.spawned, *id));
    let places = bodies.iter().enumerate().map(|(ix, (id, _))| (*id, ix)).collect();
    let all = All { data: Data::of(&bodies), bodies: &bodies, places, sets };
    let holders = all.holders();
    let children = all.children();
    let (now, rate) = (recorder.now(), if recorder.is_real() { clock::ticks_per_ns() } else { 1.0 });
    let since = |at: u64| Duration::from_nanos((now.saturating_sub(at) as f64 / rate) as u64);
    let of = |(ix, (id, entry)): (usize, &(Id, Entry))| {
        let (state, at, waits_for) = all.state(ix, &holders, children[ix]);
        let since = since(at);
        let (parent, label) = (all.who_is(entry.spawner), entry.label());
        Unfinished { id: *id, label, role: entry.role, place: entry.place, parent, state, since, waits_for }
    };
    (bodies.iter().enumerate().map(of).collect(), busy(&bodies, since))
}

/// The body that each thread runs: of those that have begun there and neither ended nor wait, the last.
fn busy(bodies: &[(Id, Entry)], since: impl Fn(u64) -> Duration) -> Vec<Busy> {
    let mut tops: HashMap<u32, (u64, Busy)> = HashMap::new();
    let mut suspended: HashMap<u32, usize> = HashMap::new();
    for (id, entry) in bodies.iter().filter(|(_, entry)| entry.ended.is_none()) {
        let Some((at, track)) = entry.runs else { continue };
        if entry.stands.is_some() {
            *suspended.entry(track.number).or_default() += 1;
        } else if tops.get(&track.number).is_none_or(|(top, _)| at >= *top) {
            let (body, is_closure) = (Who { id: *id, label: entry.label() }, entry.role.is_none());
            tops.insert(
                track.number,
                (at, Busy { worker: track.worker, body, is_closure, since: since(at), suspended: 0 }),
            );
        }
    }
    let count = |(track, (_, busy)): (u32, (u64, Busy))| Busy {
        suspended: suspended.get(&track).copied().unwrap_or(0),
        ..busy
    };
    let mut busy: Vec<_> = tops.into_iter().map(count).collect();
    busy.sort_by_key(|busy| std::cmp::Reverse(busy.since));
    busy
}

/// A body, as an index of `All::bodies`.
type Ix = usize;

/// The copied table with its indices.
struct All<'a> {
    bodies: &'a [(Id, Entry)],
    places: HashMap<Id, Ix>,
    data: Data,
    /// How often a scope has set a datum.
    sets: HashMap<(Id, u64), u32>,
}

/// The unfinished accesses to each datum, by scope.
struct Data {
    lists: HashMap<(Id, u64), Vec<Use>>,
    /// Where in its list an access is: of body and place.
    places: HashMap<(Ix, usize), usize>,
}

/// One access on a list.
struct Use {
    body: Ix,
    /// Its place among the body's accesses.
    access: usize,
    mode: Mode,
    order: u64,
    sets: u32,
    /// Where its generation begins on the list.
    generation: usize,
    /// Where its version begins.
    version: usize,
}

/// What somebody waits for.
#[derive(Default)]
struct What {
    access: Option<usize>,
    mode: Option<Mode>,
    datum: Option<u64>,
}

impl What {
    fn access(place: usize, access: &Access) -> What {
        What { access: Some(place), mode: Some(access.mode), datum: Some(access.datum) }
    }
}

impl Data {
    fn of(bodies: &[(Id, Entry)]) -> Data {
        let mut lists: HashMap<_, Vec<Use>> = HashMap::new();
        for (body, (_, entry)) in bodies.iter().enumerate() {
            let known = entry.accesses.iter().enumerate().filter(|(_, access)| access.datum != 0);
            for (access, &Access { mode, datum, sets, .. }) in known {
                let new = Use { body, access, mode, order: entry.order, sets, generation: 0, version: 0 };
                lists.entry((entry.spawner, datum)).or_default().push(new);
            }
        }
        let mut places = HashMap::new();
        for list in lists.values_mut() {
            list.sort_by_key(|a| (a.order, a.access));
            cut(list);
            places.extend(list.iter().enumerate().map(|(at, a)| ((a.body, a.access), at)));
        }
        Data { lists, places }
    }
}

/// Cuts a list into versions and generations.
fn cut(list: &mut [Use]) {
    for at in 1..list.len() {
        let (before, this) = (&list[at - 1], &list[at]);
        let (generation, version) = if this.mode == Mode::Write || this.sets != before.sets {
            (at, at)
        } else if this.mode == before.mode && this.mode.shares() {
            (before.generation, before.version)
        } else {
            (at, before.version)
        };
        (list[at].generation, list[at].version) = (generation, version);
    }
}

/// The generation before the one that begins at `start`, in the version that begins at `version`.
fn before(list: &[Use], start: usize, version: usize) -> &[Use] {
    if start <= version { &[] } else { &list[list[start - 1].generation..start] }
}

impl All<'_> {
    fn who(&self, ix: Ix) -> Who {
        let (id, entry) = &self.bodies[ix];
        Who { id: *id, label: entry.label() }
    }

    fn who_is(&self, id: Id) -> Option<Who> {
        self.places.get(&id).map(|&ix| self.who(ix))
    }

    /// How many children of each are not complete.
    fn children(&self) -> Vec<usize> {
        let mut children = vec![0; self.bodies.len()];
        for parent in self.bodies.iter().filter_map(|(_, entry)| self.places.get(&entry.spawner)) {
            children[*parent] += 1;
        }
        children
    }

    /// Names bodies that something waits for.
    fn named(&self, what: What, mut bodies: impl ExactSizeIterator<Item = Ix>) -> WaitsFor {
        let What { access, mode, datum } = what;
        let tasks = bodies.by_ref().take(WaitsFor::MOST).map(|ix| self.who(ix)).collect();
        WaitsFor { access, mode, datum, tasks, more: bodies.len() }
    }

    /// The accesses that an access waits for.
    fn ahead(&self, ix: Ix, place: usize, access: &Access) -> &[Use] {
        match self.data.places.get(&(ix, place)) {
            Some(&at) if !access.granted => {
                let list = &self.data.lists[&(self.bodies[ix].1.spawner, access.datum)];
                before(list, list[at].generation, list[at].version)
            }
            _ => &[],
        }
    }

    /// The accesses for which a task waits.
    fn waits_for_data(&self, ix: Ix) -> Vec<WaitsFor> {
        let accesses = self.bodies[ix].1.accesses.iter().enumerate();
        let ahead = accesses.map(|(place, access)| (What::access(place, access), self.ahead(ix, place, access)));
        let waits = ahead.filter(|(_, ahead)| !ahead.is_empty());
        waits.map(|(what, ahead)| self.named(what, ahead.iter().map(|earlier| earlier.body))).collect()
    }

    /// Whether a task waits for no data.
    fn has_data(&self, ix: Ix) -> bool {
        let mut accesses = self.bodies[ix].1.accesses.iter().enumerate();
        accesses.all(|(place, access)| self.ahead(ix, place, access).is_empty())
    }

    /// Who has the exclusion of each datum that tasks take turns on. A task that was handed one has it, and one that
    /// has started has all of its own. Where there is neither, the one that could first take it.
    fn holders(&self) -> HashMap<(Id, u64), Ix> {
        let mut holders: HashMap<_, ((u8, u64, u64), Ix)> = HashMap::new();
        for (ix, (_, entry)) in self.bodies.iter().enumerate() {
            let turns = entry.accesses.iter().filter(|access| access.mode == Mode::Commutative);
            let mut turns = turns.peekable();
            if turns.peek().is_none() || !self.has_data(ix) {
                continue;
            }
            for access in turns {
                let surely = entry.runs.is_some() || access.handed;
                let rank = (u8::from(!surely), entry.ready_at(), entry.order);
                let holder = holders.entry((entry.spawner, access.datum)).or_insert((rank, ix));
                if rank < holder.0 {
                    *holder = (rank, ix);
                }
            }
        }
        holders.into_iter().map(|(datum, (_, ix))| (datum, ix)).collect()
    }

    /// The turns for which a task waits that has its data.
    fn waits_for_turns(&self, ix: Ix, holders: &HashMap<(Id, u64), Ix>) -> Vec<WaitsFor> {
        let entry = &self.bodies[ix].1;
        let turns = entry.accesses.iter().enumerate().filter(|(_, access)| access.mode == Mode::Commutative);
        let waits = turns.filter_map(|(place, access)| {
            let holder = *holders.get(&(entry.spawner, access.datum))?;
            (holder != ix).then(|| self.named(What::access(place, access), [holder].into_iter()))
        });
        waits.collect()
    }

    /// What a body that stands still waits for.
    fn waits_in_body(&self, id: Id, stands: Stands) -> Vec<WaitsFor> {
        let mode = match stands.cause {
            Cause::Join => {
                let task = self.places.get(&stands.on).copied();
                return vec![self.named(What::default(), task.into_iter())];
            }
            Cause::Datum => Mode::Inout,
            Cause::Written => Mode::Read,
            Cause::Window | Cause::Others => return Vec::new(),
        };
        let datum = (self.scope_of(id, stands.on), stands.on);
        let list = self.data.lists.get(&datum).map_or(&[][..], Vec::as_slice);
        let sets = self.sets.get(&datum).copied().unwrap_or(0);
        // Its own access comes last, and joins the last generation if that reads, too.
        let ahead = match list.last() {
            Some(last) if last.sets != sets => &[],
            Some(last) if last.mode == mode && mode.shares() => before(list, last.generation, last.version),
            Some(last) => &list[last.generation..],
            None => &[],
        };
        let what = What { access: None, mode: Some(mode), datum: Some(stands.on) };
        vec![self.named(what, ahead.iter().map(|earlier| earlier.body))]
    }

    /// In which scope a body uses a datum: its own, or, if it is the closure of a scope, one further out.
    fn scope_of(&self, id: Id, datum: u64) -> Id {
        let opener = |id: &Id| {
            let entry = &self.bodies[*self.places.get(id)?].1;
            Some(entry.spawner).filter(|&opener| entry.role.is_none() && opener != 0)
        };
        let mut around = iter::successors(Some(id), opener);
        around.find(|&scope| self.data.lists.contains_key(&(scope, datum))).unwrap_or(id)
    }

    /// What a body does, since when, and what it waits for.
    fn state(&self, ix: Ix, holders: &HashMap<(Id, u64), Ix>, children: usize) -> (State, u64, Vec<WaitsFor>) {
        let (id, entry) = &self.bodies[ix];
        if let Some(since) = entry.ended {
            return (State::Ended { children }, since, Vec::new());
        }
        if let Some((since, track)) = entry.runs {
            let worker = track.worker;
            let Some(stands) = entry.stands else { return (State::Running { worker }, since, Vec::new()) };
            return (State::Waiting { cause: stands.cause, worker }, stands.since, self.waits_in_body(*id, stands));
        }
        let ready_at = entry.ready_at();
        if doors::is_door(entry.order) && !entry.met {
            return (State::Pending, ready_at, Vec::new());
        }
        let data = self.waits_for_data(ix);
        if !data.is_empty() {
            return (State::Data, entry.spawned.unwrap_or(0), data);
        }
        let turns = self.waits_for_turns(ix, holders);
        let state = if turns.is_empty() { State::Ready } else { State::Turn };
        (state, ready_at, turns)
    }
}

impl Entry {
    /// When a task had its data, if it has.
    fn ready_at(&self) -> u64 {
        self.granted.max(self.spawned).unwrap_or(0)
    }
}
