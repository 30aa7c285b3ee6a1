//! The pools of [TP](crate#sources), Tables 2 and 3. Each combines a placement of queues, a kind of
//! queue, and a way to share it.

mod lock;
pub mod named;
pub mod params;
mod placement;
mod queue;
mod random;
mod settings;
mod shared;
pub mod variants;
#[cfg(all(test, not(loom)))]
mod where_nodes_lie;
