//! The schedule as a picture: "the coordinates of the plane are used to represent processors and
//! time" ([TP](crate#sources) §2.1, Fig. 1). A bar spans the time from a task's start to its end.
//! The line to it begins at its spawn.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};

use crate::format::Recording;
use crate::idle::{Gap, Reason};
use crate::model::{Ix, Kind, Run};
use crate::report::Window;
use crate::table::time;

use super::ExportError;
use super::names::{self, Unique};
use super::rows::{Bar, Row, rows};
use super::scale::TimeScale;
use super::svg::{Anchor, Escaped, GREY, PALETTE, Point, Svg, shortened, text_width};

const WIDTH: f64 = 1200.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 44.0;
/// The total height of the rows in pixels, unless they would be too low or too high.
const ROWS: f64 = 900.0;
/// The maximum number of bars and gaps. It bounds the size of the file, at about 200 bytes each.
const MAX_BARS: f64 = 20_000.0;
/// The maximum number of lines from spawner to task. With more, the picture is unreadable.
const MAX_LINES: usize = 200;
const LEGEND_LINE: f64 = 18.0;

const STYLE: &str = ".name{font-size:12px;fill:#222}.head{font-size:13px;fill:#222;font-weight:bold}\
    .mark{fill:#444}.in{font-size:10px;fill:#111;pointer-events:none}.grid{stroke:#d8d8d8;stroke-width:.7}\
    .axis{stroke:#444;stroke-width:1}\
    .spawn{fill:none;stroke:#333;stroke-width:.7;stroke-opacity:.55;pointer-events:none}";

impl Recording {
    /// Draws the schedule as SVG.
    ///
    /// - Each worker has a row.
    /// - A bar is a time with a running body.
    /// - A line goes from a task's spawn to its start, if there are at most 200.
    /// - A hatched area is an idle time of a worker.
    /// - White areas are the runtime's time.
    ///
    /// A viewer shows details under the pointer. Too narrow parts are merged with their neighbours.
    ///
    /// ```
    /// use millpond::{Runtime, Spawn};
    /// use millpond_trace::Profile;
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let (result, recording) = rt.record(|| rt.scope(|s| drop(s.task("work").nest((), |_, ()| ()))));
    /// result?;
    /// let mut file = Vec::new();
    /// recording.write_schedule(&mut file)?;
    /// assert!(String::from_utf8(file)?.starts_with("<svg"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If an event cannot be read, or `out` fails.
    pub fn write_schedule(&self, out: &mut impl Write) -> Result<(), ExportError> {
        let run = Run::of(self)?;
        let picture = Picture::of(&run);
        let mut svg = Svg::begin(BufWriter::new(out), WIDTH, picture.height(), STYLE)?;
        picture.draw(&mut svg, &self.program)?;
        Ok(svg.end()?)
    }
}

/// The drawing and its layout.
struct Picture<'a> {
    run: &'a Run,
    rows: Vec<Row>,
    scale: TimeScale,
    from: u64,
    seconds: f64,
    /// The distance between rows, in pixels.
    pitch: f64,
    /// The height of a bar.
    bar: f64,
    colours: HashMap<u32, &'static str>,
    legend: Vec<(Entry, Point)>,
}

/// An entry of the legend: its colour or pattern, and its text.
struct Entry {
    fill: String,
    text: String,
}

impl<'a> Picture<'a> {
    fn of(run: &'a Run) -> Self {
        let (window, width) = (Window::of(run), WIDTH - LEFT - RIGHT);
        let ends = run.tracks.iter().filter_map(|line| line.runs.last()).map(|segment| segment.to);
        let to = ends.max().unwrap_or(0).max(window.to);
        let count = run.tracks.len() as f64;
        let narrowest = (2.0 * width * count / MAX_BARS).max(0.5);
        let least = ((to - window.from) as f64 * narrowest / width).ceil().max(1.0);
        let rows = rows(run, &window, least as u64);
        let pitch = (ROWS / rows.len().max(1) as f64).clamp(14.0, 44.0);
        let seconds = run.seconds(to - window.from);
        let scale = TimeScale::new(seconds, LEFT, width, 10.0);
        let (bar, from) = (pitch * 0.7, window.from);
        let mut picture =
            Picture { run, rows, scale, from, seconds, pitch, bar, colours: HashMap::new(), legend: Vec::new() };
        picture.choose_colours();
        picture
    }

