//! Compares a picture with the serial program's, and with the noisy one.

use super::picture::Picture;
use super::serial::Found;

/// The peak signal-to-noise ratio in decibels. White is 1.
pub fn psnr(clean: &[f32], other: &[f32]) -> f64 {
    let square = |(&one, &two): (&f32, &f32)| (f64::from(one) - f64::from(two)).powi(2);
    let mean = clean.iter().zip(other).map(square).sum::<f64>() / clean.len() as f64;
    // The bound keeps it finite. It is below the difference between two 16-bit greys.
    -10.0 * mean.max(1e-12).log10()
}

/// The ratios of a generated picture: before and after denoising.
pub fn ratios(picture: &Picture, found: &[Found]) -> Option<[f64; 2]> {
    let (clean, [(plane, _)]) = (picture.clean.as_ref()?, found) else { return None };
    Some([psnr(clean, &picture.planes[0]), psnr(clean, plane)])
}

/// Whether the result equals the serial program's to the last bit. If the clean picture is known,
/// the result must also be better than the noisy one.
pub fn verified(found: &[Found], expected: &[Found], ratios: Option<[f64; 2]>) -> bool {
    found == expected && ratios.is_none_or(|[before, after]| after > before)
}
