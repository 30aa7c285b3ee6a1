//! The steps of the method, each as a function that a task can call (TP §7.2).
//!
//! An iteration has three phases. All calls of a phase may run at the same time, and a phase begins
//! when the one before has ended.
//!
//! | phase | step | once for each | reads | writes |
//! |---|---|---|---|---|
//! | refine | [`initial`] | patch, in the first iteration | patches | nothing |
//! | refine | [`refine`] | link | radiosity of the source | children of the receiver or of the source |
//! | refine | [`visibility`] | accepted link | the tree | nothing |
//! | refine | [`refine_again`] | interaction of an element | radiosity of the source | children of the receiver or of the source |
//! | gather | [`gather`] | element | own interactions, radiosities of their sources | own [`gathered`](crate::mesh::Element::gathered) |
//! | push and pull | [`push_pull`] | patch | `gathered` of the patch's elements | radiosity and exposure of the patch's elements |
//!
//! Two refinements can need the children of one element.
//! [`Mesh::divide`](crate::mesh::Mesh::divide) creates them once, so these steps need no order. A
//! task that adds an interaction to an element holds the lock of its list. If the caller runs all
//! refinements of a receiver in one task, or orders them, the lock is always free.
//!
//! The result does not depend on the order within a phase, apart from the order of the interactions
//! in each list, which rounds the sums of [`gather`] differently. [`sort`] removes this difference.

mod energy;
mod gather;
mod initial;
mod interaction;
mod refine;
mod visibility;

pub use energy::{Balance, balance, has_converged, total_energy};
pub use gather::{Gathered, gather, push_pull};
pub use initial::initial;
pub(crate) use initial::is_closed;
pub use interaction::{Interaction, Link, Links, Visibility, sort};
pub use refine::{Refined, refine, refine_again};
pub use visibility::visibility;
