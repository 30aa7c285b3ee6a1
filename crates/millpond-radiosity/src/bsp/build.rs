//! Builds the tree.

use super::{Bsp, EMPTY, Face, Node};
use crate::geometry::{Plane, Shape, Vector};

/// Planes of shapes that are tried per node.
const CANDIDATES: usize = 12;

/// The costs of a cut shape, in shapes in the larger subtree.
const CUT_COSTS: usize = 2;

/// Subtrees of at most this many shapes are divided by planes of shapes only.
const FEW: usize = 8;

/// Shapes whose distances are all below this, relative to the diagonal, are in the plane.
const TOLERANCE: f64 = 1e-8;

/// A part of a shape within the half-spaces of a node. Cutting may give it many corners.
struct Fragment {
    face: u32,
    corners: Vec<Vector>,
}

/// A subtree to build.
struct Work {
    fragments: Vec<Fragment>,
    /// The parent, and whether the subtree is in front of it.
    parent: Option<(usize, bool)>,
}

/// The side of a fragment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    In,
    Front,
    Back,
    Both,
}

impl Bsp {
    /// Builds a tree over shapes. Takes about n log n steps, and more if many planes cut many
    /// shapes.
    ///
    /// The tree depends only on the shapes and their order.
    pub fn new(shapes: &[Shape]) -> Self {
        let corners = || shapes.iter().flat_map(|shape| shape.corners().iter().copied());
        let first = corners().next().unwrap_or_default();
        let (least, most) = corners().fold((first, first), |(least, most), c| (least.min(c), most.max(c)));
        let tolerance = TOLERANCE * (most - least).length();
        // A shape without area blocks nothing. Its index must stay, so it gets a face without edges
        // and no fragment.
        let mut faces = Vec::with_capacity(shapes.len());
        let mut fragments = Vec::with_capacity(shapes.len());
        for (at, shape) in shapes.iter().enumerate() {
            let face = Face::new(shape);
            if face.is_some() {
                fragments.push(Fragment { face: at as u32, corners: shape.corners().to_vec() });
            }
            let plane = Plane { normal: Vector::new(0.0, 0.0, 1.0), offset: 0.0 };
            faces.push(face.unwrap_or(Face { plane, edges: [plane; 4], count: 0 }));
        }
        let mut tree = Self { nodes: Vec::new(), faces, members: Vec::new(), tolerance };
        let mut work = vec![Work { fragments, parent: None }];
        while let Some(next) = work.pop() {
            tree.node(next, &mut work);
        }
        tree
    }

    /// Adds a node, and puts its subtrees to the work.
    fn node(&mut self, work: Work, rest: &mut Vec<Work>) {
        if work.fragments.is_empty() {
            return;
        }
        let at = self.nodes.len();
        match work.parent {
            Some((parent, true)) => self.nodes[parent].front = at as u32,
            Some((parent, false)) => self.nodes[parent].back = at as u32,
            None => {}
        }
        let plane = self.best_plane(&work.fragments);
        let (mut front, mut back) = (Vec::new(), Vec::new());
        let first = self.members.len();
        for fragment in work.fragments {
            match self.side(&fragment, &plane) {
                Side::In => self.members.push(fragment.face),
                Side::Front => front.push(fragment),
                Side::Back => back.push(fragment),
                Side::Both => {
                    let face = fragment.face;
                    let behind = Plane { normal: -plane.normal, offset: -plane.offset };
                    front.push(Fragment { face, corners: cut(&fragment.corners, &plane) });
                    back.push(Fragment { face, corners: cut(&fragment.corners, &behind) });
                }
            }
        }
        let count = (self.members.len() - first) as u32;
        self.nodes.push(Node { plane, front: EMPTY, back: EMPTY, first: first as u32, count });
        rest.push(Work { fragments: front, parent: Some((at, true)) });
        rest.push(Work { fragments: back, parent: Some((at, false)) });
    }

    /// The plane with the smallest larger side, counting cuts. Planes across the axes divide scenes
    /// of many separate bodies better than the planes of their faces.
    fn best_plane(&self, fragments: &[Fragment]) -> Plane {
        let step = fragments.len().div_ceil(CANDIDATES);
        let of_faces = fragments.iter().step_by(step).map(|fragment| self.faces[fragment.face as usize].plane);
        let across: Vec<Plane> =
            if fragments.len() > FEW { (0..3).map(|axis| median(fragments, axis)).collect() } else { vec![] };
        let costs = |plane: &Plane| {
            let (mut front, mut back, mut cuts, mut inside) = (0, 0, 0, 0);
            for fragment in fragments {
                match self.side(fragment, plane) {
                    Side::In => inside += 1,
                    Side::Front => front += 1,
                    Side::Back => back += 1,
                    Side::Both => cuts += 1,
                }
            }
            let larger = front.max(back) + cuts;
            // A plane that leaves all on one side would never end.
            let divides = inside > 0 || larger < fragments.len();
            if divides { larger + CUT_COSTS * cuts } else { usize::MAX }
        };
        of_faces.chain(across).min_by_key(costs).expect("a plane of a face")
    }

    fn side(&self, fragment: &Fragment, plane: &Plane) -> Side {
        let (mut front, mut back) = (false, false);
        for corner in &fragment.corners {
            let distance = plane.distance(*corner);
            front |= distance > self.tolerance;
            back |= distance < -self.tolerance;
        }
        // A thin fragment of another plane may seem to be in this one. Its own node will test it.
        match (front, back) {
            (true, true) => Side::Both,
            (true, false) => Side::Front,
            (false, true) => Side::Back,
            (false, false) => Side::In,
        }
    }
}

