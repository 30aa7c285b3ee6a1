//! Tests that need their own process: they count its threads, measure its memory or raise signals.

use std::io::Read;
use std::process::{Command, Stdio};

/// Runs an ignored test of this binary in its own process. Fails if the test fails.
///
/// `test` is the test's path in the binary. When `wanted` holds for what the test has printed to
/// stderr, its stdin is closed. Returns its stderr.
pub fn alone(test: &str, wanted: impl Fn(&str) -> bool) -> String {
    let program = std::env::current_exe().expect("this program has a path");
    let arguments = ["--exact", test, "--ignored", "--test-threads=1", "--nocapture"];
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut run = command.spawn().expect("this program can be started");
    let (mut input, mut output) = (run.stdin.take(), run.stderr.take().expect("a pipe"));
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    loop {
        if wanted(&String::from_utf8_lossy(&bytes)) {
            drop(input.take());
        }
        match output.read(&mut part).expect("a pipe can be read") {
            0 => break,
            more => bytes.extend(&part[..more]),
        }
    }
    let text = String::from_utf8(bytes).expect("text");
    let report = run.wait_with_output().expect("the test has ended");
    assert!(report.status.success(), "{text}");
    // A filter that matches no test would pass, too.
    let report = String::from_utf8(report.stdout).expect("text");
    assert!(report.contains("1 passed"), "{test} does not run:\n{report}");
    text
}
