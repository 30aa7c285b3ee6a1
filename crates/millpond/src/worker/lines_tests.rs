//! The number of writes to cache lines of other threads that recursion costs per task. Two workers
//! run, and steal rarely: a task that no other worker steals should touch no line of another.
//! `.ci/run scheme` prints the table, with the places of most writes.

use crate::depend::Parked;
use crate::sync::lines::shared_writes;
use crate::{
    Access, Accumulator, DefaultMemory, DefaultPool, Engine, Handle, Parts, Runtime, Spawn, StackEngine, Sum, Write,
};

/// The bound per task, without thefts.
const MOST: f64 = 0.05;
/// The runs of a program. One of them must have few such writes.
const RUNS: u32 = 5;
/// What a theft may add. It takes up to half of a queue, and each stolen task touches about ten
/// lines of its victim.
const OF_A_THEFT: u64 = 250;

/// A board of queens: which columns and diagonals are free in the next row.
#[derive(Clone, Copy)]
struct Board {
    rows: u32,
    columns: u32,
    left: u32,
    right: u32,
}

impl Board {
    fn placements(self) -> impl Iterator<Item = Board> {
        let free = self.columns & !(self.left | self.right);
        (0..u32::BITS).map(|column| 1 << column).filter(move |bit| free & bit != 0).map(move |bit| Board {
            rows: self.rows - 1,
            columns: self.columns & !bit,
            left: (self.left | bit) << 1,
            right: (self.right | bit) >> 1,
        })
    }
}

fn place<'s, S: Spawn<'s>>(s: &S, board: Board, total: &Accumulator<u64, Sum, S::Brand>) {
    for next in board.placements() {
        if next.rows == 0 {
            s.spawn(total.accumulate(), |mut total| total.add(1));
        } else {
            s.nest(total.accumulate(), move |s, total| place(s, next, &total));
        }
    }
}

fn fib<'s, S: Spawn<'s>>(s: &S, n: u64, r: Access<'_, u64, Write, S::Brand>) {
    if n < 2 {
        s.spawn(r, move |r| r.set(n));
        return;
    }
    s.nest(r, move |s, r| {
        let (a, b) = (s.unset(), s.unset());
        fib(s, n - 1, a.write());
        fib(s, n - 2, b.write());
        s.spawn((a.read(), b.read(), r.write()), |(a, b, r)| r.set(a + b));
    });
}

/// Visits a node of a tree. Its first child changes the turn, and the others read it.
fn knary<'s, S: Spawn<'s>>(s: &S, levels: u32, total: &Accumulator<u64, Sum, S::Brand>) {
    total.add(1);
    if levels == 0 {
        return;
    }
    let turn = s.handle(());
    s.nest((turn.inout(), total.accumulate()), move |s, (_, total)| knary(s, levels - 1, &total));
    for _ in 1..4 {
        s.nest((turn.read(), total.accumulate()), move |s, (_, total)| knary(s, levels - 1, &total));
    }
}

/// A program with a size.
type Program<E> = fn(&Runtime<E>, u32);

fn run_queens<E: Engine>(runtime: &Runtime<E>, n: u32) {
    let board = Board { rows: n, columns: (1 << n) - 1, left: 0, right: 0 };
    let total = Handle::new(0);
    let end = runtime.scope(|s| _ = s.nest(total.accumulate(Sum), move |s, total| place(s, board, &total)));
    end.expect("no task fails");
}

fn run_fib<E: Engine>(runtime: &Runtime<E>, n: u32) {
    let r = Handle::new(0);
    runtime.scope(|s| fib(s, u64::from(n), r.write())).expect("no task fails");
}

fn run_knary<E: Engine>(runtime: &Runtime<E>, n: u32) {
    let total = Handle::new(0);
    let end = runtime.scope(|s| _ = s.nest(total.accumulate(Sum), move |s, total| knary(s, n, &total)));
    end.expect("no task fails");
}

/// Runs the programs, and prints a row for each with the places of most writes. The programs are
/// large, so that thefts are rare.
fn of_engine<E: Engine>(name: &str) {
    let _one = crate::sync::tracked::one_counts();
    let runtime = Runtime::builder().workers(2).build_with::<E>().expect("every choice is in its range");
    let programs: [(&str, Program<E>, u32); 3] =
        [("nqueens", run_queens, 10), ("fib", run_fib, 23), ("knary", run_knary, 8)];
    for (program, run, size) in programs {
        // The smaller run finds out how long bodies take.
        run(&runtime, size / 2);
        // On a busy machine, other threads also take over from workers that wait for a processor.
        let few = (0..RUNS).any(|_| without_thefts(&runtime, [name, program], &|| run(&runtime, size)) <= MOST);
        assert!(few, "{name}, {program}: in each of {RUNS} runs, more than {MOST} writes a task without thefts");
    }
}

/// The writes to shared lines per task of a run, without those that thefts explain.
fn without_thefts<E: Engine>(runtime: &Runtime<E>, [name, program]: [&str; 2], run: &dyn Fn()) -> f64 {
    let sum = |of: fn(&crate::WorkerCounts) -> u64| runtime.counts().iter().map(of).sum::<u64>();
    let before = (sum(|worker| worker.tasks), sum(|worker| worker.steals));
    let writes = shared_writes(run);
    let (tasks, steals) = (sum(|worker| worker.tasks) - before.0, sum(|worker| worker.steals) - before.1);
    let all: u64 = writes.iter().map(|(_, count)| count).sum();
    let a_task = |writes: u64| writes as f64 / tasks as f64;
    let written = a_task(all);
    println!("{name:8} {program:8} {tasks:8} tasks {steals:6} steals {written:7.3} writes to shared lines a task");
    writes.iter().take(8).for_each(|((file, line), count)| println!("    {count:8}  {file}:{line}"));
    a_task(all.saturating_sub(OF_A_THEFT * steals))
}

#[test]
fn writes_to_shared_lines_of_the_default_parts() {
    of_engine::<Parts<DefaultMemory, DefaultPool, Parked>>("parked");
}

#[test]
fn writes_to_shared_lines_of_the_stack() {
    of_engine::<StackEngine>("stack");
}
