//! The integration tests of recordings. They are one binary, so they are linked once. Each module
//! is a subject.

mod cases;
#[path = "../../../millpond/tests/it/common/mod.rs"]
mod common;
mod exact;
mod exports;
mod format;
mod hostile;
mod huge_times;
mod nested;
mod programs;
mod random;
mod several;
mod timeline;
