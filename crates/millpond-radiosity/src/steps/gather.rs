//! Gathering, and the two ways over a quadtree (Hanrahan et al. 1991, solution).

use super::interaction::Interaction;
use super::refine::variation;
use crate::color::Rgb;
use crate::mesh::{Element, ElementId, Mesh, PatchId};

/// What an element gathers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Gathered {
    /// The incoming power per area.
    pub irradiance: Rgb,
    /// The sum of the form factors times visibilities.
    pub row: f64,
    /// The part of `irradiance` with uncertain form factors.
    pub uncertain: Rgb,
    /// The part of `row` with uncertain form factors.
    pub uncertain_row: f64,
}

impl Gathered {
    fn plus(self, other: Self) -> Self {
        Self {
            irradiance: self.irradiance + other.irradiance,
            row: self.row + other.row,
            uncertain: self.uncertain + other.uncertain,
            uncertain_row: self.uncertain_row + other.uncertain_row,
        }
    }
}

/// Gathers through the interactions of one element, in their order.
pub fn gather(mesh: &Mesh, receiver: ElementId, interactions: &[Interaction]) -> Gathered {
    let receiver = mesh.element(receiver);
    let mut gathered = Gathered::default();
    for Interaction { source, form_factor, visibility } in interactions {
        let factor = form_factor * visibility.fraction();
        if factor > 0.0 {
            let source = mesh.element(*source);
            let (light, share) = (source.radiosity() * factor, variation(receiver, source));
            gathered = gathered.plus(Gathered {
                irradiance: light,
                row: factor,
                uncertain: light * share,
                uncertain_row: factor * share,
            });
        }
    }
    gathered
}

/// Below this exposure, a leaf of a closed scene is hidden, and its row says nothing.
pub(super) const HIDDEN: f64 = 0.05;

/// The largest correction divides by this. The row of a leaf that is mostly covered is too small to
/// divide by.
const COVERED: f64 = 0.4;

/// The irradiance of a leaf from all that it and its ancestors gathered.
///
/// In a closed scene, the row of a leaf sums to 1 apart from errors of form factors. The difference
/// is attributed to the surfaces with uncertain form factors: those near the leaf. In an open scene
/// only rows above 1 are certain to be wrong.
pub(super) fn irradiance(mesh: &Mesh, gathered: Gathered) -> Rgb {
    let Gathered { irradiance, row, uncertain, uncertain_row } = gathered;
    let missing = 1.0 - row;
    if row <= HIDDEN || (missing > 0.0 && !mesh.is_closed()) {
        irradiance
    } else if missing.abs() < 0.5 * uncertain_row {
        irradiance + uncertain * (missing / uncertain_row)
    } else {
        irradiance * (1.0 / row.max(COVERED))
    }
}

/// Pushes the irradiance from the root of a patch down to the leaves, and pulls the radiosity up:
/// that of an inner element is the average of its children.
pub fn push_pull(mesh: &Mesh, patch: PatchId) {
    below(mesh, mesh.root(patch), Gathered::default());
}

/// Returns the radiosity and the exposure of an element.
fn below(mesh: &Mesh, id: ElementId, above: Gathered) -> (Rgb, f64) {
    let element = mesh.element(id);
    let gathered = above.plus(element.gathered());
    let (radiosity, exposure) = match mesh.children(id) {
        None => leaf(mesh, element, gathered),
        Some(children) => {
            let (mut radiosity, mut exposure, mut area) = (Rgb::BLACK, 0.0, 0.0);
            for child in children {
                let (own, open) = below(mesh, child, gathered);
                let weight = mesh.element(child).area();
                radiosity += own * weight;
                exposure += open * weight;
                area += weight;
            }
            (radiosity * (1.0 / area), exposure / area)
        }
    };
    element.set_balance(radiosity, exposure);
    (radiosity, exposure)
}

fn leaf(mesh: &Mesh, element: &Element, gathered: Gathered) -> (Rgb, f64) {
    let patch = mesh.patch_of(element);
    (patch.emission + patch.reflectance * irradiance(mesh, gathered), gathered.row)
}

/// Calls a function with each leaf of a patch and all that it and its ancestors gathered.
pub(super) fn for_each_leaf(mesh: &Mesh, patch: PatchId, each: &mut impl FnMut(&Element, Gathered)) {
    fn down(mesh: &Mesh, id: ElementId, above: Gathered, each: &mut impl FnMut(&Element, Gathered)) {
        let element = mesh.element(id);
        let gathered = above.plus(element.gathered());
        match mesh.children(id) {
            None => each(element, gathered),
            Some(children) => children.into_iter().for_each(|child| down(mesh, child, gathered, each)),
        }
    }
    down(mesh, mesh.root(patch), Gathered::default(), each);
}
