//! Each program in `ui/` breaks one rule of the front end. The compiler must refuse it, with the
//! message in its `.stderr` file.
//!
//! After a change of a message, run `TRYBUILD=overwrite cargo test -p millpond-ui-tests`. Read the
//! difference like a user. One program alone:
//! `cargo test -p millpond-ui-tests -- must trybuild=rc_captured`.
//!
//! `millpond/tests/it/accepted.rs` has programs that must compile.

#[test]
fn must_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
