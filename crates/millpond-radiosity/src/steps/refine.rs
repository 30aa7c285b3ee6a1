//! Refinement by BF: the power that an interaction carries.

use super::interaction::{Interaction, Link, Links};
use crate::form_factor::{self, Surface};
use crate::mesh::{Element, ElementId, Mesh};

/// The outcome of a refinement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Refined {
    /// The link is precise enough. [`visibility`](super::visibility) comes next.
    Accepted {
        /// The form factor from the receiver to the source.
        form_factor: f64,
    },
    /// The larger element was divided. Each part is refined next.
    Divided(Links),
    /// The elements do not see each other, although parts of their planes do.
    Apart,
}

/// Refines a link: estimates its form factor and the power that it would carry if nothing were in
/// the way, and accepts it or divides the larger element (Hanrahan et al. 1991, refinement
/// weighted by brightness).
///
/// A link is also accepted if neither element can be divided.
pub fn refine(mesh: &Mesh, link: Link) -> Refined {
    let (receiver, source) = (mesh.element(link.receiver), mesh.element(link.source));
    let form_factor = form_factor::between(surface(mesh, receiver), surface(mesh, source));
    if form_factor <= 0.0 {
        return Refined::Apart;
    }
    if error(mesh, receiver, source, form_factor) > mesh.limits().power
        && let Some(links) = divide(mesh, link)
    {
        return Refined::Divided(links);
    }
    Refined::Accepted { form_factor }
}

/// Refines an interaction whose visibility is known: one just accepted, or one of an earlier
/// iteration, because its source may have become brighter. Returns its parts, which replace it, or
/// `None` if it stays.
///
/// An interaction that carries light past an obstacle is refined further than others
/// ([`Parameters::partial_factor`](crate::Parameters::partial_factor)), and an invisible one never.
pub fn refine_again(mesh: &Mesh, receiver: ElementId, interaction: &Interaction) -> Option<Links> {
    let Interaction { source, form_factor, visibility } = *interaction;
    if visibility.is_none() {
        return None;
    }
    let limits = mesh.limits();
    let limit = if visibility.is_complete() { limits.power } else { limits.partial };
    let is_large = error(mesh, mesh.element(receiver), mesh.element(source), form_factor) > limit;
    is_large.then(|| divide(mesh, Link { receiver, source })).flatten()
}

/// BF times the area: the power from a source to a receiver in its brightest channel, times the
/// relative error of the form factor.
fn error(mesh: &Mesh, receiver: &Element, source: &Element, form_factor: f64) -> f64 {
    let power = source.radiosity().max_channel() * form_factor * receiver.area();
    power * (mesh.parameters().falloff * variation(receiver, source)).min(1.0)
}

/// How much the form factors of the parts of both elements differ, relative to their average: the
/// larger area over the squared distance, at most 1.
pub(super) fn variation(receiver: &Element, source: &Element) -> f64 {
    let way = source.center() - receiver.center();
    (receiver.area().max(source.area()) / way.dot(way)).min(1.0)
}

/// Divides the larger element of a link, or the other one if that is too small.
fn divide(mesh: &Mesh, link: Link) -> Option<Links> {
    let Link { receiver, source } = link;
    let of_receiver = || Some(mesh.divide(receiver)?.map(|receiver| Link { receiver, source }));
    let of_source = || Some(mesh.divide(source)?.map(|source| Link { receiver, source }));
    let links = if mesh.element(receiver).area() > mesh.element(source).area() {
        of_receiver().or_else(of_source)
    } else {
        of_source().or_else(of_receiver)
    };
    Some(Links::facing(mesh, links?))
}

fn surface<'a>(mesh: &'a Mesh, element: &'a Element) -> Surface<'a> {
    let plane = &mesh.patch_of(element).plane;
    Surface { shape: element.shape(), plane, center: element.center(), area: element.area() }
}
