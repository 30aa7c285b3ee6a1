//! The paper's experiments: simulated results, compared with the published ones.

use super::options::{OF_MACHINES, given, seed};
use super::{svg, write_svg};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::report::print;
use clap::ArgMatches;
use clap::parser::ValueSource;
use comfy_table::Table;
use comfy_table::presets::UTF8_BORDERS_ONLY;
use millpond_sim::Outcome;
use millpond_sim::experiments::{Fit, IDLE, Row, TABLE_1_LATENCY, figure4, table1, theorem2};
use serde_json::json;

/// The time to another site of a grid and back, in seconds, which the paper does not give. The
/// chapter has results of other values.
const GRID_LATENCY: f64 = 0.01;
/// The number of processors of the paper's second largest run.
const MAX_PROCESSORS: usize = 1422;

pub fn experiment(name: &str, matches: &ArgMatches) -> Result<(), Failure> {
    let own = |option: &&&str| matches.value_source(option) == Some(ValueSource::CommandLine);
    if let Some(option) = OF_MACHINES.iter().find(own) {
        return Err(Failure::Usage(format!("--experiment brings its own machine: it cannot be used with --{option}")));
    }
    let file = svg(matches, None)?;
    let progress = Progress::new();
    progress.say(|| name.to_owned());
    let latency = given(matches, "latency");
    if name == "theorem2" {
        if file.is_some() {
            return Err(Failure::Usage(
                "--experiment theorem2 has no picture: it cannot be used with --svg".to_owned(),
            ));
        }
        let fits = theorem2(MAX_PROCESSORS, latency, seed(matches))?;
        drop(progress);
        return print(&report(&fits, matches.get_flag("json")));
    }
    let (rows, printed) = if name == "table1" {
        let latency = latency.unwrap_or(TABLE_1_LATENCY);
        (table1(false, latency, seed(matches))?, table1(true, latency, seed(matches))?)
    } else {
        (figure4(latency.unwrap_or(GRID_LATENCY), seed(matches))?, Vec::new())
    };
    drop(progress);
    let titles: Vec<_> = rows.iter().map(|row| format!("{}, p = {}", row.program, row.processors)).collect();
    let outcomes: Vec<(&str, &Outcome)> =
        titles.iter().zip(&rows).map(|(title, row)| (title.as_str(), &row.outcome)).collect();
    write_svg(file, &outcomes)?;
    if matches.get_flag("json") {
        let mut object = json!({ "experiment": name, "rows": rows });
        if !printed.is_empty() {
            object["rows_with_leaves_as_printed"] = json!(printed);
        }
        return print(&object.to_string());
    }
    print(&table(&rows))?;
    if name == "table1" {
        print("with leaves of 0.1 ms and 1 ms, as printed:")?;
        return print(&table(&printed));
    }
    print(&published_idle(&rows))
}

/// The published idle time, and the constant of Theorem 2 that follows from it and the model's
/// span: the idle time of each processor is c·D.
fn published_idle(rows: &[Row]) -> String {
    let (idle, share) = (IDLE.0, 100.0 * IDLE.0 / IDLE.1);
    let span = rows.last().and_then(|row| row.outcome.span_seconds);
    let constant = span.map_or_else(String::new, |span| format!("; with this D, c = {:.3}", idle / span));
    format!("published idle share of 23 queens: {idle} s / {} s = {share:.2} %{constant}", IDLE.1)
}

fn table(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY).set_header([
        "program",
        "p",
        "T_p published",
        "simulated",
        "difference",
        "T_1/T_p published",
        "simulated",
        "steals",
        "idle",
        "D",
        "c",
    ]);
    let or_none = |number: Option<String>| number.unwrap_or_else(|| "-".to_owned());
    for row in rows {
        table.add_row([
            row.program.to_owned(),
            row.processors.to_string(),
            format!("{} s", row.published_seconds),
            format!("{:.3} s", row.seconds),
            format!("{:+.1} %", 100.0 * (row.seconds / row.published_seconds - 1.0)),
            or_none(row.published_speedup.map(|speedup| format!("{speedup:.2}"))),
            format!("{:.2}", row.speedup),
            row.outcome.steals.to_string(),
            format!("{:.3} %", 100.0 * row.outcome.idle_share),
            or_none(row.outcome.span_seconds.map(|span| format!("{span:.3} s"))),
            or_none(row.outcome.constant().map(|constant| format!("{constant:.3}"))),
        ]);
    }
    table.to_string()
}

/// A line and a table per fit, or one JSON object.
fn report(fits: &[Fit], as_json: bool) -> String {
    if as_json {
        return json!({ "experiment": "theorem2", "fits": fits }).to_string();
    }
    fits.iter().map(|fit| format!("{}\n{}", head(fit), points(fit))).collect::<Vec<_>>().join("\n")
}

fn head(fit: &Fit) -> String {
    format!(
        "{}, speeds {}: c = {:.3} for all p, at most {:.2} % off; steals grow as p^{:.2}",
        fit.program,
        fit.speeds,
        fit.constant,
        100.0 * fit.largest_error,
        fit.steals_grow
    )
}

fn points(fit: &Fit) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY).set_header([
        "p",
        "T",
        "W/Π",
        "W/Π + c p D/Π",
        "difference",
        "steals",
        "steals/(p D), 1/s",
    ]);
    for p in &fit.points {
        table.add_row([
            p.processors.to_string(),
            format!("{:.5} s", p.seconds),
            format!("{:.5} s", p.least_seconds),
            format!("{:.5} s", p.fitted_seconds),
            format!("{:+.2} %", 100.0 * (p.fitted_seconds / p.seconds - 1.0)),
            p.steals.to_string(),
            format!("{:.4e}", p.steals_per_span),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::report;
    use millpond_sim::experiments::theorem2;
    use serde_json::Value;

    /// Fewer processors than in the command, which would take too long.
    #[test]
    fn theorem_2_is_reported_point_by_point() {
        let fits = theorem2(10, None, 1).unwrap();
        let object: Value = serde_json::from_str(&report(&fits, true)).unwrap();
        assert_eq!(object["experiment"], "theorem2");
        let programs = ["fib(38), th 15", "knary(8,6,1)", "stencil 8192 x 25", "nqueens 21"];
        let names = [("1:1", programs), ("1:4", programs)];
        let names = names.iter().flat_map(|(speeds, programs)| programs.iter().map(move |program| (program, speeds)));
        let text = report(&fits, false);
        let blocks: Vec<_> = text.split(" for all p, ").collect();
        assert_eq!((fits.len(), blocks.len()), (8, 9));
        for (number, (program, speeds)) in names.enumerate() {
            let fit = &object["fits"][number];
            assert_eq!((&fit["program"], &fit["speeds"]), (&Value::from(*program), &Value::from(*speeds)));
            let head = format!("{program}, speeds {speeds}: c = {:.3}", fits[number].constant);
            assert!(blocks[number].ends_with(&head), "{head}: {}", blocks[number]);
            let grow = format!("steals grow as p^{:.2}", fits[number].steals_grow);
            assert!(blocks[number + 1].contains(&grow), "{grow}: {}", blocks[number + 1]);
            let points = fit["points"].as_array().unwrap();
            let counts: Vec<_> = points.iter().map(|point| point["processors"].as_u64().unwrap()).collect();
            assert_eq!(counts, [1, 2, 4, 10]);
            for point in &fits[number].points {
                let seconds = format!("{:.5} s", point.seconds);
                assert!(blocks[number + 1].contains(&seconds), "{seconds}: {}", blocks[number + 1]);
            }
        }
    }
}
