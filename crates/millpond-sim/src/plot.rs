//! Draws CPU and network load over time as SVG (like [DDS](crate#sources) Fig. 4).

use std::io::{self, Write};

use crate::config::{ClusterOutcome, Outcome};
use crate::load::Load;

const WIDTH: f64 = 860.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 20.0;
const PANEL: f64 = 120.0;
const GAP: f64 = 34.0;
const TOP: f64 = 30.0;

const STYLE: &str = ".head{font-size:13px;font-weight:bold;fill:#222}.mark{font-size:10px;fill:#444}\
    .axis{stroke:#444;fill:none}.grid{stroke:#e0e0e0}.cpu{fill:#8fb3dc;stroke:#2471a3}.net{fill:#f5b97a;stroke:#c0701a}";

/// Draws each outcome under its title: the share of processors that worked, and the bytes per
/// second on the network. If the machine has a network, the same follows for each cluster.
///
/// ```
/// use millpond_sim::{Config, Costs, draw, programs::Fib, simulate};
///
/// let outcome = simulate(&Fib::new(25, 10, 100_000, Costs::PAPER), &Config::of(8))?;
/// let mut file = Vec::new();
/// draw(&[("fib", &outcome)], &mut file)?;
/// assert!(String::from_utf8(file)?.contains("8 processors"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If `out` fails.
pub fn draw(outcomes: &[(&str, &Outcome)], out: &mut dyn Write) -> io::Result<()> {
    let views: Vec<View<'_>> = outcomes.iter().flat_map(|(title, outcome)| views(title, outcome)).collect();
    let block = TOP + 2.0 * (PANEL + GAP);
    let height = block * views.len() as f64;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"Helvetica, Arial, sans-serif\"><style>{STYLE}</style>\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>"
    )?;
    for (number, view) in views.iter().enumerate() {
        let top = block * number as f64 + TOP;
        text(out, (LEFT, top - 10.0), "start", "head", &view.head)?;
        let cpu: Vec<f64> = view.load.cpu().map(|share| 100.0 * share).collect();
        panel(out, top, "cpu", ("CPU", "%"), (&cpu, 100.0), view)?;
        let network: Vec<f64> = view.load.network().map(|bytes| bytes / 1e6).collect();
        let most = network.iter().copied().fold(0.0, f64::max).max(1e-9);
        panel(out, top + PANEL + GAP, "net", ("network", "MB/s"), (&network, most), view)?;
    }
    writeln!(out, "</svg>")
}

/// The load of a whole machine or of a cluster.
struct View<'a> {
    head: String,
    load: &'a Load,
    /// The time of the run.
    seconds: f64,
}

/// The whole machine, then its clusters.
fn views<'a>(title: &str, outcome: &'a Outcome) -> Vec<View<'a>> {
    let seconds = outcome.seconds.max(1e-12);
    let head = format!(
        "{title}: {:.4} s on {} processors, {} steals, idle {:.2} %",
        outcome.seconds,
        outcome.processors,
        outcome.steals,
        100.0 * outcome.idle_share
    );
    let of_cluster = |cluster: &'a ClusterOutcome| {
        let ClusterOutcome { name, site, processors, local_steals, remote_steals, idle_share, .. } = cluster;
        let idle = 100.0 * idle_share;
        let head = format!(
            "{title}, cluster {name} at {site}: {processors} processors, {local_steals} local and {remote_steals} \
             remote steals, idle {idle:.2} %"
        );
        View { head, load: &cluster.load, seconds }
    };
    let whole = View { head, load: &outcome.load, seconds };
    std::iter::once(whole).chain(outcome.clusters.iter().map(of_cluster)).collect()
}

/// One curve over time, from 0 to a maximum.
fn panel(
    out: &mut dyn Write,
    top: f64,
    class: &str,
    (name, unit): (&str, &str),
    (values, most): (&[f64], f64),
    view: &View<'_>,
) -> io::Result<()> {
    let (width, bottom) = (WIDTH - LEFT - RIGHT, top + PANEL);
    let (seconds, bin) = (view.seconds, view.load.bin_seconds);
    let x = |at: f64| LEFT + width * (at / seconds).min(1.0);
    let y = |value: f64| bottom - PANEL * (value / most).min(1.0);
    for part in 0..=4 {
        let share = f64::from(part) / 4.0;
        writeln!(out, "<path class=\"grid\" d=\"M{LEFT} {0:.1}H{1:.1}\"/>", y(share * most), LEFT + width)?;
        text(out, (LEFT - 6.0, y(share * most) + 3.0), "end", "mark", &short(share * most))?;
        text(out, (x(share * seconds), bottom + 13.0), "middle", "mark", &format!("{} s", short(share * seconds)))?;
    }
    write!(out, "<path class=\"{class}\" d=\"M{LEFT} {bottom:.1}")?;
    for (number, value) in values.iter().enumerate() {
        let (from, to) = (number as f64 * bin, (number + 1) as f64 * bin);
        write!(out, "L{:.2} {2:.2}L{:.2} {2:.2}", x(from), x(to), y(*value))?;
    }
    writeln!(out, "V{bottom:.1}Z\"/>")?;
    writeln!(out, "<path class=\"axis\" d=\"M{LEFT} {top:.1}V{bottom:.1}H{:.1}\"/>", LEFT + width)?;
    text(out, (LEFT + width, top - 4.0), "end", "mark", &format!("{name}, {unit}"))
}

fn text(out: &mut dyn Write, (x, y): (f64, f64), anchor: &str, class: &str, text: &str) -> io::Result<()> {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"{class}\">{text}</text>")
}

/// A number with three significant digits.
fn short(value: f64) -> String {
    let decimals = if value == 0.0 { 0 } else { (2 - value.abs().log10().floor() as i32).clamp(0, 9) as usize };
    format!("{value:.decimals$}")
}
