//! Recordings of millpond programs: how they spent their time, and how much could have been
//! parallel.
//!
//! ```
//! use millpond::{Handle, Runtime, Spawn};
//! use millpond_trace::Profile;
//!
//! let rt = Runtime::builder().workers(2).build()?;
//! let x = Handle::new(0_u64);
//! let report = rt.profile(|s| {
//!     for _ in 0..100 {
//!         s.spawn(x.inout(), |x| *x += 1);
//!     }
//! })?;
//! println!("{report}");
//! // A chain: there is nothing to be gained by more workers.
//! assert!(report.tasks == 100 && report.parallelism < 2.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Recording`] has the events of the runtime. It can be a file ([`Writer`]). Everything else
//! here is made from it: the [`Report`], a timeline for Perfetto, pictures of the graph and the
//! schedule.
//!
//! # Sources
//!
//! Keys in this documentation name papers:
//!
//! - **TG**: H. Vandierendonck, G. Tzenakis, D. Nikolopoulos, *Analysis of dependence tracking
//!   algorithms for task dataflow execution*, ACM TACO 10(4), 2013.
//! - **TP**: M. Korch, T. Rauber, *A comparison of task pools for dynamic load balancing of
//!   irregular algorithms*, Concurrency and Computation: Practice and Experience 16(1), 2004.
//! - **DDS**: T. Gautier, J.-L. Roch, F. Wagner, *Fine grain distributed implementation of a
//!   dataflow language with provable performances*, ICCS 2007.
#![forbid(unsafe_code)]

/// The chapter on profiling is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/profiling.md")]
struct Chapter;

mod blocked;
mod export;
mod format;
mod graph;
mod idle;
mod model;
mod profile;
mod report;
mod span;
mod table;
mod tree;

#[doc(hidden)]
pub use export::svg;
pub use export::{DOT_LIMIT, DotError, ExportError};
pub use format::{ReadError, Reason as ReadReason, Recording, VERSION, Writer};
pub use graph::Class;
pub use idle::Reason;
pub use profile::Profile;
pub use report::{IdleTime, LabelTime, Prediction, Report, Thefts, Waits, WorkerTime};
pub use tree::{Step, Tree, TreeBody};
