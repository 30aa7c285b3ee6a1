pub use crate::fib::{OPTIONS, Params};
