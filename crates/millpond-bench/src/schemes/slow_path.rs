//! The slow path ([TG](crate#sources) §5.2). An artificial task holds the object until all others
//! are spawned, so every task is issued, woken and released. One generation follows it (Fig. 7), or
//! a generation of readers and then one of the measured annotation (Figs. 8 and 9).

use super::annotation::{ANNOTATIONS, Annotation, Gate, Object};
use super::round::{Point, Program, Setting, measure};
use super::{Request, names, workers};
use crate::cycles::{Timed, Watch};
use clap::{Arg, ArgAction};
use millpond::{Engine, Inline, Runtime};
use millpond_cli::suites::{Failure, MAX_WINDOW, Row, Suite, integer};
use serde_json::json;

/// One generation.
pub const SLOW_PATH: Suite = Suite::new(
    "slow-path",
    "Every scheme: ns to issue, wake and release tasks behind a held object",
    || super::args(args()),
    |matches, reps| Request::new(matches, reps).measure(|request| suite(request, "slow-path", false)),
);

/// Three generations, with the artificial task.
pub const THREE_GENERATIONS: Suite = Suite::new(
    "three-gen",
    "Every scheme: the same behind a generation of readers",
    || super::args(args()),
    |matches, reps| Request::new(matches, reps).measure(|request| suite(request, "three-gen", true)),
);

/// Tasks per generation, as in the figures.
const SIZES: [u64; 6] = [1, 10, 100, 1000, 10_000, 100_000];

fn args() -> Vec<Arg> {
    let annotations = ANNOTATIONS.iter().filter(|row| row.2.is_some()).map(|row| row.1);
    let tasks = integer("tasks", "N", 1, 1_000_000, "Tasks in a generation; may be repeated [default: 1..100000]");
    vec![
        workers("1 and 2"),
        names("mode", annotations, "Measure this annotation only; may be repeated"),
        tasks.action(ArgAction::Append),
    ]
}

struct Generations {
    annotation: Annotation,
    readers: u64,
    tasks: u64,
}

impl Program for Generations {
    fn bodies(&self) -> u64 {
        1 + self.readers + self.tasks
    }

    fn run<E: Engine>(&self, runtime: &Runtime<E>) -> Result<(Timed, bool), millpond::Error> {
        let (object, gate) = (Object::new(true), Gate::new());
        let watch = runtime.scope(|s| {
            object.hold(s, self.annotation, &gate);
            let watch = Watch::start();
            object.readers(s, self.annotation, self.readers);
            object.spawn(s, self.annotation, self.tasks);
            gate.open();
            watch
        })?;
        Ok((watch.stop(), object.right(self.annotation, self.tasks)?))
    }
}

/// The setting for tasks waiting for the artificial one. None runs at its spawn, not even the
/// artificial task. There is no window, because a spawner without room would run tasks.
pub fn held(workers: usize) -> Setting {
    Setting { workers, inline: Inline::Never, window: MAX_WINDOW as usize }
}

/// The measured numbers, and whether the user asked for each. Smaller numbers precede large ones,
/// to predict the growth of the time.
pub fn ladder(asked: &[u64]) -> Vec<(u64, bool)> {
    let most = asked.last().copied().unwrap_or_default();
    let steps = SIZES.into_iter().filter(|&n| (100..most).contains(&n) && !asked.contains(&n));
    let mut all: Vec<_> = asked.iter().map(|&n| (n, true)).chain(steps.map(|n| (n, false))).collect();
    all.sort_unstable();
    all
}

fn suite(request: &Request, shape: &'static str, readers: bool) -> Result<Vec<Row>, Failure> {
    let sizes = ladder(&request.numbers("tasks", &SIZES));
    let wanted = ANNOTATIONS.iter().filter(|row| row.2.is_some() && request.wants("mode", row.1));
    let mut series = Vec::new();
    for &(annotation, name, mode) in wanted {
        series.extend(request.workers(&[1, 2]).into_iter().map(|workers| {
            let point = |&(tasks, asked)| Point {
                shape,
                mode,
                setting: held(workers),
                tasks: if readers { 2 * tasks } else { tasks },
                weight: tasks as f64,
                asked,
                params: vec![("tasks", tasks)],
                labels: vec![("mode", json!(name)), ("generation", json!(tasks))],
                program: Generations { annotation, readers: if readers { tasks } else { 0 }, tasks },
            };
            sizes.iter().map(point).collect::<Vec<_>>()
        }));
    }
    let all = measure(request, series)?;
    Ok(all.iter().flat_map(|point| point.cells.iter().map(|cell| point.row(cell, Vec::new()))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn great_numbers_are_not_tried_first() {
        assert_eq!(ladder(&[10, 1000]), [(10, true), (100, false), (1000, true)]);
        assert_eq!(ladder(&[5]), [(5, true)]);
        let great = [(100, false), (1000, false), (10_000, false), (100_000, false), (300_000, true)];
        assert_eq!(ladder(&[300_000]), great);
    }
}
