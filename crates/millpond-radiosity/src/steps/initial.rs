//! The first interactions of a patch, and whether a scene is closed.

use super::interaction::{Link, link};
use super::visibility::Points;
use crate::bsp::Scratch;
use crate::geometry::Vector;
use crate::mesh::{Mesh, Patch, PatchId};

/// The links from a patch to all others that face it. Takes time in proportion to the number of
/// patches.
pub fn initial(mesh: &Mesh, receiver: PatchId) -> impl Iterator<Item = Link> + '_ {
    let sources = (0..mesh.patches().len()).filter(move |source| *source != receiver);
    sources.filter_map(move |source| link(mesh, mesh.root(receiver), mesh.root(source)))
}

/// Rays per patch that test whether a scene is closed.
const RAYS: u32 = 16;

/// Whether every ray from the front of a patch meets another patch. Patches that see nothing at all,
/// such as the outside of a room, do not count.
pub(crate) fn is_closed(mesh: &Mesh) -> bool {
    let corners = || mesh.patches().iter().flat_map(|patch| patch.shape.corners().iter().copied());
    let first = corners().next().unwrap_or_default();
    let (least, most) = corners().fold((first, first), |(least, most), c| (least.min(c), most.max(c)));
    let length = 2.0 * (most - least).length();
    let mut scratch = Scratch::default();
    let mut hits = |(at, patch): (PatchId, &Patch)| {
        let rays = Points::new(at as u64, RAYS).map(|[u, v, turn, height]| {
            let from = patch.shape.point(u, v);
            (from, from + direction(patch.plane.normal, turn, height) * length)
        });
        rays.filter(|(from, to)| mesh.bsp().first_hit(*from, *to, &mut scratch).is_some()).count() as u32
    };
    let mut seeing = 0;
    for patch in mesh.patches().iter().enumerate() {
        match hits(patch) {
            0 => {}
            RAYS => seeing += 1,
            _ => return false,
        }
    }
    seeing > 0
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
