//! Tables for people, one per suite, and messages about missing rows.

use crate::row::{Row, failure, median_loop_ns};
use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{Cell, CellAlignment, Table};

/// The tables of all rows, and a line for each missing runtime and each failed point.
pub fn tables(rows: &[Row], missing: &[String]) -> String {
    let mut parts = Vec::new();
    for suite in rows.chunk_by(|a, b| a.suite == b.suite) {
        let table = match suite[0].suite {
            "bodies" => bodies(suite),
            "bimodal" => bimodal(suite),
            "loops" => loops(suite),
            _ => costs(suite),
        };
        parts.push(format!("{}\n{table}", suite[0].suite));
    }
    parts.extend(missing.iter().cloned());
    parts.extend(rows.iter().filter_map(failure));
    parts.join("\n")
}

/// A table whose first two columns are texts and whose others are numbers.
fn table<T: Into<Cell>>(header: impl IntoIterator<Item = T>) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY).set_header(header);
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Nanoseconds per task; for `join`, per join.
fn costs(rows: &[Row]) -> Table {
    let unit = if rows[0].suite == "join" { "joins" } else { "tasks" };
    let figures = ["median ns", "min ns", "x millpond", "x queued", "x 1 worker", "shares", "left out", "verified"];
    let header = ["shape", "runtime", "workers", unit].into_iter().chain(figures);
    let mut table = table(header);
    for row in rows {
        table.add_row([
            row.shape.to_owned(),
            row.runtime.to_owned(),
            row.workers.to_string(),
            row.case.graph.tasks().to_string(),
            number(row.ns_per_task(row.median_seconds()), 1),
            number(row.ns_per_task(row.min_seconds()), 1),
            number(row.extra("ratio_to_millpond"), 2),
            number(row.extra("ratio_to_queued"), 2),
            number(row.extra("ratio_to_one_worker"), 2),
            shares(row),
            if row.left_out == 0 {
                String::new()
            } else {
                format!("{} of {}", row.left_out, row.left_out + row.runs.len())
            },
            verdict(row),
        ]);
    }
    table
}

/// Efficiency in percent, one column per length.
fn bodies(rows: &[Row]) -> Table {
    let mut lengths: Vec<f64> = rows.iter().filter_map(|row| row.extra("body_ns")).collect();
    lengths.sort_by(f64::total_cmp);
    lengths.dedup();
    let columns = lengths.iter().map(|ns| format!("{} µs, %", ns / 1000.0));
    let header = ["shape", "runtime", "workers"].map(str::to_owned).into_iter().chain(columns);
    let mut table = table(header.chain(["METG(50 %), µs", "verified"].map(str::to_owned)));
    for (k, row) in rows.iter().enumerate() {
        let same = |other: &&Row| (other.shape, other.runtime, other.workers) == (row.shape, row.runtime, row.workers);
        if rows[..k].iter().any(|other| same(&other)) {
            continue;
        }
        let all: Vec<&Row> = rows.iter().filter(same).collect();
        let at = |ns: &f64| all.iter().find(|row| row.extra("body_ns") == Some(*ns));
        let percent = |ns| number(at(ns).and_then(|row| row.extra("efficiency")).map(|part| part * 100.0), 0);
        let metg = row.extra("metg_ns").map(|ns| ns / 1000.0);
        // A runtime fast enough at the shortest length has only a bound.
        let least = if metg == lengths.first().map(|ns| ns / 1000.0) { "< " } else { "" };
        let wrong = all.iter().find(|row| !row.verified).unwrap_or(&row);
        let cells = [row.shape.to_owned(), row.runtime.to_owned(), row.workers.to_string()];
        let cells = cells.into_iter().chain(lengths.iter().map(percent));
        table.add_row(cells.chain([format!("{least}{}", number(metg, 2)), verdict(wrong)]));
    }
    table
}

fn bimodal(rows: &[Row]) -> Table {
    let mut table = table(["shape", "runtime", "workers", "median ms", "speed-up", "shares", "verified"]);
    for row in rows {
        table.add_row([
            row.shape.to_owned(),
            row.runtime.to_owned(),
            row.workers.to_string(),
            number(row.median_seconds().map(|seconds| seconds * 1e3), 1),
            number(row.extra("speed_up"), 2),
            shares(row),
            verdict(row),
        ]);
    }
    table
}

