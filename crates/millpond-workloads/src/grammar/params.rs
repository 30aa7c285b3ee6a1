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

/// By default as many iterations as a core does in some ten days.
pub(super) const MAX_UNITS: Opt = Opt::integer(
    "max-units",
    "Give up where all tasks together take more units of time",
    (1, 1_000_000_000_000_000_000),
    Some(1_000_000_000_000_000),
);

/// The options of this workload.
pub const OPTIONS: [Opt; 6] = [FILE, SEED, SET, MAX_DEPTH, MAX_TASKS, MAX_UNITS];

/// Against grammars without an end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Ancestors of a task, itself included.
    pub depth: u64,
    /// Tasks in all.
    pub tasks: u64,
    /// Units of time that all tasks take together.
    pub units: u64,
}

/// Which grammar, and what is left open in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// None is the one that is built in.
    pub file: Option<PathBuf>,
    /// Of what is drawn.
    pub seed: u64,
    /// As it was given.
    pub set: Vec<(String, i64)>,
    /// Where to give up.
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

/// `k=25,f=0` as names and numbers.
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

/// A part of `--set` cannot be used.
pub(super) fn refuse(part: &str, why: String) -> Error {
    Error::Value { option: SET.name, value: part.to_owned(), why }
}
