//! Is it the serial program's picture, and a better one than came?

use super::picture::Picture;
use super::serial::Found;

/// The peak signal-to-noise ratio in decibels, white being 1.
pub fn psnr(clean: &[f32], other: &[f32]) -> f64 {
    let square = |(&one, &two): (&f32, &f32)| (f64::from(one) - f64::from(two)).powi(2);
    let mean = clean.iter().zip(other).map(square).sum::<f64>() / clean.len() as f64;
    // So that it stays finite: beyond the difference of two 16 bit greys there is nothing to tell apart.
    -10.0 * mean.max(1e-12).log10()
}

/// The ratios of a picture that was made: as it came, and as it was found.
pub fn ratios(picture: &Picture, found: &[Found]) -> Option<[f64; 2]> {
    let (clean, [(plane, _)]) = (picture.clean.as_ref()?, found) else { return None };
    Some([psnr(clean, &picture.planes[0]), psnr(clean, plane)])
}

/// Whether it is the serial program's to the last bit, and better than what came, if there is something to compare it with.
pub fn verified(found: &[Found], expected: &[Found], ratios: Option<[f64; 2]>) -> bool {
    found == expected && ratios.is_none_or(|[before, after]| after > before)
}
