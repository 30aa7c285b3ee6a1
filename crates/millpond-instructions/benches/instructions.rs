//! Counts the instructions of the fast paths with callgrind. A path above its ceiling fails.
//!
//! Only the benchmark function is counted, from its entry to its return. That is gungraun's default
//! entry point. The setup runs before it and is not counted: it makes the runtime and the data, and
//! does a run to warm up. Checks and drops come after it.
#![allow(missing_docs, clippy::needless_pass_by_value, reason = "what gungraun's macros make, and ask for")]

use gungraun::prelude::*;
use gungraun::{Callgrind, EventKind};
use millpond::{Engine, StackEngine};
use millpond_instructions::{Bench, Way, ceilings, tasks};

/// Fails a path with more instructions than its ceiling.
fn ceiling(way: &str, name: &str) -> LibraryBenchmarkConfig {
    let most = (ceilings::of(&format!("{way}.{name}")) * tasks(name) as f64) as u64;
    let mut callgrind = Callgrind::with_args(["--cache-sim=no"]);
    callgrind.hard_limits([(EventKind::Ir, most)]).format([EventKind::Ir]);
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(callgrind);
    config
}

fn at_once(name: &str) -> Bench {
    Bench::new(name, Way::Inline)
}

fn through_the_pool(name: &str) -> Bench {
    Bench::new(name, Way::Queued)
}

fn in_frames(name: &str) -> Bench<StackEngine> {
    Bench::on_stack(name)
}

/// Checks both runs: the one to warm up, and the counted one.
fn check<E: Engine>(bench: Bench<E>) {
    bench.check(2);
}

#[library_benchmark(setup = at_once, teardown = check)]
#[bench::flat(args = ("flat"), config = ceiling("inline", "flat"))]
#[bench::chain(args = ("chain"), config = ceiling("inline", "chain"))]
#[bench::generations(args = ("generations"), config = ceiling("inline", "generations"))]
#[bench::cholesky(args = ("cholesky"), config = ceiling("inline", "cholesky"))]
#[bench::accesses_1(args = ("accesses_1"), config = ceiling("inline", "accesses_1"))]
#[bench::accesses_4(args = ("accesses_4"), config = ceiling("inline", "accesses_4"))]
#[bench::accesses_8(args = ("accesses_8"), config = ceiling("inline", "accesses_8"))]
#[bench::accesses_20(args = ("accesses_20"), config = ceiling("inline", "accesses_20"))]
#[bench::join(args = ("join"), config = ceiling("inline", "join"))]
fn inline(bench: Bench) -> Bench {
    bench.run();
    bench
}

#[library_benchmark(setup = through_the_pool, teardown = check)]
#[bench::flat(args = ("flat"), config = ceiling("queued", "flat"))]
#[bench::chain(args = ("chain"), config = ceiling("queued", "chain"))]
#[bench::generations(args = ("generations"), config = ceiling("queued", "generations"))]
#[bench::cholesky(args = ("cholesky"), config = ceiling("queued", "cholesky"))]
#[bench::accesses_1(args = ("accesses_1"), config = ceiling("queued", "accesses_1"))]
#[bench::accesses_4(args = ("accesses_4"), config = ceiling("queued", "accesses_4"))]
#[bench::accesses_8(args = ("accesses_8"), config = ceiling("queued", "accesses_8"))]
#[bench::accesses_20(args = ("accesses_20"), config = ceiling("queued", "accesses_20"))]
fn queued(bench: Bench) -> Bench {
    bench.run();
    bench
}

#[library_benchmark(setup = in_frames, teardown = check)]
#[bench::shared_2(args = ("shared_2"), config = ceiling("stack", "shared_2"))]
#[bench::shared_4(args = ("shared_4"), config = ceiling("stack", "shared_4"))]
#[bench::shared_8(args = ("shared_8"), config = ceiling("stack", "shared_8"))]
#[bench::level(args = ("level"), config = ceiling("stack", "level"))]
#[bench::call(args = ("call"), config = ceiling("stack", "call"))]
#[bench::inline_subtree(args = ("inline_subtree"), config = ceiling("stack", "inline_subtree"))]
fn stack(bench: Bench<StackEngine>) -> Bench<StackEngine> {
    bench.run();
    bench
}

library_benchmark_group!(name = paths, benchmarks = [inline, queued, stack]);
main!(library_benchmark_groups = paths);
