//! Suites of `millpond bench` that are in another program. The command finds that program, or says
//! how to build it.

use crate::common::{Dir, words};
use std::path::Path;
use std::process::{Command, Output};

/// Runs the command from its own directory, which `prepare` fills. Its working directory has a
/// script `spawn`.
fn run(prepare: impl FnOnce(&Path), line: &str) -> Output {
    let dir = Dir::new("elsewhere");
    let at = Path::new(&dir.path("debug")).to_owned();
    std::fs::create_dir(&at).expect("a directory");
    std::fs::hard_link(env!("CARGO_BIN_EXE_millpond"), at.join("millpond")).expect("a link");
    dir.file("spawn", "echo \"$@\"; echo says >&2; exit 7\n");
    prepare(&at);
    let mut command = Command::new(at.join("millpond"));
    command.args(line.split(' ')).current_dir(at.parent().expect("the directory")).output().expect("it runs")
}

/// The shell takes the place of the program: it runs the script with the suite's name.
fn put_program(at: &Path) {
    put(at, "/bin/sh");
}

/// Puts a link to this file in the program's place.
fn put(at: &Path, file: &str) {
    std::fs::create_dir_all(at).expect("a directory");
    std::os::unix::fs::symlink(file, at.join("millpond-bench")).expect("a link");
}

#[track_caller]
fn passes_on(output: &Output) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(7), "says\n"), "{output:?}");
    assert_eq!(text(&output.stdout), "--spawns 9 --json x --help\n");
}

const LINE: &str = "bench spawn --spawns 9 --json x --help";

#[test]
fn the_program_next_to_the_command() {
    passes_on(&run(put_program, LINE));
}

#[test]
fn the_program_of_the_profile_max() {
    passes_on(&run(|at| put_program(&at.join("../max")), LINE));
}

/// The documented numbers are from the profile `max`. So this program takes precedence over the one
/// in the command's directory.
#[test]
fn the_profile_max_comes_first() {
    let both = |at: &Path| {
        put(at, "/bin/false");
        put_program(&at.join("../max"));
    };
    passes_on(&run(both, LINE));
}

#[test]
fn a_file_that_cannot_be_started_is_passed_over() {
    let both = |at: &Path| {
        put_program(at);
        put(&at.join("../max"), "/etc/passwd");
    };
    passes_on(&run(both, LINE));
}

#[test]
fn only_a_file_that_cannot_be_started() {
    let output = run(|at| put(&at.join("../max"), "/etc/passwd"), LINE);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]));
    let text = String::from_utf8(output.stderr).expect("text");
    assert!(text.starts_with("error: bench spawn: cannot run ") && text.lines().count() == 1, "{text}");
    assert!(text.contains("max/millpond-bench: Permission denied"), "{text}");
    assert!(text.ends_with("; to build millpond-bench: cargo build --profile max -p millpond-bench\n"), "{text}");
}

#[test]
fn the_program_that_is_not_built() {
    let output = run(|_| (), LINE);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]));
    let says = "bench spawn is a suite of millpond-bench, which is not built: \
                cargo build --profile max -p millpond-bench";
    assert_eq!(String::from_utf8(output.stderr).expect("text"), format!("error: {says}\n"));
}

#[test]
fn they_are_listed() {
    let help = words("bench --help").stdout;
    for line in ["  spawn           Every scheme: cycles to spawn", "  stack           A task on the dataflow stack"] {
        assert!(help.contains(line), "{help}");
    }
}
