//! Each program in `ui/` breaks one rule of portable tasks; the compiler must refuse it, with the message beside it.
//!
//! After a change of a message: `TRYBUILD=overwrite cargo test -p millpond-dist --test ui`, and read the difference as a
//! user would.

#[test]
fn must_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
