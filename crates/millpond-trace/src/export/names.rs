//! Display names of bodies, data, modes and causes.

use std::collections::HashMap;
use std::fmt::{Display, Formatter, Result};
use std::ops::Range;

use millpond::record::{Cause, Role};

use crate::model::{Ix, Kind, On, Run, Wait};

/// Short names of data: `d0`, `d1`, … in the order of their first use.
#[derive(Debug)]
pub(super) struct Data {
    numbers: HashMap<u64, u32>,
    /// Indexed like [`Run::accesses`]: a million lookups would take longer than writing the output.
    of_access: Vec<u32>,
}

impl Data {
    pub(super) fn of(run: &Run) -> Data {
        let mut tasks: Vec<_> = run.tasks().map(|(_, task)| (task.spawned, &task.accesses)).collect();
        // A stable sort, so that equal times keep the order of each track.
        tasks.sort_by_key(|(spawned, _)| *spawned);
        let mut data = Data { numbers: HashMap::new(), of_access: vec![0; run.accesses.len()] };
        for access in tasks.into_iter().flat_map(|(_, accesses)| accesses.start as usize..accesses.end as usize) {
            data.of_access[access] = data.number(run.accesses[access].datum);
        }
        for wait in &run.waits {
            if let On::Datum(datum) = wait.on {
                data.number(datum);
            }
        }
        data
    }

    fn number(&mut self, datum: u64) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(datum).or_insert(next)
    }

    pub(super) fn name(&self, datum: u64) -> Datum {
        Datum(self.numbers.get(&datum).copied())
    }

    /// The data of a task's accesses.
    pub(super) fn of_accesses(&self, of: &Range<u32>) -> impl Iterator<Item = Datum> {
        self.of_access[of.start as usize..of.end as usize].iter().map(|&number| Datum(Some(number)))
    }
}

/// The short name of a datum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Datum(Option<u32>);

impl Display for Datum {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0 {
            Some(number) => write!(f, "d{number}"),
            None => f.write_str("d?"),
        }
    }
}

/// The label with its indices, and the body's unique number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unique<'a>(pub(super) &'a Run, pub(super) Ix);

impl Display for Unique<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} #{}", self.0.title(self.1), self.1)
    }
}

pub(super) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Scope => "scope",
        Kind::Task(Role::Leaf) => "leaf",
        Kind::Task(Role::Parent) => "parent",
        Kind::Task(Role::Combine) => "combine",
        Kind::Task(Role::Fork) => "fork",
    }
}

/// Why a body waits.
pub(super) fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Join => "task",
        Cause::Datum | Cause::Written => "data",
        Cause::Window => "window",
        Cause::Others => "others",
    }
}

/// What a body waits for: another body, or a datum, with the task whose release ended the wait, if
/// known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Awaited<'a>(Option<Datum>, Option<Unique<'a>>);

impl<'a> Awaited<'a> {
    /// `None` for an event outside the runtime.
    pub(super) fn of(run: &'a Run, data: &Data, wait: &Wait) -> Option<Self> {
        match wait.on {
            On::Body(ix) => Some(Unique(run, ix).into()),
            On::Datum(datum) => Some(Awaited(Some(data.name(datum)), wait.by.map(|by| Unique(run, by)))),
            On::Nothing => None,
        }
    }
}

impl<'a> From<Unique<'a>> for Awaited<'a> {
    fn from(body: Unique<'a>) -> Self {
        Awaited(None, Some(body))
    }
}

impl Display for Awaited<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match (self.0, self.1) {
            (Some(datum), Some(by)) => write!(f, "{datum} of {by}"),
            (Some(datum), None) => datum.fmt(f),
            (None, Some(body)) => body.fmt(f),
            (None, None) => Ok(()),
        }
    }
}
