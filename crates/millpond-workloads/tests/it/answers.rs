//! Every workload gives the right answer, serially and as tasks under every dependence scheme. The
//! checks detect a wrong answer.

use crate::common::limited;
use millpond::catalogue::{AnyRuntime, Names};
use millpond::{Runtime, on_runtime};
use millpond_dist::portable;
use millpond_workloads::matrix::{Grid, Matrix, generate, npy};
use millpond_workloads::{Error, Job, Options, RunsOn, Stopwatch, WORKLOADS, cholesky, find, inverse, matmul};

/// Small sizes of each workload.
fn cases(name: &str) -> Vec<Options> {
    let new = Options::new;
    match name {
        "cholesky" => [(1, 1), (7, 3), (64, 16), (90, 90), (131, 20)]
            .map(|(n, tile)| new().integer("n", n).integer("tile", tile))
            .to_vec(),
        "matmul" => {
            ["ijk", "kij"].map(|order| new().integer("n", 70).integer("tile", 16).text("order", order)).to_vec()
        }
        "nqueens" => forms(
            [(1, 0), (2, 0), (6, 0), (8, 3), (5, 9)].map(|(n, cutoff)| new().integer("n", n).integer("cutoff", cutoff)),
        ),
        "knary" => forms(
            [(1, 1, 0, 0), (5, 3, 0, 0), (5, 3, 1, 0), (4, 3, 3, 0), (6, 2, 1, 3), (12, 1, 1, 0), (3, 2, 1, 9)].map(
                |(n, k, r, cutoff)| new().integer("n", n).integer("k", k).integer("r", r).integer("cutoff", cutoff),
            ),
        ),
        "stencil" => forms(
            [(1, 0, 1), (1, 6, 1), (7, 9, 3), (64, 20, 16), (50, 11, 50), (33, 8, 1)]
                .map(|(n, steps, tile)| new().integer("n", n).integer("steps", steps).integer("tile", tile)),
        ),
        "fib" => forms(fibonacci()),
        "uts" => forms(trees()),
        "uts-join" => trees(),
        "fib-join" => fibonacci().to_vec(),
        "grammar" => ["k=0", "k=1", "k=15,f=0"].map(|set| new().text("set", set)).to_vec(),
        "cholesky-cnc" => collections(
            [(1, 1), (7, 3), (90, 90), (131, 20)].map(|(n, tile)| new().integer("n", n).integer("tile", tile)),
        ),
        "inverse" => collections(
            [(1, 1), (7, 3), (60, 60), (70, 16)].map(|(n, tile)| new().integer("n", n).integer("tile", tile)),
        ),
        "porting" => collections([1, 2, 5].map(|gets| new().integer("gets", gets).integer("tasks", 50))),
        "reduction" => collections([(1, 1, 0), (5, 3, 1), (9, 40, 0)].map(|(tiles, iterations, late)| {
            let sizes = new().integer("tiles", tiles).integer("iterations", iterations);
            sizes.integer("size", 4).integer("work", 0).integer("late", late)
        })),
        "blackscholes" => collections(
            [(1, 1), (1000, 7), (50, 100)].map(|(n, each)| new().integer("options", n).integer("granularity", each)),
        ),
        "fileconcat" => {
            let mut cases = collections([(1, 50, 4096), (2, 0, 7), (3, 90, 1), (37, 100, 3), (300, 300, 64)].map(
                |(files, length, block)| {
                    new().integer("files", files).integer("length", length).integer("block", block)
                },
            ));
            cases.retain(|case| !format!("{case:?}").contains("strict"));
            cases
        }
        "routing" => collections(
            [(1, 0), (2, 1), (3, 3), (20, 4)]
                .map(|(routers, failures)| new().integer("routers", routers).integer("failures", failures)),
        ),
        "denoise" => {
            let cases = [(32, 32, 3), (50, 7, 4), (45, 44, 12), (33, 2, 1)].map(|(size, tile, iterations)| {
                new().integer("size", size).integer("tile", tile).integer("iterations", iterations)
            });
            [collections(cases), vec![new().integer("size", 40).integer("tile", 20).text("need", "3")]].concat()
        }
        "synthetic" => [(0, 7), (1, 0), (2, 1), (15, 0)].map(|(k, f)| new().integer("k", k).integer("f", f)).to_vec(),
        _ => panic!("no cases of {name}"),
    }
}

fn fibonacci() -> [Options; 6] {
    [(0, 0), (1, 0), (2, 0), (15, 0), (18, 9), (5, 7)]
        .map(|(n, cutoff)| Options::new().integer("n", n).integer("cutoff", cutoff))
}

