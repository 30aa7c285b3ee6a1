//! Splits planar polygons into convex quadrilaterals and triangles.

use super::{Plane, Shape, Vector};

/// Why a polygon has no shapes.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PolygonFault {
    /// The polygon has no area: fewer than three corners, or all of them on one line.
    #[error("the polygon has no area")]
    Degenerate,
    /// A corner is away from the plane of the others.
    #[error("the polygon is not planar: corner {corner} is {distance:.3e} away from the plane of the polygon")]
    NotPlanar {
        /// The corner, from 1.
        corner: usize,
        /// Its distance from the average plane, in units of the scene.
        distance: f64,
    },
    /// Edges cross or overlap.
    #[error("edges of the polygon cross or overlap")]
    Crossing,
    /// There are more corners than [`MAX_CORNERS`].
    #[error("the polygon has {corners} corners; at most {MAX_CORNERS} are possible")]
    TooManyCorners {
        /// The number of corners.
        corners: usize,
    },
}

/// The maximum number of corners of a polygon. The time to split it grows with their square.
pub const MAX_CORNERS: usize = 1000;

/// The largest distance of a corner from the plane of its polygon, relative to the diameter of the
/// polygon. Files with six digits round corners by less.
const FLATNESS: f64 = 1e-4;

/// A corner nearer to the line of its neighbours, relative to the diameter, is left out.
const STRAIGHT: f64 = 1e-7;

/// Splits a polygon of any form without holes. A convex quadrilateral or a triangle stays one
/// shape.
///
/// # Errors
///
/// If the polygon is degenerate, not planar, crosses itself, or has too many corners.
///
/// ```
/// use millpond_radiosity::geometry::{PolygonFault, split};
/// use millpond_radiosity::Vector;
///
/// let corner = |x: f64, y: f64| Vector::new(x, y, 0.0);
/// let arrow = [corner(0.0, 0.0), corner(2.0, -2.0), corner(1.0, 0.0), corner(2.0, 2.0)];
/// assert_eq!(split(&arrow)?.len(), 2);
/// assert_eq!(split(&arrow[..2]), Err(PolygonFault::Degenerate));
/// # Ok::<(), PolygonFault>(())
/// ```
pub fn split(corners: &[Vector]) -> Result<Vec<Shape>, PolygonFault> {
    if corners.len() > MAX_CORNERS {
        return Err(PolygonFault::TooManyCorners { corners: corners.len() });
    }
    let (plane, diameter) = plane(corners)?;
    let outlier = |corner: &Vector| plane.distance(*corner).abs() > FLATNESS * diameter;
    if let Some(at) = corners.iter().position(outlier) {
        return Err(PolygonFault::NotPlanar { corner: at + 1, distance: plane.distance(corners[at]).abs() });
    }
    let corners = without_straight(corners, diameter);
    if corners.len() < 3 {
        return Err(PolygonFault::Degenerate);
    }
    let triangles = triangulate(&corners, plane.normal, diameter)?;
    Ok(merge(&corners, triangles, plane.normal, diameter))
}

/// The average plane (Newell's method), and the largest distance from the first corner.
fn plane(corners: &[Vector]) -> Result<(Plane, f64), PolygonFault> {
    let first = *corners.first().ok_or(PolygonFault::Degenerate)?;
    let (mut doubled, mut center, mut diameter) = (Vector::ZERO, Vector::ZERO, 0.0_f64);
    for (at, corner) in corners.iter().enumerate() {
        let next = corners[(at + 1) % corners.len()];
        // Relative to the first corner, so that no digits are lost far from the origin.
        doubled += (*corner - first).cross(next - first);
        center += (*corner - first) * (1.0 / corners.len() as f64);
        diameter = diameter.max((*corner - first).length());
    }
    let normal = doubled.normalized().filter(|_| doubled.length() > STRAIGHT * diameter * diameter);
    let normal = normal.ok_or(PolygonFault::Degenerate)?;
    Ok((Plane { normal, offset: normal.dot(first + center) }, diameter))
}

/// The corners at which the border turns.
fn without_straight(corners: &[Vector], diameter: f64) -> Vec<Vector> {
    let mut kept = corners.to_vec();
    let mut at = 0;
    while at < kept.len() && kept.len() >= 3 {
        let count = kept.len();
        let (before, after) = (kept[(at + count - 1) % count], kept[(at + 1) % count]);
        let doubled = (kept[at] - before).cross(after - before).length();
        if doubled <= STRAIGHT * diameter * (after - before).length().max(STRAIGHT * diameter) {
            kept.remove(at);
            // The neighbours may now be straight.
            at = at.saturating_sub(1);
        } else {
            at += 1;
        }
    }
    kept
}

/// Twice the area of a triangle, positive if it turns counterclockwise around the normal.
fn turn(a: Vector, b: Vector, c: Vector, normal: Vector) -> f64 {
    (b - a).cross(c - a).dot(normal)
}

