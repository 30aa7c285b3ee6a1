//! A row: a measured point of one runtime. Also formats rows for programs.

use crate::graph::Case;
use crate::runtimes::{MILLPOND, QUEUED, STACK};
use crate::work::Outcome;
use serde_json::{Map, Value, json};

/// The minimum share of the other workers in a counted queued run. With empty bodies, a run on one
/// worker alone is the fastest and shows nothing.
const MIN_SHARE: f64 = 0.2;

/// A measured point.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its suite.
    pub suite: &'static str,
    /// The name of the graph in the suite.
    pub shape: &'static str,
    /// The runtime.
    pub runtime: &'static str,
    /// Its workers.
    pub workers: usize,
    /// The executed case.
    pub case: Case,
    /// The counted runs.
    pub runs: Vec<Outcome>,
    /// The number of uncounted runs, in which the spawner ran almost all tasks.
    pub left_out: usize,
    /// Whether every run gave the correct sum.
    pub verified: bool,
    /// The error, if the runtime failed and has no more runs.
    pub failure: Option<String>,
    /// The suite's own fields.
    pub extra: Vec<(&'static str, Value)>,
}

impl Row {
    /// A row without a run.
    pub fn new(suite: &'static str, shape: &'static str, runtime: &'static str, workers: usize, case: Case) -> Self {
        let (runs, extra) = (Vec::new(), Vec::new());
        Row { suite, shape, runtime, workers, case, runs, left_out: 0, verified: true, failure: None, extra }
    }

    /// The display name of the point.
    pub fn name(&self) -> String {
        format!("{}: {}, {}", self.runtime, self.shape, self.workers_in_words())
    }

    /// The number of workers, as text.
    pub fn workers_in_words(&self) -> String {
        if self.workers == 1 { "1 worker".to_owned() } else { format!("{} workers", self.workers) }
    }

    /// Whether runs do not count if the spawner ran almost all tasks.
    fn needs_both(&self) -> bool {
        // The tasks of a chain run one after the other.
        self.suite == "empty" && self.runtime == QUEUED && self.workers > 1 && self.shape != "chain"
    }

    /// Adds a run. Its sum should be `want`.
    pub fn take(&mut self, run: Outcome, want: u64) {
        self.verified &= run.sum == want;
        let elsewhere = shares(&run.ran, self.workers).iter().skip(1).sum::<f64>();
        if self.needs_both() && !run.ran.is_empty() && elsewhere < MIN_SHARE {
            self.left_out += 1;
        } else {
            self.runs.push(run);
        }
    }

    fn seconds(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.time.as_secs_f64()).collect()
    }

    /// The median of the counted runs, if any.
    pub fn median_seconds(&self) -> Option<f64> {
        median(self.seconds())
    }

    /// The minimum of the counted runs.
    pub fn min_seconds(&self) -> Option<f64> {
        self.seconds().into_iter().min_by(f64::total_cmp)
    }

    /// A time per task, in nanoseconds.
    pub fn ns_per_task(&self, seconds: Option<f64>) -> Option<f64> {
        seconds.map(|seconds| seconds * 1e9 / self.case.graph.tasks().max(1) as f64)
    }

    /// Each worker's fraction of the tasks, in the order of [`Outcome::ran`]; empty if the runtime
    /// does not count them.
    pub fn worker_shares(&self) -> Vec<f64> {
        let all: Vec<_> = self.runs.iter().map(|run| shares(&run.ran, self.workers)).collect();
        let runs = all.iter().filter(|shares| !shares.is_empty()).count().max(1) as f64;
        let most = all.iter().map(Vec::len).max().unwrap_or_default();
        (0..most).map(|k| all.iter().filter_map(|shares| shares.get(k)).sum::<f64>() / runs).collect()
    }

    /// The row as a JSON object: the fields of every bench row, and the suite's own.
    pub fn json(&self) -> Map<String, Value> {
        let params: Map<_, _> =
            self.case.graph.params().into_iter().map(|(name, size)| (name.to_owned(), json!(size))).collect();
        let mut config = json!({ "workers": self.workers });
        if [MILLPOND, QUEUED, STACK].contains(&self.runtime) {
            config["inline"] = json!(if self.runtime == QUEUED { "never" } else { "auto" });
        }
        let median = self.median_seconds();
        let fields = [
            ("shape", json!(self.shape)),
            ("runtime", json!(self.runtime)),
            ("config", config),
            ("params", Value::Object(params)),
            ("tasks", json!(self.case.graph.tasks())),
            ("reps", json!(self.runs.len())),
            ("median_seconds", json!(median)),
            ("min_seconds", json!(self.min_seconds())),
            ("seconds", json!(self.seconds())),
            ("ns_per_task", json!(self.ns_per_task(median))),
            ("worker_shares", json!(self.worker_shares())),
            ("verified", json!(self.verified)),
            ("suite", json!(self.suite)),
            ("min_ns_per_task", json!(self.ns_per_task(self.min_seconds()))),
            ("left_out", json!(self.left_out)),
        ];
        fields.into_iter().chain(self.extra.iter().cloned()).map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// A field of the suite.
    pub fn extra(&self, name: &str) -> Option<f64> {
        self.extra.iter().find(|(known, _)| *known == name).and_then(|(_, value)| value.as_f64())
    }
}

