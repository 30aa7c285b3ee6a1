//! An unbalanced tree search that counts the solutions of n queens. Each branch is a fork. Idle
//! workers steal the oldest forks, which are the largest. A cancelled token ends the search.

use millpond::{CancelToken, Handle, Runtime, Spawn, Sum, join};

/// Counts the ways to place queens in the rows from `row` on. Sets of bits say which columns and
/// diagonals are attacked.
fn count(n: u32, row: u32, columns: u32, left: u32, right: u32, stop: &CancelToken) -> u64 {
    if row == n {
        return 1;
    }
    if stop.is_cancelled() {
        return 0;
    }
    let free = !(columns | left | right) & ((1 << n) - 1);
    branches(free, &|queen| count(n, row + 1, columns | queen, (left | queen) << 1, (right | queen) >> 1, stop))
}

/// The sum over the free columns, computed by halves. A fork costs a few nanoseconds, so there is
/// no cut-off.
fn branches(free: u32, of: &(impl Fn(u32) -> u64 + Sync)) -> u64 {
    match free.count_ones() {
        0 => 0,
        1 => of(free),
        _ => {
            let first = free & free.wrapping_neg();
            let (a, b) = join(|| of(first), || branches(free & !first, of));
            a + b
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rt = Runtime::new()?;
    let (n, solutions) = (9, Handle::new(0));
    rt.scope(|s| {
        let stop = s.cancel_token();
        // A task for each place of the first queen. Each task adds to a copy that tasks of a worker
        // share, and the runtime combines the copies.
        for column in 0..n {
            let (queen, stop) = (1 << column, stop.clone());
            s.task("place").index([column as usize]).spawn(solutions.accumulate(Sum), move |mut sum| {
                sum.add(count(n, 1, queen, queen << 1, queen >> 1, &stop));
            });
        }
    })?;
    let solutions = solutions.into_inner()?;
    println!("{n} queens: {solutions} solutions");
    assert_eq!(solutions, 352);
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("it checks its result");
}
