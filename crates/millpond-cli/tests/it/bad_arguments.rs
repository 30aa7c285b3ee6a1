//! Wrong arguments: exit status 2, one line on stderr with the valid names or range, nothing on
//! stdout.

use crate::common::{Dir, fails, words};

#[track_caller]
fn refused(line: &str, says: &str) {
    fails(&line.split_whitespace().collect::<Vec<_>>(), 2, says);
}

#[test]
fn unknown_names_get_the_nearest_valid_ones() {
    refused("run cholesk", "unknown workload 'cholesk'; the nearest valid: cholesky, cholesky-cnc");
    refused("run queens", "unknown workload 'queens'; the nearest valid: nqueens");
    refused("run --workers 2 fibb", "unknown workload 'fibb'; the nearest valid: fib, fib-join");
    refused("rum fib", "unknown command 'rum'; the nearest valid: run");
    refused("bench grian", "unknown suite 'grian'; the nearest valid: grain");
    refused(
        "list workload",
        "unknown list 'workload'; the nearest valid: workloads; all: workloads, schemes, pools, memory",
    );
    refused(
        "run fib --scheme parkt",
        "unknown scheme 'parkt'; the nearest valid: parked; all: parked, graph, embedded-graph, hypergraph, embedded-hypergraph, list, two-lock-list, tickets, stack",
    );
    refused(
        "run fib --pool defautl",
        "unknown pool 'defautl'; the nearest valid: default; all: default, sq1, sq2, sq3, sq4, dq1, dq2, dq3, dq4, dq5, dq6, dq7, dq8, dq9, dq10, sdq1, rq1, rq2, rq3",
    );
    refused(
        "run fib --memory cgbkbo",
        "unknown memory manager 'cgbkbo'; the nearest valid: cgbkb, cgbko, cgbkob; all: default, bs, l, bk, dl, dlf, dbk, dbko, dgbk, dgbko, dgbkof, cl, clf, clb, cgbk, cgbkb, cgbko, cgbkob, cgbk1, cgbk1b",
    );
    refused("run cholesky --tiles 5", "unknown option '--tiles'; the nearest valid: --tile, --idle");
    refused("run fib --worker 5", "unknown option '--worker'; the nearest valid: --workers");
    refused("run matmul --order ikj", "unknown order 'ikj'; the nearest valid: ijk, kij");
    for workload in ["fib", "knary", "nqueens", "uts", "stencil"] {
        let line = format!("run {workload} --tasks closure");
        refused(&line, "unknown tasks 'closure'; the nearest valid: closures; all: portable, closures");
    }
    refused("run fib-join --tasks portable", "unknown option '--tasks'; the nearest valid: --stack-size");
}

#[test]
fn options_of_collections() {
    let fib = "fib has no preconditions; its own options: --n, --cutoff, --tasks";
    refused("run fib --preconditions eager", &format!("--preconditions: {fib}"));
    refused("run --preconditions strict fib", &format!("--preconditions: {fib}"));
    let cholesky = "cholesky has no blocked steps; its own options: --n, --tile, --seed, --input, --lower, --output";
    refused("run cholesky --blocked fiber", &format!("--blocked: {cholesky}"));
    refused(
        "run porting --blocked fibre",
        "unknown blocked 'fibre'; the nearest valid: fiber; all: resume, fiber, replay",
    );
}

#[test]
fn options_in_a_wrong_place() {
    refused("--workers 2 run fib", "option '--workers' must come after its command: run, profile, bench");
    refused("--zzz", "unknown option '--zzz'; the nearest valid: --help, --version");
    let own = "--workers, --pin, --window, --deterministic, --scheme, --pool, --memory, --theft, --pool-queues, --pool-threshold, --pool-filling, --pool-share, --pool-lock, --pool-capacity, --memory-at-start, --idle, --inline, --stack-size, --reps";
    let all = format!("--n, --cutoff, --tasks, {own}, --serial, --verbose, --json, --help");
    refused("run fib --qqq 5", &format!("unknown option '--qqq'; the nearest valid: {all}"));
    refused("run fib -n 5", "unknown option '-n'; the nearest valid: --n");
    refused("list pools --jsn", "unknown option '--jsn'; the nearest valid: --json");
}

#[test]
fn without_a_near_name_all_valid_ones_are_listed() {
    let all = "the nearest valid: cholesky, matmul, fib, fib-join, knary, nqueens, uts, uts-join, stencil, synthetic, grammar, porting, blackscholes, cholesky-cnc, inverse, fileconcat, reduction, denoise, routing";
    refused("run zzz", &format!("unknown workload 'zzz'; {all}"));
    let ran = words("run fib --zzz");
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    for option in ["--n", "--cutoff", "--workers", "--json"] {
        assert!(ran.stderr.contains(option), "{option}: {ran:?}");
    }
    assert_eq!(ran.stderr.lines().count(), 1);
}

