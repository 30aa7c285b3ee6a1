//! A dump as text: a block for each body. If there are many bodies, their counts come first.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use super::{Busy, Dump, State, Unfinished, WaitsFor, Who};
use crate::record::{Cause, Role};

/// If there are more bodies, a dump begins with counts and shows only this many.
const MAX_SHOWN: usize = 100;

/// Bodies that have run for at least this long are named first.
const LONG: Duration = Duration::from_millis(100);

impl Display for Dump {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !self.kept {
            f.write_str(
                "millpond: nothing is known of unfinished tasks: build the runtime with `Runtime::builder().dumps(true)`",
            )?;
            return self.workers(f);
        }
        write!(f, "millpond: {} unfinished", self.unfinished.len())?;
        self.workers(f)?;
        let long = |busy: &&Busy| busy.since >= LONG && (!busy.is_closure || busy.suspended > 0);
        self.busy.iter().filter(long).try_for_each(|busy| write!(f, "\n{busy}"))?;
        let Some(more) = self.unfinished.len().checked_sub(MAX_SHOWN).filter(|&more| more > 0) else {
            return self.unfinished.iter().try_for_each(|body| write!(f, "\n{body}"));
        };
        self.counts(f)?;
        // Running and waiting bodies explain what others wait for.
        let explains = |body: &&Unfinished| matches!(body.state, State::Running { .. } | State::Waiting { .. });
        let mut shown: Vec<_> = self.unfinished.iter().filter(explains).take(MAX_SHOWN).collect();
        let others = self.unfinished.iter().filter(|body| !explains(body));
        shown.extend(others.take(MAX_SHOWN - shown.len()));
        shown.iter().try_for_each(|body| write!(f, "\n{body}"))?;
        write!(f, "\n... and {more} more")
    }
}

impl Dump {
    fn workers(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let s = if self.workers.len() == 1 { "" } else { "s" };
        write!(f, "; {} worker{s}, tasks run by each:", self.workers.len())?;
        for (place, worker) in self.workers.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma} {}", worker.tasks)?;
        }
        Ok(())
    }

    /// The number of bodies of each name (or place) and state, the largest first.
    fn counts(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // A program has few places and names, so a linear search is enough.
        let mut counts: Vec<(String, &str, u64)> = Vec::new();
        for body in &self.unfinished {
            let name = body.label.name().map_or_else(|| SpawnSite(body).to_string(), str::to_owned);
            let state = body.state.class();
            match counts.iter_mut().find(|kind| kind.1 == state && kind.0 == name) {
                Some((_, _, count)) => *count += 1,
                None => counts.push((name, state, 1)),
            }
        }
        let mut order: Vec<_> =
            counts.iter().enumerate().map(|(place, kind)| [u64::MAX - kind.2, place as u64]).collect();
        order.sort_unstable();
        for &[_, place] in order.iter().take(MAX_SHOWN) {
            let (name, state, count) = &counts[place as usize];
            write!(f, "\n{count} × {name}: {state}")?;
        }
        if counts.len() > MAX_SHOWN { write!(f, "\n... and {} kinds more", counts.len() - MAX_SHOWN) } else { Ok(()) }
    }
}

impl Display for Busy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.worker {
            Some(worker) => write!(f, "worker {worker}")?,
            None => f.write_str("a thread that is no worker's")?,
        }
        write!(f, " has been in `{}` for {}", self.body, Since(self.since))?;
        match self.suspended {
            0 => Ok(()),
            1 => f.write_str(" while it holds 1 suspended body"),
            bodies => write!(f, " while it holds {bodies} suspended bodies"),
        }
    }
}

impl Display for Unfinished {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let role = match self.role {
            None => "scope",
            Some(Role::Leaf) => "leaf",
            Some(Role::Parent) => "parent",
            Some(Role::Combine) => "combination",
            Some(Role::Fork) => "half of a join",
        };
        write!(f, "{}\n    {role}", self.label)?;
        if let Some(parent) = &self.parent {
            write!(f, " of {}", parent.label)?;
        }
        let verb = if self.role.is_none() { "opened" } else { "spawned" };
        write!(f, ", {verb} at {}\n    {}", SpawnSite(self), self.state.class())?;
        self.details(f)?;
        write!(f, ", for {}", Since(self.since))?;
        self.waits_for.iter().try_for_each(|wait| write!(f, "\n    {wait}"))
    }
}

impl Unfinished {
    fn details(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.state {
            State::Running { worker } | State::Waiting { worker, .. } => match worker {
                Some(worker) => write!(f, ", on worker {worker}"),
                None => f.write_str(", on a thread that is no worker's"),
            },
            State::Ended { children } if self.role.is_none() => write!(f, ", {children} tasks are not complete"),
            State::Ended { children } => write!(f, ", {children} children are not complete"),
            _ => Ok(()),
        }
    }
}

impl State {
    /// In words, without the details that differ from body to body.
    fn class(self) -> &'static str {
        match self {
            State::Pending => "is pending: a precondition is not met",
            State::Data => "waits for data",
            State::Turn => "waits for its turn",
            State::Ready => "is ready: no worker has taken it",
            State::Running { .. } => "runs",
            State::Waiting { cause, .. } => match cause {
                Cause::Join => "its body waits for a task",
                Cause::Datum => "its body waits for a datum",
                Cause::Written => "its body waits for a datum to be written",
                Cause::Window => "its body waits for room in the window",
                Cause::Others => "its body waits for a future or a session",
            },
            State::Ended { .. } => "its body has ended",
        }
    }
}

impl Display for WaitsFor {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(access) = self.access {
            write!(f, "access {access}")?;
        }
        if let (Some(mode), Some(datum)) = (self.mode, self.datum) {
            let comma = if self.access.is_some() { ", " } else { "" };
            write!(f, "{comma}{mode} of datum {datum}")?;
        }
        if self.access.is_some() || self.datum.is_some() {
            f.write_str(": ")?;
        }
        let Some((first, others)) = self.tasks.split_first() else {
            return f.write_str("after nothing any more: it is about to go on");
        };
        write!(f, "after {first}")?;
        others.iter().try_for_each(|task| write!(f, ", {task}"))?;
        if self.more > 0 { write!(f, " and {} more", self.more) } else { Ok(()) }
    }
}

impl Display for Who {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.label.fmt(f)
    }
}

/// Where a body was spawned.
struct SpawnSite<'a>(&'a Unfinished);

impl Display for SpawnSite<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.0.place.file(), self.0.place.line())
    }
}

/// A time with about three digits.
struct Since(Duration);

impl Display for Since {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1?}", self.0)
    }
}
