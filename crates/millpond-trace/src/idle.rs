//! Why workers were idle: the end of each gap, and the wait before it.

use crate::blocked::Blocked;
use crate::model::{Body, Ix, Line, On, Run, Segment};
use millpond::record::Cause;

/// Why a worker was idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The next body waited for data, that is, for another task; or all existing tasks did.
    Data,
    /// Like `Data`, but for a turn at a commutative datum.
    Exclusion,
    /// The next body was the spawner, waiting for room in its window.
    Window,
    /// No existing task waited, and the next one was not spawned yet.
    NoWork,
    /// A task was ready. The worker had to wake up or to find it, or another worker had it.
    Latency,
    /// The next body waited for a future, or for a session.
    Others,
}

impl Reason {
    pub(crate) const ALL: [Reason; 6] =
        [Reason::Data, Reason::Exclusion, Reason::Window, Reason::NoWork, Reason::Latency, Reason::Others];
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Reason::Data => "data",
            Reason::Exclusion => "commutative exclusion",
            Reason::Window => "window",
            Reason::NoWork => "no work",
            Reason::Latency => "latency",
            Reason::Others => "others",
        })
    }
}

/// A time in which a worker was idle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) reason: Reason,
    /// The body for which the next one had waited.
    pub(crate) on: Option<Ix>,
}

/// The time and counts of a worker's thefts, between its bodies.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AtThefts {
    /// Successful scans of stacks or pools, and the number of tasks that they took.
    pub(crate) scans: u64,
    pub(crate) closures: u64,
    /// Gaps between two bodies in which the worker waited for a stolen closure and took nothing.
    pub(crate) waits: u64,
    /// The time of such waits. If a scan came between two bodies, also the time until the worker
    /// was idle.
    pub(crate) time: u64,
    /// The time idle while a task was ready, after the worker's first body. Before that it had to
    /// begin, or to wake up.
    pub(crate) idle: u64,
}

/// How one worker spent its time, from `from` to `to`.
#[derive(Debug, Default)]
pub(crate) struct Account {
    pub(crate) busy: u64,
    /// Neither in a body nor idle.
    pub(crate) overhead: u64,
    /// The part of the overhead at thefts.
    pub(crate) at_thefts: AtThefts,
    /// The idle time by reason, in the order of [`Reason::ALL`].
    pub(crate) idle: [u64; Reason::ALL.len()],
    /// The gaps, for drawing.
    pub(crate) gaps: Vec<Gap>,
}

/// How a track spent its time between `from` and `to`.
pub(crate) fn account(run: &Run, blocked: &Blocked, line: &Line, from: u64, to: u64) -> Account {
    let mut account = Account::default();
    let (mut at, mut idle, mut thefts) = (from, line.idle.iter().peekable(), Thefts::of(line));
    let mut first = true;
    let inside = line.runs.iter().filter(|segment| segment.to > from && segment.from < to);
    for next in inside.map(Some).chain([None]) {
        let (start, end) = next.map_or((to, to), |segment| (segment.from.max(at), segment.to.min(to).max(at)));
        while idle.next_if(|(_, until)| *until <= at).is_some() {}
        // Idle from the first failed scan until something runs.
        let lazy = idle.peek().map(|(since, _)| (*since).max(at)).filter(|since| *since < start);
        if let Some(since) = lazy {
            let (why, on) = next.map_or((Reason::NoWork, None), |segment| why(run, segment, since));
            let shares = blocked.shares(since, start, why);
            shares.into_iter().for_each(|(reason, time)| account.idle[reason as usize] += time);
            if first {
                account.at_thefts.idle = account.idle[Reason::Latency as usize];
            }
            account.gaps.extend(blocked.pieces(since, start, why, on));
        }
        account.overhead += lazy.unwrap_or(start).saturating_sub(at);
        thefts.add(&mut account.at_thefts, at, lazy.unwrap_or(start), start);
        account.busy += end.saturating_sub(start);
        at = end.max(at);
        first = false;
    }
    account.at_thefts.idle = account.idle[Reason::Latency as usize] - account.at_thefts.idle;
    account
}

/// The remaining thefts of a track.
struct Thefts<'a> {
    scans: &'a [(u64, u32)],
    waits: &'a [(u64, u64)],
}

impl Thefts<'_> {
    fn of(line: &Line) -> Thefts<'_> {
        Thefts { scans: &line.scans, waits: &line.at_thefts }
    }

    /// Between two bodies, the worker was busy with something else from `from` to `to`. Then it was
    /// idle until `end`.
    fn add(&mut self, sum: &mut AtThefts, from: u64, to: u64, end: u64) {
        let scans = self.scans.split_off(..self.scans.partition_point(|&(at, _)| at <= end)).unwrap_or_default();
        let waits = self.waits.split_off(..self.waits.partition_point(|&(since, _)| since < end)).unwrap_or_default();
        let (mut found, mut waited) = (false, 0);
        for &(_, closures) in scans.iter().filter(|&&(at, _)| at >= from) {
            (found, sum.scans, sum.closures) = (true, sum.scans + 1, sum.closures.saturating_add(closures.into()));
        }
        for &(since, until) in waits {
            waited += until.min(to).saturating_sub(since.max(from));
        }
        sum.waits += u64::from(waited > 0 && !found);
        sum.time += if found { to.saturating_sub(from) } else { waited };
    }
}

/// Why a segment did not begin earlier, although its worker was idle since `since`.
fn why(run: &Run, segment: &Segment, since: u64) -> (Reason, Option<Ix>) {
    let body = run.body(segment.body);
    if body.started == Some(segment.from) {
        return why_not_started(body, since);
    }
    let Some(wait) = segment.after.map(|number| &run.waits[number as usize]) else { return (Reason::Others, None) };
    match wait.cause {
        Cause::Join | Cause::Datum | Cause::Written => match wait.on {
            On::Body(task) => (Reason::Data, Some(task)),
            _ => (Reason::Data, wait.by),
        },
        Cause::Window => (Reason::Window, None),
        _ => (Reason::Others, None),
    }
}

fn why_not_started(body: &Body, since: u64) -> (Reason, Option<Ix>) {
    match (body.handed, body.granted) {
        (Some((at, by)), _) if at > since => (Reason::Exclusion, by),
        (_, Some((at, by))) if at > since => (Reason::Data, by),
        _ if body.spawned > since => (Reason::NoWork, body.spawner),
        _ => (Reason::Latency, None),
    }
}
