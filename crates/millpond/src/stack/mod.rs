#![doc = include_str!("README.md")]

mod appetite;
mod at_spawn;
mod chunk;
mod elsewhere;
pub(crate) mod engine;
mod episode;
mod errand;
mod frames;
mod guard;
mod jump;
mod lay;
mod own;
mod parent;
pub mod policy;
mod room;
mod run;
mod scope;
mod spawn;
mod stacks;
mod theft;
mod thief;
mod uses;
mod walk;
mod watch;

pub use engine::StackEngine;
pub(crate) use frames::Frames;
pub(crate) use own::fits as fits_in_stack;
pub(crate) use spawn::frames_of;
pub(crate) use stacks::Stacks;
pub(crate) use thief::Thief;
pub(crate) use watch::{Wakers, has_ended, wake_when_ended};
