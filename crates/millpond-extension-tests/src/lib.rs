//! A pool, a memory manager and a scheme from outside the crate `millpond`. The tests run them
//! alone, together, and with members of the catalogue.
//!
//! They are simple, not fast: each uses locks or the system's allocator.

pub mod memory;
pub mod pool;
pub mod renamed;
pub mod scheme;

/// The guide's code is compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/write-your-own.md")]
struct WriteYourOwn;
