//! Pictures of solutions.

mod camera;
mod raster;
mod surface;
mod tone;

pub use camera::Camera;
pub use surface::{Facet, Surface};

use crate::error::Error;
use crate::mesh::Mesh;
use raster::Buffer;
use std::io::{self, Write};

/// How to draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// The width in pixels, from 1 to [`MAX_SIDE`].
    pub width: usize,
    /// The height in pixels, from 1 to [`MAX_SIDE`].
    pub height: usize,
    /// Whether to draw the borders of the elements.
    pub wireframe: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { width: 800, height: 600, wireframe: false }
    }
}

/// The maximum width and height of a picture.
pub const MAX_SIDE: usize = 8192;

/// Samples per pixel in each direction.
const SAMPLES: usize = 3;

/// The distance of the plane that cuts what is too near, relative to the distance of the target.
const NEAR: f64 = 1e-3;

/// A picture of 8 bits per channel in sRGB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The width in pixels.
    pub width: usize,
    /// The height in pixels.
    pub height: usize,
    /// The pixels, by rows from the top.
    pub pixels: Vec<[u8; 3]>,
}

impl Picture {
    /// Draws a solution: smooth shaded, tone mapped, with several samples per pixel. The same
    /// solution gives the same bytes.
    ///
    /// Surfaces are one-sided: their backs are not drawn, so a camera outside of a room sees into
    /// it.
    ///
    /// # Errors
    ///
    /// If the width or the height is outside its range.
    ///
    /// ```
    /// use millpond_radiosity::picture::{Options, Picture};
    /// use millpond_radiosity::{Scene, solve_serial};
    ///
    /// let scene = Scene::built_in("furnace")?;
    /// let solution = solve_serial(&scene, &scene.parameters)?;
    /// let options = Options { width: 40, height: 30, wireframe: false };
    /// let picture = Picture::draw(&solution.mesh, &scene.camera, &options)?;
    /// assert_eq!(picture.pixels.len(), 40 * 30);
    /// # Ok::<(), millpond_radiosity::Error>(())
    /// ```
    pub fn draw(mesh: &Mesh, camera: &Camera, options: &Options) -> Result<Self, Error> {
        let Options { width, height, wireframe } = *options;
        for (parameter, value) in [("width", width), ("height", height)] {
            if !(1..=MAX_SIDE).contains(&value) {
                return Err(Error::Parameter { parameter, value: value.to_string(), expected: "1 to 8192" });
            }
        }
        // A large picture needs fewer samples.
        let samples = if width * height > 4_000_000 { 1 } else { SAMPLES };
        let surface = Surface::new(mesh);
        let mut buffer = Buffer::new(width * samples, height * samples);
        let near = NEAR * (camera.target - camera.eye).length();
        buffer.draw(&surface, camera, near, wireframe);
        Ok(Self { width, height, pixels: tone::map(&buffer, samples) })
    }

    /// Writes the picture as PNG.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn write_png(&self, out: &mut dyn Write) -> Result<(), Error> {
        let failed = |error: png::EncodingError| Error::Write { why: io::Error::other(error) };
        let mut encoder = png::Encoder::new(out, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(failed)?;
        writer.write_image_data(self.pixels.as_flattened()).map_err(failed)?;
        writer.finish().map_err(failed)
    }
}
