//! Makes a dump from the table of unfinished bodies: the state of each body, and what it waits for.
//!
//! The scheme is not asked, because it would have to be stopped. The unfinished accesses of each
//! scope and datum are put in reference order. They are divided into versions (at a `write`, or
//! where the scope has set the datum), and these into generations (`depend::Mode::shares`). An
//! access that was not granted waits for the preceding generation of its version, if any. It does
//! not wait for complete accesses, which are not in the table.

use std::iter;
use std::time::Duration;

use super::{Busy, State, Unfinished, WaitsFor, Who};
use crate::clock;
use crate::depend::Mode;
use crate::record::live::{Access, ByUse, Copied, Entry, Live, Stands};
use crate::record::{Cause, Id, Recorder};
use crate::worker::external;

/// The unfinished bodies, the oldest first, and the running bodies, the longest first.
pub(crate) fn explain(live: &Live, recorder: &Recorder) -> (Vec<Unfinished>, Vec<Busy>) {
    let Copied { bodies, sets } = live.copy();
    let all = All { data: Data::of(&bodies), places: by_number(&bodies), bodies: &bodies, sets };
    let holders = all.holders();
    let children = all.children();
    let (now, rate) = (recorder.now(), if recorder.is_real() { clock::ticks_per_ns() } else { 1.0 });
    let since = |at: u64| Duration::from_nanos((now.saturating_sub(at) as f64 / rate) as u64);
    let mut unfinished = Vec::with_capacity(bodies.len());
    for (ix, (id, entry)) in bodies.iter().enumerate() {
        let (state, at, waits_for) = all.state(ix, &holders, children[ix]);
        let (parent, label) = (all.who_is(entry.spawner), entry.label());
        let since = since(at);
        unfinished.push(Unfinished {
            id: *id,
            label,
            role: entry.role,
            place: entry.place,
            parent,
            state,
            since,
            waits_for,
        });
    }
    (unfinished, busy(&bodies, since))
}

/// The body that each thread runs: the last one that has begun there and neither has finished nor
/// waits.
fn busy(bodies: &[(Id, Entry)], since: impl Fn(u64) -> Duration) -> Vec<Busy> {
    let running = || bodies.iter().filter(|(_, entry)| entry.ended.is_none());
    // By track. There are about as many tracks as threads.
    let mut tops: Vec<(u32, u64, Busy)> = Vec::new();
    for (id, entry) in running() {
        let Some((at, track)) = entry.runs.filter(|_| entry.stands.is_none()) else { continue };
        let (body, is_closure) = (Who { id: *id, label: entry.label() }, entry.role.is_none());
        let busy = Busy { worker: track.worker, body, is_closure, since: since(at), suspended: 0 };
        match tops.iter_mut().find(|top| top.0 == track.number) {
            Some(top) if at >= top.1 => *top = (track.number, at, busy),
            Some(_) => {}
            None => tops.push((track.number, at, busy)),
        }
    }
    for (_, entry) in running() {
        let Some((_, track)) = entry.runs.filter(|_| entry.stands.is_some()) else { continue };
        if let Some(top) = tops.iter_mut().find(|top| top.0 == track.number) {
            top.2.suspended += 1;
        }
    }
    let mut begun: Vec<_> = tops.iter().enumerate().map(|(place, top)| [top.1, place as u64]).collect();
    begun.sort_unstable();
    begun.iter().map(|&[_, place]| tops[place as usize].2.clone()).collect()
}

/// A body, as an index of `All::bodies`.
type Ix = usize;

/// The copied table with its indices.
struct All<'a> {
    bodies: &'a [(Id, Entry)],
    /// The number of each body and its index, in ascending order.
    places: Vec<[u64; 2]>,
    data: Data,
    /// How often a scope has set each datum.
    sets: ByUse,
}

fn by_number(bodies: &[(Id, Entry)]) -> Vec<[u64; 2]> {
    let mut places: Vec<_> = bodies.iter().enumerate().map(|(ix, (id, _))| [*id, ix as u64]).collect();
    places.sort_unstable();
    places
}

