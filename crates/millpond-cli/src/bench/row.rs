//! Rows of a bench, which are measured points, and their output.

use crate::failure::Failure;
use crate::report::print;
use crate::stats::{least, median};
use comfy_table::Table;
use comfy_table::presets::UTF8_BORDERS_ONLY;
use millpond_workloads::output;
use serde_json::{Map, Value, json};
use std::path::Path;

/// A measured point.
pub struct Row {
    /// The shape of the task graph.
    pub shape: &'static str,
    /// Its runtime.
    pub runtime: &'static str,
    /// The runtime's configuration.
    pub config: Value,
    /// The sizes of the graph.
    pub params: Vec<(&'static str, u64)>,
    /// Tasks per repetition; 0 if the measured time has no tasks.
    pub tasks: u64,
    /// The time of each repetition.
    pub seconds: Vec<f64>,
    /// Each worker's fraction of the tasks, over all repetitions.
    pub worker_shares: Vec<f64>,
    /// Whether every repetition gave the serial result.
    pub verified: bool,
    /// The suite's own fields.
    pub extra: Vec<(&'static str, Value)>,
}

impl Row {
    /// The display name of the point.
    pub fn name(&self) -> String {
        let extra = self.extra.first().map(|(name, value)| format!(" {name} {value}")).unwrap_or_default();
        format!("{}{extra}", self.shape)
    }

    fn json(&self) -> Map<String, Value> {
        let middle = median(&self.seconds);
        let params: Map<_, _> = self.params.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let fields = [
            ("shape", json!(self.shape)),
            ("runtime", json!(self.runtime)),
            ("config", self.config.clone()),
            ("params", Value::Object(params)),
            ("tasks", json!(self.tasks)),
            ("reps", json!(self.seconds.len())),
            ("seconds", json!(self.seconds)),
            ("median_seconds", json!(middle)),
            ("min_seconds", json!(least(&self.seconds))),
            ("ns_per_task", json!(if self.tasks == 0 { 0.0 } else { middle * 1e9 / self.tasks as f64 })),
            ("worker_shares", json!(self.worker_shares)),
            ("verified", json!(self.verified)),
        ];
        fields.into_iter().chain(self.extra.iter().cloned()).map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// Prints one JSON object.
pub fn print_json(suite: &str, rows: &[Row]) -> Result<(), Failure> {
    let rows: Vec<_> = rows.iter().map(Row::json).collect();
    print(&json!({ "suite": suite, "rows": rows }).to_string())
}

/// The fields that tables leave out: equal in all rows, counts whose quotient is shown, or samples
/// and their distribution, which are for programs.
const NOT_IN_TABLES: [&str; 8] =
    ["runtime", "config", "params", "counted_tasks", "l1_misses", "ll_misses", "seconds", "cdf"];

/// Prints a table for people: the fields that differ between rows.
pub fn print_table(rows: &[Row]) -> Result<(), Failure> {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY);
    // Statistics include the minimum ([TG](crate#sources) Table 2).
    let has_mean = rows.iter().any(|row| row.extra.iter().any(|(name, _)| *name == "mean_seconds"));
    let shown = |name: &str| !NOT_IN_TABLES.contains(&name) && (has_mean || name != "min_seconds");
    for (k, row) in rows.iter().enumerate() {
        let fields: Vec<_> = row.json().into_iter().filter(|(name, _)| shown(name)).collect();
        if k == 0 {
            table.set_header(fields.iter().map(|(name, _)| name.clone()));
        }
        table.add_row(fields.iter().map(|(_, value)| short(value)));
    }
    print(&table.to_string())
}

fn short(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => {
            let number = number.as_f64().unwrap_or_default();
            // Times of short runs have few digits otherwise.
            if number != 0.0 && number.abs() < 0.01 { format!("{number:.3e}") } else { format!("{number:.4}") }
        }
        Value::Array(values) => {
            values.iter().map(|v| format!("{:.2}", v.as_f64().unwrap_or_default())).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}

/// Writes the rows as CSV. A value with parts (configuration, sizes, samples, shares) is one field:
/// `name=value` pairs or values, separated by spaces.
pub fn write_csv(file: &Path, rows: &[Row]) -> Result<(), Failure> {
    let mut text = String::new();
    for (k, row) in rows.iter().enumerate() {
        let fields = row.json();
        if k == 0 {
            text += &(fields.keys().cloned().collect::<Vec<_>>().join(",") + "\n");
        }
        text += &(fields.values().map(field).collect::<Vec<_>>().join(",") + "\n");
    }
    Ok(output::write(file, |out| out.write_all(text.as_bytes()))?)
}

/// No value has a comma or a quote, because all are known names or numbers.
fn field(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(field).collect::<Vec<_>>().join(" "),
        Value::Object(parts) => {
            parts.iter().map(|(name, part)| format!("{name}={}", field(part))).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}