/// A plane across an axis through the median of the centres.
fn median(fragments: &[Fragment], axis: usize) -> Plane {
    let center = |fragment: &Fragment| {
        let along = |at: fn(f64, f64) -> f64, start: f64| fragment.corners.iter().fold(start, |v, c| at(v, c[axis]));
        (along(f64::min, f64::INFINITY) + along(f64::max, f64::NEG_INFINITY)) / 2.0
    };
    let mut centers: Vec<f64> = fragments.iter().map(center).collect();
    centers.sort_by(f64::total_cmp);
    let mut normal = [0.0; 3];
    normal[axis] = 1.0;
    let normal = Vector::new(normal[0], normal[1], normal[2]);
    Plane { normal, offset: centers[centers.len() / 2] }
}

/// The part of a convex polygon in front of a plane.
fn cut(corners: &[Vector], plane: &Plane) -> Vec<Vector> {
    let mut kept = Vec::with_capacity(corners.len() + 1);
    for (at, corner) in corners.iter().enumerate() {
        let next = corners[(at + 1) % corners.len()];
        let (here, there) = (plane.distance(*corner), plane.distance(next));
        if here >= 0.0 {
            kept.push(*corner);
        }
        if (here > 0.0 && there < 0.0) || (here < 0.0 && there > 0.0) {
            kept.push(corner.lerp(next, here / (here - there)));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::super::{Bsp, Hit, Scratch};
    use crate::geometry::{Shape, Vector};

    /// Numbers between 0 and 1 (a linear congruential generator).
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }

        fn point(&mut self) -> Vector {
            Vector::new(self.next(), self.next(), self.next())
        }
    }

    fn triangles(count: usize, random: &mut Random) -> Vec<Shape> {
        let mut triangle = || {
            let corner = random.point();
            let mut other = || corner + (random.point() - Vector::new(0.5, 0.5, 0.5)) * 0.4;
            let (second, third) = (other(), other());
            Shape::triangle([corner, second, third])
        };
        (0..count).map(|_| triangle()).collect()
    }

    #[test]
    fn a_tree_finds_the_hit_of_a_search() {
        let mut random = Random(1);
        let shapes = triangles(200, &mut random);
        let (tree, mut scratch) = (Bsp::new(&shapes), Scratch::default());
        let mut hits = 0;
        for _ in 0..3000 {
            let (from, to) = (random.point(), random.point());
            let single = |(at, shape): (usize, &Shape)| {
                let hit = Bsp::new(&[*shape]).first_hit(from, to, &mut Scratch::default())?;
                Some(Hit { shape: at, ..hit })
            };
            let nearest = |one: &Hit, other: &Hit| one.position.total_cmp(&other.position);
            let expected = shapes.iter().enumerate().filter_map(single).min_by(nearest);
            assert_eq!(tree.first_hit(from, to, &mut scratch), expected);
            assert_eq!(tree.is_blocked(from, to, &mut scratch), expected.is_some());
            hits += usize::from(expected.is_some());
        }
        assert!((300..2900).contains(&hits), "{hits} hits");
    }

    #[test]
    fn no_light_leaks_at_shared_edges() {
        // A wall of 8 x 8 cells, and rays through its edges and corners.
        let at = |x: i32, y: i32| Vector::new(f64::from(x) * 0.1, f64::from(y) * 0.3, 1.0 / 3.0);
        let cell = |x, y| Shape::quadrilateral([at(x, y), at(x + 1, y), at(x + 1, y + 1), at(x, y + 1)]);
        let shapes: Vec<Shape> = (0..64).map(|k| cell(k % 8, k / 8)).collect();
        let (tree, mut scratch, mut random) = (Bsp::new(&shapes), Scratch::default(), Random(2));
        for k in 0..81 * 50 {
            let corner = at(k % 9, k / 9 % 9);
            let along = at(k % 9, (k / 9 % 9 + 1).min(8));
            let target = corner.lerp(along, random.next());
            let from = Vector::new(random.next(), random.next(), 2.0);
            // The ray goes as far behind the wall as the start is in front.
            let to = target + (target - from);
            scratch.forget();
            assert!(tree.is_blocked(from, to, &mut scratch), "{from:?} sees {to:?}");
        }
        let hit = tree.first_hit(Vector::new(0.15, 0.15, 1.0), Vector::new(0.15, 0.15, 0.0), &mut scratch);
        assert_eq!(hit.map(|hit| (hit.shape, hit.front)), Some((1, true)));
    }

    #[test]
    fn ends_in_a_plane_are_not_blocked_by_it() {
        let mut random = Random(3);
        let square = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)];
        let shape = |z: f64| Shape::quadrilateral(square.map(|(x, y)| Vector::new(x, y, z)));
        let (tree, mut scratch) = (Bsp::new(&[shape(0.0), shape(1.0)]), Scratch::default());
        for _ in 0..100 {
            let mut point = |z: f64| Vector::new(random.next(), random.next(), z);
            let (low, high, beyond) = (point(0.0), point(1.0), point(2.0));
            assert!(!tree.is_blocked(low, high, &mut scratch));
            assert!(!tree.is_blocked(low, point(0.0), &mut scratch));
            assert!(!tree.is_blocked(high, beyond, &mut scratch));
        }
        assert!(tree.is_blocked(Vector::new(0.5, 0.5, 0.0), Vector::new(0.5, 0.5, 2.0), &mut scratch));
    }
}
