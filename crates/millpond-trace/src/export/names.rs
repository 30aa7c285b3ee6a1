//! What bodies, data, modes and causes are called in exports.

use std::collections::HashMap;

use millpond::record::{Cause, Role};

use crate::model::{Ix, Kind, On, Run, Wait};

/// Short names of data: `d0`, `d1`, … in the order of their first use.
#[derive(Debug)]
pub(super) struct Data(HashMap<u64, u32>);

impl Data {
    pub(super) fn of(run: &Run) -> Data {
        let mut tasks: Vec<_> = run.tasks().map(|(ix, task)| (task.spawned, ix)).collect();
        // Stable, so that a clock that stands still leaves the order of each track as it is.
        tasks.sort_by_key(|(spawned, _)| *spawned);
        let accessed = tasks.iter().flat_map(|(_, ix)| run.accesses_of(*ix)).map(|access| access.datum);
        let waited =
            run.waits.iter().filter_map(|wait| if let On::Datum(datum) = wait.on { Some(datum) } else { None });
        let mut names = HashMap::new();
        for datum in accessed.chain(waited) {
            let next = names.len() as u32;
            names.entry(datum).or_insert(next);
        }
        Data(names)
    }

    pub(super) fn name(&self, datum: u64) -> String {
        self.0.get(&datum).map_or_else(|| "d?".to_owned(), |number| format!("d{number}"))
    }
}

/// The label with its indices, and a number that no other body has.
pub(super) fn unique(run: &Run, ix: Ix) -> String {
    format!("{} #{ix}", run.title(ix))
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

/// Why a body stands still.
pub(super) fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Join => "task",
        Cause::Datum | Cause::Written => "data",
        Cause::Window => "window",
        Cause::Others => "others",
    }
}

/// What a body waits for, and whose release ended it if that is known.
pub(super) fn awaited(run: &Run, data: &Data, wait: &Wait) -> Option<String> {
    match (wait.on, wait.by) {
        (On::Body(ix), _) => Some(unique(run, ix)),
        (On::Datum(datum), Some(by)) => Some(format!("{} of {}", data.name(datum), unique(run, by))),
        (On::Datum(datum), None) => Some(data.name(datum)),
        (On::Nothing, _) => None,
    }
}
