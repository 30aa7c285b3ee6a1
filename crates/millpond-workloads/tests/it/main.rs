//! The integration tests of the workloads. They are one binary, so they are linked once. Each
//! module is a subject.

mod answers;
mod blackscholes;
mod common;
mod denoise;
mod fileconcat;
mod grammar;
mod inputs;
mod mutations;
mod routing;
mod tiles;
