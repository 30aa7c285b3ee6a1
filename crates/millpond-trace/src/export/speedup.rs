//! Plots the measured speed-up, and its bounds by work and span.
//!
//! The work law: p workers are at most p times as fast as one. The span law: no number of workers
//! is faster than the span. If no worker is idle while a task is ready, a schedule takes at most
//! T₁/p + T∞. The work here is the bodies' plus the runtime's overhead, which a single worker has
//! as well. Otherwise measurements could violate the laws.

use std::io::{self, BufWriter, Write};

use crate::report::Report;
use crate::table::time;

use super::scale::LogScale;
use super::svg::{Anchor, Point, Svg};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 520.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 58.0;
/// The maximum number of workers, as a power of 2.
const MAX_WORKERS: i32 = 10;
/// The points of a curve per power of two.
const FINENESS: i32 = 8;

const STYLE: &str = ".head{font-size:14px;fill:#222;font-weight:bold}.mark{font-size:11px;fill:#444}\
    .name{font-size:12px;fill:#222}.grid{stroke:#e0e0e0;stroke-width:.8}.axis{fill:none;stroke:#444}\
    .work{fill:none;stroke:#c0392b;stroke-width:1.6;stroke-dasharray:7 4}\
    .span{fill:none;stroke:#7d3c98;stroke-width:1.6;stroke-dasharray:2 3}\
    .predicted{fill:none;stroke:#2471a3;stroke-width:2.2}\
    .measured{fill:#f28e2b;stroke:#222;stroke-width:1}.measured-line{fill:none;stroke:#f28e2b;stroke-width:1}";

impl Report {
    /// Draws the speed-up by workers as SVG: the bounds by work and span, the prediction T₁/p + T∞,
    /// and `measured`: numbers of workers, and their seconds. All are relative to the work plus the
    /// runtime's overhead.
    ///
    /// ```
    /// use millpond::{Runtime, Spawn};
    /// use millpond_trace::Profile;
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let report = rt.profile(|s| (0..100).for_each(|_| drop(s.spawn((), |()| ()))))?;
    /// let mut file = Vec::new();
    /// report.write_speedup(&[(2, report.seconds)], &mut file)?;
    /// assert!(String::from_utf8(file)?.contains("span law"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `out` fails.
    pub fn write_speedup(&self, measured: &[(u32, f64)], out: &mut impl Write) -> io::Result<()> {
        let plot = Plot::of(self, measured);
        let mut svg = Svg::begin(BufWriter::new(out), WIDTH, HEIGHT, STYLE)?;
        plot.grid(&mut svg)?;
        plot.curves(&mut svg)?;
        plot.points(&mut svg)?;
        plot.legend(&mut svg)?;
        svg.end()
    }
}

/// A measured speed-up, and its drawing.
struct Measured {
    workers: u32,
    seconds: f64,
    speedup: f64,
}

struct Plot {
    /// The time of one worker, in seconds.
    work: f64,
    span: f64,
    measured: Vec<Measured>,
    x: LogScale,
    y: LogScale,
}

impl Plot {
    fn of(report: &Report, measured: &[(u32, f64)]) -> Plot {
        let (work, span) = (report.work + report.overhead, report.span);
        let speedup = |&(workers, seconds): &(u32, f64)| Measured { workers, seconds, speedup: work / seconds };
        let is_there = |m: &Measured| m.workers > 0 && m.seconds > 0.0 && m.speedup > 0.0;
        let mut measured: Vec<_> = measured.iter().map(speedup).filter(is_there).collect();
        measured.sort_by_key(|m| m.workers);
        let speedups = || measured.iter().map(|m| m.speedup);
        // The axis ends where only the work law would continue.
        let highest = speedups().fold(if span > 0.0 { 2.0 * work / span } else { f64::INFINITY }, f64::max);
        let most = highest.log2().ceil().clamp(2.0, f64::from(MAX_WORKERS)) as i32;
        // One worker takes T₁ + T∞ at most.
        let least = speedups().fold(work / (work + span).max(1e-12), f64::min).log2().floor().max(-10.0) as i32;
        let x = LogScale::new((0, MAX_WORKERS), (LEFT, WIDTH - RIGHT));
        let y = LogScale::new((least, most), (HEIGHT - BOTTOM, TOP));
        Plot { work, span, measured, x, y }
    }

