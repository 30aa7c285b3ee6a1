//! Writes SVG, element by element.

use std::fmt::Write;

/// Colours by rank; the first are the most different.
const PALETTE: [&str; 11] = [
    "#8a8a8a", "#c0392b", "#e67e22", "#2e86c1", "#8e44ad", "#bb8fce", "#27ae60", "#d4ac0d", "#7d6608", "#5d6d7e",
    "#16a085",
];

/// The colour of a rank.
pub fn colour(rank: usize) -> &'static str {
    PALETTE[rank % PALETTE.len()]
}

/// The distance to the right and down, in pixels.
pub type Point = (f64, f64);

/// The point of a text that is put at a position.
#[derive(Debug, Clone, Copy)]
pub enum Anchor {
    /// With its start.
    Start,
    /// With its middle.
    Middle,
    /// With its end.
    End,
}

/// A drawing in progress.
#[derive(Debug, Default)]
pub struct Svg(String);

impl Svg {
    fn element(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{element}");
    }

    /// A rectangle with its corner, width and height. A viewer shows `title` under the pointer.
    pub fn rect(&mut self, (x, y): Point, (w, h): Point, fill: &str, title: &str) {
        let place = format_args!("x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\"");
        self.element(format_args!("<rect {place} fill=\"{fill}\"><title>{}</title></rect>", escaped(title)));
    }

    /// A straight line.
    pub fn line(&mut self, (x1, y1): Point, (x2, y2): Point, stroke: &str) {
        let place = format_args!("x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"");
        self.element(format_args!("<line {place} stroke=\"{stroke}\"/>"));
    }

    /// A line through points, with a dot on each.
    pub fn curve(&mut self, points: &[Point], stroke: &str, title: &str) {
        let path: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let look = format_args!("fill=\"none\" stroke=\"{stroke}\" stroke-width=\"1.5\"");
        let (path, title) = (path.join(" "), escaped(title));
        self.element(format_args!("<polyline {look} points=\"{path}\"><title>{title}</title></polyline>"));
        for (x, y) in points {
            self.element(format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"{stroke}\"/>"));
        }
    }

    /// A text.
    pub fn text(&mut self, (x, y): Point, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escaped(text);
        self.element(format_args!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"));
    }

    /// The whole drawing, on white.
    pub fn finish(self, (width, height): Point) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\">\n\
             <rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"#ffffff\"/>\n{}</svg>\n",
            self.0
        )
    }
}

/// A text with XML's special characters escaped.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
