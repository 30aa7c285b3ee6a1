//! Tables for people, one per suite, and messages about missing rows.

use crate::row::{Row, failure, grouped, median_loop_ns};
use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{Cell, CellAlignment, Table};

/// The tables of all rows, and a line for each missing runtime and each failed point.
pub fn tables(rows: &[Row], missing: &[String]) -> String {
    let mut parts = Vec::new();
    for suite in rows.chunk_by(|a, b| a.suite == b.suite) {
        let table = match suite[0].suite {
            "bodies" => bodies(suite),
            "bimodal" => bimodal(suite).to_string(),
            "loops" => loops(suite).to_string(),
            _ => costs(suite).to_string(),
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

/// Efficiency in percent. If the ceiling was measured, a second table compares with it.
fn bodies(rows: &[Row]) -> String {
    let mut text = efficiencies(rows).to_string();
    if rows.iter().any(|row| row.extra("of_ceiling").is_some()) {
        text += &format!("\nbodies, percent of the ceiling\n{}", of_ceiling(rows));
    }
    text
}

/// Efficiency in percent, one column per length.
fn efficiencies(rows: &[Row]) -> Table {
    let lengths = lengths(rows);
    let mut table = table(by_length(&lengths).into_iter().chain(["METG(50 %), µs", "verified"].map(str::to_owned)));
    for curve in curves(rows) {
        let first = curve[0];
        let metg = first.extra("metg_ns").map(|ns| ns / 1000.0);
        // A runtime fast enough at the shortest length has only a bound.
        let least = if metg == lengths.first().map(|ns| ns / 1000.0) { "< " } else { "" };
        let wrong = curve.iter().find(|row| !row.verified).unwrap_or(&first);
        let cells = percents(&curve, &lengths, "efficiency").into_iter();
        table.add_row(cells.chain([format!("{least}{}", number(metg, 2)), verdict(wrong)]));
    }
    table
}

/// The same in percent of the ceiling's efficiency.
fn of_ceiling(rows: &[Row]) -> Table {
    let lengths = lengths(rows);
    let mut table = table(by_length(&lengths));
    for curve in curves(rows) {
        if curve.iter().any(|row| row.extra("of_ceiling").is_some()) {
            table.add_row(percents(&curve, &lengths, "of_ceiling"));
        }
    }
    table
}

/// The lengths of the bodies, the shortest first.
fn lengths(rows: &[Row]) -> Vec<f64> {
    let mut lengths: Vec<f64> = rows.iter().filter_map(|row| row.extra("body_ns")).collect();
    lengths.sort_by(f64::total_cmp);
    lengths.dedup();
    lengths
}

/// The header of a table with one column per length.
fn by_length(lengths: &[f64]) -> Vec<String> {
    let columns = lengths.iter().map(|ns| format!("{} µs, %", ns / 1000.0));
    ["shape", "runtime", "workers"].map(str::to_owned).into_iter().chain(columns).collect()
}

/// The rows of each line of such a table.
fn curves(rows: &[Row]) -> Vec<Vec<&Row>> {
    let all: Vec<&Row> = rows.iter().collect();
    grouped(&all, |a, b| (a.shape, a.runtime, a.workers) == (b.shape, b.runtime, b.workers))
}

/// A line of such a table: a field in percent.
fn percents(curve: &[&Row], lengths: &[f64], field: &str) -> Vec<String> {
    let first = curve[0];
    let at = |ns: &f64| curve.iter().find(|row| row.extra("body_ns") == Some(*ns));
    let percent = |ns| number(at(ns).and_then(|row| row.extra(field)).map(|part| part * 100.0), 0);
    let cells = [first.shape.to_owned(), first.runtime.to_owned(), first.workers.to_string()];
    cells.into_iter().chain(lengths.iter().map(percent)).collect()
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

    #[test]
    fn a_second_table_compares_with_the_ceiling() {
        let at = |runtime, ns: u64, efficiency: f64| {
            let mut row = row("bodies", "chains", runtime);
            row.extra = vec![("body_ns", json!(ns)), ("efficiency", json!(efficiency))];
            row
        };
        let mut rows = [at("ceiling", 200, 0.5), at("millpond", 200, 0.45), at("rayon", 500, 0.4)];
        rows[1].extra.push(("of_ceiling", json!(0.9)));
        let text = tables(&rows, &[]);
        let (first, second) = text.split_once("\nbodies, percent of the ceiling\n").expect("two tables");
        assert!(first.contains("ceiling") && first.contains(" 50 ") && first.contains(" 45 "), "{text}");
        let line = second.lines().find(|line| line.contains("millpond")).expect("one row");
        assert!(line.contains(" 90 ") && line.contains(" - "), "{text}");
        assert!(!second.contains("ceiling") && !second.contains("rayon"), "{text}");
    }
}
