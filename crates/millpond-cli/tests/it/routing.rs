//! The workload `routing`, run by the command.

use crate::common::{fails, json};
use serde_json::json;

#[test]
fn the_same_comes_out_whatever_is_waited_for() {
    let line = "run routing --routers 30 --failures 4 --json";
    let flexible = json(line);
    assert_eq!((&flexible["params"]["routers"], &flexible["params"]["failures"]), (&json!(30), &json!(4)));
    for choice in
        ["--preconditions strict --workers 3", "--preconditions eager --blocked fiber", "--need none", "--need all"]
    {
        let run = json(&format!("{line} {choice}"));
        assert_eq!((&run["result"], &run["verified"]), (&flexible["result"], &json!(true)), "{choice}");
    }
    // Failing links make routes longer.
    assert_ne!(json("run routing --routers 30 --failures 0 --json")["result"], flexible["result"]);
}

#[test]
fn options_out_of_range_or_at_odds() {
    fails(&["run", "routing", "--routers", "0"], 2, "invalid value '0' for '--routers <N>': expected 1..=16384");
    let says = "--failures 6 is out of range: expected 0..=5 (as many links as the ring of routers has)";
    fails(&["run", "routing", "--routers", "5", "--failures", "6"], 2, says);
    let says = "--need and --preconditions cannot be used together: eager steps list no preconditions, strict ones all";
    fails(&["run", "routing", "--need", "2", "--preconditions", "eager"], 2, says);
}
