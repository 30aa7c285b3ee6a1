//! Each program in `ui/` breaks one rule of portable tasks; the compiler must refuse it, with the message beside it.
//!
//! After a change of a message: `TRYBUILD=overwrite cargo test -p millpond-dist --test it ui`, and read the difference as a
//! user would.

use crate::common::limit;

#[test]
fn must_not_compile() {
    // The first run compiles what they depend on.
    limit(1200, "programs that must not compile", || {
        // They are compiled when it is dropped.
        trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
    });
}
