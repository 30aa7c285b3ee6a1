//! Grids of handles.

use std::collections::BTreeSet;

use crate::common::{builder, limit, must_not_run, runtime};
use crate::conformance::on_every_row;
use millpond::{Access, Engine, Grid, Handle, In, Inline, Kind, Runtime, Spawn, Write, all};

/// A field of numbers, as the serial program stores it.
type Field = Vec<Vec<u64>>;

fn start(row: usize, col: usize) -> u64 {
    (row * 7 + col * 3) as u64 % 5
}

/// The new value of a cell is its old value plus three times the sum of its neighbours.
fn serial_step(field: &Field) -> Field {
    let near = |a: usize, b: usize| a.abs_diff(b) <= 1;
    let new = |r: usize, c: usize| {
        let cells = field.iter().enumerate().flat_map(|(i, row)| row.iter().enumerate().map(move |(j, x)| (i, j, x)));
        cells
            .filter(|&(i, j, _)| near(i, r) && near(j, c))
            .map(|(i, j, x)| if (i, j) == (r, c) { *x } else { 3 * x })
            .sum()
    };
    (0..field.len()).map(|r| (0..field[r].len()).map(|c| new(r, c)).collect()).collect()
}

/// The same on a grid, in any scope.
fn step<'s, S: Spawn<'s>>(s: &S, now: &Grid<u64, S::Brand>, next: &Grid<u64, S::Brand>) {
    for ((row, col), cell) in now.indexed() {
        let around = now.neighbours8(row, col).map(|cell| cell.map(Handle::read));
        s.task("step").index([row, col]).spawn(
            (cell.read(), around, next[(row, col)].write()),
            |(own, around, next)| {
                next.set(own + 3 * around.into_iter().flatten().sum::<u64>());
            },
        );
    }
}

#[test]
fn a_stencil_without_cases_for_the_borders() {
    for (workers, inline) in [(1, Inline::Never), (2, Inline::Auto), (8, Inline::Always)] {
        on_every_row!(60, "a stencil", builder(workers).inline(inline), rt => {
            for (rows, cols) in [(1, 1), (1, 4), (3, 1), (3, 4)] {
                let (mut now, mut next) = (Grid::new(rows, cols, start), Grid::unset(rows, cols));
                rt.scope(|s| {
                    for _ in 0..4 {
                        step(s, &now, &next);
                        std::mem::swap(&mut now, &mut next);
                    }
                })
                .unwrap();
                let field = (0..rows).map(|r| (0..cols).map(|c| start(r, c)).collect()).collect();
                assert_eq!(now.into_tiles().unwrap(), (0..4).fold(field, |field, _| serial_step(&field)));
            }
        });
    }
}

/// The upper and the left neighbour. This is the order of wavefronts.
fn wavefront<'s, S: Spawn<'s>>(s: &S, grid: &Grid<u64, S::Brand>) {
    for (place, cell) in grid.indexed() {
        let [up, left, _, _] = grid.neighbours(place.0, place.1).map(|cell| cell.map(Handle::read));
        s.spawn((up, left, cell.write()), |(up, left, cell): (Option<&u64>, Option<&u64>, _)| {
            cell.set(if up.or(left).is_none() { 1 } else { up.unwrap_or(&0) + left.unwrap_or(&0) });
        });
    }
}

fn parent<E: Engine>(rt: &Runtime<E>) -> Field {
    let grid = Grid::<u64>::unset(4, 5);
    rt.scope(|s| {
        s.nest(all(&grid, Handle::inout), |_, _| must_not_run());
    })
    .unwrap_err();
    let grid = Grid::new(4, 5, |_, _| 0);
    rt.scope(|s| {
        s.nest(all(&grid, Handle::inout), |s, tiles| {
            let mut grid = Grid::from_handles(4, 5, tiles);
            wavefront(s, &grid);
            assert_eq!(*s.wait_on(&mut grid[(1, 1)]).unwrap(), 2);
            // A part of the grid, with fewer rights.
            s.nest((all(grid.row(3), Handle::read), grid[(0, 0)].write()), |s, (row, first)| {
                let row: Grid<_, In<'_>, _> = Grid::from_handles(1, 5, row);
                let first: Access<'_, _, Write, _> = first.write();
                s.spawn((all(&row, |cell| cell.read()), first), |(row, first)| first.set(row.into_iter().sum()));
            });
        });
    })
    .unwrap();
    grid.into_tiles().unwrap()
}

#[test]
fn in_a_body() {
    on_every_row!(60, "a grid in a body", builder(2), rt => {
        let expected = vec![vec![70, 1, 1, 1, 1], vec![1, 2, 3, 4, 5], vec![1, 3, 6, 10, 15], vec![1, 4, 10, 20, 35]];
        assert_eq!(parent(rt), expected);
    });
}

