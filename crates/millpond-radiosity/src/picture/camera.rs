//! Cameras, and what they see where.

use crate::error::Error;
use crate::geometry::Vector;

/// A perspective camera.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    /// Where it is.
    pub eye: Vector,
    /// The point in the middle of the picture.
    pub target: Vector,
    /// The direction that is up in the picture.
    pub up: Vector,
    /// The vertical angle of view, in degrees.
    pub degrees: f64,
}

impl Default for Camera {
    fn default() -> Self {
        let (eye, target) = (Vector::new(0.0, -1.0, 0.0), Vector::ZERO);
        Self { eye, target, up: Vector::new(0.0, 0.0, 1.0), degrees: 45.0 }
    }
}

impl Camera {
    /// Reads `X,Y,Z:X,Y,Z` or `X,Y,Z:X,Y,Z:DEGREES`: where the camera is, what it looks at, and its
    /// vertical angle of view. The rest is from `default`, the camera of the scene.
    ///
    /// # Errors
    ///
    /// If the text has another form, if both points are the same, or if the angle is not between 1
    /// and 150 degrees.
    ///
    /// ```
    /// use millpond_radiosity::{Camera, Vector};
    ///
    /// let camera = Camera::parse("0,-3,1.5:0,0,1:60", &Camera::default())?;
    /// assert_eq!((camera.eye, camera.degrees), (Vector::new(0.0, -3.0, 1.5), 60.0));
    /// assert!(Camera::parse("0,0,0", &camera).is_err());
    /// # Ok::<(), millpond_radiosity::Error>(())
    /// ```
    pub fn parse(text: &str, default: &Self) -> Result<Self, Error> {
        let point = |text: &str| {
            let numbers: Vec<f64> = text.split(',').map(|word| word.trim().parse().ok()).collect::<Option<_>>()?;
            let [x, y, z] = numbers[..] else { return None };
            Some(Vector::new(x, y, z)).filter(|point| point.is_finite())
        };
        let parts: Vec<&str> = text.split(':').collect();
        let camera = match parts[..] {
            [eye, target] => point(eye).zip(point(target)).map(|(eye, target)| Self { eye, target, ..*default }),
            [eye, target, degrees] => point(eye)
                .zip(point(target))
                .zip(degrees.trim().parse().ok())
                .map(|((eye, target), degrees)| Self { eye, target, degrees, ..*default }),
            _ => None,
        };
        let fits = |camera: &Self| (1.0..=150.0).contains(&camera.degrees) && camera.eye != camera.target;
        camera.filter(fits).ok_or_else(|| Error::Parameter {
            parameter: "camera",
            value: text.to_owned(),
            expected: "X,Y,Z:X,Y,Z or X,Y,Z:X,Y,Z:DEGREES (position, target, vertical angle from 1 to 150)",
        })
    }

    /// Outside of a box, looking at its centre past a corner. Surfaces are one-sided, so walls
    /// between the camera and the inside of a room are not drawn.
    pub fn outside(least: Vector, most: Vector, up: Vector) -> Self {
        let (center, size) = ((least + most) * 0.5, most - least);
        let side = up.cross(Vector::new(0.3, 0.5, 0.8)).normalized().unwrap_or(Vector::new(1.0, 0.0, 0.0));
        let away = side + side.cross(up) * 0.4 + up * 0.5;
        let away = away.normalized().unwrap_or(side);
        // The sphere around the box fits into the angle of view.
        let degrees = 40.0_f64;
        let distance = 0.5 * size.length().max(1e-9) / (degrees.to_radians() / 2.0).sin();
        Self { eye: center + away * distance, target: center, up, degrees }
    }

    pub(super) fn frame(&self) -> Frame {
        let forward = (self.target - self.eye).normalized().unwrap_or(Vector::new(0.0, 1.0, 0.0));
        let level = |up: Vector| forward.cross(up).normalized();
        // Straight up or down, any direction may be up.
        let sideways = level(self.up).or_else(|| level(Vector::new(0.0, 1.0, 0.0)));
        let right = sideways.or_else(|| level(Vector::new(1.0, 0.0, 0.0))).unwrap_or(Vector::new(1.0, 0.0, 0.0));
        let scale = 1.0 / (self.degrees.to_radians() / 2.0).tan();
        Frame { eye: self.eye, right, up: right.cross(forward), forward, scale }
    }
}

/// The axes of a camera.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) eye: Vector,
    right: Vector,
    up: Vector,
    forward: Vector,
    scale: f64,
}

impl Frame {
    /// A point relative to the camera: right, up, and depth. The half height of the picture is at
    /// right angles from 1 / scale times the depth.
    pub(super) fn seen(&self, point: Vector) -> Vector {
        let way = point - self.eye;
        Vector::new(way.dot(self.right) * self.scale, way.dot(self.up) * self.scale, way.dot(self.forward))
    }
}
