//! The content of a recording, body by body.

use std::ops::Range;

use millpond::depend::Mode;
use millpond::record::{Cause, Role, Track};

use crate::format::{LabelText, ReadError, Recording};

mod replay;

use replay::Replay;

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
    /// Its parent. For a scope: the body that opened it, perhaps on a track of another runtime.
    pub(crate) spawner: Option<Ix>,
    pub(crate) order: u64,
    pub(crate) accesses: Range<u32>,
    pub(crate) spawned: u64,
    /// When its last access was granted, and by which task's release; `None` without a wait.
    pub(crate) granted: Option<(u64, Option<Ix>)>,
    /// The same for its last exclusion.
    pub(crate) handed: Option<(u64, Option<Ix>)>,
    pub(crate) started: Option<u64>,
    pub(crate) ended: Option<u64>,
    pub(crate) completed: Option<u64>,
    /// Index into [`Run::tracks`].
    pub(crate) track: Option<u32>,
    /// Its own time, including spawning.
    pub(crate) own: u64,
    /// Whether it ran on top of another body: at its spawn, or as the second half of a fork, taken
    /// back.
    pub(crate) on_top: bool,
    pub(crate) pending: bool,
    /// A scope without a closure.
    pub(crate) session: bool,
    pub(crate) ok: bool,
    /// Whether it was opened within the recording, or has an ancestor that was.
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

/// An operation of a body, and the body's own time before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    pub(crate) body: Ix,
    pub(crate) own: u64,
    pub(crate) what: Does,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Does {
    Spawn(Ix),
    /// Waits. Has the index into [`Run::waits`].
    Wait(u32),
    /// Uses the result of a task.
    Join(Ix),
    /// Gives a datum a new version, in a scope.
    Set(Ix, u64),
    /// Opens a root scope, and continues when it is complete.
    Open(Ix),
    /// Meets the last precondition of a pending task.
    Meet(Ix),
}

/// A new version of a datum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Set {
    pub(crate) scope: Ix,
    /// Its position among the children.
    pub(crate) order: u64,
    pub(crate) datum: u64,
}

/// A wait of a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) body: Ix,
    pub(crate) cause: Cause,
    pub(crate) on: On,
    pub(crate) track: u32,
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// For a datum: the task whose release ended the wait.
    pub(crate) by: Option<Ix>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Body(Ix),
    Datum(u64),
    Nothing,
}

/// The events of a track.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) track: Track,
    /// `worker 0`, or `caller 0` for a non-worker thread.
    pub(crate) name: String,
    /// The running body over time. Adjacent segments of one body are merged.
    pub(crate) runs: Vec<Segment>,
    /// When the worker was idle: from the first failed scan until a body ran. This includes the
    /// time from 0 to the first event. It has no end if no body ran afterwards.
    pub(crate) idle: Vec<(u64, u64)>,
    pub(crate) steals: u64,
    /// When it took tasks from others, and how many.
    pub(crate) scans: Vec<(u64, u32)>,
    /// When it waited for a stolen closure of its running stack.
    pub(crate) at_thefts: Vec<(u64, u64)>,
    /// The time in spawning.
    pub(crate) spawning: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) body: Ix,
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// The wait that ended at its beginning, as index into [`Run::waits`].
    pub(crate) after: Option<u32>,
}

/// A recording, replayed.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) labels: Vec<String>,
    pub(crate) bodies: Vec<Body>,
    pub(crate) accesses: Vec<Access>,
    pub(crate) ops: Vec<Op>,
    pub(crate) waits: Vec<Wait>,
    /// Sorted by scope and order.
    pub(crate) sets: Vec<Set>,
    pub(crate) tracks: Vec<Line>,
    /// Whether a thief stole from a dataflow stack.
    pub(crate) has_stacks: bool,
    pub(crate) ticks_per_second: f64,
    pub(crate) workers: usize,
}

impl Run {
    pub(crate) fn of(recording: &Recording) -> Result<Run, ReadError> {
        let mut replay = Replay::default();
        for track in recording.tracks() {
            replay.begin_track(track);
            recording.replay(track, |event| replay.event(event))?;
            replay.end_track();
        }
        replay.add_sleepers(recording.workers);
        Ok(replay.finish(recording))
    }

    pub(crate) fn body(&self, ix: Ix) -> &Body {
        &self.bodies[ix as usize]
    }

    pub(crate) fn ops_of(&self, ix: Ix) -> &[Op] {
        let ops = &self.body(ix).ops;
        &self.ops[ops.start as usize..ops.end as usize]
    }

    /// The sets of a scope, by order.
    pub(crate) fn sets_of(&self, ix: Ix) -> &[Set] {
        let (from, to) =
            (self.sets.partition_point(|set| set.scope < ix), self.sets.partition_point(|set| set.scope <= ix));
        &self.sets[from..to]
    }

    pub(crate) fn accesses_of(&self, ix: Ix) -> &[Access] {
        let accesses = &self.body(ix).accesses;
        &self.accesses[accesses.start as usize..accesses.end as usize]
    }

    /// All bodies with their indices, except those from before the recording.
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

impl Line {
    fn of(track: Track) -> Line {
        let (scans, at_thefts) = (Vec::new(), Vec::new());
        Line {
            track,
            name: String::new(),
            runs: Vec::new(),
            idle: Vec::new(),
            steals: 0,
            scans,
            at_thefts,
            spawning: 0,
        }
    }
}

impl Body {
    fn unknown() -> Body {
        Body {
            // Until an event says otherwise. A scope's opening is an event on its own track.
            kind: Kind::Task(Role::Leaf),
            // The last label.
            label: u32::MAX,
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

    /// When it could have started: its accesses were granted, and it had its exclusions.
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