/// The unfinished accesses to each datum, by scope.
struct Data {
    /// The index of the list of each scope and datum.
    of: ByUse,
    lists: Vec<Vec<Use>>,
    /// Where the accesses of each body are; `None` for an access that was not read yet.
    places: Vec<Vec<Option<Position>>>,
}

/// Where an access is.
#[derive(Clone, Copy)]
struct Position {
    list: usize,
    at: usize,
}

/// An access on a list.
struct Use {
    body: Ix,
    mode: Mode,
    sets: u32,
    /// Where its generation begins on the list.
    generation: usize,
    /// Where its version begins.
    version: usize,
}

/// What a body or an access waits for.
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

/// A body that may have the exclusion of a datum, and its rank. The body with the smallest rank has
/// it.
type Holder = ((bool, u64, u64), Ix);

impl Data {
    fn of(bodies: &[(Id, Entry)]) -> Data {
        let mut in_order: Vec<_> = bodies.iter().enumerate().map(|(ix, (_, entry))| [entry.order, ix as u64]).collect();
        in_order.sort_unstable();
        let mut data = Data { of: ByUse::new(), lists: Vec::new(), places: vec![Vec::new(); bodies.len()] };
        for [_, body] in in_order {
            data.add(body as usize, &bodies[body as usize].1);
        }
        data.lists.iter_mut().for_each(|list| cut(list));
        data
    }

    /// Adds the accesses of a body. The bodies are added in reference order.
    fn add(&mut self, body: Ix, entry: &Entry) {
        for &Access { mode, datum, sets, .. } in &entry.accesses {
            if datum == 0 {
                self.places[body].push(None);
                continue;
            }
            let list = *self.of.entry((entry.spawner, datum)).or_insert(self.lists.len() as u32) as usize;
            if list == self.lists.len() {
                self.lists.push(Vec::new());
            }
            self.places[body].push(Some(Position { list, at: self.lists[list].len() }));
            self.lists[list].push(Use { body, mode, sets, generation: 0, version: 0 });
        }
    }
}

/// Divides a list into versions and generations.
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

