//! The engine whose parts are chosen by name.

use crate::depend::AnyScheme;
use crate::memory::AnyMemory;
use crate::pool::AnyPool;
use crate::runtime::engine::{Engine, linked_engine};
use crate::worker::engine::WorkerEngine;
use crate::worker::engine::store::InPool;

/// The engine that holds any scheme, any pool and any memory manager, chosen at run time. Never a
/// value.
///
/// A program that offers all parts is compiled only once for this engine, not once per part.
/// `docs/results/performance.md` has the cost per task of calls through a table of functions ("What
/// a choice at run time costs").
///
/// Needs the Cargo feature `catalogue`.
#[derive(Debug)]
pub enum Catalogue {}

impl WorkerEngine for Catalogue {
    type Memory = AnyMemory;
    type Pool = AnyPool;
    type Tracker = AnyScheme;
    type Tasks = InPool;
}

impl Engine for Catalogue {
    type Spawns = InPool;
}

linked_engine!(Catalogue);
