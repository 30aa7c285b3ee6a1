//! The workload `reduction`, run by the command.

use crate::common::{fails, json, words};
use serde_json::json;

#[test]
fn the_same_comes_out_whatever_is_waited_for() {
    let line = "run reduction --tiles 5 --iterations 60 --work 0 --json";
    let flexible = json(line);
    let params = json!({"tiles": 5, "iterations": 60, "size": 10, "work": 0, "late": 0, "seed": 1, "need": 1});
    assert_eq!(flexible["params"], params);
    let tasks = flexible["result"]["iterations"].as_u64().expect("a number") * 6;
    assert_eq!(flexible["tasks"], tasks);
    for choice in
        ["--preconditions strict --workers 3", "--preconditions eager --blocked replay", "--need none", "--need 3"]
    {
        let run = json(&format!("{line} {choice} --late 10"));
        assert_eq!((&run["result"], &run["verified"]), (&flexible["result"], &json!(true)), "{choice}");
    }
}

#[test]
fn options_out_of_range_or_at_odds() {
    fails(&["run", "reduction", "--tiles", "0"], 2, "invalid value '0' for '--tiles <N>': expected 1..=4096");
    fails(&["run", "reduction", "--late", "-1"], 2, "invalid value '-1' for '--late <N>': expected 0..=10000000");
    let says = "--need and --preconditions cannot be used together: eager steps list no preconditions, strict ones all";
    fails(&["run", "reduction", "--need", "2", "--preconditions", "strict"], 2, says);
    // 800 gigabytes of tiles.
    let ran = words("run reduction --tiles 1000 --iterations 10000 --size 100");
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.lines().count()), (2, "", 1), "{ran:?}");
    assert!(ran.stderr.starts_with("error: --iterations 10000 is out of range: expected 1..="), "{ran:?}");
}
