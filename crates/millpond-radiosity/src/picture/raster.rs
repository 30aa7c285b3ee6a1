//! Draws a surface into a z-buffer.

use super::camera::{Camera, Frame};
use super::surface::{Facet, Surface};
use crate::color::Rgb;
use crate::geometry::Vector;

/// Radiosities per sample.
pub(super) struct Buffer {
    pub(super) width: usize,
    pub(super) height: usize,
    /// The radiosity of each sample, or `None` where nothing is seen.
    pub(super) colors: Vec<Option<Rgb>>,
    /// Whether an edge of an element is drawn there.
    pub(super) edges: Vec<bool>,
    /// The inverse of the depth of the nearest surface, or 0.
    inverse_depth: Vec<f64>,
}

/// A vertex as the camera sees it.
#[derive(Clone, Copy)]
struct Seen {
    at: Vector,
    color: Rgb,
}

/// A vertex in the picture: column, row, inverse depth, and the colour times the inverse depth.
/// These are linear in the picture.
#[derive(Clone, Copy)]
struct Projected {
    x: f64,
    y: f64,
    inverse: f64,
    color: Rgb,
}

/// A sample this near to a triangle, in samples, is in it. So no gap is between neighbours.
const OVERLAP: f64 = 1e-3;

/// Edges this much behind a surface, relative to the depth, are in front of it.
const LIFT: f64 = 2e-3;

impl Buffer {
    pub(super) fn new(width: usize, height: usize) -> Self {
        let samples = width * height;
        let (colors, edges) = (vec![None; samples], vec![false; samples]);
        Self { width, height, colors, edges, inverse_depth: vec![0.0; samples] }
    }

    /// Draws all facets whose front the camera sees, and with `wireframe` their borders.
    pub(super) fn draw(&mut self, surface: &Surface, camera: &Camera, near: f64, wireframe: bool) {
        let frame = camera.frame();
        let faces_camera = |facet: &&Facet| facet.normal.dot(frame.eye - facet.center) > 0.0;
        for facet in surface.facets.iter().filter(faces_camera) {
            let center = Seen { at: frame.seen(facet.center), color: facet.color };
            for [one, other] in edges(surface, facet) {
                self.triangle([center, seen(surface, &frame, one), seen(surface, &frame, other)], near);
            }
        }
        if wireframe {
            for facet in surface.facets.iter().filter(faces_camera) {
                for [one, other] in edges(surface, facet) {
                    self.line(seen(surface, &frame, one), seen(surface, &frame, other), near);
                }
            }
        }
    }

    /// Draws a triangle, cut at the plane next to the camera.
    fn triangle(&mut self, corners: [Seen; 3], near: f64) {
        let mut cut = Vec::with_capacity(4);
        for at in 0..3 {
            let (here, next) = (corners[at], corners[(at + 1) % 3]);
            if here.at.z >= near {
                cut.push(here);
            }
            if (here.at.z >= near) != (next.at.z >= near) {
                cut.push(here.cut(next, near));
            }
        }
        let projected: Vec<Projected> = cut.into_iter().map(|corner| self.project(corner)).collect();
        for at in 2..projected.len() {
            self.fill([projected[0], projected[at - 1], projected[at]]);
        }
    }

    fn project(&self, Seen { at, color }: Seen) -> Projected {
        let inverse = 1.0 / at.z;
        let half = self.height as f64 / 2.0;
        let (x, y) = (self.width as f64 / 2.0 + at.x * inverse * half, half - at.y * inverse * half);
        Projected { x, y, inverse, color: color * inverse }
    }

    fn fill(&mut self, [a, b, c]: [Projected; 3]) {
        let doubled = (b.x - a.x) * (c.y - a.y) - (c.x - a.x) * (b.y - a.y);
        if doubled == 0.0 || !doubled.is_finite() {
            return;
        }
        let range = |values: [f64; 3], most: usize| {
            let low = values.into_iter().fold(f64::INFINITY, f64::min).max(0.0).floor();
            let high = values.into_iter().fold(f64::NEG_INFINITY, f64::max).min(most as f64).ceil();
            low as usize..(high.max(low) as usize).min(most)
        };
        // The tolerance of a weight: OVERLAP samples over the height of the triangle.
        let longest = [(a, b), (b, c), (c, a)].map(|(p, q)| (q.x - p.x).hypot(q.y - p.y));
        let tolerance = longest.map(|length| OVERLAP * length / doubled.abs());
        for row in range([a.y, b.y, c.y], self.height) {
            for column in range([a.x, b.x, c.x], self.width) {
                let (x, y) = (column as f64 + 0.5, row as f64 + 0.5);
                let weight = |p: Projected, q: Projected| ((q.x - p.x) * (y - p.y) - (x - p.x) * (q.y - p.y)) / doubled;
                let (of_a, of_b, of_c) = (weight(b, c), weight(c, a), weight(a, b));
                if of_a < -tolerance[1] || of_b < -tolerance[2] || of_c < -tolerance[0] {
                    continue;
                }
                let inverse = a.inverse * of_a + b.inverse * of_b + c.inverse * of_c;
                let sample = row * self.width + column;
                if inverse > self.inverse_depth[sample] {
                    let color = a.color * of_a + b.color * of_b + c.color * of_c;
                    self.inverse_depth[sample] = inverse;
                    self.colors[sample] = Some((color * (1.0 / inverse)).map(|channel| channel.max(0.0)));
                }
            }
        }
    }

    /// Marks the samples of a line that no surface hides.
    fn line(&mut self, mut from: Seen, mut to: Seen, near: f64) {
        if from.at.z < near && to.at.z < near {
            return;
        }
        if from.at.z < near {
            from = from.cut(to, near);
        } else if to.at.z < near {
            to = from.cut(to, near);
        }
        let (from, to) = (self.project(from), self.project(to));
        // A line that leaves the picture has only the steps inside.
        let steps = (to.x - from.x).abs().max((to.y - from.y).abs()).ceil().max(1.0);
        let steps = steps.min(4.0 * (self.width + self.height) as f64);
        for step in 0..=steps as usize {
            let t = step as f64 / steps;
            let (x, y) = (from.x + (to.x - from.x) * t, from.y + (to.y - from.y) * t);
            let inverse = from.inverse + (to.inverse - from.inverse) * t;
            if x < 0.0 || y < 0.0 || x >= self.width as f64 || y >= self.height as f64 {
                continue;
            }
            let sample = y as usize * self.width + x as usize;
            if inverse * (1.0 + LIFT) >= self.inverse_depth[sample] {
                self.edges[sample] = true;
            }
        }
    }
}

impl Seen {
    /// The point of an edge at a depth between those of its ends.
    fn cut(self, other: Self, depth: f64) -> Self {
        let t = (depth - self.at.z) / (other.at.z - self.at.z);
        let mut at = self.at.lerp(other.at, t);
        at.z = depth;
        Self { at, color: self.color * (1.0 - t) + other.color * t }
    }
}

/// The edges of a border, as pairs of vertices.
fn edges<'a>(surface: &'a Surface, facet: &Facet) -> impl Iterator<Item = [usize; 2]> + 'a {
    let border = &surface.borders[facet.border.clone()];
    (0..border.len()).map(move |at| [border[at], border[(at + 1) % border.len()]])
}

fn seen(surface: &Surface, frame: &Frame, vertex: usize) -> Seen {
    Seen { at: frame.seen(surface.positions[vertex]), color: surface.colors[vertex] }
}
