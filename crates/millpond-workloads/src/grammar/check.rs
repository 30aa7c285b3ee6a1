//! The result of a run, for reports.

use super::program::Program;
use super::serial::Totals;
use crate::options::Value;

/// Tasks, units of time, and the tasks of each type.
pub fn result(program: &Program, totals: &Totals) -> Vec<(&'static str, Value)> {
    let by_type =
        program.types.iter().zip(&totals.by_type).map(|(kind, tasks)| (kind.name.to_owned(), *tasks)).collect();
    vec![
        ("tasks", Value::Integer(totals.tasks())),
        ("units", Value::Integer(totals.units)),
        ("by_type", Value::Counts(by_type)),
    ]
}
