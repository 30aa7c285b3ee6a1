//! A tree of half-spaces over the patches (Fuchs, Kedem, Naylor 1980). It answers whether two
//! points see each other.
//!
//! A node has a plane and the patches in it. Patches on both sides of a plane are in both subtrees.
//! A node tests whole patches, so that cuts leave no cracks. Tests are inclusive by a small
//! tolerance: a ray through a shared edge of two patches hits both, so no light leaks there.

mod build;

use crate::geometry::{Plane, Shape, Vector};

/// A tree over shapes. It is built once, and then only read, by any number of threads.
#[derive(Debug)]
pub struct Bsp {
    nodes: Vec<Node>,
    faces: Vec<Face>,
    /// The faces of all nodes: indices into `faces`.
    members: Vec<u32>,
    /// Distances below this are zero.
    tolerance: f64,
}

/// A plane, the faces in it, and the subtrees in front and behind.
#[derive(Debug)]
struct Node {
    plane: Plane,
    front: u32,
    back: u32,
    /// The first of its members.
    first: u32,
    count: u32,
}

/// The child of a node without faces on that side.
const EMPTY: u32 = u32::MAX;

/// A shape, prepared for tests.
#[derive(Debug)]
struct Face {
    plane: Plane,
    /// Planes through the edges. The shape is in front of all.
    edges: [Plane; 4],
    count: usize,
}

/// Where a ray meets the first shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The index of the shape.
    pub shape: usize,
    /// Whether the ray meets its front.
    pub front: bool,
    /// The position on the ray: 0 at its start, 1 at its end.
    pub position: f64,
}

/// A part of the way through a tree: a node, and the part of the ray in its half-spaces.
type Step = (u32, f64, f64);

/// The steps that wait. It is kept between rays, so that a ray allocates nothing.
#[derive(Debug, Default)]
pub struct Scratch {
    steps: Vec<Step>,
    /// The face that blocked the last ray. The next ray of a bundle often meets it, too.
    last: Option<u32>,
}

impl Scratch {
    /// Starts with a new bundle of rays.
    pub fn forget(&mut self) {
        self.last = None;
    }
}

/// The overlap of the parts of a ray in two subtrees, relative to the ray.
const OVERLAP: f64 = 1e-9;

impl Bsp {
    /// Whether a shape is between two points. Shapes that contain an end of the ray do not count.
    pub fn is_blocked(&self, from: Vector, to: Vector, scratch: &mut Scratch) -> bool {
        if scratch.last.is_some_and(|face| self.meets(face, from, to).is_some()) {
            return true;
        }
        let mut blocker = None;
        self.walk(from, to, &mut scratch.steps, |face, _| {
            blocker = Some(face);
            false
        });
        scratch.last = blocker.or(scratch.last);
        blocker.is_some()
    }

    /// The first shape on the way from one point to another. Shapes that contain an end of the ray
    /// do not count.
    pub fn first_hit(&self, from: Vector, to: Vector, scratch: &mut Scratch) -> Option<Hit> {
        let is_front = |face: u32| self.faces[face as usize].plane.normal.dot(to - from) < 0.0;
        let mut nearest: Option<(u32, f64)> = None;
        self.walk(from, to, &mut scratch.steps, |face, position| {
            let is_nearer = |(other, nearest): (u32, f64)| {
                // Of two faces back to back, the ray meets the front.
                let same = (position - nearest).abs() <= OVERLAP;
                if same { is_front(face) && !is_front(other) } else { position < nearest }
            };
            if nearest.is_none_or(is_nearer) {
                nearest = Some((face, position));
            }
            true
        });
        nearest.map(|(face, position)| Hit { shape: face as usize, front: is_front(face), position })
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Distances below this count as zero.
    pub fn tolerance(&self) -> f64 {
        self.tolerance
    }

    /// Calls `hit` for each face that a ray meets, until it returns false. A face in both subtrees
    /// of a node can be met twice.
    fn walk(&self, from: Vector, to: Vector, steps: &mut Vec<Step>, mut hit: impl FnMut(u32, f64) -> bool) {
        steps.clear();
        let mut next: Step = (if self.nodes.is_empty() { EMPTY } else { 0 }, 0.0, 1.0);
        loop {
            let (at, start, end) = next;
            let Some(node) = self.nodes.get(at as usize) else {
                match steps.pop() {
                    Some(step) => next = step,
                    None => return,
                }
                continue;
            };
            let (before, after) = (node.plane.distance(from), node.plane.distance(to));
            // In the order along the ray.
            let (near, far) = if after > before { (node.back, node.front) } else { (node.front, node.back) };
            // Where the ray meets the plane. For a parallel ray, this is infinite.
            let position = before / (before - after);
            if before.abs() <= self.tolerance && after.abs() <= self.tolerance {
                // In the plane: its shapes do not block, and both sides may.
                steps.push((far, start, end));
                next = (near, start, end);
            } else if position > end + OVERLAP {
                next = (near, start, end);
            } else if position < start - OVERLAP {
                next = (far, start, end);
            } else {
                for member in &self.members[node.first as usize..][..node.count as usize] {
                    if let Some(position) = self.meets(*member, from, to)
                        && !hit(*member, position)
                    {
                        return;
                    }
                }
                steps.push((far, position - OVERLAP, end));
                next = (near, start, position + OVERLAP);
            }
        }
    }

    /// The position where a ray meets a face, if its ends are not in the plane of the face.
    fn meets(&self, face: u32, from: Vector, to: Vector) -> Option<f64> {
        let face = &self.faces[face as usize];
        let (before, after) = (face.plane.distance(from), face.plane.distance(to));
        let crosses = (before > self.tolerance && after < -self.tolerance)
            || (before < -self.tolerance && after > self.tolerance);
        if !crosses {
            return None;
        }
        let position = before / (before - after);
        let point = from.lerp(to, position);
        let inside = face.edges[..face.count].iter().all(|edge| edge.distance(point) >= -self.tolerance);
        inside.then_some(position)
    }
}

impl Face {
    fn new(shape: &Shape) -> Option<Self> {
        let plane = Plane::of(shape)?;
        let mut edges = [plane; 4];
        let mut count = 0;
        for (from, to) in shape.edges() {
            let normal = plane.normal.cross(to - from).normalized()?;
            edges[count] = Plane { normal, offset: normal.dot(from) };
            count += 1;
        }
        Some(Self { plane, edges, count })
    }
}
