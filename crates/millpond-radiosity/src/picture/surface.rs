//! The surface to draw: leaves with radiosities at their vertices.
//!
//! Patches of one plane and one material form a group. A vertex of a group has one radiosity, so
//! the shading is continuous over the borders of its patches. A vertex can be in the middle of an
//! edge of a larger leaf (a T-vertex). Then it is also a vertex of that leaf's border, so that no
//! crack and no step appears.

use crate::color::Rgb;
use crate::geometry::Vector;
use crate::mesh::{Element, Mesh, Patch};
use std::collections::HashMap;
use std::ops::Range;

/// Leaves as polygons with coloured vertices.
#[derive(Debug, Default)]
pub struct Surface {
    /// The positions of the vertices.
    pub positions: Vec<Vector>,
    /// The radiosity of each vertex.
    pub colors: Vec<Rgb>,
    /// The leaves.
    pub facets: Vec<Facet>,
    /// The vertices of all borders: indices into `positions`.
    pub borders: Vec<usize>,
}

/// A leaf: triangles from its centre to the edges of its border.
#[derive(Debug, Clone)]
pub struct Facet {
    /// The centre.
    pub center: Vector,
    /// The radiosity there.
    pub color: Rgb,
    /// The normal.
    pub normal: Vector,
    /// The part of [`Surface::borders`].
    pub border: Range<usize>,
}

/// Positions that differ by less, relative to the size of the scene, are the same.
const SAME: f64 = 1e-6;

/// A position or a line, rounded.
type Key<const N: usize> = (usize, [i64; N]);

/// Rounds numbers to cells. The shift keeps round numbers, which scenes have, away from the borders
/// of cells.
fn round<const N: usize>(numbers: [f64; N], cell: f64) -> [i64; N] {
    numbers.map(|number| (number / cell + 0.271_828).floor() as i64)
}

struct Builder<'a> {
    mesh: &'a Mesh,
    cell: f64,
    origin: Vector,
    surface: Surface,
    /// The weights of the colours summed so far.
    weights: Vec<f64>,
    vertices: HashMap<Key<3>, usize>,
    /// The vertices on each line along an edge, with their positions on the line.
    lines: HashMap<Key<6>, Vec<(f64, usize)>>,
}

/// A leaf with its group.
struct Leaf<'a> {
    element: &'a Element,
    group: usize,
    corners: Vec<usize>,
}

impl Surface {
    /// The surface of a solution: the radiosity of a vertex is the average of the leaves around it.
    /// Takes about n log n steps for n leaves.
    pub fn new(mesh: &Mesh) -> Self {
        let corners = || mesh.patches().iter().flat_map(|patch| patch.shape.corners().iter().copied());
        let first = corners().next().unwrap_or_default();
        let (least, most) = corners().fold((first, first), |(least, most), c| (least.min(c), most.max(c)));
        let cell = SAME * (most - least).length().max(f64::MIN_POSITIVE);
        let (weights, vertices, lines) = (Vec::new(), HashMap::new(), HashMap::new());
        let mut builder = Builder { mesh, cell, origin: least, surface: Self::default(), weights, vertices, lines };
        let groups = groups(mesh.patches(), cell);
        let mut leaves = Vec::new();
        for (at, group) in groups.into_iter().enumerate() {
            mesh.for_each_leaf(mesh.root(at), &mut |element| {
                let corners = element.shape().corners().iter().map(|corner| builder.vertex(group, *corner)).collect();
                leaves.push(Leaf { element, group, corners });
            });
        }
        leaves.iter().for_each(|leaf| builder.add_edges(leaf));
        for on_line in builder.lines.values_mut() {
            on_line.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
            on_line.dedup_by_key(|(_, vertex)| *vertex);
        }
        leaves.iter().for_each(|leaf| builder.facet(leaf));
        builder.finish()
    }
}

