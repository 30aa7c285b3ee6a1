//! Interactions between elements.

use crate::geometry::Plane;
use crate::mesh::{Element, ElementId, Mesh};

/// A pair of elements that may see each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Link {
    /// The element that gathers.
    pub receiver: ElementId,
    /// The element that emits and reflects.
    pub source: ElementId,
}

/// The parts of a refined link: up to four. Parts that turn their backs to each other are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Links([Option<Link>; 4]);

impl IntoIterator for Links {
    type Item = Link;
    type IntoIter = std::iter::Flatten<std::array::IntoIter<Option<Link>, 4>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().flatten()
    }
}

impl Links {
    /// The links between a pair, one of which is divided.
    pub(super) fn facing(mesh: &Mesh, links: [Link; 4]) -> Self {
        Self(links.map(|link| faces(mesh, link).then_some(link)))
    }
}

/// Whether a part of each element is in front of the other.
fn faces(mesh: &Mesh, link: Link) -> bool {
    let (receiver, source) = (mesh.element(link.receiver), mesh.element(link.source));
    let is_before = |plane: &Plane, element: &Element| {
        element.shape().corners().iter().any(|corner| plane.distance(*corner) > mesh.limits().distance)
    };
    is_before(&mesh.patch_of(receiver).plane, source) && is_before(&mesh.patch_of(source).plane, receiver)
}

/// How much of an element another one sees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Visibility(f32);

impl Visibility {
    /// Nothing is visible.
    pub const NONE: Self = Self(0.0);
    /// Nothing is hidden.
    pub const COMPLETE: Self = Self(1.0);

    /// A part is visible.
    ///
    /// # Panics
    ///
    /// If the fraction is not between 0 and 1.
    pub fn partial(fraction: f64) -> Self {
        assert!((0.0..=1.0).contains(&fraction), "{fraction} is no visible fraction");
        // Rounding must not make it complete or none.
        Self((fraction as f32).clamp(f32::MIN_POSITIVE, 1.0 - f32::EPSILON))
    }

    /// The visible fraction, from 0 to 1.
    pub fn fraction(self) -> f64 {
        self.0.into()
    }

    /// Whether nothing is hidden.
    pub fn is_complete(self) -> bool {
        self == Self::COMPLETE
    }

    /// Whether nothing is visible.
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }
}

/// What an element gathers from a source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interaction {
    /// The element that emits and reflects.
    pub source: ElementId,
    /// The share of the power leaving the receiver that would reach the source without obstacles.
    pub form_factor: f64,
    /// How much of the source the receiver sees.
    pub visibility: Visibility,
}

/// Sorts interactions by their sources, in the same order in every run.
pub fn sort(mesh: &Mesh, interactions: &mut [Interaction]) {
    interactions.sort_unstable_by_key(|interaction| mesh.element(interaction.source).key());
}

/// The links between two patches' elements, if they face each other.
pub(super) fn link(mesh: &Mesh, receiver: ElementId, source: ElementId) -> Option<Link> {
    Some(Link { receiver, source }).filter(|link| faces(mesh, *link))
}
