//! Real jobs for the `millpond` runtime.
//!
//! Each workload is a folder with the same files:
//!
//! | file | content |
//! |---|---|
//! | `params` | typed options and their ranges |
//! | `serial` | the program without tasks |
//! | `tasks` | the same program as annotated tasks; in some workloads also `portable` |
//! | `steps` | instead of `tasks`: the program as Concurrent Collections |
//! | `check` | the check of the answer |
//! | `mod` | its row in [`WORKLOADS`] |
//!
//! The command line, its help and the tests are made from this table.
//!
//! ```
//! let names: Vec<_> = millpond_workloads::WORKLOADS.iter().map(|w| w.name).collect();
//! assert!(names.contains(&"cholesky"));
//! ```
//!
//! # Sources
//!
//! Keys in this documentation name papers:
//!
//! - **TP**: M. Korch, T. Rauber, *A comparison of task pools for dynamic load balancing of
//!   irregular algorithms*, Concurrency and Computation: Practice and Experience 16(1), 2004.
//! - **FP**: D. Sbîrlea, A. Sbîrlea, K. Wheeler, V. Sarkar, *The flexible preconditions model for
//!   macro-dataflow execution*, DFM 2013.
//! - **DDS**: T. Gautier, J.-L. Roch, F. Wagner, *Fine grain distributed implementation of a
//!   dataflow language with provable performances*, ICCS 2007.
//! - **TG**: H. Vandierendonck, G. Tzenakis, D. Nikolopoulos, *Analysis of dependence tracking
//!   algorithms for task dataflow execution*, ACM TACO 10(4), 2013.
#![forbid(unsafe_code)]

pub mod blackscholes;
pub mod cholesky;
pub mod cholesky_cnc;
mod collections;
pub mod denoise;
mod error;
pub mod fib;
pub mod fib_join;
pub mod fileconcat;
mod form;
pub mod grammar;
mod input;
pub mod inverse;
pub mod knary;
mod limits;
pub mod matmul;
pub mod matrix;
pub mod nqueens;
mod number;
mod options;
pub mod output;
pub mod porting;
pub mod reduction;
mod rician;
pub mod routing;
mod spin;
pub mod stencil;
pub mod synthetic;
mod text;
pub mod uts;
pub mod uts_join;
mod workload;

pub use error::Error;
pub use options::{Kind, Opt, Options, Value};
pub use workload::{Job, PoolParts, Probe, RunsOn, Stopwatch, Verdict, WORKLOADS, Workload, find};
