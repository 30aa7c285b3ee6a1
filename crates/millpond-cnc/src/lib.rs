//! Concurrent Collections with flexible preconditions ([FP](crate#sources)), on millpond.
//!
//! A computation is a graph of three kinds of collections.
//!
//! - *Item* collections hold values under keys. Each value is put once.
//! - *Step* collections compute. A step gets items, and puts items and tags.
//! - *Tag* collections determine the steps. Putting a tag prescribes one step of each step
//!   collection that the tag collection prescribes.
//!
//! There are no races. Only data orders the steps, and the items are the same in every order.
//!
//! ```
//! use millpond::Runtime;
//! use millpond_cnc::graph;
//!
//! let rt = Runtime::new()?;
//! // Pascal's triangle: each cell is the sum of the two above it.
//! let middle = graph(&rt, |g| {
//!     let cells = g.items::<(u32, u32), u64>("cell");
//!     let tags = g.tags("cells");
//!     let add = g.steps::<(u32, u32)>("add").preconditions(move |&(row, at), need| {
//!         need.wait_on(cells, (row - 1, at - 1));
//!         need.wait_on(cells, (row - 1, at));
//!     });
//!     tags.prescribes(add.execute(move |(row, at)| async move {
//!         let sum = cells.get((row - 1, at - 1)).await + cells.get((row - 1, at)).await;
//!         cells.put((row, at), sum);
//!     }));
//!     for row in 0..=20 {
//!         cells.put((row, 0), 1);
//!         cells.put((row, row + 1), 0);
//!         tags.put_all((1..=row).map(|at| (row, at)));
//!     }
//!     g.get(cells, (20, 10)).copied()
//! })??;
//! assert_eq!(middle, 184_756);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Preconditions** ([`Preconditions`]) are chosen at run time, for a graph or a step collection;
//! the body stays the same. Before its start, a step waits for its declared items. It waits for
//! other items where it gets them, by one of three mechanisms ([`Blocked`]).
//!
//! **Nothing hangs.** If steps wait and no step runs or is ready, the graph fails. The error
//! ([`Kind::Deadlock`]) reports these steps and the missing items.
//!
//! # Sources
//!
//! Keys in this documentation name papers:
//!
//! - **FP**: D. Sbîrlea, A. Sbîrlea, K. Wheeler, V. Sarkar, *The flexible preconditions model for
//!   macro-dataflow execution*, DFM 2013.

#![forbid(unsafe_code)]
// Models do not use parts of the item tables needed only by graphs.
#![cfg_attr(loom, allow(dead_code))]

// Models cover only the item tables, because a runtime is too large for one, and loom does not see
// into the arenas.
#[cfg(not(loom))]
mod collection;
#[cfg(not(loom))]
mod counted;
#[cfg(not(loom))]
mod current;
#[cfg(not(loom))]
mod error;
#[cfg(not(loom))]
mod graph;
#[cfg(not(loom))]
mod items;
mod key;
mod modes;
#[cfg(not(loom))]
mod need;
#[cfg(not(loom))]
mod origin;
#[cfg(not(loom))]
mod run;
#[cfg(not(loom))]
mod shared;
#[cfg(not(loom))]
mod steps;
mod store;
mod sync;
#[cfg(not(loom))]
mod tags;

#[cfg(not(loom))]
pub use collection::{Collection, ItemMemory};
#[cfg(not(loom))]
pub use counted::{CountedGet, CountedItems, Use};
#[cfg(not(loom))]
pub use error::{By, Deadlock, Error, ItemName, Kind, Missing, StepName, Stuck};
#[cfg(not(loom))]
pub use graph::{Graph, graph, graph_with};
#[cfg(not(loom))]
pub use items::{Get, Items};
pub use key::Key;
pub use modes::{Blocked, Limit, Preconditions, Settings, Table};
#[cfg(not(loom))]
pub use need::Need;
#[cfg(not(loom))]
pub use steps::{Outcome, Steps, StepsBuilder};
pub use store::Bounds;
#[doc(hidden)]
pub use store::Slots;
#[cfg(not(loom))]
pub use tags::Tags;

/// The program in the chapter on collections, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/papers/fp.md")]
struct Chapter;
