//! Parts of a run: any combination by name, and the options that tune them.

use crate::common::{fails, json, words};
use serde_json::{Value, json};
use std::process::Command;

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
    let refused = |line: &str, given: &str| {
        let (option, with) = (given.split(' ').next().expect("an option"), "cannot be used with --scheme stack");
        let says = format!("{given} {with}, which has no pool and no memory manager: leave out {option}");
        fails(&line.split(' ').collect::<Vec<_>>(), 2, &says);
    };
    for command in ["run fib", "profile fib", "bench grain", "bench bytes", "run porting"] {
        // The default names, too: an option that is given counts.
        for given in ["--pool dq8", "--pool default", "--memory bs", "--memory default"] {
            refused(&format!("{command} --scheme stack {given}"), given);
        }
    }
    refused("run fib --scheme stack --pool-lock spin", "--pool-lock");
    refused("profile fib --scheme stack --pool-queues 2", "--pool-queues");
    // Each repetition is a separate process with the same options.
    let bytes = json("bench bytes --scheme stack --shape own --tasks 1000 --reps 2 --json");
    assert_eq!(bytes["rows"][0]["config"]["pool"], Value::Null);
    let run = json("run synthetic --k 9 --pool default --memory default --json");
    assert_eq!(run["verified"], true);
}

#[test]
fn thieves_of_the_stack() {
    for theft in ["chains", "paper"] {
        let options = format!("--scheme stack --theft {theft}");
        for line in
            ["run fib --n 15", "run cholesky --n 200 --tile 50", "run porting --tasks 500", "profile fib --n 12"]
        {
            assert_eq!(tuned(&format!("{line} {options}")), json!({ "theft": theft }), "{line}");
        }
        let text = words(&format!("run fib --n 9 --verbose {options}")).stdout;
        assert!(text.contains(&format!(", theft {theft}")), "{text}");
        // `bytes` runs a separate process with the same options.
        for suite in ["cost --shape chain --tasks 100000", "bytes --shape own --tasks 1000"] {
            let bench = json(&format!("bench {suite} --reps 1 {options} --json"));
            assert_eq!(
                (&bench["rows"][0]["config"]["theft"], &bench["rows"][0]["verified"]),
                (&json!(theft), &json!(true))
            );
        }
    }
    let refused = |line: &str, says: &str| fails(&line.split(' ').collect::<Vec<_>>(), 2, says);
    for command in ["run fib", "profile fib", "bench cost", "run porting"] {
        for (given, scheme) in [("", "parked"), (" --scheme list", "list")] {
            let says = format!("needs --scheme stack: with the scheme {scheme}, workers steal from a pool");
            refused(&format!("{command} --theft paper{given}"), &format!("--theft paper {says}"));
            refused(&format!("{command} --theft chains{given}"), &format!("--theft chains {says}"));
        }
    }
    let unknown = "unknown theft 'papers'; the nearest valid: paper; all: chains, paper";
    refused("run fib --scheme stack --theft papers", unknown);
}

/// The fields of the configuration that not every configuration has.
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
    assert_eq!(of("sq2", "--pool-capacity 10"), json!({ "pool_capacity": 10 }));
    for memory in ["bk", "dbk", "dbko"] {
        let options = format!("--memory {memory} --memory-at-start 96");
        assert_eq!(of("dq8", &options), json!({ "memory_at_start": 96 }), "{memory}");
        assert_eq!(tuned(&format!("run fib --n 15 {options}")), json!({ "memory_at_start": 96 }), "{memory}");
    }
    let line = "cholesky --n 200 --tile 50 --pool dq8 --pool-share half --scheme list";
    assert_eq!(tuned(&format!("run {line}")), json!({ "pool_share": "half" }));
    assert_eq!(tuned(&format!("profile {line}")), json!({ "pool_share": "half" }));
}

#[test]
fn rules_of_the_runtime() {
    let of = |options: &str| tuned(&format!("run fib --n 15 {options}"));
    assert_eq!(of(""), json!({}));
    for idle in ["by-pool", "hybrid", "busy", "sleep"] {
        assert_eq!(of(&format!("--idle {idle}")), json!({ "idle": idle }));
    }
    for inline in ["auto", "always", "never"] {
        assert_eq!(
            of(&format!("--inline {inline} --stack-size 1000000")),
            json!({ "inline": inline, "stack_size": 1_000_000 })
        );
    }
    assert_eq!(tuned("run synthetic --k 9 --idle busy"), json!({ "idle": "busy" }));
    assert_eq!(tuned("run synthetic --k 9 --pool dq10 --idle busy"), json!({ "idle": "busy" }));
    let text = words("run fib --n 9 --verbose --idle sleep --pool dq2 --pool-share 3").stdout;
    assert!(text.contains(", pool-share 3, idle sleep"), "{text}");
}

/// A number of the table that `run --verbose` prints.
#[track_caller]
fn number_in(text: &str, row: &str) -> u64 {
    let values = text.lines().filter_map(|line| line.trim_matches(['│', ' ']).strip_prefix(row));
    let mut numbers: Vec<_> = values.filter_map(|value| value.trim_matches(['│', '┆', ' ']).parse().ok()).collect();
    // The number of tasks is a result, too.
    numbers.dedup();
    let [number] = numbers[..] else { panic!("{row}: {numbers:?} in {text}") };
    number
}

