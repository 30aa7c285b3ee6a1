//! Programs: the paper's, and recordings.

mod fib;
mod knary;
mod nqueens;
mod recorded;

mod stencil;

pub use fib::Fib;
pub use knary::Knary;
pub use nqueens::NQueens;
pub use recorded::Recorded;

pub use stencil::Stencil;