/// Whether tasks take turns on the datum of an access.
fn takes_turns(access: &Access) -> bool {
    access.mode == Mode::Commutative
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

    fn index_of(&self, id: Id) -> Option<Ix> {
        let place = self.places.binary_search_by_key(&id, |place| place[0]).ok()?;
        Some(self.places[place][1] as usize)
    }

    fn who_is(&self, id: Id) -> Option<Who> {
        self.index_of(id).map(|ix| self.who(ix))
    }

    /// The number of children of each body that are not complete.
    fn children(&self) -> Vec<usize> {
        let mut children = vec![0; self.bodies.len()];
        for (_, entry) in self.bodies {
            if let Some(parent) = self.index_of(entry.spawner) {
                children[parent] += 1;
            }
        }
        children
    }

    /// Names the bodies that an access or a body waits for.
    fn named(&self, what: What, ahead: &[Use]) -> WaitsFor {
        let What { access, mode, datum } = what;
        let tasks: Vec<_> = ahead.iter().take(WaitsFor::MAX_TASKS).map(|earlier| self.who(earlier.body)).collect();
        WaitsFor { access, mode, datum, more: ahead.len() - tasks.len(), tasks }
    }

    /// Names the one body that an access or a body waits for, if it is known.
    fn named_one(&self, what: What, body: Option<Ix>) -> WaitsFor {
        let What { access, mode, datum } = what;
        WaitsFor { access, mode, datum, tasks: body.map(|ix| self.who(ix)).into_iter().collect(), more: 0 }
    }

    /// The accesses that an access waits for.
    fn ahead(&self, ix: Ix, place: usize, access: &Access) -> &[Use] {
        match self.data.places[ix][place] {
            Some(Position { list, at }) if !access.granted => {
                let list = &self.data.lists[list];
                before(list, list[at].generation, list[at].version)
            }
            _ => &[],
        }
    }

    /// The waiting accesses of a task, and what they wait for.
    fn waits_for_data(&self, ix: Ix) -> Vec<WaitsFor> {
        let mut waits = Vec::new();
        for (place, access) in self.bodies[ix].1.accesses.iter().enumerate() {
            let ahead = self.ahead(ix, place, access);
            if !ahead.is_empty() {
                waits.push(self.named(What::access(place, access), ahead));
            }
        }
        waits
    }

    /// For each list whose tasks take turns on the datum, the body that has the exclusion. It is a
    /// task that was handed it, or that has started and so has all its exclusions. If there is no
    /// such task, the one that could take the exclusion first.
    fn holders(&self) -> Vec<Option<Holder>> {
        let mut holders: Vec<Option<Holder>> = vec![None; self.data.lists.len()];
        for (ix, (_, entry)) in self.bodies.iter().enumerate() {
            if !entry.accesses.iter().any(takes_turns) || !self.waits_for_data(ix).is_empty() {
                continue;
            }
            for (access, place) in entry.accesses.iter().zip(&self.data.places[ix]) {
                let Some(place) = place.filter(|_| takes_turns(access)) else { continue };
                let surely = entry.runs.is_some() || access.handed;
                let rank = (!surely, entry.ready_at(), entry.order);
                let holder = &mut holders[place.list];
                if holder.is_none_or(|(first, _)| rank < first) {
                    *holder = Some((rank, ix));
                }
            }
        }
        holders
    }

    /// The turns that a task waits for, if it has its data.
    fn waits_for_turns(&self, ix: Ix, holders: &[Option<Holder>]) -> Vec<WaitsFor> {
        let mut waits = Vec::new();
        for (place, access) in self.bodies[ix].1.accesses.iter().enumerate().filter(|(_, access)| takes_turns(access)) {
            let holder = self.data.places[ix][place].and_then(|at| holders[at.list]);
            if let Some((_, holder)) = holder.filter(|(_, holder)| *holder != ix) {
                waits.push(self.named_one(What::access(place, access), Some(holder)));
            }
        }
        waits
    }

    /// What a waiting body waits for.
    fn waits_in_body(&self, id: Id, stands: Stands) -> Vec<WaitsFor> {
        let mode = match stands.cause {
            Cause::Join => {
                return vec![self.named_one(What::default(), self.index_of(stands.on))];
            }
            Cause::Datum => Mode::Inout,
            Cause::Written => Mode::Read,
            Cause::Window | Cause::Others => return Vec::new(),
        };
        let datum = (self.scope_of(id, stands.on), stands.on);
        let list = self.data.of.get(&datum).map_or(&[][..], |&list| &self.data.lists[list as usize]);
        let sets = self.sets.get(&datum).copied().unwrap_or(0);
        // Its own access comes last. It joins the last generation if both read.
        let ahead = match list.last() {
            Some(last) if last.sets != sets => &[],
            Some(last) if last.mode == mode && mode.shares() => before(list, last.generation, last.version),
            Some(last) => &list[last.generation..],
            None => &[],
        };
        let what = What { access: None, mode: Some(mode), datum: Some(stands.on) };
        vec![self.named(what, ahead)]
    }

    /// The scope in which a body uses a datum: the body's own scope, or, for the closure of a
    /// scope, perhaps an enclosing one.
    fn scope_of(&self, id: Id, datum: u64) -> Id {
        let opener = |id: &Id| {
            let entry = &self.bodies[self.index_of(*id)?].1;
            Some(entry.spawner).filter(|&opener| entry.role.is_none() && opener != 0)
        };
        let mut around = iter::successors(Some(id), opener);
        around.find(|&scope| self.data.of.contains_key(&(scope, datum))).unwrap_or(id)
    }

    /// What a body does, since when, and what it waits for.
    fn state(&self, ix: Ix, holders: &[Option<Holder>], children: usize) -> (State, u64, Vec<WaitsFor>) {
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
        if external::is_admission(entry.order) && !entry.met {
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
    /// When a task got its data, if it has them.
    fn ready_at(&self) -> u64 {
        self.granted.max(self.spawned).unwrap_or(0)
    }
}