#[test]
fn missing_names_are_listed() {
    refused(
        "run",
        "a name is missing: expected one of cholesky, matmul, fib, fib-join, knary, nqueens, uts, uts-join, stencil, synthetic, grammar, porting, blackscholes, cholesky-cnc, inverse, fileconcat, reduction, denoise, routing",
    );
    let suites = "grain, cost, bimodal, idle, bytes, stack, reductions, spawn, slow-path, three-gen, task-size, args, matmul-graph, cholesky-graph, pools, memory, stack-alloc, preconditions";
    refused("bench", &format!("a name is missing: expected one of {suites}"));
    refused("", "a name is missing: expected one of run, profile, simulate, list, bench");
}

#[test]
fn numbers_out_of_range_get_the_range() {
    refused("run fib --workers 0", "invalid value '0' for '--workers <N>': expected 1..=1024");
    refused("run fib --workers -1", "invalid value '-1' for '--workers <N>': expected 1..=1024");
    refused("run fib --workers 1025", "invalid value '1025' for '--workers <N>': expected 1..=1024");
    refused("run fib --workers two", "invalid value 'two' for '--workers <N>': expected 1..=1024");
    refused("run fib --reps 0", "invalid value '0' for '--reps <R>': expected 1..=1000000");
    refused("run fib --window 0", "invalid value '0' for '--window <TASKS>': expected 1..=4294967296");
    refused("run fib --n 94", "invalid value '94' for '--n <N>': expected 0..=93");
    refused("run knary --n 65", "invalid value '65' for '--n <N>': expected 1..=64");
    refused("run nqueens --n 0", "invalid value '0' for '--n <N>': expected 1..=27");
    refused("run nqueens --n 28", "invalid value '28' for '--n <N>': expected 1..=27");
    refused("run stencil --steps -1", "invalid value '-1' for '--steps <N>': expected 0..=1073741824");
    refused("run cholesky --n 0", "invalid value '0' for '--n <N>': expected 1..=1048576");
    let huge = "99999999999999999999999";
    refused(
        &format!("run cholesky --n {huge}"),
        &format!("invalid value '{huge}' for '--n <N>': expected 1..=1048576"),
    );
    refused(
        "run matmul --n 18446744073709551615",
        "invalid value '18446744073709551615' for '--n <N>': expected 1..=1048576",
    );
}

#[test]
fn options_of_the_suites() {
    refused("bench grain --body-ns 0", "invalid value '0' for '--body-ns <NS>': expected 1..=1000000");
    let shapes = "the nearest valid: readers, readers-parked; all: independent, chain, readers, readers-parked";
    refused("bench cost --shape reader", &format!("unknown shape 'reader'; {shapes}"));
    let shapes = "the nearest valid: clustered-last, clustered-first; all: uniform, clustered-first, clustered-last";
    refused("bench bimodal --shape clustered", &format!("unknown shape 'clustered'; {shapes}"));
    refused("bench bimodal --one-in 0", "invalid value '0' for '--one-in <N>': expected 1..=100000000");
    refused("bench idle --sleep-ms 0", "invalid value '0' for '--sleep-ms <MS>': expected 1..=60000");
    refused(
        "bench idle --shape news",
        "unknown shape 'news'; the nearest valid: new; all: new, between-scopes, in-a-scope, open-session",
    );
    refused("bench bytes --tasks 999", "invalid value '999' for '--tasks <N>': expected 1000..=100000000");
    let fixed = "bytes has one worker and no window, so that every task is outstanding at once";
    refused("bench bytes --workers 1", &format!("--workers: {fixed}"));
    refused("bench bytes --window 5", &format!("--window: {fixed}"));
}

#[test]
fn orders_beyond_the_memory_get_the_range() {
    // 28 and 48 TB: more than any machine that runs this test.
    for line in ["run cholesky --n 1048576 --json", "run matmul --n 1048576 --json"] {
        let ran = words(line);
        assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.lines().count()), (2, "", 1), "{ran:?}");
        assert!(ran.stderr.starts_with("error: --n 1048576 is out of range: expected 1..="), "{ran:?}");
        assert!(ran.stderr.ends_with(" (with the memory available)\n"), "{ran:?}");
    }
}

#[test]
fn tiles_beyond_the_memory_get_the_range() {
    for workload in ["cholesky", "matmul"] {
        let range = words(&format!("run {workload} --n 1048576")).stderr;
        let most = range.split_once("..=").and_then(|(_, rest)| rest.split_once(' ')).expect("the greatest order").0;
        // Other processes use memory, so not quite the maximum.
        let n = most.parse::<u64>().expect("a number") * 3 / 4;
        let ran = words(&format!("run {workload} --n {n} --tile 1"));
        assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.lines().count()), (2, "", 1), "{ran:?}");
        assert!(ran.stderr.starts_with("error: --tile 1 is out of range: expected "), "{ran:?}");
        assert!(ran.stderr.ends_with(&format!("..={n} (with the memory available)\n")), "{ran:?}");
    }
}

