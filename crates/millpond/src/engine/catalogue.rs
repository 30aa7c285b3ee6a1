//! The engine whose parts are chosen by name.

use super::Engine;
use super::store::InPool;
use crate::depend::AnyScheme;
use crate::memory::any::AnyMemory;
use crate::pool::any::AnyPool;

/// The engine that holds any scheme, any pool and any memory manager, chosen at run time. Never a
/// value.
///
/// A program that offers all parts is compiled only once for this engine, and not once for each
/// part. `docs/results/performance.md` has the cost of a call through a table of functions per task
/// ("What a choice at run time costs").
///
/// Needs the Cargo feature `catalogue`.
#[derive(Debug)]
pub enum Catalogue {}

impl Engine for Catalogue {
    type Memory = AnyMemory;
    type Pool = AnyPool;
    type Tracker = AnyScheme;
    type Tasks = InPool;
}
