//! The integration tests of the simulator. They are one binary, so they are linked once. Each
//! module is a subject.

mod known;
mod random;
mod theorem;