/// The group of each patch: patches in one plane with one material.
fn groups(patches: &[Patch], cell: f64) -> Vec<usize> {
    let mut by_material: HashMap<usize, Vec<(usize, usize)>> = HashMap::new();
    let mut groups = Vec::with_capacity(patches.len());
    let mut count = 0;
    for (at, patch) in patches.iter().enumerate() {
        let known = by_material.entry(patch.material).or_default();
        let is_same = |other: &Patch| {
            let (one, other) = (&patch.plane, &other.plane);
            (one.normal - other.normal).length() < SAME && one.distance(other.normal * other.offset).abs() < cell
        };
        let group = known.iter().find(|(first, _)| is_same(&patches[*first])).map(|(_, group)| *group);
        groups.push(group.unwrap_or_else(|| {
            known.push((at, count));
            count += 1;
            count - 1
        }));
    }
    groups
}

impl Builder<'_> {
    fn vertex(&mut self, group: usize, position: Vector) -> usize {
        let at = position - self.origin;
        let key = (group, round([at.x, at.y, at.z], self.cell));
        *self.vertices.entry(key).or_insert_with(|| {
            self.surface.positions.push(position);
            self.surface.colors.push(Rgb::BLACK);
            self.weights.push(0.0);
            self.weights.len() - 1
        })
    }

    /// The line through two vertices, the same in both directions, and their positions on it.
    fn line(&self, group: usize, from: usize, to: usize) -> Option<(Key<6>, f64, f64)> {
        let [from, to] = [from, to].map(|vertex| self.surface.positions[vertex] - self.origin);
        let mut along = (to - from).normalized()?;
        let first = [along.x, along.y, along.z].into_iter().find(|part| part.abs() > SAME)?;
        if first < 0.0 {
            along = -along;
        }
        // The moment of the line: the same for each of its points.
        let moment = from.cross(along) * (SAME / self.cell);
        let key = round([along.x, along.y, along.z, moment.x, moment.y, moment.z], SAME);
        Some(((group, key), from.dot(along), to.dot(along)))
    }

    fn add_edges(&mut self, leaf: &Leaf<'_>) {
        for (at, from) in leaf.corners.iter().enumerate() {
            let to = leaf.corners[(at + 1) % leaf.corners.len()];
            if let Some((key, start, end)) = self.line(leaf.group, *from, to) {
                self.lines.entry(key).or_default().extend([(start, *from), (end, to)]);
            }
        }
    }

    /// Adds a leaf with all vertices on its border, and its share of their colours.
    fn facet(&mut self, leaf: &Leaf<'_>) {
        let first = self.surface.borders.len();
        for (at, from) in leaf.corners.iter().enumerate() {
            let to = leaf.corners[(at + 1) % leaf.corners.len()];
            self.surface.borders.push(*from);
            let Some((key, start, end)) = self.line(leaf.group, *from, to) else { continue };
            let on_line = &self.lines[&key];
            let (low, high) = (start.min(end) + self.cell, start.max(end) - self.cell);
            let between = on_line.partition_point(|(at, _)| *at <= low)..on_line.partition_point(|(at, _)| *at < high);
            let between = on_line.get(between).unwrap_or_default().iter().map(|(_, vertex)| *vertex);
            if start < end {
                self.surface.borders.extend(between);
            } else {
                self.surface.borders.extend(between.rev());
            }
        }
        let border = first..self.surface.borders.len();
        let (color, weight) = (leaf.element.radiosity(), self.weight(leaf.element));
        for vertex in &self.surface.borders[border.clone()] {
            self.surface.colors[*vertex] += color * weight;
            self.weights[*vertex] += weight;
        }
        let normal = self.mesh.patch_of(leaf.element).plane.normal;
        self.surface.facets.push(Facet { center: leaf.element.center(), color, normal, border });
    }

    /// Small leaves are nearer to the vertex. The covered part of a leaf is not seen, so leaves
    /// count by their exposure, and hidden ones only if no other leaf is there.
    fn weight(&self, element: &Element) -> f64 {
        let exposure = if self.mesh.is_closed() { element.exposure().min(1.0) } else { 1.0 };
        (exposure * exposure).max(1e-9) / element.area().sqrt()
    }

    fn finish(mut self) -> Surface {
        for (color, weight) in self.surface.colors.iter_mut().zip(&self.weights) {
            if *weight > 0.0 {
                *color = *color * (1.0 / weight);
            }
        }
        self.surface
    }
}
