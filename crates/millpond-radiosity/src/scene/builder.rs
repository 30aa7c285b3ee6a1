//! Builds a scene from polygons, and checks it.

use super::{MAX_REFLECTANCE, Material, Scene, ScenePatch};
use crate::error::{Error, Fault, Place, Warning};
use crate::geometry::{PolygonFault, Shape, Vector, split};
use crate::parameters::Parameters;
use crate::picture::Camera;

/// The maximum number of patches. The initial interactions take time and memory in proportion to
/// the square of their number.
pub const MAX_PATCHES: usize = 20_000;

/// Collects materials and polygons of a scene.
///
/// ```
/// use millpond_radiosity::scene::{Material, SceneBuilder};
/// use millpond_radiosity::{Rgb, Vector};
///
/// let mut scene = SceneBuilder::new("lamp");
/// let white = Material { name: "white".into(), reflectance: Rgb::gray(0.7), emission: Rgb::gray(1.0) };
/// let white = scene.material(white, None)?;
/// let corner = |x: f64, y: f64| Vector::new(x, y, 0.0);
/// scene.polygon(&[corner(0.0, 0.0), corner(1.0, 0.0), corner(0.0, 1.0)], white, None)?;
/// assert_eq!(scene.build()?.patches.len(), 1);
/// # Ok::<(), millpond_radiosity::Error>(())
/// ```
#[derive(Debug)]
pub struct SceneBuilder {
    name: String,
    materials: Vec<Material>,
    patches: Vec<ScenePatch>,
    camera: Option<Camera>,
    up: Vector,
    warnings: Vec<Warning>,
}

impl SceneBuilder {
    /// A scene without patches. Messages begin with its name.
    pub fn new(name: impl Into<String>) -> Self {
        let (materials, patches, warnings) = (Vec::new(), Vec::new(), Vec::new());
        let up = Vector::new(0.0, 0.0, 1.0);
        Self { name: name.into(), materials, patches, camera: None, up, warnings }
    }

    /// Adds a material, and returns its index.
    ///
    /// # Errors
    ///
    /// If a reflectance is not between 0 and 1, or an emission is negative or not finite.
    /// Reflectances above [`MAX_REFLECTANCE`] are reduced to it.
    pub fn material(&mut self, mut material: Material, line: Option<usize>) -> Result<usize, Error> {
        let outside = |what, value: f64, expected| {
            let value = value.to_string();
            self.fault(line, Fault::OutOfRange { what, value, expected })
        };
        if let Some(value) = material.reflectance.0.iter().find(|value| !(0.0..=1.0).contains(*value)) {
            return Err(outside("the reflectance", *value, "0 to 1"));
        }
        let is_emission = |value: &&f64| !value.is_finite() || **value < 0.0;
        if let Some(value) = material.emission.0.iter().find(is_emission) {
            return Err(outside("the emission", *value, "a finite number of at least 0"));
        }
        material.reflectance = material.reflectance.map(|channel| channel.min(MAX_REFLECTANCE));
        self.materials.push(material);
        Ok(self.materials.len() - 1)
    }

    /// Adds a polygon without holes. A polygon without area is left out, with a warning. A polygon
    /// that is not planar is split into triangles, with a warning.
    ///
    /// # Errors
    ///
    /// If a corner is not finite, if edges cross, if there are too many corners, or if the scene
    /// has more than [`MAX_PATCHES`] patches.
    pub fn polygon(&mut self, corners: &[Vector], material: usize, line: Option<usize>) -> Result<(), Error> {
        if let Some(corner) = corners.iter().find(|corner| !corner.is_finite()) {
            let value = format!("({}, {}, {})", corner.x, corner.y, corner.z);
            return Err(self.fault(line, Fault::NotFinite { what: "the corner", value }));
        }
        let shapes = match split(corners) {
            Ok(shapes) => shapes,
            Err(fault @ PolygonFault::Degenerate) => {
                self.warn(line, Fault::Polygon(fault));
                return Ok(());
            }
            Err(fault @ PolygonFault::NotPlanar { .. }) => {
                self.warn(line, Fault::Polygon(fault));
                let fan = |at: usize| Shape::triangle([corners[0], corners[at], corners[at + 1]]);
                (1..corners.len() - 1).map(fan).filter(|shape| shape.area() > 0.0).collect()
            }
            Err(fault) => return Err(self.fault(line, Fault::Polygon(fault))),
        };
        if self.patches.len() + shapes.len() > MAX_PATCHES {
            return Err(self.fault(None, Fault::TooLarge { what: "patches", most: MAX_PATCHES }));
        }
        self.patches.extend(shapes.into_iter().map(|shape| ScenePatch { shape, material, line }));
        Ok(())
    }

    /// Sets the default camera. Without it, the camera is outside of a corner of the scene.
    pub fn camera(&mut self, camera: Camera) {
        self.camera = Some(camera);
    }

    /// Sets the direction that is up for a camera outside of the scene. It is z without this call.
    pub fn up(&mut self, up: Vector) {
        self.up = up;
    }

    /// Adds a warning.
    pub fn warn(&mut self, line: Option<usize>, fault: Fault) {
        let place = self.place(line);
        self.warnings.push(Warning { place, fault });
    }

    /// An error about a line of the scene.
    pub fn fault(&self, line: Option<usize>, fault: Fault) -> Error {
        Error::Scene { place: self.place(line), fault }
    }

    /// The scene.
    ///
    /// # Errors
    ///
    /// If the scene has no patches, or if no patch emits light.
    pub fn build(self) -> Result<Scene, Error> {
        if self.patches.is_empty() {
            return Err(self.fault(None, Fault::NoFaces));
        }
        let emits = |patch: &ScenePatch| self.materials[patch.material].emission.max_channel() > 0.0;
        if !self.patches.iter().any(emits) {
            return Err(self.fault(None, Fault::NoLight));
        }
        let Self { name, materials, patches, camera, up, warnings } = self;
        let parameters = Parameters::DEFAULT;
        let mut scene = Scene { name, materials, patches, camera: Camera::default(), warnings, parameters };
        let (least, most) = scene.bounds();
        scene.camera = camera.unwrap_or_else(|| Camera::outside(least, most, up));
        Ok(scene)
    }

    fn place(&self, line: Option<usize>) -> Place {
        Place { file: self.name.clone().into(), line }
    }
}
