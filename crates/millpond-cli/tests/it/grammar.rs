//! The workloads `grammar` and `synthetic`, and what the command says of grammars that are no good.

use crate::common::{Dir, fails, json};
use millpond::catalogue::{MEMORY, POOLS};
use serde_json::json;

#[test]
fn a_grammar_with_all_its_options() {
    let dir = Dir::new("grammar");
    let file =
        dir.file("a.grammar", "param n = 3\ninit A(n)\nA(0) -> {7} B\nA(i) -> {2} A(i-1)\nB -> {uniform(5, 5)}\n");
    let run = json(&format!("run grammar --file {file} --seed 9 --set n=4 --workers 2 --json"));
    assert_eq!(
        run["params"],
        json!({"file": file, "seed": 9, "set": "n=4", "max_depth": 10_000, "max_tasks": 50_000_000, "max_units": 1_000_000_000_000_000_u64})
    );
    assert_eq!(run["result"], json!({"tasks": 6, "units": 4 * 2 + 7 + 5, "by_type": {"A": 5, "B": 1}}));
    assert_eq!((&run["tasks"], &run["verified"]), (&json!(6), &json!(true)));
}

/// A worker's stack does not limit the depth of a value.
#[test]
fn deep_values_need_no_deep_stack() {
    let dir = Dir::new("deep-values");
    for value in ["i".to_owned() + &"+1".repeat(990), "(1 or 0 and 1+".repeat(98) + "i" + &")".repeat(98)] {
        let text = format!("shared s = 0\ninit A(3)\nA(0) -> {{1}}\nA(i) -> A(i-1) <s = (({value}) > 0)>\n");
        let file = dir.file("a.grammar", text);
        for choice in ["", "--inline never", "--scheme stack"] {
            let run = json(&format!("run grammar --file {file} --stack-size 131072 --workers 2 {choice} --json"));
            assert_eq!(run["result"]["tasks"], 4);
        }
    }
}

#[test]
fn the_built_in_grammar_is_the_synthetic_algorithm() {
    let grammar = json("run grammar --set k=15,f=0 --pool dq8 --json");
    let synthetic = json("run synthetic --k 15 --f 0 --json");
    assert_eq!(grammar["result"]["tasks"], 5149);
    assert_eq!(synthetic["result"], json!({"tasks": 5149}));
}

#[test]
fn a_grammar_that_is_no_good_is_refused_in_a_line() {
    let dir = Dir::new("bad-grammar");
    let bad = |name: &str, text: &str, says: &str| {
        let file = dir.file(name, text);
        for extra in ["--json", "--serial"] {
            fails(&["run", "grammar", "--file", &file, extra], 1, &format!("{file}: {says}"));
        }
    };
    bad("unknown", "init A\nA -> {1} C\nB -> {1}", "line 2, column 10: unknown task type `C`: there are A, B");
    bad("syntax", "init A\nA -> {1\n", "line 2, column 8: expected `}`, found the end of the file");
    bad(
        "missing",
        "init A(3)\nA(2) -> {1}\nA(i) -> A(i - 2) for i > 2",
        "line 2, column 1: no production applies to A(1)",
    );
    bad(
        "endless",
        "init A\nA -> B\nB -> A",
        "line 2, column 1: A has 10000 ancestors: the grammar may have no end (--max-depth allows more)",
    );
    bad(
        "ages",
        "init A(i) for i from 1 to 3\nA(i) -> {500000000000000}\n",
        "line 2, column 1: with A(3) all tasks take more than 1000000000000000 units of time (--max-units allows more)",
    );
    bad(
        "eternity",
        "init A\nA -> {9223372036854775807} {9223372036854775807} {9223372036854775807}",
        "line 2, column 1: with A all tasks take more than 1000000000000000 units of time (--max-units allows more)",
    );
    bad("empty", "", "line 1, column 1: no initial tasks: a line `init A` says of which types there are some");
    fails(&["run", "grammar", "--set", "kk=3"], 2, "--set kk: the grammar has no such parameter; it has k, f");
    fails(&["run", "grammar", "--set", "k=5,f=0, k =6"], 2, "--set k =6: k is set twice: it is 5 already");
    fails(
        &["run", "grammar", "--set", "k=5", "--set", "k=6"],
        2,
        "the argument '--set <NAME=NUMBER,...>' cannot be used multiple times",
    );
    fails(&["run", "grammar", "--set", "k=x"], 2, "--set k=x: expected NAME=NUMBER");
    fails(
        &["run", "grammar", "--file", "none.grammar"],
        1,
        "none.grammar: cannot read: No such file or directory (os error 2)",
    );
    fails(
        &["run", "grammar", "--file", &dir.path("")],
        1,
        &format!("{}: cannot read: Is a directory (os error 21)", dir.path("")),
    );
    fails(&["run", "grammar", "--file", "/dev/zero"], 1, "/dev/zero: cannot read: not a regular file or a pipe");
    let says = "line 9, column 1: A(14) comes after 5 tasks: the grammar may have no end (--max-tasks allows more)";
    fails(&["run", "grammar", "--max-tasks", "5"], 1, &format!("synthetic.grammar (built in): {says}"));
}

#[test]
fn any_pool_with_any_manager_for_the_synthetic_algorithm() {
    for pool in POOLS {
        let manager = MEMORY[pool.name.len() * 7 % MEMORY.len()].name;
        let run =
            json(&format!("run synthetic --k 12 --f 0 --workers 3 --pool {} --memory {manager} --json", pool.name));
        assert_eq!(run["result"], json!({"tasks": 1_204}));
        let config = json!({"workers": 3, "scheme": null, "pool": pool.name, "memory": manager, "deterministic": null, "window": null});
        assert_eq!((&run["config"], &run["verified"]), (&config, &json!(true)));
    }
}

#[test]
fn what_says_nothing_to_a_task_pool_is_refused() {
    for (option, what) in [
        ("--scheme list", "--scheme: synthetic has no dependences"),
        ("--window 5", "--window: synthetic has no window"),
        ("--deterministic", "--deterministic: synthetic has no order to keep"),
        ("--pin", "--pin: synthetic has no workers of a runtime's"),
        ("--inline never", "--inline: synthetic has no tasks that run at their spawn"),
        ("--stack-size 1000000", "--stack-size: synthetic has no stacks"),
    ] {
        let line = format!("run synthetic {option}");
        fails(&line.split(' ').collect::<Vec<_>>(), 2, &format!("{what}; its own options: --k, --f"));
    }
    fails(&["profile", "synthetic"], 2, "synthetic runs on a task pool alone, which records nothing");
    fails(&["run", "synthetic", "--k", "41"], 2, "invalid value '41' for '--k <N>': expected 0..=40");
}