#[test]
fn neighbours_are_those_at_a_distance_of_one() {
    let grid = Grid::new(4, 3, |row, col| (row, col));
    let place = |handle: &Handle<(usize, usize)>| *handle.get().unwrap();
    for (here, handle) in grid.indexed() {
        assert_eq!(place(handle), here);
        assert!(std::ptr::eq(handle, &grid[here]) && std::ptr::eq(handle, grid.get(here.0, here.1).unwrap()));
        let of = |distance: fn(usize, usize) -> usize, most: usize| {
            let near =
                |&(r, c): &(usize, usize)| (1..=most).contains(&distance(r.abs_diff(here.0), c.abs_diff(here.1)));
            grid.indexed().map(|(at, _)| at).filter(near).collect::<BTreeSet<_>>()
        };
        let found = |tiles: &[Option<&Handle<_>>]| tiles.iter().flatten().map(|tile| place(tile)).collect::<Vec<_>>();
        let (four, eight) = (found(&grid.neighbours(here.0, here.1)), found(&grid.neighbours8(here.0, here.1)));
        assert!(four.is_sorted() && eight.is_sorted(), "row by row");
        assert_eq!(BTreeSet::from_iter(four), of(|r, c| r + c, 1));
        assert_eq!(BTreeSet::from_iter(eight), of(usize::max, 1));
    }
    let [up, left, right, down] = grid.neighbours(1, 1).map(|tile| tile.map(place));
    assert_eq!([up, left, right, down], [Some((0, 1)), Some((1, 0)), Some((1, 2)), Some((2, 1))]);
}

#[test]
fn sizes_and_orders() {
    let grid = Grid::from_tiles((0..3).map(|row| (0..2).map(move |col| 10 * row + col)));
    assert_eq!((grid.rows(), grid.cols(), grid.iter().len()), (3, 2, 6));
    assert_eq!(grid.row(2).iter().map(|tile| *tile.get().unwrap()).collect::<Vec<_>>(), [20, 21]);
    assert_eq!((&grid).into_iter().count(), 6);
    assert_eq!(format!("{grid:?}"), "Grid { rows: 3, cols: 2, .. }");
    let by_handles = Grid::from_handles(2, 3, grid);
    assert_eq!(by_handles.into_tiles().unwrap(), [[0, 1, 10], [11, 20, 21]]);
    for (rows, cols) in [(0, 0), (0, 3), (3, 0)] {
        let empty = Grid::new(rows, cols, |_, _| unreachable!("it has no tile"));
        assert_eq!((empty.rows(), empty.cols(), empty.iter().len()), (rows, cols, 0));
        assert!(empty.get(0, 0).is_none() && empty.indexed().next().is_none());
        let tiles: Vec<Vec<String>> = empty.into_tiles().unwrap();
        assert_eq!(tiles, vec![Vec::<String>::new(); rows]);
    }
    let none: [[u8; 0]; 0] = [];
    assert_eq!(Grid::from_tiles(none).rows(), 0);
}

#[test]
fn a_tile_without_a_value_is_the_error_of_all() {
    limit(20, "a tile without a value", || {
        let grid = Grid::<u8>::unset(2, 2);
        runtime(1).scope(|s| s.set(&grid[(0, 0)], 1)).unwrap();
        let error = grid.into_tiles().unwrap_err();
        assert_eq!(error.kind(), &Kind::NeverWritten { arg: 0 });
        assert!(error.task().to_string().contains("grid.rs:"), "the place of the call: {error}");
    });
}

/// The message of a panic.
fn message<T>(run: impl FnOnce() -> T) -> String {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).err().expect("it panics");
    panic.downcast_ref::<String>().expect("a text").clone()
}

#[test]
fn messages_name_the_place_and_the_size() {
    let mut grid = Grid::new(4, 3, |_, _| 0);
    let row_is_too_large = "tile (4, 0) of a grid of 4 × 3 tiles";
    assert_eq!(message(|| grid[(4, 0)].read()), row_is_too_large);
    assert_eq!(message(|| drop(grid[(4, 0)].get_mut())), row_is_too_large);
    assert_eq!(message(|| grid.neighbours(4, 0).len()), row_is_too_large);
    assert_eq!(message(|| grid.neighbours8(0, 3).len()), "tile (0, 3) of a grid of 4 × 3 tiles");
    assert_eq!(message(|| grid.row(7).len()), "row 7 of a grid of 4 × 3 tiles");
    assert_eq!(message(|| Grid::from_tiles([vec![1, 2], vec![3]])), "row 1 has 1 tiles, and row 0 has 2");
    let two = || [1, 2].map(Handle::new);
    assert_eq!(message(|| Grid::from_handles(2, 2, two())), "2 handles for a grid of 2 × 2 tiles");
    assert_eq!(
        message(|| Grid::<u8>::unset(usize::MAX, 2)),
        format!("a grid of {} × 2 tiles is too large", usize::MAX)
    );
}
