//! The dependence schemes of [TG](crate#sources) §4.

mod chain;
pub mod graph;
pub mod hypergraph;
pub mod list;
pub mod tickets;
pub mod two_locks;

/// Takes the locks of the schemes' stores for a fork.
pub(super) fn take_locks() -> Box<dyn std::any::Any> {
    Box::new((chain::take_lock(), graph::take_lock(), hypergraph::take_locks()))
}