/// Cuts ears off: corners whose triangle contains no other corner.
fn triangulate(corners: &[Vector], normal: Vector, diameter: f64) -> Result<Vec<[usize; 3]>, PolygonFault> {
    let smallest = STRAIGHT * STRAIGHT * diameter * diameter;
    let mut left: Vec<usize> = (0..corners.len()).collect();
    let mut triangles = Vec::with_capacity(corners.len() - 2);
    while left.len() > 3 {
        let count = left.len();
        let around = |at: usize| [left[(at + count - 1) % count], left[at], left[(at + 1) % count]];
        let is_ear = |at: &usize| {
            let [a, b, c] = around(*at);
            let [pa, pb, pc] = [corners[a], corners[b], corners[c]];
            let inside = |p: Vector| {
                turn(pa, pb, p, normal) >= 0.0 && turn(pb, pc, p, normal) >= 0.0 && turn(pc, pa, p, normal) >= 0.0
            };
            let blocks = |other: &&usize| {
                let p = corners[**other];
                ![a, b, c].contains(other) && p != pa && p != pb && p != pc && inside(p)
            };
            turn(pa, pb, pc, normal) > smallest && !left.iter().any(|other| blocks(&other))
        };
        let ear = (0..count).find(is_ear).ok_or(PolygonFault::Crossing)?;
        triangles.push(around(ear));
        left.remove(ear);
    }
    let last = [left[0], left[1], left[2]];
    if turn(corners[last[0]], corners[last[1]], corners[last[2]], normal) <= 0.0 {
        return Err(PolygonFault::Crossing);
    }
    triangles.push(last);
    Ok(triangles)
}

/// Joins pairs of triangles into convex quadrilaterals.
fn merge(corners: &[Vector], triangles: Vec<[usize; 3]>, normal: Vector, diameter: f64) -> Vec<Shape> {
    let mut shapes = Vec::with_capacity(triangles.len());
    let mut left = triangles;
    while let Some(triangle) = left.pop() {
        let joined = left.iter().enumerate().rev().find_map(|(at, other)| {
            let four = joined(triangle, *other)?.map(|corner| corners[corner]);
            is_convex(four, normal, diameter).then_some((at, four))
        });
        shapes.push(match joined {
            Some((at, four)) => {
                left.remove(at);
                Shape::quadrilateral(four)
            }
            None => Shape::triangle(triangle.map(|corner| corners[corner])),
        });
    }
    shapes.reverse();
    shapes
}

/// The corners around two triangles with a common edge.
fn joined(one: [usize; 3], other: [usize; 3]) -> Option<[usize; 4]> {
    (0..3).find_map(|at| {
        let [a, b, c] = [one[at], one[(at + 1) % 3], one[(at + 2) % 3]];
        let across = (0..3).find(|&k| other[k] == b && other[(k + 1) % 3] == a)?;
        Some([a, other[(across + 2) % 3], b, c])
    })
}

fn is_convex(four: [Vector; 4], normal: Vector, diameter: f64) -> bool {
    (0..4).all(|at| {
        let (a, b, c) = (four[at], four[(at + 1) % 4], four[(at + 2) % 4]);
        turn(a, b, c, normal) > STRAIGHT * diameter * diameter
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: f64, y: f64) -> Vector {
        Vector::new(x, y, 1.0)
    }

    fn area(shapes: &[Shape]) -> f64 {
        shapes.iter().map(Shape::area).sum()
    }

    #[test]
    fn a_convex_quadrilateral_is_one_shape() {
        let square = [at(0.0, 0.0), at(1.0, 0.0), at(1.0, 1.0), at(0.0, 1.0)];
        let shapes = split(&square).expect("shapes");
        assert_eq!((shapes.len(), shapes[0].corners().len(), area(&shapes)), (1, 4, 1.0));
    }

    #[test]
    fn a_concave_polygon_is_covered() {
        let mut corners = Vec::new();
        // A comb with five teeth: its area is 5 * 2 + 4 * 1.
        for tooth in 0..5 {
            let x = f64::from(tooth) * 2.0;
            corners.extend([at(x, 0.0), at(x, 2.0), at(x + 1.0, 2.0), at(x + 1.0, 0.0)]);
        }
        corners.extend([at(9.0, -1.0), at(0.0, -1.0)]);
        corners.reverse();
        let shapes = split(&corners).expect("shapes");
        assert!((area(&shapes) - 19.0).abs() < 1e-9, "{}", area(&shapes));
        for shape in &shapes {
            assert!(Plane::of(shape).expect("an area").normal.z > 0.999);
        }
    }

    #[test]
    fn straight_corners_are_left_out() {
        let corners = [at(0.0, 0.0), at(0.5, 0.0), at(1.0, 0.0), at(1.0, 1.0), at(1.0, 1.0), at(0.0, 1.0)];
        let shapes = split(&corners).expect("shapes");
        assert_eq!((shapes.len(), area(&shapes)), (1, 1.0));
    }

    #[test]
    fn faults_are_told() {
        let line = [at(0.0, 0.0), at(1.0, 1.0), at(2.0, 2.0)];
        assert_eq!(split(&line), Err(PolygonFault::Degenerate));
        assert_eq!(split(&[]), Err(PolygonFault::Degenerate));
        let bow = [at(0.0, 0.0), at(3.0, 1.0), at(3.0, 0.0), at(0.0, 2.0)];
        assert_eq!(split(&bow), Err(PolygonFault::Crossing));
        let bent = [at(0.0, 0.0), at(1.0, 0.0), Vector::new(1.0, 1.0, 1.5), at(0.0, 1.0)];
        assert!(matches!(split(&bent), Err(PolygonFault::NotPlanar { .. })), "{:?}", split(&bent));
        assert_eq!(split(&[at(0.0, 0.0); 2000]), Err(PolygonFault::TooManyCorners { corners: 2000 }));
    }
}
