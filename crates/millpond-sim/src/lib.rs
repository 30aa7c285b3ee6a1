//! Runs programs on P simulated processors, and measures times and steals.
//!
//! A [`Program`] is a tree of tasks: one of [`programs`], a task graph, or a recording. A
//! [`Config`] is a machine: processors whose speeds are functions of time, and the cost of a steal.
//! [`simulate`] runs the program on the machine like the dataflow stack does (T. Gautier, J.-L.
//! Roch, F. Wagner, *Fine grain distributed implementation of a dataflow language with provable
//! performances*, ICCS 2007). The runtime's own functions decide which frame is first, and what is
//! ready. As in the paper, a thief chooses a random victim for each request. With a [`Network`] it
//! first asks processors of its own cluster.
//!
//! ```
//! use millpond_sim::{Config, Costs, programs::Knary, simulate};
//!
//! // Five million tasks on a hundred processors.
//! let outcome = simulate(&Knary::new(7, 9, 0, 0, 100_000, Costs::PAPER), &Config::of(100))?;
//! assert_eq!(outcome.tasks, 5_380_840);
//! assert!(outcome.idle_share < 0.05 && outcome.seconds < 1.05 * outcome.least_seconds());
//! # Ok::<(), millpond_sim::Error>(())
//! ```
//!
//! # Sources
//!
//! Keys in this documentation name papers:
//!
//! - **DDS**: T. Gautier, J.-L. Roch, F. Wagner, *Fine grain distributed implementation of a
//!   dataflow language with provable performances*, ICCS 2007.
#![forbid(unsafe_code)]

/// The chapter on simulation. Its programs, if any, are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/simulation.md")]
struct Chapter;

mod config;
pub mod experiments;
mod frame;
mod input;
mod load;
mod machine;
mod network;
mod networks;
mod order;
mod plot;
mod program;
pub mod programs;
mod random;
mod speed;
mod speeds;
mod stack;

pub use config::{ClusterOutcome, Config, Error, Outcome};
pub use input::InputError;
pub use load::Load;
pub use machine::simulate;
pub use network::{Cluster, Link, Network};
pub use networks::parse_network;
pub use plot::draw;
pub use program::{Children, Costs, Program, Size, Work};
pub use speed::Speed;
pub use speeds::{SpeedsError, speeds};
