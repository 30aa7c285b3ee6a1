//! The shared parts of the workloads on Concurrent Collections: their options, and the call to run
//! a graph.

use crate::Error;
use crate::options::{Kind, Opt, Options, Value};
use millpond::catalogue::AnyRuntime;
use millpond::on_runtime;
use millpond_cnc::{Blocked, Graph, Limit, Preconditions, Settings, Table, graph_with};

/// When a step starts.
pub(crate) const PRECONDITIONS: Opt = Opt {
    name: "preconditions",
    help: "What a step waits for before it starts",
    kind: Kind::Choice(&["flexible", "eager", "strict"]),
};

/// The form of a waiting step.
const BLOCKED: Opt = Opt {
    name: "blocked",
    help: "How a step that waits for an item is kept",
    kind: Kind::Choice(&["resume", "fiber", "replay"]),
};

/// The number of listed preconditions of a step.
pub(crate) const NEED: Opt = Opt::text(
    "need",
    "all|none|N",
    "How many of its preconditions a step lists under flexible ones [default: as the workload has it]",
);

/// The table of items with hashed keys.
const ITEM_TABLE: Opt = Opt {
    name: "item-table",
    help: "How items with hashed keys are found",
    kind: Kind::Choice(&["open", "sharded", "split-ordered"]),
};

/// The settings of every workload on Collections.
const CHOICES: [Opt; 3] = [PRECONDITIONS, BLOCKED, NEED];

/// The same and the item table, for workloads with hashed keys.
const CHOICES_AND_TABLE: [Opt; 4] = [PRECONDITIONS, BLOCKED, NEED, ITEM_TABLE];

/// A workload's own options, and the settings of Collections.
pub(crate) const fn options<const OWN: usize, const ALL: usize>(own: [Opt; OWN]) -> [Opt; ALL] {
    joined(own, CHOICES_AND_TABLE)
}

/// The same for a workload without hashed keys.
pub(crate) const fn options_without_table<const OWN: usize, const ALL: usize>(own: [Opt; OWN]) -> [Opt; ALL] {
    joined(own, CHOICES)
}

const fn joined<const OWN: usize, const CHOICES: usize, const ALL: usize>(
    own: [Opt; OWN],
    choices: [Opt; CHOICES],
) -> [Opt; ALL] {
    assert!(ALL == OWN + CHOICES);
    let mut all = [PRECONDITIONS; ALL];
    let mut at = 0;
    while at < ALL {
        all[at] = if at < OWN { own[at] } else { choices[at - OWN] };
        at += 1;
    }
    all
}

/// The chosen settings. Under flexible preconditions a step lists `need` of them, unless an option
/// gives another number.
pub(crate) fn settings(options: &Options, need: Limit) -> Result<Settings, Error> {
    let preconditions = match options.get_choice(&PRECONDITIONS) {
        "eager" => Preconditions::Eager,
        "strict" => Preconditions::Strict,
        _ => Preconditions::Flexible,
    };
    let blocked = match options.get_choice(&BLOCKED) {
        "fiber" => Blocked::Fiber,
        "replay" => Blocked::Replay,
        _ => Blocked::Resume,
    };
    let table = match options.get_choice(&ITEM_TABLE) {
        "sharded" => Table::Sharded,
        "split-ordered" => Table::SplitOrdered,
        _ => Table::Open,
    };
    let limit = match options.get_text(&NEED) {
        "" => need,
        given => limit(given)?,
    };
    if options.has(&NEED) && preconditions != Preconditions::Flexible {
        let why = "eager steps list no preconditions, strict ones all";
        return Err(Error::Conflict { one: NEED.name, other: PRECONDITIONS.name, why });
    }
    Ok(Settings { preconditions, blocked, limit, table, ..Settings::default() })
}

fn limit(given: &str) -> Result<Limit, Error> {
    match given {
        "all" => Ok(Limit::All),
        "none" => Ok(Limit::First(0)),
        number => number.parse().map(Limit::First).map_err(|_| Error::Value {
            option: NEED.name,
            value: given.to_owned(),
            why: "expected all, none, or a number".to_owned(),
        }),
    }
}

/// The number of listed preconditions of a step, for reports.
pub(crate) fn need(settings: Settings) -> (&'static str, Value) {
    let value = match (settings.preconditions, settings.limit) {
        (Preconditions::Eager, _) | (_, Limit::First(0)) => Value::Text("none".to_owned()),
        (Preconditions::Flexible, Limit::First(number)) => Value::Integer(number as u64),
        _ => Value::Text("all".to_owned()),
    };
    (NEED.name, value)
}

/// Runs a graph.
pub(crate) fn graph<'env, F, R>(runtime: &AnyRuntime, settings: Settings, build: F) -> Result<R, Error>
where
    F: for<'g, 'x> FnOnce(&'g Graph<'g, 'x, 'env>) -> R,
{
    let (mut build, mut built) = (Some(build), None);
    run(runtime, settings, &mut |g| built = build.take().map(|build| build(g)))?;
    Ok(built.expect("a graph that has not failed was built"))
}

/// The same function for all workloads, to be compiled once per runtime.
fn run<'env>(
    runtime: &AnyRuntime,
    settings: Settings,
    build: &mut dyn for<'g, 'x> FnMut(&'g Graph<'g, 'x, 'env>),
) -> Result<(), Error> {
    Ok(on_runtime!(runtime, rt => graph_with(rt, settings, build))?)
}
