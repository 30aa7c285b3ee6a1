//! Writes SVG, element by element. `millpond-peers` draws with it, too.
//!
//! Each method fails if the output fails.

use std::fmt::{Display, Formatter};
use std::io::{self, Write};

/// Colours by rank, light enough for dark text. The first ones differ most.
pub(super) const PALETTE: [&str; 12] = [
    "#8fb3dc", "#f5b97a", "#94c98a", "#ef9a9a", "#c9a5d6", "#e8d67c", "#8fd0cc", "#f7b6c8", "#c4a98f", "#b9c97a",
    "#a9a7e0", "#7fc4e8",
];
/// The colour of labels without their own.
pub(super) const GREY: &str = "#cfcac6";

/// An upper estimate of a text's width, because the font is unknown.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.56
}

/// The end of a too long text. If possible, only the folders of a path are cut.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let end: String = text.chars().skip(length - (most - 1)).collect();
    end.split_once('/').map_or_else(|| format!("…{end}"), |(_, names)| names.to_owned())
}

/// A text with XML's special characters escaped, and without those forbidden in XML.
pub(super) struct Escaped<'a>(pub(super) &'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\n' | '\t' => f.write_str(" ")?,
                other if other.is_control() => f.write_str("\u{fffd}")?,
                other => write!(f, "{other}")?,
            }
        }
        Ok(())
    }
}

/// The point of a text at its position.
#[derive(Clone, Copy, Debug)]
pub enum Anchor {
    /// Its start.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

/// A drawing in progress.
#[derive(Debug)]
pub struct Svg<W: Write> {
    out: W,
}

impl<W: Write> Svg<W> {
    /// Begins a drawing on white; `style` is CSS.
    pub fn begin(mut out: W, width: f64, height: f64, style: &str) -> io::Result<Self> {
        writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\">"
        )?;
        writeln!(out, "<style>{style}</style>")?;
        writeln!(out, "<rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"#ffffff\"/>")?;
        Ok(Svg { out })
    }

    /// Ends the drawing, and flushes the output.
    pub fn end(mut self) -> io::Result<()> {
        writeln!(self.out, "</svg>")?;
        self.out.flush()
    }

    /// Writes text without escapes.
    pub fn raw(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{text}")
    }

    /// A rectangle with its corner, width and height. `attributes` are in SVG's syntax. A viewer
    /// shows `title` under the pointer.
    pub fn rect(&mut self, (x, y): Point, (w, h): Point, attributes: &str, title: &str) -> io::Result<()> {
        write!(self.out, "<rect x=\"{x:.2}\" y=\"{y:.1}\" width=\"{w:.2}\" height=\"{h:.1}\" {attributes}")?;
        if title.is_empty() {
            return writeln!(self.out, "/>");
        }
        writeln!(self.out, "><title>{}</title></rect>", Escaped(title))
    }

    /// A straight line.
    pub fn line(&mut self, from: Point, to: Point, class: &str) -> io::Result<()> {
        let ((x1, y1), (x2, y2)) = (from, to);
        let place = format!("x1=\"{x1:.2}\" y1=\"{y1:.2}\" x2=\"{x2:.2}\" y2=\"{y2:.2}\"");
        writeln!(self.out, "<line {place} class=\"{class}\"/>")
    }

    /// A line through points.
    pub fn polyline(&mut self, points: &[Point], class: &str) -> io::Result<()> {
        write!(self.out, "<polyline class=\"{class}\" points=\"")?;
        points.iter().try_for_each(|(x, y)| write!(self.out, "{x:.2},{y:.2} "))?;
        writeln!(self.out, "\"/>")
    }

    /// A circle around a point. A viewer shows `title` under the pointer.
    pub fn circle(&mut self, (x, y): Point, radius: f64, class: &str, title: &str) -> io::Result<()> {
        let title = Escaped(title);
        writeln!(
            self.out,
            "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{radius}\" class=\"{class}\"><title>{title}</title></circle>"
        )
    }

    /// A text at a position.
    pub fn text(&mut self, (x, y): Point, anchor: Anchor, class: &str, text: &str) -> io::Result<()> {
        let (anchor, text) = (anchor.name(), Escaped(text));
        writeln!(self.out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"{class}\">{text}</text>")
    }

    /// A text that reads upwards, around a point.
    pub fn upward(&mut self, (x, y): Point, class: &str, text: &str) -> io::Result<()> {
        let (place, turn) = (format!("x=\"{x:.1}\" y=\"{y:.1}\""), format!("rotate(-90 {x:.1} {y:.1})"));
        let text = Escaped(text);
        writeln!(self.out, "<text {place} text-anchor=\"middle\" transform=\"{turn}\" class=\"{class}\">{text}</text>")
    }
}

/// The distance to the right and down, in pixels.
pub type Point = (f64, f64);