#[test]
fn counts_of_a_pool() {
    let run = |options: &str| words(&format!("run synthetic --k 9 --f 0 --workers 1 --verbose {options}")).stdout;
    let table = run("--pool sq2 --pool-capacity 4");
    // Each task is put once, and each put asks for a wake-up. The only worker never sleeps.
    assert_eq!(number_in(&table, "calls for a wake-up"), number_in(&table, "tasks"));
    assert_eq!(number_in(&table, "workers woken"), 0);
    // The 9 initial tasks need 3 arrays of 4, of which the queue has one from the start.
    assert!(number_in(&table, "arrays added") >= 2, "{table}");
    assert_eq!(number_in(&run("--pool sq2"), "arrays added"), 0);
    assert_eq!(number_in(&run("--pool dq10"), "calls for a wake-up"), 0);
}

#[test]
fn tables_of_items() {
    for workload in ["inverse --n 60 --tile 20", "reduction --tiles 5 --size 10 --work 0"] {
        for table in ["open", "sharded", "split-ordered"] {
            let found = tuned(&format!("run {workload} --item-table {table}"));
            assert_eq!(found, json!({ "item_table": table }), "{workload}");
        }
    }
    // A workload without items with hashed keys does not have the option.
    for (workload, own) in [
        ("fib", "--n, --cutoff, --tasks"),
        ("porting", "--gets, --tasks, --seed, --preconditions, --blocked, --need"),
        ("blackscholes", "--options, --granularity, --seed, --input, --output, --preconditions, --blocked, --need"),
    ] {
        let says = format!("--item-table: {workload} has no table of items; its own options: {own}");
        for command in ["run", "profile"] {
            fails(&[command, workload, "--item-table", "open"], 2, &says);
        }
    }
}

#[test]
fn what_a_part_does_not_have_is_refused() {
    let refused = |line: &str, says: &str| fails(&line.split(' ').collect::<Vec<_>>(), 2, says);
    refused("run fib --pool-queues 2", "--pool-queues: the pool default has no parameters");
    let has = "the pool dq8 has no such parameter; its parameters: --pool-filling, --pool-share, --pool-lock";
    refused("run fib --pool dq8 --pool-threshold 8", &format!("--pool-threshold: {has}"));
    refused("profile fib --pool dq8 --pool-queues 8", &format!("--pool-queues: {has}"));
    refused("run synthetic --pool dq8 --pool-queues 8", &format!("--pool-queues: {has}"));
    let has = "the pool sq1 has no such parameter; its parameters: --pool-lock";
    refused("run fib --pool sq1 --pool-capacity 8", &format!("--pool-capacity: {has}"));
    refused("run fib --memory dl --memory-at-start 96", "--memory-at-start: the memory manager dl has no parameters");
    let busy = "--idle: the pool dq10 waits busily, so its workers cannot sleep; its values: by-pool, busy";
    refused("run fib --pool dq10 --idle sleep", busy);
    refused("run synthetic --pool dq10 --idle hybrid", busy);
    refused("run fib --idle busi", "unknown idle 'busi'; the nearest valid: busy; all: by-pool, hybrid, busy, sleep");
    let share = "expected one, half, workers, or 1..=1048576";
    refused("run fib --pool dq8 --pool-share two", &format!("invalid value 'two' for '--pool-share <TASKS>': {share}"));
    refused("run fib --pool dq8 --pool-share -1", &format!("invalid value '-1' for '--pool-share <TASKS>': {share}"));
    for bytes in ["1", "1073741825", "34359738368"] {
        let stack = format!("invalid value '{bytes}' for '--stack-size <BYTES>': expected 131072..=1073741824");
        refused(&format!("run fib --stack-size {bytes}"), &stack);
    }
    let queues = "--pool-queues 1024 with --workers 512 makes 524288 queues: at most 16384 are possible";
    for workload in ["fib --n 15", "synthetic --k 9"] {
        refused(&format!("run {workload} --pool rq1 --pool-queues 1024 --workers 512"), queues);
    }
    let file = "--read takes a recording instead of a run: it cannot be used with --idle";
    refused("profile --read a.rec --idle busy", file);
}

/// The address space is bounded, so the system refuses a stack of 1 GiB.
#[test]
fn a_stack_that_the_system_refuses_is_a_failure() {
    let limited = |line: &str| {
        let script = format!("ulimit -v 1000000; exec {} {line}", env!("CARGO_BIN_EXE_millpond"));
        let output = Command::new("sh").args(["-c", &script]).output().expect("a shell");
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text"));
        (output.status.code(), stdout, stderr)
    };
    for workload in ["nqueens --n 6", "fib --n 10 --scheme stack", "fib --n 10 --pool dq3"] {
        let (status, stdout, stderr) = limited(&format!("run {workload} --workers 1 --stack-size 1073741824"));
        let says = "error: cannot start the runtime: cannot reserve a stack of 1073741824 bytes (stack_size): ";
        assert_eq!((status, stdout.as_str(), stderr.lines().count()), (Some(1), "", 1), "{workload}: {stderr}");
        assert!(stderr.starts_with(says), "{workload}: {stderr}");
    }
    // Enough for one stack, not for two.
    let (status, stdout, stderr) = limited("run nqueens --n 6 --workers 2 --stack-size 536870912");
    let says = "error: cannot start the runtime: cannot reserve a stack of 536870912 bytes for each of 2 workers (stack_size): ";
    assert_eq!((status, stdout.as_str(), stderr.lines().count()), (Some(1), "", 1), "{stderr}");
    assert!(stderr.starts_with(says), "{stderr}");
    let (status, _, stderr) = limited("run nqueens --n 6 --workers 1 --stack-size 536870912");
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
}

/// A worker without a task checks every queue of a randomized pool.
#[test]
fn the_most_queues_of_a_randomized_pool_can_be_used() {
    let run = json("run fib --n 10 --pool rq1 --pool-queues 1024 --workers 16 --json");
    assert_eq!((&run["verified"], &run["config"]["pool_queues"]), (&true.into(), &1024.into()));
}
