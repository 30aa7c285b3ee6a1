//! An element: a patch or a part of one.

use super::PatchId;
use crate::color::{Rgb, SharedNumber, SharedRgb};
use crate::geometry::{Shape, Vector};
use crate::steps::{Gathered, Interaction};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The index of an element in its [`Mesh`](super::Mesh). Which element has which index depends on
/// the order of subdivisions; [`Element::key`] does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ElementId(pub(super) u32);

impl ElementId {
    /// The index as a number, below [`Mesh::elements`](super::Mesh::elements).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A node of the quadtree of a patch.
///
/// The module documentation of [`steps`](crate::steps) lists which step reads and writes what.
#[derive(Debug)]
pub struct Element {
    pub(super) patch: PatchId,
    pub(super) key: u64,
    pub(super) level: u32,
    pub(super) shape: Shape,
    pub(super) center: Vector,
    pub(super) area: f64,
    /// The first of four children, or `None` if there was no room for them.
    pub(super) children: OnceLock<Option<ElementId>>,
    interactions: Mutex<Vec<Interaction>>,
    irradiance: SharedRgb,
    row: SharedNumber,
    uncertain: SharedRgb,
    uncertain_row: SharedNumber,
    radiosity: SharedRgb,
    exposure: SharedNumber,
}

impl Element {
    pub(super) fn new(patch: PatchId, key: u64, level: u32, shape: Shape, radiosity: Rgb) -> Self {
        Self {
            patch,
            key,
            level,
            shape,
            center: shape.center(),
            area: shape.area(),
            children: OnceLock::new(),
            interactions: Mutex::default(),
            irradiance: SharedRgb::default(),
            row: SharedNumber::default(),
            uncertain: SharedRgb::default(),
            uncertain_row: SharedNumber::default(),
            radiosity: SharedRgb::new(radiosity),
            exposure: SharedNumber::default(),
        }
    }

    /// The patch whose quadtree has this element.
    pub fn patch(&self) -> PatchId {
        self.patch
    }

    /// The patch and the path to the element, as a number. Every run and every order of
    /// subdivisions give an element the same key.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// The number of subdivisions from the patch to the element.
    pub fn level(&self) -> u32 {
        self.level
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The average of the corners.
    pub fn center(&self) -> Vector {
        self.center
    }

    /// The area.
    pub fn area(&self) -> f64 {
        self.area
    }

    /// The interactions through which the element gathers. The list has a lock, because tasks that
    /// refine different interactions of an element add to it.
    pub fn interactions(&self) -> MutexGuard<'_, Vec<Interaction>> {
        // A list is valid after each push, so a panic elsewhere does not matter.
        self.interactions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The power per area that leaves the element.
    pub fn radiosity(&self) -> Rgb {
        self.radiosity.get()
    }

    /// What the element gathered through its own interactions.
    pub fn gathered(&self) -> Gathered {
        Gathered {
            irradiance: self.irradiance.get(),
            row: self.row.get(),
            uncertain: self.uncertain.get(),
            uncertain_row: self.uncertain_row.get(),
        }
    }

    /// Stores what the element gathered. [`push_pull`](crate::steps::push_pull) reads it.
    pub fn set_gathered(&self, gathered: Gathered) {
        self.irradiance.set(gathered.irradiance);
        self.row.set(gathered.row);
        self.uncertain.set(gathered.uncertain);
        self.uncertain_row.set(gathered.uncertain_row);
    }

    /// The sum of the form factors times visibilities of the element and its ancestors, averaged
    /// over its leaves. In a closed scene it is near 1. [`push_pull`](crate::steps::push_pull) sets
    /// it.
    pub fn exposure(&self) -> f64 {
        self.exposure.get()
    }

    pub(crate) fn set_balance(&self, radiosity: Rgb, exposure: f64) {
        self.radiosity.set(radiosity);
        self.exposure.set(exposure);
    }
}
