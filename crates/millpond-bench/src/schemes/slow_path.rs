//! The slow path ([TG](crate#sources) §5.2). An artificial task holds the object until all others
//! are spawned, so every task that must wait for it is issued, woken and released. As in the paper,
//! a `write` need not wait, and runs at its spawn. One generation follows the artificial task (Fig.
//! 7), or a generation of readers and then one of the measured annotation (Figs. 8 and 9).

use super::annotation::{ANNOTATIONS, Annotation, Gate, Object};
use super::point::{Point, Program, Ran};
use super::round::measure;
use super::setting::{Rule, Setting};
use super::{Request, names, workers};
use crate::cycles::Watch;
use clap::{Arg, ArgAction};
use millpond::{Engine, Runtime};
use millpond_cli::suites::{Failure, MAX_WINDOW, Row, Suite, integer};
use serde_json::json;

/// One generation.
pub const SLOW_PATH: Suite = Suite::new(
    "slow-path",
    "Every scheme: ns to issue, wake and release tasks behind a held object",
    || super::args(args()),
    |matches, reps| Request::new(matches, reps)?.measure(|request| suite(request, "slow-path", false)),
);

/// Three generations, with the artificial task.
pub const THREE_GENERATIONS: Suite = Suite::new(
    "three-gen",
    "Every scheme: the same behind a generation of readers",
    || super::args(args()),
    |matches, reps| Request::new(matches, reps)?.measure(|request| suite(request, "three-gen", true)),
);

/// Tasks per generation, as in the figures.
const SIZES: [u64; 6] = [1, 10, 100, 1000, 10_000, 100_000];
/// The maximum number of waiting tasks in a generation.
pub const MAX_TASKS: u64 = 10_000_000;

fn args() -> Vec<Arg> {
    let annotations = ANNOTATIONS.iter().filter(|row| row.2.is_some()).map(|row| row.1);
    let tasks = integer("tasks", "N", 1, MAX_TASKS, "Tasks in a generation; may be repeated [default: 1..100000]");
    vec![
        workers("1 and 2"),
        names("mode", annotations, "Measure this annotation only; may be repeated"),
        tasks.action(ArgAction::Append),
    ]
}

struct Generations {
    annotation: Annotation,
    /// The tasks of the generation in between.
    before: u64,
    tasks: u64,
}

impl Program for Generations {
    fn bodies(&self) -> u64 {
        1 + self.before + self.tasks
    }

    fn run<E: Engine>(&self, runtime: &Runtime<E>) -> Result<Ran, millpond::Error> {
        let (object, gate) = (Object::new(true), Gate::new());
        let watch = runtime.scope(|s| {
            object.hold(s, self.annotation, &gate);
            let watch = Watch::start();
            object.spawn_before(s, self.annotation, self.before);
            object.spawn(s, self.annotation, self.tasks);
            gate.open();
            watch
        })?;
        Ok(Ran::new(watch.stop(), object.right(self.annotation, self.tasks)?))
    }
}

/// The setting for `bodies` tasks, of which one holds the others. There is no window, because a
/// spawner without room would run the artificial task, or wait for it forever.
///
/// # Errors
///
/// If the given window is too small.
pub fn held(request: &Request, workers: usize, bodies: u64) -> Result<Setting, Failure> {
    let setting = request.setting(workers, Rule::Issued, MAX_WINDOW as usize);
    // If leaves may run at their spawn, the spawner looks for short tasks when a quarter of the
    // window was spawned.
    let needed = if setting.rule == Rule::Never { bodies } else { 4 * bodies };
    let window = setting.window as u64;
    if window < needed.min(MAX_WINDOW) {
        let rule = setting.rule.name();
        let says = format!("--window {window}: {bodies} tasks wait here, which needs {needed} with --inline {rule}");
        return Err(Failure::Usage(says));
    }
    Ok(setting)
}

/// The measured numbers, and whether the user asked for each. Smaller numbers precede large ones,
/// to predict the growth of the time.
pub fn ladder(asked: &[u64]) -> Vec<(u64, bool)> {
    let most = asked.last().copied().unwrap_or_default();
    let steps = (2..).map(|power| 10_u64.pow(power)).take_while(|&n| n < most).filter(|n| !asked.contains(n));
    let mut all: Vec<_> = asked.iter().map(|&n| (n, true)).chain(steps.map(|n| (n, false))).collect();
    all.sort_unstable();
    all
}

fn suite(request: &Request, shape: &'static str, readers: bool) -> Result<Vec<Row>, Failure> {
    let sizes = ladder(&request.numbers("tasks", &SIZES));
    let most = sizes.last().map_or(0, |&(tasks, _)| if readers { 2 * tasks } else { tasks });
    let wanted = ANNOTATIONS.iter().filter(|row| row.2.is_some() && request.wants("mode", row.1));
    let mut series = Vec::new();
    for &(annotation, name, mode) in wanted {
        for workers in request.workers(&[1, 2]) {
            let setting = held(request, workers, most + 1)?;
            let point = |&(tasks, asked)| Point {
                shape,
                mode,
                setting,
                tasks: if readers { 2 * tasks } else { tasks },
                runs: 1,
                weight: tasks as f64,
                asked,
                params: vec![("tasks", tasks)],
                labels: vec![("mode", json!(name)), ("generation", json!(tasks))],
                program: Generations { annotation, before: if readers { tasks } else { 0 }, tasks },
            };
            series.push(sizes.iter().map(point).collect::<Vec<_>>());
        }
    }
    let all = measure(request, series)?;
    Ok(all.iter().flat_map(|point| point.rows(request.against)).collect())
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
        assert_eq!(ladder(&[10_000_000]).len(), 6);
    }
}
