//! The table of unfinished bodies, a sink that is made from events and read by dumps.
//!
//! The event buffers of different tracks are handed over in any order. So an event of a body may be
//! read before the body's spawn, and a grant after the body's completion:
//!
//! 1. The first event that is read of a body makes an entry. The entry is removed when both the
//!    spawn and the completion of the body are known. Until the spawn is known, a dump does not
//!    show the body.
//! 2. An event of a body without an entry is early or late. A track gives numbers in ascending
//!    order, and writes the spawn of each body that it numbers. If the spawn of the body is still
//!    to come on that track, the body is *early*, and gets an entry. Otherwise the body is
//!    complete, and gets none.
//! 3. A spawn may be prepared within another one (the combination of a reduction). So a few numbers
//!    below the highest one read may be still to come. The table remembers them (`to_come`).
//!
//! So the table holds the unfinished bodies, and the bodies with events in unread buffers.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::panic::Location;

use super::log::NUMBER_BITS;
use super::{Cause, Event, Id, Role, Sink, Track, What};
use crate::depend::Mode;
use crate::error::Label;
use crate::sync::Mutex;

#[cfg(all(test, not(loom)))]
mod tests;

/// What is known about the unfinished bodies of one runtime.
#[derive(Default)]
pub(crate) struct Live(Mutex<Table>);

/// See the [module](self).
#[derive(Default)]
pub(super) struct Table {
    entries: Numbered<Id, Entry>,
    tracks: Numbered<u32, OnTrack>,
    /// How often a body has set a datum, while earlier accesses to it were outstanding.
    sets: ByUse,
    /// The number of these entries beyond which the table removes useless ones.
    most_sets: usize,
    /// Lists of removed entries, so that a task allocates none.
    spare: Vec<Vec<Access>>,
}

/// The largest number of lists that are kept for later entries.
const MAX_SPARE_LISTS: usize = 1024;

/// What is known about one body.
#[derive(Clone)]
pub(super) struct Entry {
    /// `None` for a scope, and until the spawn is known.
    pub(super) role: Option<Role>,
    pub(super) place: &'static Location<'static>,
    name: Option<&'static str>,
    indices: ([u32; 4], u8),
    pub(super) spawner: Id,
    pub(super) order: u64,
    pub(super) accesses: Vec<Access>,
    /// The number of accesses read so far. The others are known by their grants.
    filled: usize,
    pub(super) spawned: Option<u64>,
    /// When an access was last granted to it, or an exclusion handed.
    pub(super) granted: Option<u64>,
    /// Whether the preconditions of a pending task are satisfied.
    pub(super) met: bool,
    /// When its body was last seen to run, and on which track.
    pub(super) runs: Option<(u64, Track)>,
    pub(super) stands: Option<Stands>,
    pub(super) ended: Option<u64>,
    completed: bool,
}

/// An access, as far as it is known.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) mode: Mode,
    /// 0 if it was not read yet.
    pub(super) datum: u64,
    /// How often the datum had been set before.
    pub(super) sets: u32,
    /// Whether it waited for its grant, and has it.
    pub(super) granted: bool,
    /// Whether it waited for its exclusion, and has it.
    pub(super) handed: bool,
}

/// The wait of a body.
#[derive(Clone, Copy)]
pub(super) struct Stands {
    pub(super) since: u64,
    pub(super) cause: Cause,
    pub(super) on: u64,
}

/// What is known about a track. It distinguishes early bodies from complete ones.
#[derive(Default)]
struct OnTrack {
    /// The body whose name and accesses follow.
    last: Id,
    /// The highest number whose spawn was read.
    highest: u64,
    /// The lower numbers whose spawns were not read.
    to_come: Vec<u64>,
}

/// By scope and datum. There is only one such type of map, because each debug build of a user's
/// program would link each further one (`docs/decisions/0031-build-time.md`).
pub(super) type ByUse = HashMap<(Id, u64), u32>;

/// By number. Numbers are good hashes once the low bits are spread.
type Numbered<K, V> = HashMap<K, V, BuildHasherDefault<Spread>>;

/// Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4).
#[derive(Default)]
pub(super) struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        let spread = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = spread ^ (spread >> 32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Live {
    /// Declares that the events of a track are of this runtime. The caller does so before there is
    /// any.
    pub(crate) fn expect(&self, track: Track) {
        self.0.lock().tracks.entry(track.number).or_default();
    }

    /// Copies the table, without the tasks whose spawn is not known. The cost is proportional to
    /// the number of unfinished bodies.
    pub(super) fn copy(&self) -> Copied {
        let table = self.0.lock();
        let mut by_age = Vec::new();
        for (&id, entry) in &table.entries {
            by_age.extend(entry.spawned.map(|spawned| [spawned, id]));
        }
        by_age.sort_unstable();
        let bodies = by_age.iter().map(|&[_, id]| (id, table.entries[&id].clone())).collect();
        Copied { bodies, sets: table.sets.clone() }
    }
}

/// The input of a dump.
pub(super) struct Copied {
    /// The oldest first.
    pub(super) bodies: Vec<(Id, Entry)>,
    /// How often a body has set a datum.
    pub(super) sets: ByUse,
}

impl Sink for Live {
    fn take(&self, track: Track, events: &[Event]) {
        let mut table = self.0.lock();
        // Several runtimes may share a recorder.
        if table.tracks.contains_key(&track.number) {
            events.iter().for_each(|event| table.event(track, event));
        }
    }
}

impl Table {
    fn event(&mut self, track: Track, event: &Event) {
        let at = event.at;
        match event.what {
            What::Opened { scope, within, place } => {
                self.spawned(track, scope, at, Entry { spawner: within, place, ..Entry::default() });
                self.with(scope, &|entry| entry.runs = Some((at, track)));
            }
            What::Session { scope, place } => {
                self.spawned(track, scope, at, Entry { place, ..Entry::default() });
                self.with(scope, &|entry| (entry.runs, entry.ended) = (Some((at, track)), Some(at)));
                // Its completion may have been read before, from the event buffer of the worker
                // that has completed it.
                self.leave(scope);
            }
            What::Spawned { role, task, spawner, order, place } => {
                let known = Entry { role: Some(role), spawner, order, place, ..Entry::default() };
                self.spawned(track, task, at, known);
            }
            What::Named { name } => self.with_last(track, &|entry| entry.name = Some(name)),
            What::Indexed { count, indices } => self.with_last(track, &|entry| entry.indices = (indices, count)),
            What::Declared { mode, datum } => self.access(track, mode, datum),
            What::Granted { task, access, .. } => self.with(task, &|entry| entry.grant(at, access)),
            What::Handed { task, access, .. } => self.with(task, &|entry| entry.hand(at, access)),
            What::Started { task } => self.with(task, &|entry| entry.runs = Some((at, track))),
            What::Waits { body, cause, on } => {
                self.with(body, &|entry| entry.stands = Some(Stands { since: at, cause, on }));
            }
            What::Resumed { body } => {
                self.with(body, &|entry| (entry.stands, entry.runs) = (None, Some((at, track))));
            }
            What::Set { body, datum, .. } => self.set(body, datum),
            What::Ended { body, .. } => {
                self.with(body, &|entry| entry.ended = Some(at));
                self.leave(body);
            }
            What::Completed { body } => {
                self.with(body, &|entry| entry.completed = true);
                self.leave(body);
            }
            What::Spawning { .. } | What::Issued { .. } | What::Joined { .. } => {}
            What::Stole | What::StoleClosures { .. } | What::AtTheft | What::Idle | What::Awake => {}
        }
    }

    /// Handles the spawn of a body; `known` has the event's data.
    fn spawned(&mut self, track: Track, id: Id, at: u64, mut known: Entry) {
        let on_track = self.tracks.entry(track.number).or_default();
        on_track.read(id);
        on_track.last = id;
        let spawned = Some(at);
        match self.entries.get_mut(&id) {
            Some(entry) => {
                (entry.role, entry.place, entry.spawner) = (known.role, known.place, known.spawner);
                (entry.order, entry.spawned) = (known.order, spawned);
                self.leave(id);
            }
            None => {
                (known.spawned, known.accesses) = (spawned, self.spare.pop().unwrap_or_default());
                self.entries.insert(id, known);
            }
        }
    }

    /// Changes the entry of a body, unless the body is complete.
    fn with(&mut self, id: Id, change: &dyn Fn(&mut Entry)) {
        if let Some(entry) = self.entries.get_mut(&id) {
            return change(entry);
        }
        let early = self.tracks.get(&((id >> NUMBER_BITS) as u32)).is_some_and(|track| track.is_to_come(id));
        if early {
            change(self.entries.entry(id).or_default());
        }
    }

    fn with_last(&mut self, track: Track, change: &dyn Fn(&mut Entry)) {
        if let Some(last) = self.tracks.get(&track.number).map(|track| track.last) {
            self.with(last, change);
        }
    }

    fn access(&mut self, track: Track, mode: Mode, datum: u64) {
        let spawner = self.tracks.get(&track.number).and_then(|track| self.entries.get(&track.last)).map(|e| e.spawner);
        if let Some(spawner) = spawner.filter(|_| mode == Mode::Write) {
            // It makes its own version, as if the body had set the datum.
            *self.sets.entry((spawner, datum)).or_default() += 1;
        }
        // Most programs set nothing.
        let mut sets = 0;
        if !self.sets.is_empty() {
            let set = spawner.and_then(|spawner| self.sets.get(&(spawner, datum)));
            sets = set.copied().unwrap_or(0);
        }
        self.with_last(track, &|entry| entry.add_access(mode, datum, sets));
        self.forget_sets();
    }

    /// Removes a body that is complete and whose spawn is known.
    fn leave(&mut self, id: Id) {
        if self.entries.get(&id).is_some_and(Entry::is_over)
            && let Some(mut entry) = self.entries.remove(&id)
            && self.spare.len() < MAX_SPARE_LISTS
        {
            entry.accesses.clear();
            self.spare.push(entry.accesses);
        }
    }

    /// Handles a body that has set a datum. Tasks that it spawned before use an older version.
    fn set(&mut self, body: Id, datum: u64) {
        *self.sets.entry((body, datum)).or_default() += 1;
        self.forget_sets();
    }

    /// Once there are many entries in `sets`, removes those that no outstanding access needs.
    fn forget_sets(&mut self) {
        if self.sets.len() > self.most_sets {
            let mut outstanding = ByUse::new();
            for entry in self.entries.values() {
                for access in &entry.accesses {
                    let set = (entry.spawner, access.datum);
                    if let Some(&times) = self.sets.get(&set) {
                        outstanding.insert(set, times);
                    }
                }
            }
            self.sets = outstanding;
            self.most_sets = 2 * self.sets.len() + 64;
        }
    }
}

impl OnTrack {
    /// Handles the spawn of a body that the track has numbered.
    fn read(&mut self, id: Id) {
        let number = number(id);
        if number > self.highest {
            self.to_come.extend(self.highest + 1..number);
            self.highest = number;
        } else {
            self.to_come.retain(|&other| other != number);
        }
    }

    /// Whether the spawn of a body that the track numbers was not read yet.
    fn is_to_come(&self, id: Id) -> bool {
        let number = number(id);
        number > self.highest || self.to_come.contains(&number)
    }
}

/// The number of a body among those that its track has numbered.
fn number(id: Id) -> u64 {
    id & ((1 << NUMBER_BITS) - 1)
}

impl Default for Entry {
    fn default() -> Self {
        Entry {
            role: None,
            // Until the spawn is known.
            place: Location::caller(),
            name: None,
            indices: ([0; 4], 0),
            spawner: 0,
            order: 0,
            accesses: Vec::new(),
            filled: 0,
            spawned: None,
            granted: None,
            met: false,
            runs: None,
            stands: None,
            ended: None,
            completed: false,
        }
    }
}

impl Entry {
    /// The name with indices, or the place.
    pub(super) fn label(&self) -> Label {
        let (indices, count) = &self.indices;
        self.name.map_or(Label::place(self.place), Label::named).with_indices(&indices[..usize::from(*count)])
    }

    fn add_access(&mut self, mode: Mode, datum: u64, sets: u32) {
        let access = self.access(self.filled);
        (access.mode, access.datum, access.sets) = (mode, datum, sets);
        self.filled += 1;
    }

    /// An access. It may not have been read yet.
    fn access(&mut self, place: usize) -> &mut Access {
        let unknown = Access { mode: Mode::Read, datum: 0, sets: 0, granted: false, handed: false };
        if self.accesses.len() <= place {
            self.accesses.resize(place + 1, unknown);
        }
        &mut self.accesses[place]
    }

    fn grant(&mut self, at: u64, access: u16) {
        match access {
            Event::PRECONDITION => self.met = true,
            // Of a body that waits: its `Resumed` event says that it continues.
            Event::WAIT => return,
            _ => self.access(access.into()).granted = true,
        }
        self.granted = self.granted.max(Some(at));
    }

    fn hand(&mut self, at: u64, access: u16) {
        self.access(access.into()).handed = true;
        self.granted = self.granted.max(Some(at));
    }

    fn is_over(&self) -> bool {
        let whole = matches!(self.role, None | Some(Role::Parent));
        self.spawned.is_some() && self.ended.is_some() && (self.completed || !whole)
    }
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").field("bodies", &self.0.lock().entries.len()).finish_non_exhaustive()
    }
}
