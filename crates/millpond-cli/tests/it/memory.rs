//! A limit of the process's memory counts. The command refuses what exceeds it, before the system
//! kills or aborts the process.

use crate::common::Dir;
use std::process::Command;

/// Runs the command with `kilobytes` of address space. Returns its exit status and what it said on
/// stderr.
fn limited(kilobytes: u64, arguments: &str) -> (Option<i32>, String) {
    let script = format!("ulimit -v {kilobytes} && exec \"$0\" {arguments}");
    let mut shell = Command::new("sh");
    let ran = shell.args(["-c", &script, env!("CARGO_BIN_EXE_millpond")]).output().expect("a shell");
    (ran.status.code(), String::from_utf8(ran.stderr).expect("text"))
}

#[test]
fn a_limit_of_the_address_space_is_a_limit_of_jobs() {
    for (job, option) in [
        ("cholesky --n 20000", "--n 20000"),
        ("matmul --n 20000", "--n 20000"),
        ("inverse --n 20000", "--n 20000"),
        ("stencil --n 1000000000", "--n 1000000000"),
        ("blackscholes --options 60000000", "--options 60000000"),
        ("denoise --size 65536", "--size 65536"),
        ("fileconcat --files 16777216", "--files 16777216"),
        ("reduction --size 1000 --iterations 10000", "--iterations 10000"),
        ("routing --routers 16384", "--routers 16384"),
    ] {
        let (status, says) = limited(600_000, &format!("run {job} --workers 2"));
        let expected = format!("error: {option} is out of range: expected ");
        assert_eq!((status, says.starts_with(&expected), says.lines().count()), (Some(2), true, 1), "{job}: {says}");
    }
}

#[test]
fn what_the_limit_leaves_can_be_used() {
    for (kilobytes, workers) in [(400_000, 2), (1_200_000, 16)] {
        let run = |options| limited(kilobytes, &format!("run blackscholes --workers {workers} --options {options}"));
        let (_, says) = run("60000000");
        let most = says.split("..=").nth(1).and_then(|rest| rest.split(' ').next()).expect("the greatest number");
        assert_eq!(run(most), (Some(0), String::new()), "{most} options, {workers} workers");
    }
}

/// Runs a script under a limit of 300 MB, in which `$0` is the command and `$1` a file. The script
/// fails with this text on stderr.
#[track_caller]
fn too_large(script: &str, file: &str, says: &str) {
    let script = format!("ulimit -v 300000 && {script}");
    let mut shell = Command::new("sh");
    let ran = shell.args(["-c", &script, env!("CARGO_BIN_EXE_millpond"), file]).output().expect("a shell");
    let found = String::from_utf8(ran.stderr).expect("text");
    assert_eq!((ran.status.code(), found), (Some(1), format!("error: {says}\n")), "{script}");
}

#[test]
fn inputs_that_do_not_say_their_length_are_bounded() {
    let dir = Dir::new("unbounded");
    let pipe = "/dev/stdin: cannot read: out of memory";
    for job in ["cholesky --input", "grammar --file", "denoise --input", "blackscholes --input"] {
        too_large(&format!("head -c 400000000 /dev/zero | \"$0\" run {job} /dev/stdin"), "", pipe);
    }
    // 400 MB of zeros in 400 kB.
    let file = dir.path("zeros.mtx.gz");
    let packed = Command::new("sh").args(["-c", "head -c 400000000 /dev/zero | gzip > \"$0\"", &file]).status();
    assert!(packed.is_ok_and(|status| status.success()));
    let says = format!("{file}: gzip: it expands to more than memory can hold");
    too_large("\"$0\" run cholesky --input \"$1\"", &file, &says);
    // One line of words: they are not kept.
    let text = format!("%%MatrixMarket matrix array real general\n1 1\n1{}", " 1".repeat(20_000_000));
    let file = dir.file("words.mtx", text);
    too_large(
        "\"$0\" run cholesky --input \"$1\"",
        &file,
        &format!("{file}: line 3: more than the 1 entries declared"),
    );
}

#[test]
fn a_large_recording_is_refused() {
    let dir = Dir::new("recording");
    let file = dir.path("fib.mpr");
    let record = Command::new(env!("CARGO_BIN_EXE_millpond"))
        .args(["profile", "fib", "--n", "10", "--record", &file])
        .output()
        .expect("the command");
    assert!(record.status.success());
    let bytes = std::fs::read(&file).expect("it was written");
    // A length that no limit allows. The end of the file is a hole, so the disk holds little.
    let large = dir.file("large.mpr", &bytes);
    let hole = std::fs::OpenOptions::new().write(true).open(&large).expect("it exists");
    hole.set_len(20 << 20).expect("a sparse file");
    for (command, times) in [("profile --read", 32), ("simulate --trace", 48)] {
        let says = format!("{large}: the recording needs {} MiB of memory, more than is available", 20 * times);
        too_large(&format!("\"$0\" {command} \"$1\""), &large, &says);
    }
}
