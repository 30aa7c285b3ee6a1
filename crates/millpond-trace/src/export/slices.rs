//! Bodies as nested stretches of a track.
//!
//! The segments of a track ([`Line::runs`]) are cut where a body runs on top of another, for
//! example at its spawn. Here such a body is a slice inside the slice of the body below. So a loop
//! that runs a thousand leaves inline is one slice containing a thousand, not two thousand
//! consecutive ones.
//!
//! A slice ends where its body waits. Other bodies may run there then, neither called nor contained
//! by the waiting body. So slices of a track nest or are disjoint.

use std::collections::{HashMap, HashSet};

use crate::model::{Ix, Kind, Line, Run, Segment};

/// A time in which a body runs, or another one runs on top of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slice {
    pub(super) body: Ix,
    pub(super) from: u64,
    pub(super) to: u64,
    /// Whether it is the body's first slice.
    pub(super) first: bool,
    /// The body whose wait ended at the slice's beginning: this one, or one on top of it.
    pub(super) resumed: Option<Ix>,
}

/// The slices of a track, sorted by their beginning. An outer slice is before its inner ones.
pub(super) fn of(run: &Run, line: &Line) -> Vec<Slice> {
    let (open, bodies) = (Vec::new(), HashSet::new());
    let mut stack = Stack { run, slices: Vec::new(), open, bodies, parked: HashMap::new(), at: 0 };
    for segment in &line.runs {
        stack.add(segment);
    }
    stack.park();
    stack.slices
}

struct Stack<'a> {
    run: &'a Run,
    slices: Vec<Slice>,
    /// The open slices, the outermost first, and their bodies. There may be as many as bodies.
    open: Vec<usize>,
    bodies: HashSet<Ix>,
    /// For each waiting body: the bodies below it and itself, the lowest first.
    parked: HashMap<Ix, Vec<Ix>>,
    /// The end of the open slices so far.
    at: u64,
}

impl Stack<'_> {
    fn add(&mut self, segment: &Segment) {
        if self.at != segment.from {
            self.park();
        }
        if self.bodies.contains(&segment.body) {
            // The bodies on top of it have finished.
            while let Some(slice) = self.open.pop_if(|slice| self.slices[*slice].body != segment.body) {
                self.close(slice);
            }
        } else {
            self.begin(segment);
        }
        self.at = segment.to;
    }

    fn begin(&mut self, segment: &Segment) {
        let Segment { body, from, .. } = *segment;
        if self.run.body(body).started != Some(from) || !self.is_on_top(body) {
            self.park();
        }
        match self.parked.remove(&body) {
            Some(bodies) => bodies.into_iter().for_each(|below| self.push(below, from, Some(body))),
            None => self.push(body, from, None),
        }
    }

    fn is_on_top(&self, body: Ix) -> bool {
        let below = self.open.last().map(|&slice| self.slices[slice].body);
        match self.run.body(body).kind {
            Kind::Scope => below.is_some() && self.run.body(body).spawner == below,
            Kind::Task(_) => self.run.body(body).on_top,
        }
    }

    fn push(&mut self, body: Ix, from: u64, resumed: Option<Ix>) {
        self.open.push(self.slices.len());
        self.bodies.insert(body);
        let first = resumed.is_none() && self.run.body(body).started == Some(from);
        self.slices.push(Slice { body, from, to: from, first, resumed });
    }

    fn close(&mut self, slice: usize) -> Ix {
        let slice = &mut self.slices[slice];
        slice.to = self.at;
        self.bodies.remove(&slice.body);
        slice.body
    }

    /// All open bodies wait, unless they have finished.
    fn park(&mut self) {
        let open = std::mem::take(&mut self.open);
        let mut bodies: Vec<_> = open.into_iter().map(|slice| self.close(slice)).collect();
        while bodies.pop_if(|body| self.run.body(*body).ended == Some(self.at)).is_some() {}
        if let Some(&top) = bodies.last() {
            self.parked.insert(top, bodies);
        }
    }
}

/// Where each body ran.
#[derive(Debug)]
pub(super) struct Places(Vec<Place>);

#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    body: Ix,
    /// Index into [`Run::tracks`].
    pub(super) track: u32,
    pub(super) from: u64,
    pub(super) to: u64,
    /// The time when a body first runs on top of it, otherwise its end.
    pub(super) alone: u64,
}

impl Places {
    /// The places of the slices of all tracks, in the order of [`Run::tracks`].
    pub(super) fn of(tracks: &[Vec<Slice>]) -> Places {
        let mut places = Vec::with_capacity(tracks.iter().map(Vec::len).sum());
        for (track, slices) in tracks.iter().enumerate() {
            // The next slice of the track begins on top of this one, or after it.
            let next = slices.iter().skip(1).map(|slice| slice.from).chain([u64::MAX]);
            places.extend(slices.iter().zip(next).map(|(&Slice { body, from, to, .. }, next)| Place {
                body,
                track: track as u32,
                from,
                to,
                alone: next.min(to),
            }));
        }
        places.sort_by_key(|place| (place.body, place.from));
        Places(places)
    }

    /// Where a body ran first.
    pub(super) fn first(&self, body: Ix) -> Option<&Place> {
        self.0.get(self.0.partition_point(|place| place.body < body)).filter(|place| place.body == body)
    }

    /// Where a body ran at a time, or last before it. If clocks disagree, where it ran first.
    pub(super) fn at(&self, body: Ix, time: u64) -> Option<&Place> {
        let after = self.0.partition_point(|place| (place.body, place.from) <= (body, time));
        let last = after.checked_sub(1).and_then(|place| self.0.get(place)).filter(|place| place.body == body);
        last.or_else(|| self.first(body))
    }
}
