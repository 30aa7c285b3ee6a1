//! Programs: the paper's, task graphs, and recordings.

mod fib;
mod knary;
mod nqueens;
mod recorded;
mod stencil;
mod stg;

pub use fib::Fib;
pub use knary::Knary;
pub use nqueens::NQueens;
pub use recorded::Recorded;
pub use stencil::Stencil;
pub use stg::{Optimum, TaskGraph};
