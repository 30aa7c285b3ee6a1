//! The first interactions of a patch, and whether a scene is closed.

use super::interaction::{Link, link};
use super::visibility::Points;
use crate::bsp::{Hit, Scratch};
use crate::geometry::{Shape, Vector};
use crate::mesh::{Element, Mesh, PatchId};

/// The links from a patch to all others that face it. Takes time in proportion to the number of
/// patches.
pub fn initial(mesh: &Mesh, receiver: PatchId) -> impl Iterator<Item = Link> + '_ {
    let sources = (0..mesh.patches().len()).filter(move |source| *source != receiver);
    sources.filter_map(move |source| link(mesh, mesh.root(receiver), mesh.root(source)))
}

/// Rays per patch that test whether a scene is closed, and per leaf that test whether it is
/// covered.
const RAYS: u32 = 16;

/// Whether every ray from the front of a patch meets another patch. Patches that see nothing at
/// all, such as the outside of a room, do not count.
pub(crate) fn is_closed(mesh: &Mesh) -> bool {
    let mut scratch = Scratch::default();
    let mut seeing = 0;
    for (at, patch) in mesh.patches().iter().enumerate() {
        let hits = hits(mesh, &patch.shape, patch.plane.normal, at as u64, &mut scratch);
        match hits.flatten().count() as u32 {
            0 => {}
            RAYS => seeing += 1,
            _ => return false,
        }
    }
    seeing > 0
}

/// The share of an element that no other body covers: rays from a covered point meet the back of a
/// patch, from inside the body.
pub(super) fn exposed(mesh: &Mesh, element: &Element, scratch: &mut Scratch) -> f64 {
    let normal = mesh.patch_of(element).plane.normal;
    let hits = hits(mesh, element.shape(), normal, element.key(), scratch);
    let covered = hits.flatten().filter(|hit| !hit.front).count() as u32;
    1.0 - f64::from(covered) / f64::from(RAYS)
}

/// What rays from points of a shape meet.
fn hits<'a>(
    mesh: &'a Mesh,
    shape: &'a Shape,
    normal: Vector,
    seed: u64,
    scratch: &'a mut Scratch,
) -> impl Iterator<Item = Option<Hit>> + 'a {
    Points::new(seed, RAYS).map(move |[u, v, turn, height]| {
        let from = shape.point(u, v);
        mesh.bsp().first_hit(from, from + direction(normal, turn, height) * mesh.limits().reach, scratch)
    })
}

/// A direction around a normal, for two numbers between 0 and 1. Even numbers give directions that
/// are distributed by the cosine.
fn direction(normal: Vector, turn: f64, height: f64) -> Vector {
    let mut axis = [0.0; 3];
    axis[(normal.main_axis() + 1) % 3] = 1.0;
    let along = normal.cross(Vector::new(axis[0], axis[1], axis[2])).normalized().unwrap_or(normal);
    let across = normal.cross(along);
    let (sin, cos) = (turn * std::f64::consts::TAU).sin_cos();
    // Not exactly in the plane of the patch.
    let radius = (0.999 * height).sqrt();
    along * (radius * cos) + across * (radius * sin) + normal * (1.0 - radius * radius).sqrt()
}
