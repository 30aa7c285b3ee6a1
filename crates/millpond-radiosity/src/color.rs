//! Quantities per colour channel, and shared ones.

use std::ops::{Add, AddAssign, Mul, Sub};
use std::sync::atomic::{AtomicU64, Ordering};

/// A quantity for red, green and blue: radiosity, emission, power or reflectance.
///
/// ```
/// use millpond_radiosity::Rgb;
///
/// let light = Rgb([1.0, 2.0, 4.0]);
/// assert_eq!(light * Rgb([0.5, 0.5, 0.25]), Rgb([0.5, 1.0, 1.0]));
/// assert_eq!((light.max_channel(), light.sum()), (4.0, 7.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rgb(pub [f64; 3]);

impl Rgb {
    /// Zero in all channels.
    pub const BLACK: Self = Self([0.0; 3]);

    /// The same value in all channels.
    pub const fn gray(value: f64) -> Self {
        Self([value; 3])
    }

    /// The largest channel.
    pub fn max_channel(self) -> f64 {
        self.0[0].max(self.0[1]).max(self.0[2])
    }

    /// The sum of the channels.
    pub fn sum(self) -> f64 {
        self.0[0] + self.0[1] + self.0[2]
    }

    /// The brightness that an eye sees: the weights of ITU-R BT.709.
    pub fn luminance(self) -> f64 {
        0.2126 * self.0[0] + 0.7152 * self.0[1] + 0.0722 * self.0[2]
    }

    /// Applies a function to each channel.
    pub fn map(self, function: impl FnMut(f64) -> f64) -> Self {
        Self(self.0.map(function))
    }

    /// Whether all channels are finite.
    pub fn is_finite(self) -> bool {
        self.0.iter().all(|channel| channel.is_finite())
    }
}

impl Add for Rgb {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self([self.0[0] + other.0[0], self.0[1] + other.0[1], self.0[2] + other.0[2]])
    }
}

impl AddAssign for Rgb {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Rgb {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self([self.0[0] - other.0[0], self.0[1] - other.0[1], self.0[2] - other.0[2]])
    }
}

impl Mul<f64> for Rgb {
    type Output = Self;

    fn mul(self, by: f64) -> Self {
        self.map(|channel| channel * by)
    }
}

impl Mul for Rgb {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self([self.0[0] * other.0[0], self.0[1] * other.0[1], self.0[2] * other.0[2]])
    }
}

/// A number that threads share.
#[derive(Debug, Default)]
pub(crate) struct SharedNumber(AtomicU64);

impl SharedNumber {
    pub(crate) fn new(value: f64) -> Self {
        Self(AtomicU64::new(value.to_bits()))
    }

    pub(crate) fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Acquire))
    }

    pub(crate) fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Ordering::Release);
    }
}

/// A colour that threads share. A read during a write may see channels of both values, so steps
/// that read and steps that write are in different phases.
#[derive(Debug, Default)]
pub(crate) struct SharedRgb([SharedNumber; 3]);

impl SharedRgb {
    pub(crate) fn new(value: Rgb) -> Self {
        Self(value.0.map(SharedNumber::new))
    }

    pub(crate) fn get(&self) -> Rgb {
        Rgb([self.0[0].get(), self.0[1].get(), self.0[2].get()])
    }

    pub(crate) fn set(&self, value: Rgb) {
        for (channel, value) in self.0.iter().zip(value.0) {
            channel.set(value);
        }
    }
}
