use crate::Error;
use crate::options::{Opt, Options};
use std::path::PathBuf;

pub(super) const FILE: Opt = Opt::path("file", "The grammar [default: the synthetic algorithm, built in]");
pub(super) const SEED: Opt = Opt::integer("seed", "Seed of what is drawn", (0, u64::MAX), Some(1));
pub(super) const SET: Opt = Opt::text("set", "NAME=NUMBER,...", "Values for the grammar's parameters");
pub(super) const MAX_DEPTH: Opt =
    Opt::integer("max-depth", "Give up where a task has so many ancestors", (1, 1_000_000), Some(10_000));
pub(super) const MAX_TASKS: Opt =
    Opt::integer("max-tasks", "Give up beyond so many tasks", (1, 1_000_000_000_000), Some(50_000_000));

/// The default is a core's number of iterations in about ten days.
pub(super) const MAX_UNITS: Opt = Opt::integer(
    "max-units",
    "Give up where all tasks together take more units of time",
    (1, 1_000_000_000_000_000_000),
    Some(1_000_000_000_000_000),
);

/// The options of this workload.
pub const OPTIONS: [Opt; 6] = [FILE, SEED, SET, MAX_DEPTH, MAX_TASKS, MAX_UNITS];

/// Limits for endless grammars.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// The maximum depth of a task: its ancestors and itself.
    pub depth: u64,
    /// The maximum number of tasks.
    pub tasks: u64,
    /// The maximum time of all tasks together, in units.
    pub units: u64,
}

/// The grammar and its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// `None` for the built-in grammar.
    pub file: Option<PathBuf>,
    /// The seed of random draws.
    pub seed: u64,
    /// The given values of the grammar's parameters.
    pub set: Vec<(String, i64)>,
    /// The limits of a run.
    pub limits: Limits,
}

impl Params {
    pub(super) fn new(options: &Options) -> Result<Self, Error> {
        Ok(Self {
            file: options.get_path(&FILE),
            seed: options.get(&SEED)?,
            set: values(options.get_text(&SET))?,
            limits: Limits {
                depth: options.get(&MAX_DEPTH)?,
                tasks: options.get(&MAX_TASKS)?,
                units: options.get(&MAX_UNITS)?,
            },
        })
    }
}

/// Parses `k=25,f=0` into names and numbers.
fn values(text: &str) -> Result<Vec<(String, i64)>, Error> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let value = |part: &str| {
        let (name, number) = part.split_once('=')?;
        Some((name.trim().to_owned(), number.trim().parse().ok()?))
    };
    let mut values: Vec<(String, i64)> = Vec::new();
    for part in parts {
        let (name, number) = value(part).ok_or_else(|| refuse(part, "expected NAME=NUMBER".to_owned()))?;
        if let Some((_, before)) = values.iter().find(|(other, _)| *other == name) {
            return Err(refuse(part, format!("{name} is set twice: it is {before} already")));
        }
        values.push((name, number));
    }
    Ok(values)
}

/// The error of a part of `--set`.
pub(super) fn refuse(part: &str, why: String) -> Error {
    Error::Value { option: SET.name, value: part.to_owned(), why }
}