    fn grid<W: Write>(&self, svg: &mut Svg<W>) -> io::Result<()> {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for (x, text) in self.x.marks() {
            svg.line((x, TOP), (x, bottom), "grid")?;
            svg.text((x, bottom + 17.0), Anchor::Middle, "mark", &text)?;
        }
        for (y, text) in self.y.marks() {
            svg.line((LEFT, y), (right, y), "grid")?;
            svg.text((LEFT - 8.0, y + 4.0), Anchor::End, "mark", &text)?;
        }
        svg.polyline(&[(LEFT, TOP), (LEFT, bottom), (right, bottom)], "axis")?;
        svg.text(((LEFT + right) / 2.0, bottom + 40.0), Anchor::Middle, "name", "workers")?;
        svg.upward((24.0, (TOP + bottom) / 2.0), "name", "speed-up")?;
        let head = format!("Speed-up: work {} with overhead, span {}", time(self.work), time(self.span));
        svg.text((LEFT, 26.0), Anchor::Start, "head", &head)
    }

    /// The part of a curve within the plot.
    fn curve(&self, speedup: impl Fn(f64) -> f64) -> Vec<Point> {
        let workers = (0..=MAX_WORKERS * FINENESS).map(|n| (f64::from(n) / f64::from(FINENESS)).exp2());
        let within = |&(_, speedup): &(f64, f64)| (self.y.least()..=self.y.most() * 1.0001).contains(&speedup);
        let points = workers.map(|workers| (workers, speedup(workers))).filter(within);
        points.map(|(workers, speedup)| (self.x.at(workers), self.y.at(speedup))).collect()
    }

    fn curves<W: Write>(&self, svg: &mut Svg<W>) -> io::Result<()> {
        svg.polyline(&self.curve(|workers| workers), "work")?;
        if self.span > 0.0 {
            svg.polyline(&self.curve(|_| self.work / self.span), "span")?;
            svg.polyline(&self.curve(|workers| self.work / (self.work / workers + self.span)), "predicted")?;
        }
        Ok(())
    }

    fn points<W: Write>(&self, svg: &mut Svg<W>) -> io::Result<()> {
        let points: Vec<_> =
            self.measured.iter().map(|m| (self.x.at(m.workers.into()), self.y.at(m.speedup))).collect();
        svg.polyline(&points, "measured-line")?;
        for (m, point) in self.measured.iter().zip(points) {
            let title = format!("{} workers: {}, {:.2} times as fast", m.workers, time(m.seconds), m.speedup);
            svg.circle(point, 4.0, "measured", &title)?;
        }
        Ok(())
    }

    /// In the lower right corner, below speed-up curves.
    fn legend<W: Write>(&self, svg: &mut Svg<W>) -> io::Result<()> {
        let mut entries = vec![("work", "work law: p".to_owned())];
        if self.span > 0.0 {
            entries.push(("span", format!("span law: T₁/T∞ = {:.2}", self.work / self.span)));
            entries.push(("predicted", "predicted: T₁/p + T∞".to_owned()));
        }
        if !self.measured.is_empty() {
            entries.push(("measured", "measured".to_owned()));
        }
        let (left, height) = (WIDTH - RIGHT - 210.0, entries.len() as f64 * 20.0 + 10.0);
        let top = HEIGHT - BOTTOM - height - 10.0;
        let attributes = "fill=\"#ffffff\" fill-opacity=\".9\" stroke=\"#bbb\"";
        svg.rect((left, top), (200.0, height), attributes, "")?;
        for (number, (class, text)) in entries.iter().enumerate() {
            let y = top + 16.0 + number as f64 * 20.0;
            if *class == "measured" {
                svg.circle((left + 24.0, y), 4.0, class, "")?;
            } else {
                svg.line((left + 8.0, y), (left + 40.0, y), class)?;
            }
            svg.text((left + 50.0, y + 4.0), Anchor::Start, "name", text)?;
        }
        Ok(())
    }
}
