//! Scenes: built-in ones, and files in Wavefront OBJ.

mod builder;
mod description;
mod obj;

pub use builder::{MAX_PATCHES, SceneBuilder};

use crate::color::Rgb;
use crate::error::{Error, Place, Warning};
use crate::geometry::{Shape, Vector};
use crate::parameters::Parameters;
use crate::picture::Camera;
use std::path::Path;

/// How a surface reflects and emits. Both are diffuse.
#[derive(Debug, Clone, PartialEq)]
pub struct Material {
    /// The name.
    pub name: String,
    /// The reflected share of the incoming power per channel, from 0 to [`MAX_REFLECTANCE`].
    pub reflectance: Rgb,
    /// The emitted power per area and channel. The unit is free.
    pub emission: Rgb,
}

/// The largest reflectance. Light between perfect mirrors never fades.
pub const MAX_REFLECTANCE: f64 = 0.98;

/// A patch: a one-sided shape with a material. Its front is where its corners turn
/// counterclockwise.
#[derive(Debug, Clone, PartialEq)]
pub struct ScenePatch {
    /// The shape.
    pub shape: Shape,
    /// The index of the material in [`Scene::materials`].
    pub material: usize,
    /// The line of its polygon, if known.
    pub line: Option<usize>,
}

/// A scene.
#[derive(Debug, Clone)]
pub struct Scene {
    /// The file, or the name of a built-in scene.
    pub name: String,
    /// The materials.
    pub materials: Vec<Material>,
    /// The patches: at least one, and at least one emits.
    pub patches: Vec<ScenePatch>,
    /// The default camera.
    pub camera: Camera,
    /// Faults that leave a sensible picture.
    pub warnings: Vec<Warning>,
    /// The parameters with which the scene has its documented size.
    pub parameters: Parameters,
}

impl Scene {
    /// A built-in scene.
    ///
    /// # Errors
    ///
    /// If no scene has this name.
    ///
    /// ```
    /// use millpond_radiosity::Scene;
    ///
    /// let scene = Scene::built_in("test")?;
    /// assert!(scene.patches.len() < 50);
    /// let error = Scene::built_in("tset").unwrap_err();
    /// assert!(error.to_string().contains("expected furnace, test, room"));
    /// # Ok::<(), millpond_radiosity::Error>(())
    /// ```
    pub fn built_in(name: &str) -> Result<Self, Error> {
        let found = BUILT_IN.iter().find(|scene| scene.name == name);
        let found = found.ok_or_else(|| Error::UnknownScene { name: name.to_owned() })?;
        let mut scene = description::read(found.name, found.text)?;
        scene.parameters = found.parameters;
        Ok(scene)
    }

    /// The built-in scene of a name, or the scene of a file whose name ends in `.obj`.
    ///
    /// # Errors
    ///
    /// If there is no such scene, or the file cannot be used.
    pub fn open(name: &str) -> Result<Self, Error> {
        let path = Path::new(name);
        let is_file = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("obj"));
        if is_file { Self::from_obj(path) } else { Self::built_in(name) }
    }

    /// Reads a file in Wavefront OBJ and its files of materials. `Kd` is the reflectance, and `Ke`
    /// is the emission.
    ///
    /// Faces with no area are left out, and faces that are not planar are split into triangles,
    /// each with a [`Warning`].
    ///
    /// # Errors
    ///
    /// If a file cannot be read or understood, or if the scene has no faces, no light, or too many
    /// faces. A message names the file and the line.
    pub fn from_obj(file: &Path) -> Result<Self, Error> {
        obj::read(file)
    }

    /// The place of a patch in its file.
    pub fn place(&self, patch: usize) -> Place {
        Place { file: self.name.clone().into(), line: self.patches[patch].line }
    }

    /// The smallest and the largest coordinates.
    pub fn bounds(&self) -> (Vector, Vector) {
        let corners = || self.patches.iter().flat_map(|patch| patch.shape.corners().iter().copied());
        let first = corners().next().unwrap_or_default();
        corners().fold((first, first), |(least, most), corner| (least.min(corner), most.max(corner)))
    }
}

/// A built-in scene.
struct BuiltIn {
    name: &'static str,
    /// The text in `scenes/`. `description` reads it.
    text: &'static str,
    parameters: Parameters,
}

const DEFAULT: Parameters = Parameters::DEFAULT;

/// The built-in scenes. `large`, `hall` and `raum` have the sizes of TP §7.2 with these parameters.
static BUILT_IN: &[BuiltIn] = &[
    BuiltIn {
        name: "furnace",
        text: include_str!("../../scenes/furnace.scene"),
        parameters: Parameters { tolerance: 0.001, ..DEFAULT },
    },
    BuiltIn {
        name: "test",
        text: include_str!("../../scenes/test.scene"),
        parameters: Parameters { bf_error: 1e-4, partial_factor: 0.25, rays: 32, tolerance: 0.001, ..DEFAULT },
    },
    BuiltIn {
        name: "room",
        text: include_str!("../../scenes/room.scene"),
        parameters: Parameters {
            bf_error: 1.5e-5,
            partial_factor: 0.4,
            rays: 40,
            sweeps: 2,
            tolerance: 0.002,
            ..DEFAULT
        },
    },
    BuiltIn {
        name: "large",
        text: include_str!("../../scenes/large.scene"),
        parameters: Parameters {
            bf_error: 3e-6,
            partial_factor: 1.0,
            min_side: 0.0098,
            rays: 8,
            tolerance: 1e-5,
            ..DEFAULT
        },
    },
    BuiltIn {
        name: "hall",
        text: include_str!("../../scenes/hall.scene"),
        parameters: Parameters { bf_error: 2e-4, rays: 8, sweeps: 2, ..DEFAULT },
    },
    BuiltIn {
        name: "raum",
        text: include_str!("../../scenes/raum.scene"),
        parameters: Parameters { bf_error: 2e-4, rays: 11, sweeps: 3, tolerance: 0.001, ..DEFAULT },
    },
];

/// The names of the built-in scenes.
pub fn names() -> Vec<&'static str> {
    BUILT_IN.iter().map(|scene| scene.name).collect()
}
