//! Task grammars ([TP](crate#sources) §2.2), run as tasks. A grammar describes the tasks of an
//! algorithm, the children of each, and their times.
//!
//! The file format is similar to the paper's; `docs/reference/grammars.md` describes it. A file is
//! parsed, and its names are resolved. Each task then executes its production step by step, in the
//! serial program as in the task program. Random draws depend on the seed and on a task's position
//! in the tree, so every schedule has the same tree.

mod check;
mod label;
mod machine;
mod params;
mod program;
mod random;
mod resolve;
mod serial;
mod syntax;
mod tally;
mod tasks;

pub use params::{Limits, OPTIONS, Params};
pub use serial::Totals;

use crate::options::Value;
use crate::spin::work;
use crate::workload::{Job, Probe, RunsOn, Verdict, Workload};
use crate::{Error, input};
use millpond::catalogue::AnyRuntime;
use millpond::{Handle, on_runtime};
use program::Program;
use std::path::{Path, PathBuf};
use syntax::Fault;
use tally::Tally;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "grammar",
    summary: "Run a task grammar: a file that says which tasks there are",
    options: &OPTIONS,
    runs_on: RunsOn::Runtime,
    prepare: |options| Ok(Box::new(Grammar::new(Params::new(options)?)?)),
};

/// The synthetic algorithm of [TP](crate#sources) §7.2, in the format.
const BUILT_IN: &str = include_str!("../../grammars/synthetic.grammar");
const BUILT_IN_NAME: &str = "synthetic.grammar (built in)";

/// The maximum size of a grammar in bytes. Its tokens take about fifty times as many.
const MAX_BYTES: usize = 1 << 20;

struct Grammar {
    params: Params,
    /// Every parameter of the grammar with its value.
    values: Vec<(String, i64)>,
    program: Program,
    /// The totals of the serial program, run before with empty times.
    expected: Totals,
    ran: Totals,
}

impl Grammar {
    fn new(params: Params) -> Result<Self, Error> {
        let text = params.file.as_deref().map_or_else(|| Ok(BUILT_IN.to_owned()), read)?;
        let refuse = |fault| refusal(&params.file, fault);
        let file = syntax::parse(&text).map_err(refuse)?;
        let values = values(&file, &params.set)?;
        let numbers: Vec<_> = values.iter().map(|(_, value)| *value).collect();
        let program = resolve::resolve(&file, &numbers).map_err(refuse)?;
        let expected = serial::serial(&program, params.seed, params.limits, |_| ()).map_err(refuse)?;
        let ran = Totals { by_type: vec![0; program.types.len()], units: 0 };
        Ok(Self { params, values, program, expected, ran })
    }

    fn refusal(&self, fault: Fault) -> Error {
        refusal(&self.params.file, fault)
    }
}

fn read(file: &Path) -> Result<String, Error> {
    let bytes = input::bytes(file)?;
    let refuse = |line: usize, what: &str| Error::Input {
        file: file.to_owned(),
        place: format!("line {line}"),
        what: what.to_owned(),
    };
    if bytes.len() > MAX_BYTES {
        return Err(refuse(1, &format!("a grammar of {} bytes: at most {MAX_BYTES}", bytes.len())));
    }
    let text = input::without_mark(&bytes).map_err(|what| refuse(1, what))?;
    std::str::from_utf8(text).map(str::to_owned).map_err(|error| {
        let lines = text[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        refuse(lines + 1, "not UTF-8 text")
    })
}

fn refusal(file: &Option<PathBuf>, Fault { at, what }: Fault) -> Error {
    let file = file.clone().unwrap_or_else(|| BUILT_IN_NAME.into());
    Error::Input { file, place: at.to_string(), what }
}

/// The grammar's parameters with their values.
fn values(file: &syntax::File, set: &[(String, i64)]) -> Result<Vec<(String, i64)>, Error> {
    let mut values: Vec<_> = file.params.iter().map(|(name, value)| (name.text.clone(), *value)).collect();
    for (name, value) in set {
        let names: Vec<_> = file.params.iter().map(|(name, _)| name.text.as_str()).collect();
        let valid = if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) };
        let unknown = || params::refuse(name, format!("the grammar has no such parameter; {valid}"));
        values.iter_mut().find(|(param, _)| param == name).ok_or_else(unknown)?.1 = *value;
    }
    Ok(values)
}

impl Job for Grammar {
    fn params(&self) -> Vec<(&'static str, Value)> {
        let set: Vec<_> = self.values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let Limits { depth, tasks, units } = self.params.limits;
        vec![
            ("file", self.params.file.clone().map_or(Value::None, Value::Path)),
            ("seed", Value::Integer(self.params.seed)),
            ("set", Value::Text(set.join(","))),
            ("max_depth", Value::Integer(depth)),
            ("max_tasks", Value::Integer(tasks)),
            ("max_units", Value::Integer(units)),
        ]
    }

    fn tasks(&self) -> u64 {
        self.expected.tasks()
    }

    fn run(&mut self, runtime: &AnyRuntime, probe: &mut dyn Probe) -> Result<(), Error> {
        let initial = self.program.initial(self.params.seed).map_err(|fault| self.refusal(fault))?;
        let types = self.program.types.len();
        let (program, tally) = (&self.program, Tally::new(types));
        let common = tasks::Common { program, tally: &tally };
        let shared: Vec<_> = program.shared.iter().copied().map(Handle::new).collect();
        probe.start();
        let done = on_runtime!(runtime, rt => rt.scope(|s| tasks::tasks(s, common, &initial, &shared)));
        probe.stop();
        done?;
        self.ran = tally.totals(types);
        Ok(())
    }

    fn serial(&mut self, probe: &mut dyn Probe) -> Result<(), Error> {
        probe.start();
        let ran = serial::serial(&self.program, self.params.seed, self.params.limits, work);
        probe.stop();
        self.ran = ran.map_err(|fault| self.refusal(fault))?;
        Ok(())
    }

    fn check(&mut self) -> Result<Verdict, Error> {
        Ok(Verdict { verified: self.ran == self.expected, result: check::result(&self.program, &self.ran) })
    }
}
