//! Form factors: the share of the power leaving one element that reaches another, without
//! obstacles.

use crate::geometry::{Plane, Shape, Vector};
use std::f64::consts::PI;

/// Beyond this ratio of the squared distance to the larger area, elements count as discs.
const FAR: f64 = 16.0;

/// Below this ratio, elements need many points.
const NEAR: f64 = 2.0;

/// The Gauss-Legendre points of order 2 and 3 on the unit interval, with their weights.
const TWO: [(f64, f64); 2] = [(0.211_324_865_405_187_1, 0.5), (0.788_675_134_594_812_9, 0.5)];
const THREE: [(f64, f64); 3] =
    [(0.112_701_665_379_258_3, 5.0 / 18.0), (0.5, 8.0 / 18.0), (0.887_298_334_620_741_7, 5.0 / 18.0)];

/// The share of the half-space around a normal that a shape fills, as seen from a point and
/// weighted by the cosine: Lambert's formula, with the shape cut at the horizon. Exact.
pub fn from_point(point: Vector, normal: Vector, shape: &Shape) -> f64 {
    let mut cut = [Vector::ZERO; 5];
    let count = above_horizon(point, normal, shape, &mut cut);
    if count < 3 {
        return 0.0;
    }
    let mut sum = 0.0;
    for at in 0..count {
        let (one, other) = (cut[at], cut[(at + 1) % count]);
        let cross = one.cross(other);
        let sine = cross.length();
        // The point is on the line of an edge, which then fills no angle.
        if sine > 0.0 {
            sum += cross.dot(normal) / sine * sine.atan2(one.dot(other));
        }
    }
    (sum.abs() / (2.0 * PI)).min(1.0)
}

/// The part of a shape in front of a point, relative to the point. Returns the number of corners.
fn above_horizon(point: Vector, normal: Vector, shape: &Shape, cut: &mut [Vector; 5]) -> usize {
    let mut count = 0;
    for (from, to) in shape.edges() {
        let (from, to) = (from - point, to - point);
        let (here, there) = (normal.dot(from), normal.dot(to));
        if here >= 0.0 {
            cut[count] = from;
            count += 1;
        }
        if (here > 0.0 && there < 0.0) || (here < 0.0 && there > 0.0) {
            cut[count] = from.lerp(to, here / (here - there));
            count += 1;
        }
        if count == cut.len() {
            break;
        }
    }
    count
}

/// A surface: a shape, its plane, centre and area.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surface<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) plane: &'a Plane,
    pub(crate) center: Vector,
    pub(crate) area: f64,
}

/// The form factor from one surface to another.
///
/// Surfaces far apart count as discs (Hanrahan et al. 1991, form factors). Otherwise, the exact
/// factor from a point is averaged over points of the smaller surface. Both directions then follow
/// from reciprocity: the factors times the areas they start from are equal.
pub(crate) fn between(from: Surface<'_>, to: Surface<'_>) -> f64 {
    // Areas of congruent surfaces differ by rounding.
    if from.area > to.area * (1.0 + 1e-9) {
        return between(to, from) * (to.area / from.area);
    }
    let way = to.center - from.center;
    let squared = way.dot(way);
    let ratio = squared / from.area.max(to.area);
    if ratio > FAR {
        let (out, into) = (from.plane.normal.dot(way), -to.plane.normal.dot(way));
        // A surface across the horizon of the other has no simple factor.
        if out > 0.0 && into > 0.0 {
            return out * into * to.area / (squared * (PI * squared + to.area));
        }
    }
    let sample = |u: f64, v: f64| {
        let point = from.shape.point(u, v);
        if to.plane.distance(point) <= 0.0 { 0.0 } else { from_point(point, from.plane.normal, to.shape) }
    };
    let average = |points: &[(f64, f64)]| -> f64 {
        let row =
            |(u, weight): &(f64, f64)| -> f64 { points.iter().map(|(v, other)| weight * other * sample(*u, *v)).sum() };
        points.iter().map(row).sum()
    };
    if ratio > NEAR { average(&TWO) } else { average(&THREE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between_shapes(from: &Shape, to: &Shape) -> f64 {
        let planes = [from, to].map(|shape| Plane::of(shape).expect("an area"));
        let surface = |shape, plane| -> Surface<'_> {
            Surface { shape, plane, center: Shape::center(shape), area: shape.area() }
        };
        between(surface(from, &planes[0]), surface(to, &planes[1]))
    }

    fn square(at: f64, turned: bool) -> Shape {
        let corners = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)];
        let mut corners = corners.map(|(x, y)| Vector::new(x, y, at));
        if turned {
            corners.reverse();
        }
        Shape::quadrilateral(corners)
    }

    #[test]
    fn parallel_and_perpendicular_squares_have_the_values_of_the_tables() {
        // Howell, A Catalog of Radiation Heat Transfer Configuration Factors, C-11 and C-14.
        let parallel = between_shapes(&square(0.0, false), &square(1.0, true));
        assert!((parallel - 0.199_825).abs() < 0.002, "{parallel}");
        let wall = [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0)].map(|(y, z)| Vector::new(0.0, y, z));
        let perpendicular =
            between_shapes(&square(0.0, false), &Shape::quadrilateral([wall[0], wall[3], wall[2], wall[1]]));
        assert!((perpendicular - 0.200_04).abs() < 0.01, "{perpendicular}");
        let far = between_shapes(&square(0.0, false), &square(10.0, true));
        assert!((far * PI * 100.0 - 1.0).abs() < 0.01, "{far}");
    }

    #[test]
    fn a_point_in_a_box_sees_only_the_box() {
        let corner = |k: u32| Vector::new(f64::from(k & 1), f64::from(k >> 1 & 1), f64::from(k >> 2));
        let faces = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [4, 5, 7, 6]];
        let walls = faces.map(|face| Shape::quadrilateral(face.map(corner)));
        for point in [Vector::new(0.5, 0.5, 0.0), Vector::new(0.1, 0.7, 0.0), Vector::new(0.999, 0.001, 0.0)] {
            let normal = Vector::new(0.0, 0.0, 1.0);
            let sum: f64 = walls.iter().map(|wall| from_point(point, normal, wall)).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        }
        // A tilted normal: two walls are cut at the horizon, and the floor is seen as well.
        let tilted = Vector::new(0.6, 0.0, 0.8);
        let floor = Shape::quadrilateral([0, 2, 3, 1].map(corner));
        let all = walls.iter().chain([&floor]);
        let sum: f64 = all.map(|wall| from_point(Vector::new(0.3, 0.4, 0.5), tilted, wall)).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    }
}
