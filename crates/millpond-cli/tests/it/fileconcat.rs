//! The workload `fileconcat`: its output, and errors for unusable directories.

use crate::common::{Dir, fails, json, words};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn a_directory_is_concatenated_by_name() {
    let dir = Dir::new("concat");
    let from = dir.path("in");
    fs::create_dir_all(dir.path("in/sub")).expect("directories");
    for (name, content) in [("b", "two\n"), ("a", "one\n"), (".hidden", "none\n"), ("c c", ""), ("sub/no", "not this")]
    {
        dir.file(&format!("in/{name}"), content);
    }
    dir.file("elsewhere", "linked\n");
    symlink(dir.path("elsewhere"), dir.path("in/z")).expect("a link");
    symlink(dir.path("in/sub"), dir.path("in/y")).expect("a link");
    let out = dir.path("out");
    // The same bytes in one file, which is its own concatenation.
    fs::create_dir(dir.path("whole")).expect("a directory");
    dir.file("whole/all", "none\none\ntwo\nlinked\n");
    let alone = json(&format!("run fileconcat --dir {} --json", dir.path("whole")));
    assert_eq!((&alone["tasks"], &alone["result"]["files"]), (&json!(0), &json!(1)));
    for choice in ["", "--block 1", "--preconditions eager --blocked fiber", "--need all --serial --reps 2 --workers 3"]
    {
        let run = json(&format!("run fileconcat --dir {from} --output {out} {choice} --json"));
        assert_eq!(fs::read_to_string(&out).expect("the output"), "none\none\ntwo\nlinked\n", "{choice}");
        assert_eq!((&run["tasks"], &run["verified"]), (&json!(8), &json!(true)));
        assert_eq!((&run["result"]["files"], &run["result"]["bytes"]), (&json!(5), &json!(20)));
        assert_eq!(run["result"]["blake3"], alone["result"]["blake3"]);
        assert_eq!(run["params"]["dir"], json!(from));
    }
    assert_eq!(dir.names(), ["elsewhere", "in", "out", "whole"]);
}

#[test]
fn files_are_made_and_written() {
    let dir = Dir::new("made");
    let out = dir.file("out", "what was there");
    let run = json(&format!("run fileconcat --files 100 --length 300 --block 64 --output {out} --json"));
    let params = json!({"files": 100, "length": 300, "seed": 1, "block": 64, "need": 1, "output": out});
    assert_eq!((&run["params"], &run["tasks"]), (&params, &json!(198)));
    assert_eq!(run["result"]["bytes"], json!(fs::metadata(&out).expect("the output").len()));
    assert_eq!(dir.names(), ["out"]);
}

#[test]
fn strict_preconditions_cannot_express_it() {
    let says = "--preconditions strict: which blocks a step gets is said by the inodes that it gets first, so it cannot list \
                them before it starts; expected flexible or eager";
    fails(&["run", "fileconcat", "--preconditions", "strict"], 2, says);
}

#[test]
fn a_directory_that_is_no_good_is_refused_in_a_line() {
    let dir = Dir::new("bad-dir");
    let bad = |dir: &str, says: &str| fails(&["run", "fileconcat", "--dir", dir, "--json"], 1, says);
    bad("none", "none: cannot read: No such file or directory (os error 2)");
    let file = dir.file("file", "");
    bad(&file, &format!("{file}: cannot read: Not a directory (os error 20)"));
    let empty = dir.path("empty");
    fs::create_dir_all(dir.path("empty/sub")).expect("a directory");
    bad(&empty, &format!("{empty}: cannot read: there are no regular files in the directory"));
    symlink("nowhere", dir.path("empty/link")).expect("a link");
    bad(&empty, &format!("{empty}/link: cannot read: No such file or directory (os error 2)"));
    let huge = dir.path("huge");
    fs::create_dir(&huge).expect("a directory");
    // A sparse file: it takes no space on the disk.
    let sparse = fs::File::create(dir.path("huge/sparse")).expect("a file");
    sparse.set_len(1 << 42).expect("a length");
    let says = "its files have 4398046511104 bytes, more than memory can hold in blocks";
    bad(&huge, &format!("{huge}: cannot read: {says}"));
}

#[test]
fn an_output_that_is_no_good_is_refused_in_a_line() {
    let dir = Dir::new("bad-out");
    fs::create_dir(dir.path("in")).expect("a directory");
    dir.file("in/a", "one");
    let (from, own) = (dir.path("in"), dir.path("in/a"));
    symlink(&own, dir.path("alias")).expect("a link");
    for out in [own, dir.path("in/../in/a"), dir.path("alias")] {
        let says = "--output and --dir cannot be used together: the output is one of the files to be concatenated";
        fails(&["run", "fileconcat", "--dir", &from, "--output", &out], 2, says);
    }
    let missing = dir.path("no/out");
    let says = format!("{missing}: cannot write: No such file or directory (os error 2)");
    fails(&["run", "fileconcat", "--dir", &from, "--output", &missing], 1, &says);
    let says = format!("{from}: cannot write: is a directory");
    fails(&["run", "fileconcat", "--dir", &from, "--output", &from], 1, &says);
    // A new output file in the directory is not one of its inputs in the first run.
    let fresh = dir.path("in/fresh");
    json(&format!("run fileconcat --dir {from} --output {fresh} --json"));
    let says = "--output and --dir cannot be used together: the output is one of the files to be concatenated";
    fails(&["run", "fileconcat", "--dir", &from, "--output", &fresh], 2, says);
    assert_eq!(fs::read_to_string(&fresh).expect("the output"), "one");
}

#[test]
fn options_out_of_range_or_at_odds() {
    let at_odds = "--files and --dir cannot be used together: the directory has the files";
    fails(&["run", "fileconcat", "--dir", ".", "--files", "3"], 2, at_odds);
    fails(&["run", "fileconcat", "--files", "0"], 2, "invalid value '0' for '--files <N>': expected 1..=16777216");
    fails(&["run", "fileconcat", "--block", "0"], 2, "invalid value '0' for '--block <N>': expected 1..=16777216");
    fails(&["run", "fileconcat", "--need", "one"], 2, "--need one: expected all, none, or a number");
    // 2^54 bytes.
    let ran = words("run fileconcat --files 16777216 --length 1073741824");
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.lines().count()), (2, "", 1), "{ran:?}");
    assert!(ran.stderr.starts_with("error: --files 16777216 is out of range: expected 1..="), "{ran:?}");
}
