//! Programs that must not compile (`tests/ui/`), each with the compiler's message.
//!
//! A separate crate, so that the runtime's tests build without `trybuild`.
