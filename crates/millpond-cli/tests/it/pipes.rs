//! Inputs that are pipes. The command does not seek in them, and detects the format from the first
//! bytes.

use crate::common::{Dir, f8, npy};
use serde_json::Value;
use std::process::Command;

/// Runs a script in which `$0` is the command and `$1` a file. Returns the object that it prints.
fn script(script: &str, file: &str) -> Value {
    let ran = Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_millpond"), file]).output().expect("a shell");
    assert!(ran.status.success() && ran.stderr.is_empty(), "{script}: {ran:?}");
    serde_json::from_slice(&ran.stdout).expect("a JSON object")
}

#[test]
fn matrices_come_through_pipes() {
    let dir = Dir::new("pipes");
    let text = dir.file("a.mtx", "%%MatrixMarket matrix array real general\n2 2\n4\n2\n2\n10\n");
    let numbers = dir.file("a.npy", npy("<f8", false, "(2, 2)", &f8(&[4.0, 2.0, 2.0, 10.0])));
    for file in [&text, &numbers] {
        for pipe in [
            "cat \"$1\" | \"$0\" run cholesky --input /dev/stdin --json",
            "\"$0\" run cholesky --input /dev/stdin --json < \"$1\"",
            "cat \"$1\" | \"$0\" run inverse --input /dev/fd/0 --json",
            "gzip -c \"$1\" | \"$0\" run cholesky --input /dev/stdin --json",
            "mkfifo \"$1.pipe\" && (cat \"$1\" > \"$1.pipe\" & \"$0\" run cholesky --input \"$1.pipe\" --json); rm \"$1.pipe\"",
        ] {
            let pipe = pipe.replace("$1.pipe", "${1%.*}-pipe");
            assert_eq!(script(&pipe, file)["params"]["n"], 2, "{pipe}");
        }
    }
}

#[test]
fn other_inputs_come_through_pipes() {
    let dir = Dir::new("other-pipes");
    let grammar = dir.file("a.grammar", "\u{feff}init A\nA -> {2} B\nB -> {1}\n");
    let run = script("cat \"$1\" | \"$0\" run grammar --file /dev/stdin --json", &grammar);
    assert_eq!(run["result"]["tasks"], 2);
    let options = dir.file("a.txt", "\u{feff}1\n42 40 0.1 0 0.2 0.5 C 0 4.759422392871532\n");
    let run = script("cat \"$1\" | \"$0\" run blackscholes --input /dev/stdin --json", &options);
    assert_eq!(run["result"]["options"], 1);
    let picture = dir.path("a.png");
    script("\"$0\" run denoise --size 32 --output \"$1\" --json", &picture);
    let run = script("cat \"$1\" | \"$0\" run denoise --input /dev/stdin --json", &picture);
    assert_eq!(run["verified"], true);
}
