//! Parts of a run: any combination by name, and the options that tune them.

use crate::common::{fails, json, words};
use serde_json::{Value, json};

#[test]
fn any_scheme_with_any_pool_and_any_memory_manager() {
    let workloads = ["cholesky --n 200 --tile 50", "fib --n 15", "stencil --n 1000 --steps 20", "porting --tasks 500"];
    let parts =
        [("tickets", "dq3", "bs"), ("list", "sdq1", "cgbkob"), ("graph", "rq2", "default"), ("parked", "dq8", "l")];
    for workload in workloads {
        for (scheme, pool, memory) in parts {
            let line = format!("run {workload} --scheme {scheme} --pool {pool} --memory {memory} --workers 2 --json");
            let run = json(&line);
            let config = &run["config"];
            assert_eq!([&config["scheme"], &config["pool"], &config["memory"]], [scheme, pool, memory], "{line}");
            assert_eq!(run["verified"], true, "{line}");
        }
    }
}

#[test]
fn the_stack_replaces_pool_and_memory_manager() {
    let says = |option: &str, name: &str| {
        let why = "the stack replaces pool and memory manager";
        format!("--{option} {name} beside --scheme stack: {why}; leave out --{option}")
    };
    fails(&["run", "fib", "--scheme", "stack", "--pool", "dq8"], 2, &says("pool", "dq8"));
    fails(&["profile", "fib", "--scheme", "stack", "--memory", "bs"], 2, &says("memory", "bs"));
}

/// What the configuration has beside what every one has.
fn tuned(line: &str) -> Value {
    let run = json(&format!("{line} --workers 2 --json"));
    assert_eq!(run["verified"], true, "{line}");
    let mut config = run["config"].as_object().expect("an object").clone();
    for name in ["workers", "scheme", "pool", "memory", "deterministic", "window", "preconditions", "blocked"] {
        config.remove(name);
    }
    Value::Object(config)
}

#[test]
fn parameters_of_pools() {
    let of = |pool: &str, options: &str| tuned(&format!("run synthetic --k 12 --f 0 --pool {pool} {options}"));
    assert_eq!(of("rq1", "--pool-queues 2"), json!({ "pool_queues": 2 }));
    assert_eq!(
        of("sdq1", "--pool-threshold 16 --pool-lock spin"),
        json!({ "pool_threshold": 16, "pool_lock": "spin" })
    );
    assert_eq!(of("dq8", "--pool-filling greedy"), json!({ "pool_filling": "greedy" }));
    for share in ["one", "half", "workers"] {
        assert_eq!(of("dq2", &format!("--pool-share {share}")), json!({ "pool_share": share }));
    }
    assert_eq!(of("dq2", "--pool-share 3"), json!({ "pool_share": 3 }));
    let line = "cholesky --n 200 --tile 50 --pool dq8 --pool-share half --scheme list";
    assert_eq!(tuned(&format!("run {line}")), json!({ "pool_share": "half" }));
    assert_eq!(tuned(&format!("profile {line}")), json!({ "pool_share": "half" }));
}

#[test]
fn rules_of_the_runtime() {
    let of = |options: &str| tuned(&format!("run fib --n 15 {options}"));
    assert_eq!(of(""), json!({}));
    for idle in ["hybrid", "busy", "sleep"] {
        assert_eq!(of(&format!("--idle {idle}")), json!({ "idle": idle }));
    }
    for inline in ["auto", "always", "never"] {
        assert_eq!(
            of(&format!("--inline {inline} --stack-size 1000000")),
            json!({ "inline": inline, "stack_size": 1_000_000 })
        );
    }
    assert_eq!(tuned("run synthetic --k 9 --idle busy"), json!({ "idle": "busy" }));
    let text = words("run fib --n 9 --verbose --idle sleep --pool dq2 --pool-share 3").stdout;
    assert!(text.contains(", pool-share 3, idle sleep"), "{text}");
}

#[test]
fn tables_of_items() {
    for workload in ["inverse --n 60 --tile 20", "reduction --tiles 5 --size 10 --work 0"] {
        for table in ["open", "sharded", "split-ordered"] {
            let found = tuned(&format!("run {workload} --item-table {table}"));
            assert_eq!(found, json!({ "item_table": table }), "{workload}");
        }
    }
    let fib = "fib has no items; its own options: --n, --cutoff, --tasks";
    fails(&["run", "fib", "--item-table", "open"], 2, &format!("--item-table: {fib}"));
}

#[test]
fn what_a_part_does_not_have_is_refused() {
    let refused = |line: &str, says: &str| fails(&line.split(' ').collect::<Vec<_>>(), 2, says);
    refused("run fib --pool-queues 2", "--pool-queues: the pool default has no parameters");
    let has = "the pool dq8 has no such parameter; its parameters: --pool-filling, --pool-share, --pool-lock";
    refused("run fib --pool dq8 --pool-threshold 8", &format!("--pool-threshold: {has}"));
    refused("profile fib --pool dq8 --pool-queues 8", &format!("--pool-queues: {has}"));
    refused("run synthetic --pool dq8 --pool-queues 8", &format!("--pool-queues: {has}"));
    refused("run fib --idle busi", "unknown idle 'busi'; the nearest valid: busy; all: hybrid, busy, sleep");
    let share = "expected one, half, workers, or 1..=1048576";
    refused("run fib --pool dq8 --pool-share two", &format!("invalid value 'two' for '--pool-share <TASKS>': {share}"));
    let stack = "invalid value '1' for '--stack-size <BYTES>': expected 131072..=1099511627776";
    refused("run fib --stack-size 1", stack);
    let file = "--read takes a recording instead of a run: it cannot be used with --idle";
    refused("profile --read a.rec --idle busy", file);
}
