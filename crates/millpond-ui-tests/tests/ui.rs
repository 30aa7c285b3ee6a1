//! Each program in `ui/` breaks one rule of the front end; the compiler must refuse it, with the
//! message beside it.
//!
//! After a change of a message: `TRYBUILD=overwrite cargo test -p millpond-ui-tests`, and read the
//! difference as a user would. One program alone: `cargo test -p millpond-ui-tests -- must
//! trybuild=rc_captured`.
//!
//! What must compile stands in `millpond/tests/it/accepted.rs`.

#[test]
fn must_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
