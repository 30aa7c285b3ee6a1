//! The structure of trace events: the fields of the format, and the content of `args`.
//!
//! All of it borrows. There are several events per task, so texts are made during writing.

use std::fmt::Display;

use serde::{Serialize, Serializer};

use crate::model::{Access, Ix, Run};

use super::names::{Awaited, Data, Datum, Unique};

/// One trace event, with a name and arguments.
#[derive(Serialize)]
pub(super) struct Event<N, A = ()> {
    pub(super) name: N,
    pub(super) cat: &'static str,
    pub(super) ph: &'static str,
    pub(super) ts: Micros,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dur: Option<Micros>,
    pub(super) pid: u32,
    /// Never 0: Perfetto takes 0 for the process id.
    pub(super) tid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<u32>,
    /// The binding of an arrow's end: `e` for the enclosing slice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bp: Option<&'static str>,
    /// The scope of an instant event: `p` for all tracks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) s: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) args: Option<A>,
}

/// The only process of a trace.
pub(super) const PID: u32 = 1;

impl<N, A> Event<N, A> {
    pub(super) fn new(ph: &'static str, cat: &'static str, name: N, ts: Micros, tid: u32) -> Self {
        Event { name, cat, ph, ts, dur: None, pid: PID, tid, id: None, bp: None, s: None, args: None }
    }
}

/// Nanoseconds, written as microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Micros(pub(super) u64);

impl Serialize for Micros {
    /// Viewers truncate this to whole nanoseconds. A slightly too low fraction would put the ends
    /// of two slices on different nanoseconds, so they would not nest.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let micros = self.0 as f64 / 1000.0;
        serializer.serialize_f64(if ((micros * 1000.0) as u64) < self.0 { micros.next_up() } else { micros })
    }
}

/// A text made during writing.
pub(super) struct Text<T>(pub(super) T);

impl<T: Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// The arguments of a body's first slice, or of its refusal.
#[derive(Serialize)]
pub(super) struct Began<'a> {
    pub(super) task: Ix,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) spawner: Option<Ix>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) failed: bool,
    #[serde(rename = "spawned at", skip_serializing_if = "Option::is_none")]
    pub(super) spawned: Option<Micros>,
    /// `None` if it was ready at its spawn.
    #[serde(rename = "ready at", skip_serializing_if = "Option::is_none")]
    pub(super) ready: Option<Micros>,
    /// `None` unless there was more than one wait.
    #[serde(rename = "waited mostly for", skip_serializing_if = "Option::is_none")]
    pub(super) mostly: Option<&'static str>,
    #[serde(skip_serializing_if = "Waits::is_empty")]
    pub(super) waited: Waits<'a>,
    #[serde(skip_serializing_if = "Accesses::is_empty")]
    pub(super) accesses: Accesses<'a>,
}

/// The waits of a task until it started.
#[derive(Default)]
pub(super) struct Waits<'a>(pub(super) [Option<(&'static str, Waiting<'a>)>; 3]);

/// A wait's time, and the task whose release ended it.
#[derive(Serialize)]
pub(super) struct Waiting<'a> {
    pub(super) us: Micros,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) on: Option<Text<Unique<'a>>>,
}

impl Waits<'_> {
    fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// Of several, the longest.
    pub(super) fn longest(&self) -> Option<&'static str> {
        let waits = || self.0.iter().flatten();
        waits().max_by_key(|(_, waiting)| waiting.us).filter(|_| waits().count() > 1).map(|(what, _)| *what)
    }
}

impl Serialize for Waits<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().flatten().map(|(what, waiting)| (what, waiting)))
    }
}

/// The accesses of a task.
pub(super) struct Accesses<'a>(pub(super) &'a Run, pub(super) Ix, pub(super) &'a Data);

impl Accesses<'_> {
    fn is_empty(&self) -> bool {
        self.0.accesses_of(self.1).is_empty()
    }
}

impl Serialize for Accesses<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Accesses(run, task, data) = self;
        let accesses = run.accesses_of(task).iter().zip(data.of_accesses(&run.body(task).accesses));
        let text = |(access, datum): (&Access, Datum)| format!("{} {datum}", access.mode);
        serializer.collect_seq(accesses.map(text))
    }
}

/// The arguments of a slice where a body continues.
#[derive(Serialize)]
pub(super) struct Rest<'a> {
    pub(super) task: Ix,
    #[serde(rename = "resumed after", skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<Stood<'a>>,
}

/// A wait of a body.
#[derive(Serialize)]
pub(super) struct Stood<'a> {
    #[serde(rename = "waited for")]
    pub(super) why: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) on: Option<Text<Awaited<'a>>>,
    pub(super) us: Micros,
    /// `None` in the arguments of the body itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) body: Option<Text<Unique<'a>>>,
}

/// An idle time of a worker.
#[derive(Serialize)]
pub(super) struct Idle<'a> {
    pub(super) reason: Text<crate::idle::Reason>,
    /// The body for which the next one had waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) on: Option<Text<Unique<'a>>>,
}
