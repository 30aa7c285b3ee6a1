//! The arrows of a timeline: to each task, from the event that made it ready.

use crate::model::{Body, Ix, Run};

use super::slices::{Place, Places};

/// An arrow from a point of one body to the start of another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    /// What the successor had waited for; `spawn` if it had not waited.
    pub(super) why: &'static str,
    /// Indices into [`Run::tracks`], and times.
    pub(super) from: (u32, u64),
    /// The beginning of the slice with that point, and the time when a body first runs on top of
    /// it.
    pub(super) slice: (u64, u64),
    pub(super) to: (u32, u64),
}

/// The arrow to a task: from the end of its last wait, or else from its spawn.
///
/// A task that ran at its spawn has none, because it is drawn on top of its spawner. There is also
/// none from outside the recording.
pub(super) fn to(run: &Run, places: &Places, ix: Ix) -> Option<Flow> {
    let (task, start) = (run.body(ix), places.first(ix)?);
    match last_release(task) {
        Some((why, at, by)) => {
            let by = by?;
            Some(arrow(why, places.at(by, at)?, run.body(by).ended, at, start))
        }
        None if task.on_top => None,
        None => Some(arrow("spawn", places.at(task.spawner?, task.spawned)?, None, task.spawned, start)),
    }
}

/// The last release of a task's data and exclusions: the reason, the time, and the task that
/// released it.
pub(super) fn last_release(task: &Body) -> Option<(&'static str, u64, Option<Ix>)> {
    let granted = task.granted.map(|(at, by)| (waited_for(task), at, by));
    let handed = task.handed.map(|(at, by)| ("commutative exclusion", at, by));
    match (granted, handed) {
        (Some(granted), Some(handed)) => Some(if granted.1 > handed.1 { granted } else { handed }),
        (granted, handed) => handed.or(granted),
    }
}

/// The reason of a task's wait until its last access is granted.
pub(super) fn waited_for(task: &Body) -> &'static str {
    if task.pending { "pending precondition" } else { "data" }
}

/// An arrow from `place` at the time of the release, or from its end. It is clamped to `place`,
/// because clocks may disagree.
fn arrow(why: &'static str, place: &Place, ended: Option<u64>, at: u64, start: &Place) -> Flow {
    // A finished body released at its end, even if the event is later.
    let released = ended.map_or(at, |ended| ended.min(at)).clamp(place.from, place.to);
    let (from, to) = ((place.track, released.min(start.from)), (start.track, start.from));
    Flow { why, from, slice: (place.from, place.alone), to }
}
