//! Draws CPU and network load over time as SVG (like [DDS](crate#sources) Fig. 4).

use std::io::{self, Write};

use crate::config::Outcome;

const WIDTH: f64 = 860.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 20.0;
const PANEL: f64 = 120.0;
const GAP: f64 = 34.0;
const TOP: f64 = 30.0;

const STYLE: &str = ".head{font-size:13px;font-weight:bold;fill:#222}.mark{font-size:10px;fill:#444}\
    .axis{stroke:#444;fill:none}.grid{stroke:#e0e0e0}.cpu{fill:#8fb3dc;stroke:#2471a3}.net{fill:#f5b97a;stroke:#c0701a}";

/// Draws each outcome under its title: the share of processors that worked, and the bytes per
/// second on the network.
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
    let block = TOP + 2.0 * (PANEL + GAP);
    let height = block * outcomes.len() as f64;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"Helvetica, Arial, sans-serif\"><style>{STYLE}</style>\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>"
    )?;
    for (number, (title, outcome)) in outcomes.iter().enumerate() {
        let top = block * number as f64 + TOP;
        let head = format!(
            "{title}: {:.4} s on {} processors, {} steals, idle {:.2} %",
            outcome.seconds,
            outcome.processors,
            outcome.steals,
            100.0 * outcome.idle_share
        );
        text(out, (LEFT, top - 10.0), "start", "head", &head)?;
        let cpu: Vec<f64> = outcome.load.cpu().map(|share| 100.0 * share).collect();
        panel(out, top, "cpu", ("CPU", "%"), &cpu, 100.0, outcome)?;
        let network: Vec<f64> = outcome.load.network().map(|bytes| bytes / 1e6).collect();
        let most = network.iter().copied().fold(0.0, f64::max).max(1e-9);
        panel(out, top + PANEL + GAP, "net", ("network", "MB/s"), &network, most, outcome)?;
    }
    writeln!(out, "</svg>")
}

/// One curve over time, from 0 to `most`.
fn panel(
    out: &mut dyn Write,
    top: f64,
    class: &str,
    (name, unit): (&str, &str),
    values: &[f64],
    most: f64,
    outcome: &Outcome,
) -> io::Result<()> {
    let (width, bottom) = (WIDTH - LEFT - RIGHT, top + PANEL);
    let seconds = outcome.seconds.max(1e-12);
    let x = |at: f64| LEFT + width * (at / seconds).min(1.0);
    let y = |value: f64| bottom - PANEL * (value / most).min(1.0);
    for part in 0..=4 {
        let share = f64::from(part) / 4.0;
        writeln!(out, "<path class=\"grid\" d=\"M{LEFT} {0:.1}H{1:.1}\"/>", y(share * most), LEFT + width)?;
        text(out, (LEFT - 6.0, y(share * most) + 3.0), "end", "mark", &short(share * most))?;
        text(out, (x(share * seconds), bottom + 13.0), "middle", "mark", &format!("{} s", short(share * seconds)))?;
    }
    write!(out, "<path class=\"{class}\" d=\"M{LEFT} {bottom:.1}")?;
    for (bin, value) in values.iter().enumerate() {
        let (from, to) = (bin as f64 * outcome.load.bin_seconds, (bin + 1) as f64 * outcome.load.bin_seconds);
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
