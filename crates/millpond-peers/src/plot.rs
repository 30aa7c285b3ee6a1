//! The plot: bars of nanoseconds per task for empty bodies, curves of efficiency for longer ones.

use std::io::{self, Write};

use millpond_trace::svg::{Anchor, Point, Svg};

use crate::row::{Row, grouped};
use crate::runtimes::RUNTIMES;

/// The space left of a panel, for the numbers of its axis.
const MARGIN: f64 = 50.0;
/// The height of a panel without its title and names.
const HEIGHT: f64 = 200.0;
/// The space above and below a panel.
const ABOVE: f64 = 30.0;
const BELOW: f64 = 40.0;
const BAR: f64 = 11.0;
/// The width of a panel of curves.
const CURVES: f64 = 300.0;

const STYLE: &str = ".grid{stroke:#dddddd}.axis{stroke:#333333}\
    polyline{fill:none;stroke:currentColor;stroke-width:1.5}circle{fill:currentColor}";

/// Colours by rank; the first are the most different.
const PALETTE: [&str; 12] = [
    "#8a8a8a", "#17202a", "#c0392b", "#e67e22", "#2e86c1", "#8e44ad", "#bb8fce", "#27ae60", "#d4ac0d", "#7d6608",
    "#5d6d7e", "#16a085",
];

/// Draws the rows.
pub fn plot(rows: &[Row]) -> String {
    let mut text = Vec::new();
    // The size is known only after a drawing, so the first one goes nowhere.
    Svg::begin(io::sink(), 0.0, 0.0, STYLE)
        .and_then(|mut svg| panels(&mut svg, rows))
        .and_then(|(width, height)| Svg::begin(&mut text, width, height, &style()))
        .and_then(|mut svg| panels(&mut svg, rows).and_then(|_| svg.end()))
        .expect("a write to memory succeeds");
    String::from_utf8(text).expect("all parts are text")
}

/// The style, with a class for the colour of each rank.
fn style() -> String {
    let colour = |(rank, colour)| format!(".c{rank}{{color:{colour}}}");
    PALETTE.iter().enumerate().map(colour).fold(STYLE.to_owned(), |style, class| style + &class)
}

/// Draws the legend and the panels. Returns the size.
fn panels<W: Write>(svg: &mut Svg<W>, rows: &[Row]) -> io::Result<Point> {
    let mut size = (legend(svg, rows)?, 30.0);
    // One panel per suite and number of workers. For curves, also one per shape.
    let (bars, curves): (Vec<&Row>, Vec<&Row>) =
        rows.iter().filter(|row| !["bimodal", "loops"].contains(&row.suite)).partition(|row| row.suite != "bodies");
    for panel in grouped(&bars, |a, b| (a.suite, a.workers) == (b.suite, b.workers)) {
        let width = bar_panel(svg, &panel, size.1)?;
        size = (size.0.max(width), size.1 + ABOVE + HEIGHT + BELOW);
    }
    for (k, panel) in grouped(&curves, |a, b| (a.shape, a.workers) == (b.shape, b.workers)).iter().enumerate() {
        let column = (k % 2) as f64;
        if column == 0.0 {
            size.1 += ABOVE + HEIGHT + BELOW;
        }
        curve_panel(svg, panel, (column * (CURVES + MARGIN + 20.0), size.1 - ABOVE - HEIGHT - BELOW))?;
        size.0 = size.0.max((column + 1.0) * (CURVES + MARGIN + 20.0));
    }
    Ok(size)
}

fn rank(runtime: &str) -> usize {
    RUNTIMES.iter().position(|known| known.name == runtime).unwrap_or_default()
}

/// The class of a runtime's curve.
fn class(runtime: &str) -> String {
    format!("c{}", rank(runtime) % PALETTE.len())
}

/// The attribute of a runtime's bar.
fn fill(runtime: &str) -> String {
    format!("fill=\"{}\"", PALETTE[rank(runtime) % PALETTE.len()])
}

/// Draws the colours. Returns the width.
fn legend<W: Write>(svg: &mut Svg<W>, rows: &[Row]) -> io::Result<f64> {
    let mut x = MARGIN;
    for runtime in RUNTIMES.iter().filter(|known| rows.iter().any(|row| row.runtime == known.name)) {
        svg.rect((x, 10.0), (10.0, 10.0), &fill(runtime.name), runtime.summary)?;
        svg.text((x + 14.0, 19.0), Anchor::Start, "name", runtime.name)?;
        x += 30.0 + 7.0 * runtime.name.len() as f64;
    }
    Ok(x)
}