/// A tree of each shape, a root alone, and a tree of one child per node, with more levels than fit
/// a stack.
fn trees() -> Vec<Options> {
    let geometric = [("fixed", 3, 1), ("linear", 4, 1), ("exponential", 3, 1), ("cyclic", 2, 1), ("fixed", 4, 2)]
        .map(|(shape, depth, seed)| new_tree(shape, "3").integer("depth", depth).integer("seed", seed));
    let binomial = [("9", "0.3", 3, 3), ("1", "0.9995", 1, 30)]
        .map(|(b0, q, m, seed)| new_tree("binomial", b0).text("q", q).integer("m", m).integer("seed", seed));
    let hybrid = new_tree("hybrid", "3").text("q", "0.2").integer("m", 4).integer("depth", 4).integer("seed", 1);
    [&geometric[..], &binomial, &[hybrid]].concat()
}

fn new_tree(shape: &str, b0: &str) -> Options {
    Options::new().text("shape", shape).text("b0", b0)
}

/// The cases with portable tasks and with closures.
fn forms(cases: impl IntoIterator<Item = Options>) -> Vec<Options> {
    let with = |case: &Options| ["portable", "closures"].map(|form| case.clone().text("tasks", form));
    cases.into_iter().flat_map(|case| with(&case)).collect()
}

/// The cases with all preconditions, and with each way to wait.
fn collections(cases: impl IntoIterator<Item = Options>) -> Vec<Options> {
    let choices =
        [("flexible", "resume"), ("flexible", "fiber"), ("eager", "replay"), ("eager", "resume"), ("strict", "resume")];
    let with = |case: &Options, (preconditions, blocked)| {
        case.clone().text("preconditions", preconditions).text("blocked", blocked)
    };
    cases.into_iter().flat_map(|case| choices.map(|choice| with(&case, choice))).collect()
}

/// A runtime for each part, or for every `nth` one.
fn runtimes(workers: usize, nth: usize) -> impl Iterator<Item = AnyRuntime> {
    Names::star()
        .step_by(nth)
        .map(move |names| AnyRuntime::build(Runtime::builder().workers(workers), names).expect("a runtime"))
}

#[test]
fn every_workload_is_right_with_and_without_tasks() {
    limited(|| {
        let mut jobs = Vec::new();
        for workload in WORKLOADS {
            let counts = !workload.name.ends_with("-join") && workload.runs_on == RunsOn::Runtime;
            for options in cases(workload.name) {
                let what = format!("{} {options:?}", workload.name);
                let mut job = (workload.prepare)(&options).expect("a job");
                job.serial(&mut Stopwatch::default()).expect("the serial program");
                assert!(job.check().expect("a check").verified, "{what}");
                jobs.push((job, counts, what));
            }
        }
        // Only optimized code (`.ci/deep tests`) tests all numbers of workers with all parts. The
        // eighth part after the default ones is the dataflow stack.
        let (workers, nth): (&[usize], _) = if cfg!(debug_assertions) { (&[2], 8) } else { (&[1, 2, 3, 8], 1) };
        // One runtime at a time: some wait busily.
        for runtime in workers.iter().flat_map(|&workers| runtimes(workers, nth)) {
            jobs.iter_mut().for_each(|(job, counts, what)| right_with(job.as_mut(), &runtime, *counts, what));
        }
    });
}

/// Runs a job twice. It `counts` if each of its tasks is a body that the runtime counts.
fn right_with(job: &mut dyn Job, runtime: &AnyRuntime, counts: bool, what: &str) {
    let what = format!("{what}, {}, {} workers", runtime.names(), on_runtime!(runtime, rt => rt.workers()));
    for _ in 0..2 {
        let before = bodies(runtime);
        job.run(runtime, &mut Stopwatch::default()).expect("the tasks");
        assert!(job.check().expect("a check").verified, "{what}");
        if counts {
            assert_eq!(bodies(runtime) - before, job.tasks(), "{what}");
        }
    }
}

/// The number of bodies that the runtime has run. A branch of a join that is not stolen is a call,
/// and is not counted.
fn bodies(runtime: &AnyRuntime) -> u64 {
    on_runtime!(runtime, rt => rt.counts()).iter().map(|counts| counts.tasks).sum()
}

