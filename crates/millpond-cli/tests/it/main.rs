//! The integration tests of the command. They are one binary, so they are linked once. Each module
//! is a subject.

mod bad_arguments;
mod bad_lines;
mod bad_matrix;
mod bench;
mod bench_collections;
mod bench_elsewhere;
mod bench_pools;
mod blackscholes;
mod common;
mod denoise;
mod fileconcat;
mod grammar;
mod inverse;
mod memory;
mod parts;
mod pipes;
mod profile;
mod reduction;
mod routing;
mod run;
mod scale;
mod schemes;
mod simulate;
mod simulate_grid;