/// The median time of one loop, in nanoseconds.
pub fn median_loop_ns(row: &Row) -> Option<f64> {
    row.ns_per_task(row.median_seconds())
}

/// The median over all turns of a function of two rows' times, in nanoseconds per task. `None` if
/// there is no turn in which both ran.
pub fn by_turn(a: &Row, b: &Row, of: impl Fn(f64, f64) -> f64) -> Option<f64> {
    let ns = |row: &Row, run: &Outcome| row.ns_per_task(Some(run.time.as_secs_f64()));
    let pairs = a.runs.iter().zip(&b.runs).filter_map(|(in_a, in_b)| Some(of(ns(a, in_a)?, ns(b, in_b)?)));
    median(pairs.collect())
}

/// Each worker's fraction of the tasks.
fn shares(ran: &[u64], workers: usize) -> Vec<f64> {
    let all = ran.iter().sum::<u64>() as f64;
    if ran.is_empty() {
        return Vec::new();
    }
    let mut shares: Vec<f64> = ran.iter().map(|n| *n as f64 / all).collect();
    // A worker without tasks is missing.
    shares.resize(shares.len().max(workers), 0.0);
    shares
}

/// The median; `None` for no values.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

/// Compares each row by nanoseconds per task, turn by turn, and adds the medians: with millpond's
/// rows of the same point, and with the same runtime on one worker. If runs were left out, it
/// compares the medians.
pub fn compare(rows: &mut [Row]) {
    let all = rows.to_vec();
    for row in rows {
        let bases = [
            (MILLPOND, row.workers, "ratio_to_millpond"),
            (QUEUED, row.workers, "ratio_to_queued"),
            (row.runtime, 1, "ratio_to_one_worker"),
        ];
        for (runtime, workers, field) in bases {
            let like = |other: &&Row| (other.runtime, other.shape, other.workers) == (runtime, row.shape, workers);
            if let Some(ratio) = all.iter().find(like).and_then(|base| ratio(row, base)) {
                row.extra.push((field, json!(ratio)));
            }
        }
    }
}

fn ratio(row: &Row, base: &Row) -> Option<f64> {
    if row.left_out + base.left_out == 0 {
        return by_turn(row, base, |row, base| row / base);
    }
    let cost = |row: &Row| row.ns_per_task(row.median_seconds());
    Some(cost(row)? / cost(base)?)
}