    fn x(&self, at: u64) -> f64 {
        self.scale.x(self.run.seconds(at.saturating_sub(self.from)))
    }

    /// The upper edge of the bars of a row.
    fn y(&self, row: usize) -> f64 {
        TOP + row as f64 * self.pitch + (self.pitch - self.bar) / 2.0
    }

    fn bottom(&self) -> f64 {
        TOP + self.rows.len() as f64 * self.pitch
    }

    fn height(&self) -> f64 {
        self.legend.last().map_or(self.bottom() + 40.0, |(_, (_, y))| *y) + LEGEND_LINE + 6.0
    }

    /// Gives each of the labels with the most time a colour, and arranges the legend.
    fn choose_colours(&mut self) {
        let mut times: HashMap<u32, u64> = HashMap::new();
        for (_, body) in self.run.known() {
            let time = times.entry(body.label).or_default();
            *time = time.saturating_add(body.own);
        }
        let mut labels: Vec<_> = times.into_iter().map(|(label, time)| (std::cmp::Reverse(time), label)).collect();
        labels.sort_unstable();
        let colour = |((_, label), colour): (&(std::cmp::Reverse<u64>, u32), &'static str)| (*label, colour);
        self.colours = labels.iter().zip(PALETTE).map(colour).collect();
        let text = |label: u32| shortened(&self.run.labels[label as usize], 32);
        let shown = labels.iter().filter_map(|(_, label)| Some((self.colours.get(label)?, text(*label))));
        let mut entries: Vec<_> = shown.map(|(fill, text)| Entry { fill: (*fill).to_owned(), text }).collect();
        if labels.len() > PALETTE.len() {
            entries.push(Entry { fill: GREY.to_owned(), text: format!("{} others", labels.len() - PALETTE.len()) });
        }
        let gaps = || self.rows.iter().flat_map(|row| &row.gaps);
        let reasons = Reason::ALL.into_iter().filter(|reason| gaps().any(|gap| gap.reason == *reason));
        entries.extend(reasons.map(|reason| Entry { fill: hatch(reason), text: format!("idle: {reason}") }));
        self.legend = lay_out(entries, self.bottom() + 54.0);
    }

    fn colour(&self, label: u32) -> &'static str {
        self.colours.get(&label).copied().unwrap_or(GREY)
    }

    fn draw<W: Write>(&self, svg: &mut Svg<W>, program: &str) -> io::Result<()> {
        self.definitions(svg)?;
        let workers = self.run.workers;
        let tasks = self.run.tasks().count();
        let head = format!(
            "{}: {tasks} tasks, {workers} workers, {}",
            program.rsplit('/').next().unwrap_or(program),
            time(self.seconds)
        );
        svg.text((LEFT, 22.0), Anchor::Start, "head", &head)?;
        self.axis(svg)?;
        for (number, row) in self.rows.iter().enumerate() {
            self.row(svg, number, row)?;
        }
        self.lines(svg)?;
        self.draw_legend(svg)
    }

    fn definitions<W: Write>(&self, svg: &mut Svg<W>) -> io::Result<()> {
        svg.raw(
            "<defs><marker id=\"tip\" viewBox=\"0 0 6 6\" refX=\"6\" refY=\"3\" markerWidth=\"5\" markerHeight=\"5\" \
                 orient=\"auto\"><path d=\"M0,0 L6,3 L0,6 z\" fill=\"#333\"/></marker>",
        )?;
        for reason in Reason::ALL {
            let (name, colour) = (pattern(reason), hatch_colour(reason));
            svg.raw(&format!(
                "<pattern id=\"{name}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
                 patternTransform=\"rotate(45)\">\
                 <rect width=\"6\" height=\"6\" fill=\"{colour}\" fill-opacity=\".12\"/>\
                 <rect width=\"1.4\" height=\"6\" fill=\"{colour}\" fill-opacity=\".6\"/></pattern>"
            ))?;
        }
        svg.raw("</defs>")
    }

