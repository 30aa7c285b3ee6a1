//! The output of `millpond simulate`.

use super::options::name_of;
use super::{Simulated, machine_json};
use crate::failure::Failure;
use crate::report::print;
use comfy_table::Table;
use comfy_table::presets::UTF8_BORDERS_ONLY;
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
    let load = &outcome.load;
    let mut object = json!({
        "workload": simulated.name,
        "params": params,
        "machine": machine_json(simulated),
        "simulated": result,
        "load": {
            "bin_seconds": load.bin_seconds,
            "cpu": load.cpu().collect::<Vec<_>>(),
            "network_bytes_per_second": load.network().collect::<Vec<_>>(),
        },
    });
    if let Some((workers, seconds)) = simulated.measured {
        object["recorded"] = json!({ "workers": workers, "seconds": seconds });
    }
    object
}

fn table(simulated: &Simulated) -> String {
    let outcome = &simulated.outcome;
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY).set_header(["simulated", &simulated.name]);
    let mut row = |name: &str, value: String| {
        table.add_row([name.to_owned(), value]);
    };
    for (name, value) in &simulated.params {
        row(name, value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    row("processors", format!("{}, speeds {}", outcome.processors, simulated.machine.speeds));
    row("tasks", outcome.tasks.to_string());
    row("time", format!("{:.6} s", outcome.seconds));
    row("work / speed", format!("{:.6} s (W/Π_ave)", outcome.least_seconds()));
    if let (Some(span), Some(constant)) = (outcome.span_seconds, outcome.constant()) {
        row("span", format!("{span:.6} s; the time is W/Π_ave + {constant:.3} p·D/Π_ave"));
    }
    row(
        "steals",
        format!(
            "{} ({} more from own stacks, {} refused)",
            outcome.steals, outcome.own_steals, outcome.failed_attempts
        ),
    );
    let config = &simulated.machine.config;
    let (latency, own_latency) = (1e6 * config.latency, 1e6 * config.own_latency);
    row("thieves", format!("begin at the {} frame, take {:.2} closures at once", name_of(config.end), config.at_once));
    row("a scan takes", format!("{latency:.3} µs, of an own stack {own_latency:.3} µs"));
    row("idle", format!("{:.3} % of the processors' time", 100.0 * outcome.idle_share));
    row("sent", format!("{:.3} MB", outcome.bytes as f64 / 1e6));
    if outcome.faults > 0 {
        let (faults, restarts, lost) = (outcome.faults, outcome.restarts, outcome.lost_seconds);
        row("faults", format!("{faults}, {restarts} restarts, {lost:.6} s of work done again"));
    }
    if let Some((workers, seconds)) = simulated.measured {
        let off = 100.0 * (outcome.seconds / seconds - 1.0);
        let can_be_compared = workers == outcome.processors && seconds > 0.0;
        let beside = if can_be_compared { format!(" (simulated {off:+.1} %)") } else { String::new() };
        row("recorded", format!("{seconds:.6} s with {workers} workers{beside}"));
    }
    let bins = outcome.load.busy.len();
    row("CPU", curve(&outcome.load.cpu().collect::<Vec<_>>(), bins, 1.0));
    let network: Vec<f64> = outcome.load.network().collect();
    let most = network.iter().copied().fold(0.0, f64::max);
    row("network", curve(&network, bins, most));
    row("", format!("over time; the network's most {:.3} MB/s", most / 1e6));
    table.to_string()
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
