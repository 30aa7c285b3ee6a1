//! The patches of a scene, and a quadtree of elements for each.
//!
//! Threads may subdivide any elements at the same time without a lock: each element has a cell for
//! its children, and the first thread fills it. The elements are in chunks that never move, so
//! references to them stay valid.

mod arena;
mod element;

pub use element::{Element, ElementId};

use crate::bsp::Bsp;
use crate::color::Rgb;
use crate::error::Error;
use crate::geometry::{Plane, Shape};
use crate::parameters::Parameters;
use crate::scene::Scene;
use arena::Arena;

/// The index of a patch in its mesh.
pub type PatchId = usize;

/// A patch: a one-sided surface with one material.
#[derive(Debug, Clone)]
pub struct Patch {
    /// The index in [`Scene::patches`]. A patch without area is left out of the mesh.
    pub index: usize,
    /// The plane. Its normal points to the front.
    pub plane: Plane,
    /// The shape.
    pub shape: Shape,
    /// The index of the material in the scene.
    pub material: usize,
    /// The reflected share of the incoming power.
    pub reflectance: Rgb,
    /// The emitted power per area.
    pub emission: Rgb,
}

/// A scene prepared for the steps: patches, elements, and the tree for visibility.
#[derive(Debug)]
pub struct Mesh {
    patches: Vec<Patch>,
    elements: Arena,
    bsp: Bsp,
    parameters: Parameters,
    limits: Limits,
    closed: bool,
}

/// The thresholds of [`Parameters`] in the units of the scene.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limits {
    /// The power that a completely visible interaction may carry without refinement.
    pub(crate) power: f64,
    /// The power for a partially visible interaction.
    pub(crate) partial: f64,
    /// The minimum area of an element.
    pub(crate) area: f64,
    /// Distances below this are zero.
    pub(crate) distance: f64,
    /// No two points of the scene are further apart.
    pub(crate) reach: f64,
}

/// The maximum level of an element: a path has two bits a level.
const MAX_LEVEL: u32 = 15;

impl Mesh {
    /// Prepares a scene: builds the tree, and an element for each patch. The radiosities are the
    /// emissions.
    ///
    /// # Errors
    ///
    /// If a parameter is outside its range.
    pub fn new(scene: &Scene, parameters: &Parameters) -> Result<Self, Error> {
        parameters.check()?;
        let patch = |(index, patch): (usize, &crate::scene::ScenePatch)| {
            let material = &scene.materials[patch.material];
            let plane = Plane::of(&patch.shape)?;
            let (reflectance, emission) = (material.reflectance, material.emission);
            Some(Patch { index, plane, shape: patch.shape, material: patch.material, reflectance, emission })
        };
        let patches: Vec<Patch> = scene.patches.iter().enumerate().filter_map(patch).collect();
        let shapes: Vec<Shape> = patches.iter().map(|patch| patch.shape).collect();
        let bsp = Bsp::new(&shapes);
        let limits = limits(scene, &patches, parameters, bsp.tolerance());
        let mut mesh =
            Self { patches, elements: Arena::default(), bsp, parameters: *parameters, limits, closed: false };
        mesh.closed = crate::steps::is_closed(&mesh);
        for at in 0..mesh.patches.len() {
            let Patch { shape, emission, .. } = mesh.patches[at];
            let root = Element::new(at, (at as u64) << 32 | 1, 0, shape, emission);
            let place = mesh.elements.claim(1, u32::MAX).expect("a place for each patch");
            mesh.elements.fill(place, root);
        }
        Ok(mesh)
    }

    /// The patches.
    pub fn patches(&self) -> &[Patch] {
        &self.patches
    }

    /// The patch of an element.
    pub fn patch_of(&self, element: &Element) -> &Patch {
        &self.patches[element.patch]
    }

    /// The element of a whole patch.
    ///
    /// # Panics
    ///
    /// If there is no such patch.
    pub fn root(&self, patch: PatchId) -> ElementId {
        assert!(patch < self.patches.len(), "there is no patch {patch}");
        ElementId(patch as u32)
    }

    /// An element.
    ///
    /// # Panics
    ///
    /// If the index is from another mesh that has more elements.
    pub fn element(&self, id: ElementId) -> &Element {
        self.elements.get(id.0).expect("an element of this mesh")
    }

    /// The number of elements: all nodes of all quadtrees.
    pub fn elements(&self) -> usize {
        self.elements.len() as usize
    }

