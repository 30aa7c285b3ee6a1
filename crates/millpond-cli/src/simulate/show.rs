//! The output of `millpond simulate`.

use super::clusters::name_of_results;
use super::options::name_of;
use super::{Known, Simulated, machine_json};
use crate::failure::Failure;
use crate::report::print;
use comfy_table::Table;
use comfy_table::presets::UTF8_BORDERS_ONLY;
use millpond_sim::programs::NQueens;
use millpond_sim::{ClusterOutcome, Load, Outcome};
use serde_json::{Value, json};

/// The width of a curve in text, in columns.
const COLUMNS: usize = 60;

pub fn show(simulated: &Simulated, as_json: bool) -> Result<(), Failure> {
    if as_json { print(&object(simulated).to_string()) } else { print(&table(simulated)) }
}

fn object(simulated: &Simulated) -> Value {
    let outcome = &simulated.outcome;
    let params: serde_json::Map<_, _> =
        simulated.params.iter().map(|(name, value)| (name.replace('-', "_"), value.clone())).collect();
    let mut result = json!(outcome);
    result["least_seconds"] = json!(outcome.least_seconds());
    result["constant"] = json!(outcome.constant());
    let mut object = json!({
        "workload": simulated.name,
        "params": params,
        "machine": machine_json(simulated),
        "simulated": result,
        "load": load_json(&outcome.load),
    });
    if !outcome.clusters.is_empty() {
        let loads = outcome.clusters.iter().map(|cluster| (cluster.name.clone(), load_json(&cluster.load)));
        object["cluster_load"] = Value::Object(loads.collect());
    }
    if let Some((workers, seconds)) = simulated.measured {
        object["recorded"] = json!({ "workers": workers, "seconds": seconds });
    }
    if let Some(known) = &simulated.known {
        let optima =
            known.optima.iter().map(|(processors, seconds)| json!({ "processors": processors, "seconds": seconds }));
        object["optimal_seconds"] = json!(known.optimum(outcome.processors));
        object["optima"] = optima.collect();
    }
    object
}

fn load_json(load: &Load) -> Value {
    json!({
        "bin_seconds": load.bin_seconds,
        "cpu": load.cpu().collect::<Vec<_>>(),
        "network_bytes_per_second": load.network().collect::<Vec<_>>(),
    })
}

/// The rows of a table: names and values.
type Rows = Vec<(String, String)>;

fn table(simulated: &Simulated) -> String {
    let mut rows: Rows = Vec::new();
    time_rows(simulated, &mut rows);
    theft_rows(simulated, &mut rows);
    let outcome = &simulated.outcome;
    push(&mut rows, "idle", format!("{:.3} % of the processors' time", 100.0 * outcome.idle_share));
    push(&mut rows, "sent", format!("{:.3} MB", outcome.bytes as f64 / 1e6));
    if outcome.faults > 0 {
        let (faults, restarts, lost) = (outcome.faults, outcome.restarts, outcome.lost_seconds);
        push(&mut rows, "faults", format!("{faults}, {restarts} restarts, {lost:.6} s of work done again"));
    }
    if let Some((workers, seconds)) = simulated.measured {
        let off = 100.0 * (outcome.seconds / seconds - 1.0);
        let is_alike = workers == outcome.processors && simulated.machine.config.network.is_none();
        let can_be_compared = is_alike && seconds > 0.0;
        let beside = if can_be_compared { format!(" (simulated {off:+.1} %)") } else { String::new() };
        push(&mut rows, "recorded", format!("{seconds:.6} s with {workers} workers{beside}"));
    }
    load_rows("", &outcome.load, outcome.seconds, &mut rows);
    outcome.clusters.iter().for_each(|cluster| cluster_rows(cluster, outcome.seconds, &mut rows));
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY).set_header(["simulated", &simulated.name]);
    rows.into_iter().for_each(|(name, value)| {
        table.add_row([name, value]);
    });
    table.to_string()
}

fn push(rows: &mut Rows, name: &str, value: String) {
    rows.push((name.to_owned(), value));
}

