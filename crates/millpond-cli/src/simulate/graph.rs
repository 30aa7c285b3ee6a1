//! Task graphs in the format of the Standard Task Graph Set.

use super::options::{PROCESSORS, costs, given, machine, nanos};
use super::{Known, Simulated, show, svg, write_svg};
use crate::failure::Failure;
use crate::progress::Progress;
use clap::ArgMatches;
use millpond_sim::programs::TaskGraph;
use millpond_sim::{Config, Costs, simulate};
use serde_json::json;
use std::path::Path;

/// Simulates the task graph of a file.
pub fn graph(file: &Path, matches: &ArgMatches) -> Result<(), Failure> {
    let svg = svg(matches, Some(("stg", file)))?;
    let unit = given(matches, "leaf-cost").unwrap_or(1.0);
    let costs = costs(matches, Costs::NONE);
    let graph = TaskGraph::read(file, nanos(unit), costs)?;
    let processors = graph.processors().unwrap_or(PROCESSORS);
    let machine = machine(matches, &Config::of(processors))?;
    let progress = Progress::new();
    progress.say(|| format!("{} on {} processors", file.display(), machine.config.speeds.len()));
    let outcome = simulate(&graph, &machine.config)?;
    drop(progress);
    let optima = graph.optima().iter().map(|optimum| (optimum.processors, optimum.length as f64 * unit)).collect();
    // An optimum is one of equal processors.
    let is_comparable = ["constant", "constant:1"].contains(&&*machine.speeds);
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    let params = vec![("stg", json!(file.to_string_lossy())), ("leaf_cost", json!(unit))];
    let known = Some(Known { optima, is_comparable });
    let simulated = Simulated { name, params, machine, costs, outcome, measured: None, known };
    write_svg(svg, &[(&simulated.name, &simulated.outcome)])?;
    show::show(&simulated, matches.get_flag("json"))
}