    /// All elements. It misses those that other threads are adding.
    pub fn ids(&self) -> impl Iterator<Item = ElementId> + '_ {
        (0..self.elements.len()).filter(|id| self.elements.get(*id).is_some()).map(ElementId)
    }

    /// The children of an element, if it is divided.
    pub fn children(&self, id: ElementId) -> Option<[ElementId; 4]> {
        self.element(id).children.get().copied().flatten().map(siblings)
    }

    /// Divides an element, unless it is divided. Returns its children, or `None` if it is too small
    /// or the mesh is full.
    ///
    /// Any number of threads may call this for one element. One creates the children, and the
    /// others wait for it. The children start with the radiosity of the element.
    pub fn divide(&self, id: ElementId) -> Option<[ElementId; 4]> {
        let element = self.element(id);
        if element.level == MAX_LEVEL || element.area < 4.0 * self.limits.area {
            return None;
        }
        let create = || {
            let first = self.elements.claim(4, self.parameters.max_elements)?;
            let (patch, path) = (element.key >> 32 << 32, element.key & u64::from(u32::MAX));
            for (at, quarter) in (0..).zip(element.shape.quarters()) {
                let key = patch | path << 2 | at;
                let radiosity = element.radiosity();
                let child = Element::new(element.patch, key, element.level + 1, quarter, radiosity);
                self.elements.fill(first + at as u32, child);
            }
            Some(ElementId(first))
        };
        (*element.children.get_or_init(create)).map(siblings)
    }

    /// Calls a function for each leaf below an element, from the first child to the last.
    pub fn for_each_leaf<'a>(&'a self, id: ElementId, each: &mut impl FnMut(&'a Element)) {
        match self.children(id) {
            Some(children) => children.into_iter().for_each(|child| self.for_each_leaf(child, each)),
            None => each(self.element(id)),
        }
    }

    /// Answers which points see each other.
    pub fn bsp(&self) -> &Bsp {
        &self.bsp
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Whether every ray from the front of a patch meets another patch.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }
}

fn siblings(first: ElementId) -> [ElementId; 4] {
    [0, 1, 2, 3].map(|at| ElementId(first.0 + at))
}

fn limits(scene: &Scene, patches: &[Patch], parameters: &Parameters, distance: f64) -> Limits {
    let emitted: f64 = patches.iter().map(|patch| patch.shape.area() * patch.emission.max_channel()).sum();
    let (least, most) = scene.bounds();
    let diagonal = (most - least).length();
    let side = parameters.min_side * diagonal;
    let power = parameters.bf_error * emitted;
    Limits { power, partial: power * parameters.partial_factor, area: side * side, distance, reach: 2.0 * diagonal }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::thread;

    #[test]
    fn threads_divide_an_element_once() {
        let scene = Scene::built_in("test").expect("a scene");
        let mesh = Mesh::new(&scene, &Parameters::default()).expect("a mesh");
        let divide = |mesh: &Mesh| {
            let mut found = Vec::new();
            for patch in 0..mesh.patches().len() {
                let mut below = vec![mesh.root(patch)];
                for _ in 0..3 {
                    below = below.iter().filter_map(|id| mesh.divide(*id)).flatten().collect();
                    found.extend(below.iter().copied());
                }
            }
            found
        };
        let found: Vec<Vec<ElementId>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| divide(&mesh))).collect();
            threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
        });
        assert!(found.iter().all(|other| *other == found[0]));
        assert_eq!(mesh.elements(), mesh.patches().len() + found[0].len());
        assert_eq!(mesh.ids().count(), mesh.elements());
        let keys: HashSet<u64> = mesh.ids().map(|id| mesh.element(id).key()).collect();
        assert_eq!(keys.len(), mesh.elements());
    }

    #[test]
    fn a_full_mesh_divides_no_more() {
        let scene = Scene::built_in("test").expect("a scene");
        let parameters = Parameters { max_elements: scene.patches.len() as u32 + 4, ..Parameters::DEFAULT };
        let mesh = Mesh::new(&scene, &parameters).expect("a mesh");
        assert!(mesh.divide(mesh.root(0)).is_some());
        assert_eq!(mesh.divide(mesh.root(1)), None);
        assert!(mesh.divide(mesh.root(0)).is_some());
        assert_eq!(mesh.elements(), scene.patches.len() + 4);
    }
}
