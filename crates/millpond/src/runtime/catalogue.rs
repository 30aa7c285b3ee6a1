//! The members of each family, as rows: what a command lists and a test walks.

use super::engine::{DefaultMemory, DefaultPool, DefaultScheme};
use crate::depend::Scheme;
use crate::memory::Memory;
use crate::pool::Pool;

/// One member of a family.
///
/// ```
/// use millpond::{DefaultPool, catalogue, pool::Pool};
///
/// let row = catalogue::POOLS.iter().find(|row| row.name == DefaultPool::NAME).unwrap();
/// assert_eq!(row.honours_priority, Some(true));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The name by which the command line chooses it.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Of a pool: whether priorities change the order in which tasks are taken.
    pub honours_priority: Option<bool>,
}

/// Where task blocks come from.
pub const MEMORY: &[Row] = &[Row {
    name: DefaultMemory::NAME,
    summary: "per-worker slabs by size class; blocks freed elsewhere go home in batches",
    source: "millpond",
    honours_priority: None,
}];

/// Where ready tasks wait.
pub const POOLS: &[Row] = &[Row {
    name: DefaultPool::NAME,
    summary: "lock-free deques, split into a private and a public part; a lane for positive priorities",
    source: "millpond",
    honours_priority: Some(DefaultPool::HONOURS_PRIORITY),
}];

/// When a task is ready.
pub const SCHEMES: &[Row] = &[Row {
    name: DefaultScheme::NAME,
    summary: "a task waits at one place at a time, at the generation before its first unmet access",
    source: "millpond, after TG section 4.4",
    honours_priority: None,
}];
