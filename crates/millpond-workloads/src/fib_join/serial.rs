pub use crate::fib::serial;
