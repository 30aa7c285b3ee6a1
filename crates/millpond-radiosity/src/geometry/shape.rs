//! The shapes of patches and elements: convex quadrilaterals and triangles.

use super::Vector;

/// A planar convex quadrilateral, or a triangle. Seen from its front, its corners turn
/// counterclockwise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// The last corner of a triangle is there twice.
    corners: [Vector; 4],
    count: usize,
}

impl Shape {
    /// A triangle.
    pub fn triangle(corners: [Vector; 3]) -> Self {
        let [a, b, c] = corners;
        Self { corners: [a, b, c, c], count: 3 }
    }

    /// A quadrilateral. The caller makes sure that it is planar and convex.
    pub fn quadrilateral(corners: [Vector; 4]) -> Self {
        Self { corners, count: 4 }
    }

    /// Three or four corners.
    pub fn corners(&self) -> &[Vector] {
        &self.corners[..self.count]
    }

    /// The edges: from each corner to the next.
    pub fn edges(&self) -> impl Iterator<Item = (Vector, Vector)> + '_ {
        let corners = self.corners();
        (0..corners.len()).map(move |at| (corners[at], corners[(at + 1) % corners.len()]))
    }

    /// The normal, with twice the area as its length.
    pub fn doubled_area(&self) -> Vector {
        let [a, b, c, d] = self.corners;
        // The cross product of the diagonals. For a triangle, `d` is `c`.
        (c - a).cross(d - b)
    }

    /// The area.
    pub fn area(&self) -> f64 {
        self.doubled_area().length() / 2.0
    }

    /// The average of the corners.
    pub fn center(&self) -> Vector {
        let sum = self.corners().iter().fold(Vector::ZERO, |sum, corner| sum + *corner);
        sum * (1.0 / self.count as f64)
    }

    /// A point for parameters between 0 and 1. Evenly distributed parameters give evenly
    /// distributed points in triangles and parallelograms.
    pub fn point(&self, u: f64, v: f64) -> Vector {
        let [a, b, c, d] = self.corners;
        if self.count == 3 {
            // Folds the unit square along its diagonal.
            let (u, v) = if u + v > 1.0 { (1.0 - u, 1.0 - v) } else { (u, v) };
            return a + (b - a) * u + (c - a) * v;
        }
        a.lerp(b, u).lerp(d.lerp(c, u), v)
    }

    /// The four parts between corners, middles of edges, and the centre of a quadrilateral.
    pub fn quarters(&self) -> [Self; 4] {
        let [a, b, c, d] = self.corners;
        let (ab, bc) = (a.lerp(b, 0.5), b.lerp(c, 0.5));
        if self.count == 3 {
            let ca = c.lerp(a, 0.5);
            return [[a, ab, ca], [ab, b, bc], [ca, bc, c], [bc, ca, ab]].map(Self::triangle);
        }
        let (cd, da) = (c.lerp(d, 0.5), d.lerp(a, 0.5));
        let middle = ab.lerp(cd, 0.5);
        [[a, ab, middle, da], [ab, b, bc, middle], [middle, bc, c, cd], [da, middle, cd, d]].map(Self::quadrilateral)
    }
}

/// The points with a given scalar product with a normal of length 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plane {
    /// The normal. It points to the front.
    pub normal: Vector,
    /// The scalar product of the normal and each point of the plane.
    pub offset: f64,
}

impl Plane {
    /// The plane of a shape, or `None` if its area is zero.
    pub fn of(shape: &Shape) -> Option<Self> {
        let normal = shape.doubled_area().normalized()?;
        Some(Self { normal, offset: normal.dot(shape.center()) })
    }

    /// The distance of a point, positive in front of the plane.
    pub fn distance(&self, point: Vector) -> f64 {
        self.normal.dot(point) - self.offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes() -> [Shape; 2] {
        let corner = |x, y| Vector::new(x, y, 2.0);
        [
            Shape::triangle([corner(0.0, 0.0), corner(4.0, 0.0), corner(0.0, 3.0)]),
            Shape::quadrilateral([corner(0.0, 0.0), corner(4.0, 0.0), corner(5.0, 3.0), corner(0.0, 2.0)]),
        ]
    }

    #[test]
    fn quarters_cover_the_shape() {
        for shape in shapes() {
            let plane = Plane::of(&shape).expect("an area");
            assert_eq!(plane.normal, Vector::new(0.0, 0.0, 1.0));
            let quarters = shape.quarters();
            let sum: f64 = quarters.iter().map(Shape::area).sum();
            assert!((sum - shape.area()).abs() < 1e-12, "{sum} is not {}", shape.area());
            for quarter in quarters {
                assert!(plane.distance(quarter.center()).abs() < 1e-12);
                assert_eq!(Plane::of(&quarter).expect("an area").normal, plane.normal);
            }
        }
    }

    #[test]
    fn points_are_inside() {
        for shape in shapes() {
            for (u, v) in [(0.0, 0.0), (1.0, 0.5), (0.25, 0.9), (1.0, 1.0)] {
                let point = shape.point(u, v);
                for (from, to) in shape.edges() {
                    let side = (to - from).cross(point - from).z;
                    assert!(side > -1e-12, "{point:?} is outside");
                }
            }
        }
    }
}
