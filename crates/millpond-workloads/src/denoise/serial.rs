//! The serial program: the picture as one tile.

use super::picture::{Picture, Plane};
use crate::rician::{self, Noise};

/// A plane without noise, and the number of iterations.
pub type Found = (Plane, u32);

/// Denoises each channel separately.
pub fn serial(picture: &Picture, sigma: f32, iterations: u32) -> Vec<Found> {
    let noise = Noise::new(sigma);
    let channel = |noisy: &Plane| {
        let mut plane = noisy.clone();
        let still = |_: &u32| rician::step_alone(noise, picture.extent, noisy, &mut plane);
        let last = (1..iterations).find(still);
        let last = last.unwrap_or_else(|| {
            rician::step_alone(noise, picture.extent, noisy, &mut plane);
            iterations
        });
        (plane, last)
    };
    picture.planes.iter().map(channel).collect()
}
