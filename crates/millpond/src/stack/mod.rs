//! The dataflow stack (DDS).

pub mod policy;
