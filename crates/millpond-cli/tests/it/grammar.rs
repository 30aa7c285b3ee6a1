//! The workloads `grammar` and `synthetic`, and what the command says of invalid grammars.

use crate::common::{Dir, fails, json};
use millpond::catalogue::{MEMORY, POOLS};
use serde_json::{Value, json};
use std::collections::BTreeSet;

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
        ("--theft paper", "--theft: synthetic has no dataflow stack"),
        ("--window 5", "--window: synthetic has no window"),
        ("--deterministic", "--deterministic: synthetic has no order to keep"),
        ("--pin", "--pin: synthetic has no workers of a runtime's"),
        ("--inline never", "--inline: synthetic has no tasks that run at their spawn"),
        ("--stack-size 1000000", "--stack-size: synthetic has no stacks"),
    ] {
        let line = format!("run synthetic {option}");
        fails(&line.split(' ').collect::<Vec<_>>(), 2, &format!("{what}; its own options: --k, --f"));
    }
    fails(
        &["profile", "synthetic", "--scheme", "list"],
        2,
        "--scheme: synthetic has no dependences; its own options: --k, --f",
    );
    fails(&["run", "synthetic", "--k", "41"], 2, "invalid value '41' for '--k <N>': expected 0..=40");
}

/// The names of what was recorded with tasks, and how many tasks each has.
fn labels(profile: &Value) -> Vec<(&str, u64)> {
    let labels = profile["labels"].as_array().expect("labels").iter();
    let mut labels: Vec<_> = labels
        .map(|label| (label["label"].as_str().unwrap(), label["tasks"].as_u64().unwrap()))
        .filter(|(_, tasks)| *tasks > 0)
        .collect();
    labels.sort_unstable();
    labels
}

/// Whether a part of a timeline is the body of a task.
fn is_task(event: &Value) -> bool {
    event["ph"] == "X" && (event["cat"] == "leaf" || event["cat"] == "parent")
}

/// The names of all tasks in a timeline, each once.
fn names(trace: &str) -> BTreeSet<String> {
    let trace: Value = serde_json::from_str(&std::fs::read_to_string(trace).unwrap()).unwrap();
    let bodies = trace["traceEvents"].as_array().unwrap().iter();
    bodies.filter(|event| is_task(event)).map(|event| event["name"].as_str().unwrap().to_owned()).collect()
}

/// Tasks of a grammar are recorded with the names of their types. Their arguments are recorded
/// where these can be indices.
#[test]
fn a_profile_of_a_grammar_names_its_types() {
    let dir = Dir::new("grammar-profile");
    let (trace, svg) = (dir.path("t.json"), dir.path("s.svg"));
    let text = "shared x = 0\ninit Top for i from 1 to 2\nTop -> Walk(2, -1) Look\n\
        Walk(0, j) -> {10}\nWalk(i, j) -> {5} Walk(i - 1, 3) Set(i)\nSet(i) -> <x = i>\nLook -> {x}\n";
    let file = dir.file("a.grammar", text);
    let run = json(&format!("profile grammar --file {file} --trace {trace} --svg {svg} --workers 2 --json"));
    assert_eq!(labels(&run["profile"]), [("Look", 2), ("Set", 4), ("Top", 2), ("Walk", 6)]);
    let expected = ["Look", "Set(1)", "Set(2)", "Top", "Walk", "Walk(0,3)", "Walk(1,3)"];
    assert_eq!(names(&trace), expected.map(str::to_owned).into());
    let svg = std::fs::read_to_string(svg).unwrap();
    // The legend: narrow bars are drawn together, without their names.
    assert!(["Look", "Set", "Top", "Walk"].iter().all(|name| svg.contains(&format!(">{name}</text>"))), "{svg}");
}

/// The synthetic algorithm in a task pool is recorded and drawn as TP Figure 1 has it. That holds
/// in any pool with any manager.
#[test]
fn a_profile_of_the_synthetic_algorithm() {
    let dir = Dir::new("synthetic-profile");
    for parts in ["", "--pool dq8 --memory bs", "--pool sq1", "--pool dq1"] {
        let (record, trace, svg) = (dir.path("r.rec"), dir.path("t.json"), dir.path("s.svg"));
        let args =
            format!("profile synthetic --k 8 --f 2 --workers 2 {parts} --reps 3 --speedup {}", dir.path("u.svg"));
        let run =
            json(&format!("{args} --record {record} --trace {trace} --svg {svg} --dot {} --json", dir.path("g.dot")));
        let profile = &run["profile"];
        assert_eq!(
            (&run["verified"], &run["result"], &run["config"]["scheme"]),
            (&json!(true), &json!({"tasks": 166}), &json!(null))
        );
        assert_eq!((labels(profile), &profile["tasks"]), (vec![("A", 166)], &json!(166)));
        // Every task depends on its creation only, whatever pool it was in.
        assert_eq!(
            (&profile["class"], &profile["repeated"], &profile["incomplete"]),
            (&json!("DH"), &json!(true), &json!(0))
        );
        let number = |name: &str| profile[name].as_f64().unwrap_or_else(|| panic!("{name} in {profile}"));
        assert!(number("work") >= number("span") && number("span") > 0.0, "{profile}");
        // A(-1) has no index.
        let expected: BTreeSet<_> = (0..8).map(|i| format!("A({i})")).chain(["A".to_owned()]).collect();
        assert_eq!(names(&trace), expected);
        let svg = std::fs::read_to_string(svg).unwrap();
        assert!(svg.contains("synthetic: 166 tasks, 2 workers") && svg.contains(">A</text>"), "{svg}");
        let again = json(&format!("profile --read {record} --json"));
        assert_eq!((labels(&again["profile"]), &again["program"]), (vec![("A", 166)], &json!("synthetic")));
    }
}

/// The trace says what a worker does between its tasks. It has as many bodies as tasks, one after
/// the other on each worker. Each task runs after it was put.
#[test]
fn a_schedule_of_the_synthetic_algorithm() {
    let dir = Dir::new("synthetic-schedule");
    let trace = dir.path("t.json");
    json(&format!("profile synthetic --k 12 --f 1 --workers 3 --trace {trace} --json"));
    let trace: Value = serde_json::from_str(&std::fs::read_to_string(trace).unwrap()).unwrap();
    let bodies = trace["traceEvents"].as_array().unwrap().iter();
    let bodies: Vec<_> = bodies.filter(|event| is_task(event)).collect();
    let number = |event: &Value, name: &str| event[name].as_f64().unwrap();
    for worker in bodies.iter().map(|event| event["tid"].as_u64().unwrap()).collect::<BTreeSet<_>>() {
        let mut own: Vec<_> = bodies.iter().filter(|event| event["tid"] == worker).collect();
        own.sort_by(|one, other| number(one, "ts").total_cmp(&number(other, "ts")));
        for two in own.windows(2) {
            assert!(number(two[0], "ts") + number(two[0], "dur") <= number(two[1], "ts") + 0.002, "{two:?}");
        }
    }
    assert!(bodies.iter().all(|event| number(&event["args"], "spawned at") <= number(event, "ts")));
}
