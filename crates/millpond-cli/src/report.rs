//! The output of `millpond run`.

use crate::config::Config;
use crate::failure::Failure;
use crate::run::Measured;
use crate::stats::median;
use comfy_table::Table;
use comfy_table::presets::UTF8_BORDERS_ONLY;
use millpond_workloads::Value;
use serde_json::{Map, Value as Json, json};
use std::io::Write;

/// A run that has been measured and checked.
pub struct Report {
    /// The workload's name.
    pub workload: &'static str,
    /// Its parameters after defaults.
    pub params: Vec<(&'static str, Value)>,
    /// The runtime's configuration.
    pub config: Config,
    /// Bodies per repetition.
    pub tasks: u64,
    /// Times, memory and the verdict.
    pub measured: Measured,
}

impl Report {
    /// Prints one JSON object.
    pub fn print_json(&self) -> Result<(), Failure> {
        print(&Json::Object(self.json()).to_string())
    }

    /// The fields of `run`, for commands that add more.
    pub fn json(&self) -> Map<String, Json> {
        let mut object = Map::new();
        object.insert("workload".into(), json!(self.workload));
        object.insert("params".into(), object_of(&self.params));
        object.insert("config".into(), self.config.json());
        object.insert("tasks".into(), json!(self.tasks));
        object.insert("seconds".into(), json!(self.measured.seconds));
        object.insert("median_seconds".into(), json!(median(&self.measured.seconds)));
        if let Some(seconds) = self.measured.serial_seconds {
            object.insert("serial_seconds".into(), json!(seconds));
        }
        object.insert("peak_rss_bytes".into(), json!(self.measured.peak_rss_bytes));
        object.insert("verified".into(), json!(self.measured.verdict.verified));
        object.insert("result".into(), object_of(&self.measured.verdict.result));
        object
    }

    /// Prints a small table for people.
    pub fn print_table(&self, verbose: bool) -> Result<(), Failure> {
        print(&self.table(verbose))
    }

    /// That table.
    pub fn table(&self, verbose: bool) -> String {
        let mut table = Table::new();
        table.load_style(UTF8_BORDERS_ONLY).set_header(["workload", self.workload]);
        for (name, value) in &self.params {
            table.add_row([(*name).to_owned(), text(value)]);
        }
        if verbose {
            table.add_row(["config".to_owned(), self.config.text()]);
        } else {
            table.add_row(["workers".to_owned(), self.config.workers.to_string()]);
        }
        table.add_row(["tasks".to_owned(), self.tasks.to_string()]);
        self.times(&mut table, verbose);
        table.add_row(["peak memory".to_owned(), format!("{:.1} MB", self.measured.peak_rss_bytes as f64 / 1e6)]);
        for (name, value) in &self.measured.verdict.result {
            table.add_row([(*name).to_owned(), text(value)]);
        }
        if let Some(counts) = self.measured.counts.filter(|_| verbose) {
            table.add_row(["calls for a wake-up".to_owned(), counts.wake_calls.to_string()]);
            table.add_row(["workers woken".to_owned(), counts.wake_ups.to_string()]);
            table.add_row(["arrays added".to_owned(), counts.more_arrays.to_string()]);
        }
        table.add_row(["verified", if self.measured.verdict.verified { "yes" } else { "NO" }]);
        table.to_string()
    }

    fn times(&self, table: &mut Table, verbose: bool) {
        let middle = median(&self.measured.seconds);
        if verbose && self.measured.seconds.len() > 1 {
            let all: Vec<_> = self.measured.seconds.iter().map(|s| format!("{s:.6}")).collect();
            table.add_row(["seconds".to_owned(), all.join("\n")]);
        }
        table.add_row(["median".to_owned(), format!("{middle:.6} s")]);
        if let Some(seconds) = self.measured.serial_seconds {
            table.add_row(["serial".to_owned(), format!("{seconds:.6} s ({:.2} x)", seconds / middle)]);
        }
    }
}

/// Prints a line on stdout.
pub fn print(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(Failure::output)
}

fn object_of(values: &[(&'static str, Value)]) -> Json {
    Json::Object(values.iter().map(|(name, value)| (name.replace('-', "_"), json_of(value))).collect())
}

fn json_of(value: &Value) -> Json {
    match value {
        Value::Integer(n) => json!(n),
        Value::Float(x) => json!(x),
        Value::Flag(is) => json!(is),
        Value::Text(word) => json!(word),
        Value::Path(path) => json!(path.to_string_lossy()),
        Value::Counts(counts) => counts.iter().map(|(name, count)| (name.clone(), json!(count))).collect(),
        Value::None => Json::Null,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Integer(n) => n.to_string(),
        Value::Float(x) => format!("{x:.6e}"),
        Value::Flag(is) => if *is { "yes" } else { "no" }.to_owned(),
        Value::Text(word) => word.clone(),
        Value::Path(path) => path.display().to_string(),
        Value::Counts(counts) => {
            counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
        }
        Value::None => "-".to_owned(),
    }
}