    fn axis<W: Write>(&self, svg: &mut Svg<W>) -> io::Result<()> {
        let bottom = self.bottom() + 4.0;
        for (x, text) in self.scale.marks() {
            svg.line((x, TOP), (x, bottom + 4.0), "grid")?;
            svg.text((x, bottom + 17.0), Anchor::Middle, "mark", &text)?;
        }
        svg.line((LEFT, bottom), (WIDTH - RIGHT, bottom), "axis")?;
        let middle = (LEFT + WIDTH - RIGHT) / 2.0;
        svg.text((middle, bottom + 33.0), Anchor::Middle, "mark", &format!("time ({})", self.scale.unit()))
    }

    fn row<W: Write>(&self, svg: &mut Svg<W>, number: usize, row: &Row) -> io::Result<()> {
        let y = self.y(number);
        svg.text((LEFT - 8.0, y + self.bar / 2.0 + 4.0), Anchor::End, "name", &row.name)?;
        row.gaps.iter().try_for_each(|gap| self.gap(svg, y, gap))?;
        row.bars.iter().try_for_each(|bar| self.bar(svg, y, bar))
    }

    fn gap<W: Write>(&self, svg: &mut Svg<W>, y: f64, gap: &Gap) -> io::Result<()> {
        let (x, end) = (self.x(gap.from), self.x(gap.to));
        let on = gap.on.map(|on| format!(", on {}", Unique(self.run, on))).unwrap_or_default();
        let lasts = time(self.run.seconds(gap.to - gap.from));
        let attributes = format!("fill=\"{}\"", hatch(gap.reason));
        svg.rect((x, y), (end - x, self.bar), &attributes, &format!("idle: {}{on}, {lasts}", gap.reason))
    }

    fn bar<W: Write>(&self, svg: &mut Svg<W>, y: f64, bar: &Bar) -> io::Result<()> {
        let (x, end) = (self.x(bar.from), self.x(bar.to));
        // Paler if much of it is outside bodies, but always visible.
        let share = bar.busy as f64 / (bar.to - bar.from).max(1) as f64;
        let mut attributes = format!("fill=\"{}\"", self.colour(bar.label));
        if bar.segments > 1 {
            attributes += &format!(" fill-opacity=\"{:.2}\"", share.clamp(0.3, 1.0));
        } else if end - x > 3.0 {
            attributes += " stroke=\"#555\" stroke-width=\".5\"";
        }
        svg.rect((x, y), ((end - x).max(0.4), self.bar), &attributes, &self.about_bar(bar))?;
        let title = self.run.title(bar.body);
        if bar.segments == 1 && text_width(&title, 10.0) + 4.0 < end - x {
            svg.text(((x + end) / 2.0, y + self.bar / 2.0 + 3.5), Anchor::Middle, "in", &title)?;
        }
        Ok(())
    }

    fn about_bar(&self, bar: &Bar) -> String {
        let (run, lasts) = (self.run, time(self.run.seconds(bar.to - bar.from)));
        if bar.segments > 1 {
            let label = &run.labels[bar.label as usize];
            return format!("{} stretches, mostly {label}, {lasts}", bar.segments);
        }
        let (name, body) = (Unique(run, bar.body), run.body(bar.body));
        if body.kind == Kind::Scope {
            return format!("{name} (scope), {lasts}");
        }
        let started = body.started.unwrap_or(bar.from);
        let waits = [
            ("to be ready", body.ready().saturating_sub(body.spawned)),
            ("for a worker", started.saturating_sub(body.ready())),
        ];
        let waited = waits.iter().filter(|(_, ticks)| *ticks > 0);
        let waited: String =
            waited.map(|(what, ticks)| format!("; waited {} {what}", time(run.seconds(*ticks)))).collect();
        format!("{name} ({}), {lasts}{waited}", names::kind(body.kind))
    }