/// Draws bars on a logarithmic scale, one group per shape. Returns the width.
fn bar_panel<W: Write>(svg: &mut Svg<W>, rows: &[&Row], top: f64) -> io::Result<f64> {
    let cost = |row: &Row| row.ns_per_task(row.median_seconds());
    let costs = || rows.iter().filter_map(|row| cost(row));
    let (least, most) = costs().fold((1.0_f64, 10.0_f64), |(least, most), ns| (least.min(ns), most.max(ns)));
    let (low, high) = (least.log10().floor(), most.log10().ceil());
    let (base, scale) = (top + ABOVE + HEIGHT, HEIGHT / (high - low));
    let y = |ns: f64| base - (ns.log10() - low) * scale;
    let groups = grouped(rows, |a, b| a.shape == b.shape);
    let right = MARGIN + groups.iter().map(|group| (group.len() as f64 + 1.5) * BAR).sum::<f64>();

    let each = if rows[0].suite == "join" { "join" } else { "empty task" };
    let title = format!("ns per {each}, {}", rows[0].workers_in_words());
    svg.text((MARGIN, top + 18.0), Anchor::Start, "title", &title)?;
    for decade in low as i32..=high as i32 {
        let ns = 10_f64.powi(decade);
        svg.line((MARGIN, y(ns)), (right, y(ns)), "grid")?;
        svg.text((MARGIN - 5.0, y(ns) + 4.0), Anchor::End, "mark", &ns.to_string())?;
    }
    let mut x = MARGIN + BAR / 2.0;
    for group in groups {
        let middle = x + group.len() as f64 * BAR / 2.0;
        svg.text((middle, base + 16.0), Anchor::Middle, "name", group[0].shape)?;
        for row in group {
            if let Some(ns) = cost(row) {
                let title = format!("{}: {ns:.1} ns", row.name());
                svg.rect((x, y(ns)), (BAR - 1.0, base - y(ns)), &fill(row.runtime), &title)?;
            }
            x += BAR;
        }
        x += 1.5 * BAR;
    }
    svg.line((MARGIN, base), (right, base), "axis")?;
    Ok(right + 20.0)
}

/// Draws efficiency against the length of the body, on a logarithmic scale.
fn curve_panel<W: Write>(svg: &mut Svg<W>, rows: &[&Row], (left, top): Point) -> io::Result<()> {
    let points = |row: &&Row| Some((row.extra("body_ns")?, row.extra("efficiency")?));
    let lengths = || rows.iter().filter_map(|row| row.extra("body_ns"));
    let (least, most) = (lengths().fold(f64::INFINITY, f64::min), lengths().fold(0.0, f64::max));
    let (x0, base) = (left + MARGIN, top + ABOVE + HEIGHT);
    let x = |ns: f64| x0 + CURVES * (ns / least).ln() / (most / least).ln().max(1e-9);
    let y = |efficiency: f64| base - HEIGHT * efficiency.clamp(0.0, 1.1) / 1.1;

    let title = format!("{}, {}: efficiency in % against µs a task", rows[0].shape, rows[0].workers_in_words());
    svg.text((x0, top + 18.0), Anchor::Start, "title", &title)?;
    for percent in [0.0, 25.0, 50.0, 75.0, 100.0] {
        let at = y(percent / 100.0);
        svg.line((x0, at), (x0 + CURVES, at), "grid")?;
        svg.text((x0 - 5.0, at + 4.0), Anchor::End, "mark", &percent.to_string())?;
    }
    let mut ticks: Vec<f64> = lengths().collect();
    ticks.sort_by(f64::total_cmp);
    ticks.dedup();
    for ns in ticks {
        svg.line((x(ns), base), (x(ns), base + 4.0), "axis")?;
        svg.text((x(ns), base + 16.0), Anchor::Middle, "mark", &(ns / 1000.0).to_string())?;
    }
    svg.line((x0, base), (x0 + CURVES, base), "axis")?;
    for group in grouped(rows, |a, b| a.runtime == b.runtime) {
        let curve: Vec<Point> = group.iter().filter_map(points).map(|(ns, part)| (x(ns), y(part))).collect();
        let (runtime, class) = (group[0].runtime, class(group[0].runtime));
        svg.polyline(&curve, &class)?;
        for &point in &curve {
            svg.circle(point, 2.5, &class, runtime)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Case, Graph};
    use crate::work::Outcome;
    use serde_json::json;
    use std::time::Duration;

    fn row(suite: &'static str, shape: &'static str, runtime: &'static str, nanos: u64) -> Row {
        let mut row = Row::new(suite, shape, runtime, 2, Case::empty(Graph::Flat { tasks: 1 }));
        row.take(Outcome { time: Duration::from_nanos(nanos), sum: 0, ran: vec![1] }, 0);
        row
    }

    #[test]
    fn a_bar_ten_times_as_slow_is_a_decade_higher() {
        let rows = [row("empty", "flat", "millpond", 10), row("empty", "flat", "rayon", 100)];
        let text = plot(&rows);
        let height = |runtime: &str| -> f64 {
            let bar = text.lines().find(|line| line.contains(&format!("{runtime}: flat"))).expect("a bar");
            let (_, rest) = bar.split_once("height=\"").expect("a height");
            rest.split('"').next().expect("a number").parse().expect("a number")
        };
        // From 1 to 100 are two decades of the panel.
        assert_eq!((height("millpond"), height("rayon")), (HEIGHT / 2.0, HEIGHT));
        assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"));
    }

    #[test]
    fn what_xml_would_take_for_its_own_is_escaped() {
        let text = plot(&[row("join", "fib", "chili-every", 5)]);
        assert!(text.contains("join_with_heartbeat_every::&lt;1&gt;"), "{text}");
    }

    #[test]
    fn a_point_without_a_run_is_no_bar_and_curves_have_all_points() {
        let mut none = row("empty", "chain", "starpu", 5);
        none.runs.clear();
        assert!(!plot(&[none]).contains("starpu: chain"));
        let at = |ns: u64, efficiency: f64| {
            let mut row = row("bodies", "chains", "millpond", 7);
            row.extra = vec![("body_ns", json!(ns)), ("efficiency", json!(efficiency))];
            row
        };
        let text = plot(&[at(200, 0.4), at(1000, 0.8), at(5000, 0.9)]);
        assert_eq!(text.matches("<circle").count(), 3);
        assert_eq!(text.matches("<polyline").count(), 1);
    }
}