/// The rows in groups. The rows of a group keep their order.
pub fn grouped<'a>(rows: &[&'a Row], same: impl Fn(&Row, &Row) -> bool) -> Vec<Vec<&'a Row>> {
    let mut groups: Vec<Vec<&Row>> = Vec::new();
    for row in rows {
        match groups.iter_mut().find(|group| same(group[0], row)) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

/// One JSON object.
pub fn to_json(suite: &str, rows: &[Row], missing: &[String]) -> String {
    let failed: Vec<_> = rows.iter().filter_map(failure).collect();
    let rows: Vec<_> = rows.iter().map(Row::json).collect();
    json!({ "suite": suite, "rows": rows, "missing": missing, "failed": failed }).to_string()
}

/// The point that failed, and why.
pub fn failure(row: &Row) -> Option<String> {
    row.failure.as_ref().map(|why| format!("{}: {why}", row.name()))
}

/// The rows as CSV. A value with parts (configuration, sizes, shares) is one field: `name=value`
/// pairs or values, separated by spaces.
pub fn to_csv(rows: &[Row]) -> String {
    let rows: Vec<_> = rows.iter().map(Row::json).collect();
    let mut columns: Vec<&String> = Vec::new();
    for name in rows.iter().flat_map(Map::keys) {
        if !columns.contains(&name) {
            columns.push(name);
        }
    }
    let mut text = columns.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(",") + "\n";
    for row in &rows {
        text += &(columns.iter().map(|name| row.get(*name).map_or(String::new(), field)).collect::<Vec<_>>().join(","));
        text.push('\n');
    }
    text
}

/// No value has a comma or a quote, because all are known names or numbers.
fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(Value::to_string).collect::<Vec<_>>().join(" "),
        Value::Object(parts) => {
            parts.iter().map(|(name, part)| format!("{name}={}", field(part))).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use std::time::Duration;

    fn row(runtime: &'static str, workers: usize) -> Row {
        Row::new("empty", "flat", runtime, workers, Case::empty(Graph::Flat { tasks: 100 }))
    }

    fn run(micros: u64, ran: &[u64]) -> Outcome {
        Outcome { time: Duration::from_micros(micros), sum: 7, ran: ran.to_vec() }
    }

    #[test]
    fn medians() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn queued_runs_of_the_spawner_alone_are_left_out() {
        let mut queued = row(QUEUED, 2);
        for ran in [&[50, 50][..], &[81, 19], &[100], &[79, 21], &[0, 100]] {
            queued.take(run(10, ran), 7);
        }
        assert_eq!((queued.runs.len(), queued.left_out), (3, 2));
        assert!((queued.worker_shares()[1] - 0.57).abs() < 1e-9);
        let mut inline = row(MILLPOND, 2);
        inline.take(run(10, &[100]), 7);
        assert_eq!((inline.runs.len(), inline.worker_shares()), (1, vec![1.0, 0.0]));
        let mut alone = row(QUEUED, 1);
        alone.take(run(10, &[100]), 7);
        assert_eq!(alone.left_out, 0);
    }

    #[test]
    fn one_wrong_sum_is_remembered() {
        let mut row = row(MILLPOND, 1);
        row.take(run(10, &[100]), 7);
        assert!(row.verified);
        row.take(run(10, &[100]), 8);
        row.take(run(10, &[100]), 7);
        assert!(!row.verified);
        assert_eq!(row.json()["verified"], json!(false));
    }

    #[test]
    fn rows_have_the_fields_of_every_bench() {
        let mut rows = vec![row(MILLPOND, 1), row("rayon", 1)];
        rows[0].take(run(1, &[100]), 7);
        rows[1].take(run(3, &[100]), 7);
        compare(&mut rows);
        let object = rows[1].json();
        assert_eq!(object["ns_per_task"], json!(30.0));
        assert!((object["ratio_to_millpond"].as_f64().expect("a number") - 3.0).abs() < 1e-9);
        assert_eq!(object["config"], json!({ "workers": 1 }));
        assert_eq!(rows[0].json()["config"]["inline"], json!("auto"));
        let csv = to_csv(&rows);
        assert!(csv.starts_with("shape,runtime,config,params,tasks,reps,median_seconds"), "{csv}");
        assert!(csv.lines().all(|line| line.matches(',').count() == 16), "{csv}");
        assert!(csv.contains("flat,rayon,workers=1,tasks=100,100,1,"), "{csv}");
    }
}
