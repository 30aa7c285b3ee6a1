//! Vectors with three coordinates.

use std::ops::{Add, AddAssign, Index, Mul, Neg, Sub};

/// A point or a direction in space.
///
/// ```
/// use millpond_radiosity::Vector;
///
/// let (x, y) = (Vector::new(1.0, 0.0, 0.0), Vector::new(0.0, 1.0, 0.0));
/// assert_eq!(x.cross(y), Vector::new(0.0, 0.0, 1.0));
/// assert_eq!((x + y).dot(x - y), 0.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Vector {
    /// The first coordinate.
    pub x: f64,
    /// The second coordinate.
    pub y: f64,
    /// The third coordinate.
    pub z: f64,
}

impl Vector {
    /// The origin.
    pub const ZERO: Self = Self::new(0.0, 0.0, 0.0);

    /// A vector from its coordinates.
    pub const fn new(x: f64, y: f64, z: f64) -> Self {
        Self { x, y, z }
    }

    /// The scalar product.
    pub fn dot(self, other: Self) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    /// The vector product, right-handed.
    pub fn cross(self, other: Self) -> Self {
        Self::new(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )
    }

    /// The Euclidean length.
    pub fn length(self) -> f64 {
        self.dot(self).sqrt()
    }

    /// The direction, if the length is a positive finite number.
    pub fn normalized(self) -> Option<Self> {
        let length = self.length();
        (length > 0.0 && length.is_finite()).then(|| self * (1.0 / length))
    }

    /// Whether all coordinates are finite.
    pub fn is_finite(self) -> bool {
        self.x.is_finite() && self.y.is_finite() && self.z.is_finite()
    }

    /// The smaller coordinates of both vectors.
    pub fn min(self, other: Self) -> Self {
        Self::new(self.x.min(other.x), self.y.min(other.y), self.z.min(other.z))
    }

    /// The larger coordinates of both vectors.
    pub fn max(self, other: Self) -> Self {
        Self::new(self.x.max(other.x), self.y.max(other.y), self.z.max(other.z))
    }

    /// The point at `t` on the line through `self` (0) and `other` (1).
    pub fn lerp(self, other: Self, t: f64) -> Self {
        self * (1.0 - t) + other * t
    }

    /// The axis of the coordinate with the largest absolute value: 0, 1 or 2.
    pub fn main_axis(self) -> usize {
        let (x, y, z) = (self.x.abs(), self.y.abs(), self.z.abs());
        match (x >= y, x >= z, y >= z) {
            (true, true, _) => 0,
            (_, _, true) => 1,
            _ => 2,
        }
    }
}

impl Index<usize> for Vector {
    type Output = f64;

    /// The coordinate of axis 0, 1 or 2.
    fn index(&self, axis: usize) -> &f64 {
        match axis {
            0 => &self.x,
            1 => &self.y,
            _ => &self.z,
        }
    }
}

impl Add for Vector {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::new(self.x + other.x, self.y + other.y, self.z + other.z)
    }
}

impl AddAssign for Vector {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Vector {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self::new(self.x - other.x, self.y - other.y, self.z - other.z)
    }
}

impl Mul<f64> for Vector {
    type Output = Self;

    fn mul(self, by: f64) -> Self {
        Self::new(self.x * by, self.y * by, self.z * by)
    }
}

impl Neg for Vector {
    type Output = Self;

    fn neg(self) -> Self {
        self * -1.0
    }
}
