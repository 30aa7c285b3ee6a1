//! Tiled linear algebra as Concurrent Collections. In every mode, the results equal those of the
//! serial programs to the last bit. Matrices without an answer give an error, and a check detects a
//! wrong answer.

use crate::common::limited;
use millpond::Runtime;
use millpond::catalogue::{AnyRuntime, Names};
use millpond_cnc::{Blocked, Limit, Preconditions, Settings, graph_with};
use millpond_workloads::cholesky::Pivot;
use millpond_workloads::matrix::{Grid, Matrix, Tile, generate, kernels, npy};
use millpond_workloads::{Error, Options, Stopwatch, cholesky, cholesky_cnc, find, inverse};
use std::path::Path;

/// All preconditions, with each way to wait, and lists of each length.
fn modes() -> impl Iterator<Item = Settings> {
    let blocked = [Blocked::Resume, Blocked::Fiber, Blocked::Replay];
    let limits = [Limit::First(1), Limit::First(2), Limit::All];
    let flexible = limits.map(|limit| Settings { limit, ..Settings::default() });
    let eager = blocked.map(|blocked| Settings { preconditions: Preconditions::Eager, blocked, ..Settings::default() });
    let strict = Settings { preconditions: Preconditions::Strict, ..Settings::default() };
    flexible.into_iter().chain(eager).chain([strict])
}

fn runtime() -> Runtime {
    Runtime::builder().workers(3).build().expect("a runtime")
}

#[test]
fn steps_factor_as_the_serial_program() {
    limited(|| {
        let (grid, runtime) = (Grid { n: 100, tile: 16 }, runtime());
        let a = generate::positive_definite(grid.n, 3);
        let (mut serial, pivot) = (grid.cut_lower(&a), Pivot::default());
        cholesky::serial(&mut serial, &pivot);
        let serial = grid.join_lower(&serial);
        for settings in modes() {
            let tiles = grid.cut_lower(&a);
            let factor =
                graph_with(&runtime, settings, |g| cholesky_cnc::steps(g, tiles, &pivot, &mut Stopwatch::default()));
            let factor = factor.expect("a graph").expect("a factor");
            assert_eq!(grid.join_lower(&factor), serial, "{settings:?}");
        }
    });
}

#[test]
fn steps_invert_as_the_serial_program() {
    limited(|| {
        let (grid, runtime) = (Grid { n: 70, tile: 16 }, runtime());
        let a = dominant(grid.n);
        let (mut serial, pivot) = (grid.cut_all(&a), Pivot::default());
        inverse::serial(&mut serial, &pivot);
        for settings in modes() {
            let tiles = grid.cut_all(&a);
            let inverse =
                graph_with(&runtime, settings, |g| inverse::steps(g, tiles, &pivot, &mut Stopwatch::default()));
            assert!(inverse.expect("a graph").expect("an inverse") == serial, "{settings:?}");
        }
    });
}

/// Not symmetric. Its inverse needs no exchange of rows.
fn dominant(n: usize) -> Matrix {
    let mut a = generate::uniform(n, n, 5);
    (0..n).for_each(|i| a.put(i, i, n as f64));
    a
}

#[test]
fn rows_are_exchanged_within_a_tile() {
    // Every pivot of elimination without exchanges is zero.
    let mut a = Matrix::zeros(4, 4);
    [(0, 1, 2.0), (1, 0, 4.0), (2, 3, 8.0), (3, 2, 16.0)].into_iter().for_each(|(i, j, v)| a.put(i, j, v));
    let mut tile = Tile::cut(&a, 0, 0, 4, 4);
    kernels::invert(&mut tile).expect("an inverse");
    let mut x = Matrix::zeros(4, 4);
    tile.paste(&mut x, 0, 0);
    let mut wanted = Matrix::zeros(4, 4);
    [(1, 0, 0.5), (0, 1, 0.25), (3, 2, 0.125), (2, 3, 0.0625)].into_iter().for_each(|(i, j, v)| wanted.put(i, j, v));
    assert_eq!(x, wanted);
}

#[test]
fn the_residual_sees_a_wrong_inverse() {
    let grid = Grid { n: 60, tile: 25 };
    let a = dominant(grid.n);
    let mut tiles = grid.cut_all(&a);
    inverse::serial(&mut tiles, &Pivot::default());
    let x = grid.join_all(&tiles);
    assert!(inverse::scaled_residual(&a, &x) < 1.0);
    for (i, j) in [(0, 0), (59, 0), (0, 59), (30, 24)] {
        for wrong in [x.at(i, j) + 1e-13, 0.0, f64::NAN] {
            let mut x = x.clone();
            x.put(i, j, wrong);
            assert!(inverse::scaled_residual(&a, &x) > inverse::THRESHOLD, "({i}, {j}): {wrong}");
        }
    }
}

/// The modes as a user names them.
const MODES: [(&str, &str); 4] =
    [("flexible", "resume"), ("strict", "resume"), ("eager", "fiber"), ("eager", "replay")];

/// The result of the workload for a matrix, serially and in each mode.
fn failures(workload: &str, matrix: &Matrix, tile: u64, name: &str, mut see: impl FnMut(Error)) {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    npy::write(&file, matrix).expect("a file");
    let builder = Runtime::builder().workers(2);
    let runtime = AnyRuntime::build(builder, Names::default()).expect("a runtime");
    for (preconditions, blocked) in MODES {
        let options = Options::new().path("input", &file).integer("tile", tile);
        let options = options.text("preconditions", preconditions).text("blocked", blocked);
        let mut job = (find(workload).expect("a workload").prepare)(&options).expect("a job");
        see(job.serial(&mut Stopwatch::default()).expect_err("no answer"));
        // Not only the first time.
        for _ in 0..2 {
            see(job.run(&runtime, &mut Stopwatch::default()).expect_err("no answer"));
        }
    }
    std::fs::remove_file(&file).expect("the file can be removed");
}

#[test]
fn an_indefinite_matrix_fails_at_its_tile_and_row() {
    limited(|| {
        for bad in [0, 24, 25, 61, 99] {
            let mut a = generate::positive_definite(100, 1);
            a.put(bad, bad, -1.0);
            failures("cholesky-cnc", &a, 25, &format!("indefinite-cnc-{bad}.npy"), |error| {
                let Error::NotPositiveDefinite { tile, row, .. } = error else { panic!("{error}") };
                assert_eq!((tile, row), (bad / 25, bad + 1));
            });
        }
    });
}

#[test]
fn a_tile_without_an_inverse_is_named() {
    limited(|| {
        for bad in [0, 15, 16, 33, 69] {
            // A row of zeros. The elimination reaches the last row of its tile before it finds no
            // pivot.
            let mut a = dominant(70);
            (0..70).for_each(|j| a.put(bad, j, 0.0));
            let last = (bad / 16 * 16 + 16).min(70);
            failures("inverse", &a, 16, &format!("singular-{bad}.npy"), |error| {
                let Error::Singular { tile, row, .. } = error else { panic!("{error}") };
                assert_eq!((tile, row), (bad / 16, last));
            });
        }
    });
}