/// The parameters, the time, and its bounds.
fn time_rows(simulated: &Simulated, rows: &mut Rows) {
    let outcome = &simulated.outcome;
    for (name, value) in &simulated.params {
        push(rows, name, value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    push(rows, "processors", format!("{}, speeds {}", outcome.processors, simulated.machine.speeds));
    push(rows, "tasks", outcome.tasks.to_string());
    push(rows, "time", format!("{:.6} s", outcome.seconds));
    push(rows, "work / speed", format!("{:.6} s (W/Π_ave)", outcome.least_seconds()));
    match (outcome.span_seconds, outcome.constant()) {
        (Some(span), Some(constant)) => {
            push(rows, "span", format!("{span:.6} s; the time is W/Π_ave + {constant:.3} p·D/Π_ave"));
        }
        (None, _) if simulated.name == "nqueens" => {
            let says = "not known: the search for the longest path would visit more than";
            push(rows, "span", format!("{says} {} nodes; use a larger --cutoff", NQueens::MAX_VISITS));
        }
        _ => {}
    }
    if let Some(known) = &simulated.known {
        optimum_row(known, outcome, rows);
    }
}

/// The known optimum of a task graph.
fn optimum_row(known: &Known, outcome: &Outcome, rows: &mut Rows) {
    if let Some(seconds) = known.optimum(outcome.processors) {
        let off = if seconds > 0.0 { 100.0 * (outcome.seconds / seconds - 1.0) } else { 0.0 };
        return push(rows, "optimum", format!("{seconds:.6} s (simulated {off:+.2} %)"));
    }
    if !known.optima.is_empty() {
        let of: Vec<_> = known.optima.iter().map(|(processors, _)| processors.to_string()).collect();
        push(rows, "optimum", format!("known for {} processors of speed 1", of.join(", ")));
    }
}

/// Steals, and what they cost.
fn theft_rows(simulated: &Simulated, rows: &mut Rows) {
    let (outcome, config) = (&simulated.outcome, &simulated.machine.config);
    let (own, refused) = (outcome.own_steals, outcome.failed_attempts);
    let steals = match &config.network {
        None => outcome.steals.to_string(),
        Some(_) => {
            let (local, remote, distant) = (outcome.local_steals, outcome.remote_steals, outcome.distant_steals);
            format!("{local} local, {remote} remote, of these {distant} from another site")
        }
    };
    push(rows, "steals", format!("{steals} ({own} more from own stacks, {refused} refused)"));
    let end = name_of(config.end);
    push(rows, "thieves", format!("begin at the {end} frame, take {:.2} closures at once", config.at_once));
    let (latency, own_latency) = (1e6 * config.latency, 1e6 * config.own_latency);
    push(rows, "a scan takes", format!("{latency:.3} µs, of an own stack {own_latency:.3} µs"));
    if let Some(network) = &config.network {
        let victims = match network.local_tries {
            0 => "any other processor, each with the same probability".to_owned(),
            tries => format!("{tries} in the thief's cluster, then one elsewhere, and so on"),
        };
        push(rows, "victims", victims);
    }
    if config.send_results {
        push(rows, "results", format!("{}: {} messages", name_of_results(true), outcome.results));
    }
}

/// The share of a cluster, and its load over time.
fn cluster_rows(cluster: &ClusterOutcome, seconds: f64, rows: &mut Rows) {
    let ClusterOutcome { name, site, processors, local_steals, remote_steals, idle_share, bytes, .. } = cluster;
    let (idle, sent) = (100.0 * idle_share, *bytes as f64 / 1e6);
    let value = format!(
        "{processors} processors at {site}, idle {idle:.3} %, {local_steals} local and {remote_steals} remote steals, \
         {sent:.3} MB"
    );
    push(rows, &format!("cluster {name}"), value);
    load_rows(&format!(" {name}"), &cluster.load, seconds, rows);
}

/// Two curves over time.
fn load_rows(of: &str, load: &Load, seconds: f64, rows: &mut Rows) {
    let bins = load.busy.len();
    push(rows, &format!("CPU{of}"), curve(&load.cpu().collect::<Vec<_>>(), bins, 1.0));
    let network: Vec<f64> = load.network().collect();
    let most = network.iter().copied().fold(0.0, f64::max);
    push(rows, &format!("network{of}"), curve(&network, bins, most));
    push(rows, "", format!("over {seconds:.3} s; the network's most {:.3} MB/s", most / 1e6));
}

/// A curve of block characters, from 0 to `most`.
fn curve(values: &[f64], bins: usize, most: f64) -> String {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let columns = COLUMNS.min(bins);
    let column = |number: usize| {
        let part = &values[number * bins / columns..(number + 1) * bins / columns];
        let mean = part.iter().sum::<f64>() / part.len().max(1) as f64;
        if most > 0.0 { BLOCKS[((mean / most * 8.0).round() as usize).min(8)] } else { BLOCKS[0] }
    };
    (0..columns).map(column).collect()
}
