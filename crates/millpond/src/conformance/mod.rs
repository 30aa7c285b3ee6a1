//! Tests for another crate's pool, memory manager or scheme.
//!
//! Needs the Cargo feature `conformance`.
//!
//! Call the functions from a test, each with your type. The members of the catalogue pass the same
//! tests.
//!
//! | function | tests |
//! |---|---|
//! | [`pool`] | each task goes to one taker; other workers find the tasks that they must find |
//! | [`memory`](fn@memory) | blocks are aligned, apart, and usable on all threads |
//! | [`scheme`](fn@scheme) | an access is granted when, and only when, it may be |
//! | [`runtime`](fn@runtime) | programs on a runtime of parts chosen by name give the serial result |
//!
//! If the part breaks its contract, the function panics and says how. If the part hangs, the
//! function aborts the process after a minute or two. Run the tests under ThreadSanitizer, too: it
//! also finds a missing order between a put and a take. Use `-Zbuild-std`, because ThreadSanitizer
//! must see the locks inside std.
//!
//! ```
//! use millpond::{DefaultMemory, DefaultPool, DefaultScheme, conformance};
//!
//! conformance::pool::<DefaultPool>();
//! conformance::memory::<DefaultMemory>();
//! conformance::scheme::<DefaultScheme>();
//! ```

mod memory;
pub(crate) mod pool;
mod runtime;
pub(crate) mod scheme;
#[cfg(test)]
mod tests;

pub use self::memory::memory;
pub use self::pool::pool;
pub use self::runtime::runtime;
pub use self::scheme::scheme;
use crate::limit;
