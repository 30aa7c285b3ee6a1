#![doc = include_str!("README.md")]

pub(crate) mod engine;
pub(crate) mod in_order;
mod layout;
mod owner;
mod thief;

pub(crate) use crate::stack::layout::frames::Frames;
pub(crate) use crate::stack::layout::local::fits as fits_in_stack;
pub(crate) use crate::stack::owner::spawn::frames_of;
pub(crate) use crate::stack::thief::search::Thief;
pub(crate) use crate::stack::thief::stacks::Stacks;
pub use crate::worker::config::{End, Theft};
pub(crate) use engine::StackEngine;
pub(crate) use thief::policy;
