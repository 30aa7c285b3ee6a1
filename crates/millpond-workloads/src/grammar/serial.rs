//! The serial program: each child runs when its parent creates it, depth first.

use super::machine::{Frame, Task, Variables};
use super::params::Limits;
use super::program::Program;
use super::syntax::Fault;

/// The totals of all tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totals {
    /// The number of tasks of each type.
    pub by_type: Vec<u64>,
    /// The total time in units.
    pub units: u64,
}

impl Totals {
    /// The number of tasks.
    pub fn tasks(&self) -> u64 {
        self.by_type.iter().sum()
    }
}

impl Variables for Vec<i64> {
    fn get(&mut self, shared: usize) -> i64 {
        self[shared]
    }

    fn set(&mut self, shared: usize, value: i64) {
        self[shared] = value;
    }
}

/// Runs all tasks within the limits. Calls `takes` for each time.
pub fn serial(program: &Program, seed: u64, limits: Limits, takes: impl FnMut(u64)) -> Result<Totals, Fault> {
    let variables = program.shared.clone();
    let totals = Totals { by_type: vec![0; program.types.len()], units: 0 };
    let mut walk = Walk { program, limits, variables, totals, tasks: 0, takes };
    // An explicit stack, because a grammar may be deeper than the thread's stack.
    let mut stack = Vec::new();
    for task in program.initial(seed)? {
        stack.push(walk.begin(task, 1)?);
        while let Some(frame) = stack.last_mut() {
            match walk.step(frame)? {
                None => _ = stack.pop(),
                Some(child) => {
                    let child = walk.begin(child, stack.len() + 1)?;
                    stack.push(child);
                }
            }
        }
    }
    Ok(walk.totals)
}

struct Walk<'p, F> {
    program: &'p Program,
    limits: Limits,
    variables: Vec<i64>,
    totals: Totals,
    tasks: u64,
    takes: F,
}

impl<'p, F: FnMut(u64)> Walk<'p, F> {
    fn begin(&mut self, task: Task, depth: usize) -> Result<Frame<'p>, Fault> {
        let frame = Frame::new(self.program, task, &mut self.variables)?;
        let endless = |what: String, option: &str| {
            let says = format!("{} {what}: the grammar may have no end (--{option} allows more)", frame.describe());
            Err(Fault::new(frame.at(), says))
        };
        let Limits { depth: deepest, tasks: most, .. } = self.limits;
        if depth as u64 > deepest {
            return endless(format!("has {deepest} ancestors"), "max-depth");
        }
        if self.tasks == most {
            return endless(format!("comes after {most} tasks"), "max-tasks");
        }
        self.tasks += 1;
        self.totals.by_type[task.kind] += 1;
        Ok(frame)
    }

    fn step(&mut self, frame: &mut Frame<'p>) -> Result<Option<Task>, Fault> {
        let Self { variables, totals, takes, limits, .. } = self;
        let child = frame.step(variables, |units| {
            totals.units = totals.units.saturating_add(units);
            takes(units);
        })?;
        if totals.units > limits.units {
            let (task, most) = (frame.describe(), limits.units);
            let says = format!("with {task} all tasks take more than {most} units of time (--max-units allows more)");
            return Err(Fault::new(frame.at(), says));
        }
        Ok(child)
    }
}
