//! Table 1 of Vandierendonck, Tzenakis and Nikolopoulos (TG), "Dependences arising between two
//! tasks operating on a common argument": one case per cell, under every scheme.
//!
//! Added are `concurrent`, and a second reducer: parts of different operations are not combined.

use std::time::Duration;

use crate::common::{limit, sized};
use crate::stage::{How, Stage, Uses, on_every_stage, serial};
use millpond::{Engine, Runtime};

use Dep::{Anti, Copies, Free, Output, True, Turns};
use How::{Commutative, Concurrent, Inout, Max, Read, Sum, Write};

/// An entry of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Dep {
    /// "none".
    Free,
    True,
    Anti,
    Output,
    /// "none(x)": no dependence, but one task at a time.
    Turns,
    /// "none(r)": no dependence, since each task has a copy.
    Copies,
}

/// The first task: the table's columns.
const FIRST: [How; 7] = [Read, Write, Inout, Commutative, Concurrent, Sum, Max];

/// The second task: the table's rows.
const TABLE: [(How, [Dep; 7]); 7] = [
    (Read, [Free, True, True, True, True, True, True]),
    (Write, [Anti, Output, Output, Output, Output, Output, Output]),
    (Inout, [Anti, True, True, True, True, True, True]),
    (Commutative, [Anti, True, True, Turns, True, True, True]),
    (Concurrent, [Anti, True, True, True, Free, True, True]),
    (Sum, [Anti, True, True, True, True, Copies, True]),
    (Max, [Anti, True, True, True, True, True, Copies]),
];

/// The state of the first task when the second one is spawned.
#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    /// It waits for another datum.
    Blocked,
    /// It has started or not.
    Ready,
    Runs,
    Complete,
}

const WHENS: [When; 4] = [When::Blocked, When::Ready, When::Runs, When::Complete];

/// One case.
#[derive(Clone, Copy, Debug)]
struct Cell {
    first: How,
    second: How,
    dep: Dep,
    /// Whether a `write` makes a version.
    renames: bool,
    when: When,
    /// Whether the second task is a leaf.
    leaf: bool,
}

/// All cases. Under `deterministic`, a commutative task is an `inout` task.
fn cells(deterministic: bool, renames: bool) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (second, row) in TABLE {
        for (first, dep) in FIRST.into_iter().zip(row) {
            let dep = if deterministic && dep == Turns { True } else { dep };
            for when in WHENS {
                cells.extend([false, true].map(|leaf| Cell { first, second, dep, renames, when, leaf }));
            }
        }
    }
    cells
}

impl Cell {
    /// Whether the second task waits until the first one is complete. Renaming removes the anti and
    /// output dependences of a task that only writes (TG §3.3).
    fn waits(&self) -> bool {
        let renamed = self.renames && self.second == Write;
        !renamed && matches!(self.dep, True | Anti | Output)
    }

    /// Which tasks may have started when the worker has settled: one of these sets.
    fn expected(&self) -> Vec<Vec<usize>> {
        let waits = self.waits();
        match self.when {
            // Here the first task has number 1. It waits for task 0.
            When::Blocked => vec![if waits { vec![0] } else { vec![0, 2] }],
            When::Ready if self.dep == Turns && self.leaf => vec![vec![0], vec![0, 1]],
            When::Ready if self.dep == Turns => vec![vec![0], vec![1]],
            When::Ready | When::Runs => vec![if waits || self.dep == Turns { vec![0] } else { vec![0, 1] }],
            When::Complete => vec![vec![0, 1]],
        }
    }

    /// Runs the case on a stage. Returns its errors.
    fn wrong<E: Engine>(&self, stage: &Stage<E>) -> Option<String> {
        let start = [Some(5), Some(6)];
        let play = stage.play(&start);
        let mut acts: Vec<Uses> = Vec::new();
        let mut spawn = |uses: Uses, leaf: bool| {
            if leaf {
                play.pass(&uses)
            } else {
                play.hold(&uses)
            }
            acts.push(uses);
        };
        match self.when {
            When::Blocked => {
                spawn(vec![(Inout, 1)], false);
                spawn(vec![(self.first, 0), (Read, 1)], false);
            }
            _ => spawn(vec![(self.first, 0)], false),
        }
        match self.when {
            When::Blocked | When::Ready => {}
            When::Runs => assert_eq!(play.settle_as(|started| started == [0]), [0]),
            When::Complete => {
                play.release(0);
                assert_eq!(play.settle_as(|started| started == [0]), [0]);
            }
        }
        spawn(vec![(self.second, 0)], self.leaf);
        let started = play.settle_as(|started| self.expected().iter().any(|set| set == started));
        if !self.expected().contains(&started) {
            return Some(format!("{started:?} have started, it should be one of {:?}", self.expected()));
        }
        play.release_all();
        let all: Vec<_> = (0..acts.len()).collect();
        let started = play.settle_as(|started| started == all);
        if started != all {
            return Some(format!("{started:?} have started at the end, of {all:?}"));
        }
        let (is, should) = (play.end(), serial::run(&acts, &start));
        (is != should).then(|| format!("the values are {is:?}, should be {should:?}"))
    }
}

fn check<E: Engine>(stage: &Stage<E>, deterministic: bool, renames: bool) {
    for cell in cells(deterministic, renames) {
        if let Some(wrong) = cell.wrong(stage) {
            panic!("under {}, deterministic {deterministic}, {cell:?}: {wrong}", stage.scheme());
        }
    }
}

#[test]
fn every_cell_under_every_scheme() {
    limit(120, "Table 1", || {
        // Unoptimized code uses each value once.
        for (deterministic, renames) in
            [(false, true), (true, false), (true, true), (false, false)].into_iter().take(sized(2, 4))
        {
            on_every_stage!(deterministic, renames, stage => check(&stage, deterministic, renames));
        }
    });
}

/// The test can fail: it reports a cell with a wrong entry.
#[test]
fn a_wrong_cell_is_noticed() {
    limit(60, "a wrong table", || {
        let rt = Runtime::builder().workers(1).build().expect("the choices are in range");
        let mut stage = Stage::new("the default one", rt);
        stage.patience = Duration::ZERO;
        for cell in cells(false, true).into_iter().filter(|cell| cell.second != Write && cell.when != When::Complete) {
            let wrong = Cell { dep: if cell.waits() { Free } else { True }, ..cell };
            // Exclusive accesses look like dependences, unless the first task cannot get its
            // access.
            let alike = cell.dep == Turns && cell.when != When::Blocked;
            // If the worker sleeps too long, a wrong start has not happened yet.
            let attempts = if alike { 1 } else { 20 };
            assert_eq!((0..attempts).any(|_| wrong.wrong(&stage).is_some()), !alike, "{wrong:?}");
        }
    });
}
