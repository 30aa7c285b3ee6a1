//! Programs that must not compile (`tests/ui/`), each with the compiler's message beside it.
//!
//! A crate of its own, so that the runtime's own tests build without `trybuild`.