/// Nanoseconds per loop, one line per loop and number of workers.
fn loops(rows: &[Row]) -> Table {
    let mut runtimes: Vec<&str> = Vec::new();
    for row in rows {
        if !runtimes.contains(&row.runtime) {
            runtimes.push(row.runtime);
        }
    }
    let names = runtimes.iter().map(|name| format!("{name}, ns"));
    let header = ["items x length", "workers"].map(str::to_owned).into_iter().chain(names);
    let mut table = table(header.chain(["best / millpond", "bar", "verified"].map(str::to_owned)));
    let same = |a: &Row, b: &Row| (a.shape, a.extra("of_workers")) == (b.shape, b.extra("of_workers"));
    for group in rows.chunk_by(same) {
        let first = &group[0];
        let cells = [first.shape.to_owned(), number(first.extra("of_workers"), 0)];
        let ns = |name: &&str| group.iter().find(|row| row.runtime == *name).and_then(median_loop_ns);
        let times = runtimes.iter().map(|name| number(ns(name), 1));
        let is_within = first.extra.iter().find(|(name, _)| *name == "within_bar").and_then(|(_, is)| is.as_bool());
        let bar = is_within.map_or("-", |is| if is { "ok" } else { "BELOW" });
        let wrong = group.iter().find(|row| !row.verified || row.failure.is_some()).unwrap_or(first);
        let ratio = number(first.extra("best_of_others_over_millpond"), 2);
        table.add_row(cells.into_iter().chain(times).chain([ratio, bar.to_owned(), verdict(wrong)]));
    }
    table
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
}

fn shares(row: &Row) -> String {
    row.worker_shares().iter().map(|share| format!("{share:.2}")).collect::<Vec<_>>().join(" ")
}

fn verdict(row: &Row) -> String {
    if !row.verified {
        "WRONG".to_owned()
    } else if row.failure.is_some() {
        "failed".to_owned()
    } else {
        "yes".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Case, Graph};
    use crate::work::Outcome;
    use serde_json::json;
    use std::time::Duration;

    fn row(suite: &'static str, shape: &'static str, runtime: &'static str) -> Row {
        let mut row = Row::new(suite, shape, runtime, 2, Case::empty(Graph::Flat { tasks: 100 }));
        row.take(Outcome { time: Duration::from_nanos(1234), sum: 7, ran: vec![75, 25] }, 7);
        row
    }

    #[test]
    fn missing_and_failed_peers_are_named() {
        let mut failed = row("empty", "flat", "starpu");
        failed.failure = Some("no answer within 60s".to_owned());
        let text = tables(&[row("empty", "flat", "millpond"), failed], &["oneTBB: not here".to_owned()]);
        assert!(text.contains("12.3") && text.contains("0.75 0.25"), "{text}");
        assert!(text.contains("\noneTBB: not here\n"), "{text}");
        assert!(text.ends_with("\nstarpu: flat, 2 workers: no answer within 60s"), "{text}");
    }

    #[test]
    fn wrong_answers_are_seen() {
        let mut wrong = row("bimodal", "bimodal", "rayon");
        assert!(!tables(&[wrong.clone()], &[]).contains("WRONG"));
        wrong.verified = false;
        assert!(tables(&[wrong], &[]).contains("WRONG"));
    }

    #[test]
    fn lengths_are_columns() {
        let at = |ns: u64, efficiency: f64| {
            let mut row = row("bodies", "chains", "millpond");
            row.extra = vec![("body_ns", json!(ns)), ("efficiency", json!(efficiency)), ("metg_ns", json!(200.0))];
            row
        };
        let text = tables(&[at(200, 0.5), at(5000, 0.97)], &[]);
        assert!(text.contains("0.2 µs, %") && text.contains("5 µs, %"), "{text}");
        let line = text.lines().find(|line| line.contains("millpond")).expect("one row");
        assert!(line.contains(" 50 ") && line.contains(" 97 ") && line.contains("< 0.20"), "{line}");
        assert_eq!(text.matches("millpond").count(), 1);
    }
}
