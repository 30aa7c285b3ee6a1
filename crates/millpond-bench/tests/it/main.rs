//! The program `millpond-bench`, run as a user runs it.

mod common;
mod reductions;
mod schemes;
mod stack;

/// `millpond bench` lists the suites of this package even if it is built without them.
#[test]
fn the_command_lists_these_suites() {
    let own = millpond_bench::SUITES.iter().map(|suite| (suite.name, suite.summary));
    assert!(millpond_cli::suites::elsewhere().eq(own));
}

#[test]
fn suites_have_names() {
    let all = "stack, reductions, spawn, slow-path, three-gen, task-size, args, matmul-graph, cholesky-graph";
    common::fails(&[], 2, &format!("a name is missing: expected one of {all}"));
    common::fails(&["spwan"], 2, "unknown suite 'spwan'; the nearest valid: spawn");
}