    /// Draws lines from spawns to starts, except for tasks that ran at their spawn.
    fn lines<W: Write>(&self, svg: &mut Svg<W>) -> io::Result<()> {
        let row_of: HashMap<_, _> = self.rows.iter().enumerate().map(|(number, row)| (row.track, number)).collect();
        let row = |track: Option<u32>| row_of.get(&(track? as usize)).copied();
        let line = |(_, task): (Ix, &crate::model::Body)| {
            let from = (self.x(task.spawned), row(self.run.body(task.spawner?).track)?);
            let to = (self.x(task.started?), row(task.track)?);
            (!task.on_top && (from.1 != to.1 || to.0 - from.0 > 2.0)).then_some((from, to))
        };
        let lines: Vec<_> = self.run.tasks().filter_map(line).take(MAX_LINES + 1).collect();
        if lines.len() > MAX_LINES {
            return Ok(());
        }
        lines.into_iter().try_for_each(|(from, to)| self.line(svg, from, to))
    }

    fn line<W: Write>(&self, svg: &mut Svg<W>, from: (f64, usize), to: (f64, usize)) -> io::Result<()> {
        let ((x1, row1), (x2, row2)) = (from, to);
        let edge = |row: usize, lower: bool| self.y(row) + if lower { self.bar } else { 0.0 };
        let (y1, y2) = match row1.cmp(&row2) {
            std::cmp::Ordering::Less => (edge(row1, true), edge(row2, false)),
            std::cmp::Ordering::Equal => {
                // Above the row, as high as there is room.
                let (y, high) = (edge(row1, false), (self.pitch - self.bar) * 1.6);
                let (a, b) = (x1 + (x2 - x1) * 0.25, x1 + (x2 - x1) * 0.75);
                let curve = format!("M{x1:.1},{y:.1} C{a:.1},{:.1} {b:.1},{:.1} {x2:.1},{y:.1}", y - high, y - high);
                return svg.raw(&format!("<path class=\"spawn\" marker-end=\"url(#tip)\" d=\"{curve}\"/>"));
            }
            std::cmp::Ordering::Greater => (edge(row1, false), edge(row2, true)),
        };
        svg.raw(&format!("<path class=\"spawn\" marker-end=\"url(#tip)\" d=\"M{x1:.1},{y1:.1} L{x2:.1},{y2:.1}\"/>"))
    }

    fn draw_legend<W: Write>(&self, svg: &mut Svg<W>) -> io::Result<()> {
        for (entry, (x, y)) in &self.legend {
            let attributes = format!("fill=\"{}\" stroke=\"#777\" stroke-width=\".5\"", Escaped(&entry.fill));
            svg.rect((*x, y - 9.0), (12.0, 12.0), &attributes, "")?;
            svg.text((x + 17.0, y + 1.0), Anchor::Start, "mark", &entry.text)?;
        }
        Ok(())
    }
}

/// Places the entries of a legend next to each other, in as many lines as necessary.
fn lay_out(entries: Vec<Entry>, top: f64) -> Vec<(Entry, Point)> {
    let (mut x, mut y) = (LEFT, top);
    let place = |entry: Entry| {
        let width = text_width(&entry.text, 11.0) + 34.0;
        if x + width > WIDTH - RIGHT && x > LEFT {
            (x, y) = (LEFT, y + LEGEND_LINE);
        }
        let at = (x, y);
        x += width;
        (entry, at)
    };
    entries.into_iter().map(place).collect()
}

fn pattern(reason: Reason) -> &'static str {
    match reason {
        Reason::Data => "data",
        Reason::Exclusion => "exclusion",
        Reason::Window => "window",
        Reason::NoWork => "no-work",
        Reason::Latency => "latency",
        Reason::Others => "others",
    }
}

fn hatch(reason: Reason) -> String {
    format!("url(#{})", pattern(reason))
}

fn hatch_colour(reason: Reason) -> &'static str {
    match reason {
        Reason::Data => "#c0392b",
        Reason::Exclusion => "#7d3c98",
        Reason::Window => "#b9770e",
        Reason::NoWork => "#888888",
        Reason::Latency => "#2471a3",
        Reason::Others => "#117864",
    }
}