#[test]
fn a_tile_larger_than_the_matrix_gets_the_range() {
    let says = "--tile 11 is out of range: expected 1..=10 (the order of the matrix)";
    refused("run cholesky --n 10 --tile 11", says);
    refused("run matmul --n 10 --tile 11", says);
    refused("run cholesky --tile 0", "invalid value '0' for '--tile <N>': expected 1..=1048576");
    refused("run stencil --n 10 --tile 11", "--tile 11 is out of range: expected 1..=10 (the points of the rod)");
    let dir = Dir::new("tile");
    let file = dir.file("a.mtx", "%%MatrixMarket matrix array real general\n1 1\n4\n");
    refused(
        &format!("run cholesky --input {file} --tile 2"),
        "--tile 2 is out of range: expected 1..=1 (the order of the matrix)",
    );
}

#[test]
fn trees_that_are_none() {
    let counted = "(with so many children, for the nodes to be counted)";
    refused("run knary --n 35 --k 10 --cutoff 15", &format!("--n 35 is out of range: expected 1..=20 {counted}"));
    refused("run knary --k 1000000", &format!("--n 10 is out of range: expected 1..=4 {counted}"));
    refused("run knary --k 3 --r 4", "--r 4 is out of range: expected 0..=3 (the children of a node)");
    refused("run knary --k 0", "invalid value '0' for '--k <N>': expected 1..=1000000");
}

#[test]
fn trees_of_uts() {
    let all = "custom, T1, T2, T3, T4, T5, T1L, T2L, T3L, T1XL, T1XXL, T3XXL, T2XXL, T1WL, T2WL, T3WL";
    for workload in ["uts", "uts-join"] {
        let refused = |rest: &str, says: &str| refused(&format!("run {workload} {rest}"), says);
        refused("--tree t3", &format!("unknown tree 't3'; the nearest valid: T3, T3L, T3WL; all: {all}"));
        refused("--tree zzz", &format!("unknown tree 'zzz'; the nearest valid: {all}"));
        let own = "a published tree has its own parameters";
        refused("--tree T1 --seed 1", &format!("--tree and --seed cannot be used together: {own}"));
        refused("--tree T3 --shape binomial", &format!("--tree and --shape cannot be used together: {own}"));
        let shapes = "fixed, linear, exponential, cyclic, binomial, hybrid";
        refused("--shape zzz", &format!("unknown shape 'zzz'; the nearest valid: {shapes}"));
        let endless = "such a tree may have no end: expected at most";
        refused("--shape binomial --q 0.125", &format!("--q 0.125: with --m 8 {endless} 0.12499999953433871"));
        refused("--shape hybrid --m 4 --q 0.3", &format!("--q 0.3: with --m 4 {endless} 0.2499999995343387"));
        // A node's uniform number has 31 bits, so this `q` has the effect of 0.125.
        refused(
            "--shape binomial --q 0.1249999999",
            &format!("--q 0.1249999999: with --m 8 {endless} 0.12499999953433871"),
        );
        let most = words(&format!("run {workload} --shape binomial --b0 0 --q 0.12499999953433871"));
        assert_eq!((most.status, most.stderr.as_str()), (0, ""));
        let few = "with at most 1 child on average, an exponential tree may have no end: expected more than 1";
        refused("--shape exponential --b0 1.0", &format!("--b0 1: {few}"));
    }
    refused("run uts --shape binomial --q 1.5", "--q 1.5: expected a number in 0..=1");
    refused("run uts --shape binomial --q -1", "--q -1: expected a number in 0..=1");
    for b0 in ["nan", "inf", "x", "1000000.1", "-0.5"] {
        refused(&format!("run uts --b0 {b0}"), &format!("--b0 {b0}: expected a number in 0..=1000000"));
    }
    refused("run uts --depth 0", "invalid value '0' for '--depth <N>': expected 1..=1000000");
    refused("run uts --m 101", "invalid value '101' for '--m <N>': expected 1..=100");
    refused("run uts --seed 4294967296", "invalid value '4294967296' for '--seed <N>': expected 0..=4294967295");
    let own = "its own options: --b0, --depth, --seed";
    refused("run uts --q 0.1", &format!("--shape fixed: a tree of this shape has no q; {own}"));
    let own = "its own options: --b0, --q, --m, --seed";
    refused(
        "run uts --shape binomial --depth 5",
        &format!("--shape binomial: a tree of this shape has no depth; {own}"),
    );
}

#[test]
fn options_that_exclude_one_another() {
    let says = "--n and --input cannot be used together: the file has the matrix";
    refused("run cholesky --n 4 --input a.mtx", says);
    refused("run fib extra", "unexpected argument 'extra'");
    refused("run fib --n", "a value is required for '--n <N>' but none was supplied");
}
