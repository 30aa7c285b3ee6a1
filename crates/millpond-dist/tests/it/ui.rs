//! Each program in `ui/` breaks one rule of portable tasks. The compiler must refuse it with the
//! message in the file next to it.
//!
//! After a change of a message, run `TRYBUILD=overwrite cargo test -p millpond-dist --test it ui`.
//! Then read the difference as a user would.

use std::path::Path;
use std::process::Command;

use crate::common::limit;

/// Whether the sources of the standard library are installed (the component `rust-src`). If they
/// are, the compiler shows lines of them when it reports an assertion in a constant.
fn has_sources() -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let sysroot = Command::new(rustc).args(["--print", "sysroot"]).output().expect("the compiler starts").stdout;
    let sysroot = String::from_utf8(sysroot).expect("a path");
    Path::new(sysroot.trim_end()).join("lib/rustlib/src/rust/library/core/src/panic.rs").exists()
}

#[test]
fn must_not_compile() {
    // The first run compiles the dependencies of the programs.
    limit(1200, "programs that must not compile", || {
        // The programs are compiled when it is dropped.
        let programs = trybuild::TestCases::new();
        programs.compile_fail("tests/ui/*.rs");
        if !has_sources() {
            programs.compile_fail("tests/ui/evaluated/*.rs");
        }
    });
}
