//! The integration tests of the simulator. They are one binary, so they are linked once. Each
//! module is a subject.

mod graphs;
mod known;
mod network;
mod random;
mod theorem;