/// The form determines only how tasks are represented. The number of tasks is the same.
#[test]
fn portable_tasks_are_as_many_as_closures() {
    limited(|| {
        let runtime = runtimes(2, 1).next().expect("a scheme");
        for name in ["fib", "knary", "nqueens", "stencil", "uts"] {
            for pair in cases(name).chunks(2) {
                let ran = |options: &Options| {
                    let mut job = (find(name).expect("a workload").prepare)(options).expect("a job");
                    let before = bodies(&runtime);
                    job.run(&runtime, &mut Stopwatch::default()).expect("the tasks");
                    (bodies(&runtime) - before, job.check().expect("a check"))
                };
                assert_eq!(ran(&pair[0]), ran(&pair[1]), "{name} {:?}", pair[0]);
            }
        }
    });
}

/// All have different names, and each sends the accesses that it declares.
#[test]
fn the_portable_tasks_of_this_crate() {
    let registry = portable::registry().expect("each name is registered once");
    let tasks: Vec<_> = registry.iter().map(ToString::to_string).collect();
    let expected = [
        "fib (parent: write u64)",
        "fib.leaf (leaf: write u64)",
        "fib.sum (leaf: read u64, read u64, write u64)",
        "knary.first (parent: inout (), accumulate u64)",
        "knary.first.leaf (leaf: inout (), accumulate u64)",
        "knary.rest (parent: read (), accumulate u64)",
        "knary.rest.leaf (leaf: read (), accumulate u64)",
        "nqueens.fill (leaf: accumulate u64)",
        "nqueens.place (parent: accumulate u64)",
        "stencil.step (leaf: read Vec<f64>, read Vec<f64>, read Vec<f64>, write Vec<f64>)",
        "uts.inner (parent: accumulate millpond_workloads::uts::tally::Tally)",
        "uts.leaf (leaf: accumulate millpond_workloads::uts::tally::Tally)",
    ];
    assert_eq!(tasks.iter().map(|task| task.replace("alloc::vec::", "")).collect::<Vec<_>>(), expected);
}

#[test]
fn the_default_sizes_are_accepted() {
    for workload in WORKLOADS.iter().filter(|w| !["cholesky", "matmul", "cholesky-cnc", "inverse"].contains(&w.name)) {
        let job = (workload.prepare)(&Options::new()).expect("a job");
        assert!(!job.params().is_empty());
        assert!(job.tasks() > 200, "{}", workload.name);
    }
}

#[test]
fn tasks_and_serial_program_agree_to_the_last_bit() {
    limited(agree_to_the_last_bit);
}

fn agree_to_the_last_bit() {
    let grid = Grid { n: 100, tile: 16 };
    let a = generate::positive_definite(grid.n, 3);
    let factor = |runtime: Option<&AnyRuntime>| {
        let pivot = cholesky::Pivot::default();
        let mut tiles = grid.cut_lower(&a);
        match runtime {
            None => cholesky::serial(&mut tiles, &pivot),
            Some(runtime) => {
                let handles: Vec<Vec<_>> =
                    tiles.into_iter().map(|row| row.into_iter().map(millpond::Handle::new).collect()).collect();
                let done = on_runtime!(runtime, rt => rt.scope(|s| cholesky::tasks(s, &handles, &pivot)));
                done.expect("the tasks");
                let row =
                    |row: Vec<millpond::Handle<_>>| row.into_iter().map(|h| h.into_inner().expect("a tile")).collect();
                tiles = handles.into_iter().map(row).collect();
            }
        }
        grid.join_lower(&tiles)
    };
    let serial = factor(None);
    assert!(cholesky::scaled_residual(&a, &serial) < 1.0);
    for runtime in runtimes(3, 1) {
        for _ in 0..20 {
            assert_eq!(factor(Some(&runtime)), serial, "{}", runtime.names());
        }
    }
}

#[test]
fn the_residual_sees_a_wrong_factor() {
    let grid = Grid { n: 60, tile: 25 };
    let a = generate::positive_definite(grid.n, 1);
    let mut tiles = grid.cut_lower(&a);
    cholesky::serial(&mut tiles, &cholesky::Pivot::default());
    let mut l = grid.join_lower(&tiles);
    assert!(cholesky::scaled_residual(&a, &l) < cholesky::THRESHOLD);
    l.put(59, 0, l.at(59, 0) + 1e-9);
    assert!(cholesky::scaled_residual(&a, &l) > cholesky::THRESHOLD);
    l.put(59, 0, f64::NAN);
    assert_eq!(cholesky::scaled_residual(&a, &l), f64::MAX);
}

/// `a`, each entry multiplied by both factors.
fn times(a: &Matrix, factors: [f64; 2]) -> Matrix {
    let entries = a.data().iter().map(|entry| entry * factors[0] * factors[1]).collect();
    Matrix::from_columns(a.rows(), a.cols(), entries)
}

/// Norms of such matrices overflow and underflow. So do products of their entries.
#[test]
fn the_residuals_see_what_is_wrong_at_every_scale() {
    let n = 60;
    let a = generate::positive_definite(n, 1);
    let grid = Grid { n, tile: 25 };
    let mut tiles = grid.cut_lower(&a);
    cholesky::serial(&mut tiles, &cholesky::Pivot::default());
    let l = grid.join_lower(&tiles);
    for root in [2.0_f64.powi(508), 2.0_f64.powi(400), 2.0_f64.powi(-400), 2.0_f64.powi(-510)] {
        let (a, l) = (times(&a, [root, root]), times(&l, [root, 1.0]));
        assert!(cholesky::scaled_residual(&a, &l) < cholesky::THRESHOLD, "{root:e}");
        for wrong in [times(&l, [1.0 + 1e-11, 1.0]), times(&l, [0.0, 1.0]), times(&l, [f64::INFINITY, 1.0])] {
            assert!(cholesky::scaled_residual(&a, &wrong) > cholesky::THRESHOLD, "{root:e}");
        }
    }
    let mut tiles = grid.cut_all(&a);
    inverse::serial(&mut tiles, &cholesky::Pivot::default());
    let x = grid.join_all(&tiles);
    for exponent in [1016, 900, -900, -1000] {
        let (up, down) = (2.0_f64.powi(exponent), 2.0_f64.powi(-exponent));
        let (a, x) = (times(&a, [up, 1.0]), times(&x, [down, 1.0]));
        assert!(inverse::scaled_residual(&a, &x) < inverse::THRESHOLD, "2^{exponent}");
        for wrong in [times(&x, [1.0 + 1e-11, 1.0]), times(&x, [0.0, 1.0]), times(&x, [f64::INFINITY, 1.0])] {
            assert!(inverse::scaled_residual(&a, &wrong) > inverse::THRESHOLD, "2^{exponent}");
        }
    }
}

#[test]
fn the_product_is_that_of_the_matrices() {
    let grid = Grid { n: 50, tile: 13 };
    let (a, b) = (generate::uniform(50, 50, 1), generate::uniform(50, 50, 2));
    for order in [matmul::Order::Ijk, matmul::Order::Kij] {
        let mut c = grid.cut_all(&Matrix::zeros(50, 50));
        matmul::serial(&grid.cut_all(&a), &grid.cut_all(&b), &mut c, order);
        let c = grid.join_all(&c);
        for i in 0..50 {
            for j in 0..50 {
                let wanted: f64 = (0..50).map(|k| a.at(i, k) * b.at(k, j)).sum();
                assert!((c.at(i, j) - wanted).abs() < 1e-12);
            }
        }
    }
}

#[test]
fn an_indefinite_matrix_fails_at_its_tile_and_row() {
    limited(fails_at_its_tile_and_row);
}

fn fails_at_its_tile_and_row() {
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let runtime = runtimes(2, 1).next().expect("a scheme");
    for bad in [0usize, 24, 25, 61, 99] {
        let mut a = generate::positive_definite(100, 1);
        a.put(bad, bad, -1.0);
        let file = dir.join(format!("indefinite-{bad}.npy"));
        npy::write(&file, &a).expect("a file");
        let options = Options::new().path("input", &file).integer("tile", 25);
        let mut job = (find("cholesky").expect("a workload").prepare)(&options).expect("a job");
        for parallel in [false, true] {
            let mut watch = Stopwatch::default();
            let done = if parallel { job.run(&runtime, &mut watch) } else { job.serial(&mut watch) };
            let Err(Error::NotPositiveDefinite { tile, row, .. }) = done else { panic!("{done:?}") };
            assert_eq!((tile, row), (bad / 25, bad + 1), "parallel: {parallel}");
        }
        std::fs::remove_file(&file).expect("the file can be removed");
    }
}

#[test]
fn ranges_are_kept() {
    let prepare = |name: &str, options: &Options| (find(name).expect("a workload").prepare)(options).map(|_| ());
    for (name, option, value) in [
        ("fib", "n", 94),
        ("knary", "n", 65),
        ("knary", "k", 0),
        ("knary", "r", 6),
        ("nqueens", "n", 28),
        ("uts", "depth", 0),
        ("uts-join", "m", 101),
        ("stencil", "n", 0),
        ("stencil", "tile", 100_001),
        ("cholesky", "n", u64::MAX),
        ("matmul", "tile", 0),
    ] {
        let error = prepare(name, &Options::new().integer(option, value)).expect_err("out of range");
        assert!(error.is_usage(), "{name}: {error}");
    }
}
