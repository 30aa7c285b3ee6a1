//! From radiosities to bytes.

use super::raster::Buffer;
use crate::color::Rgb;

/// The brightness of the middle of the picture's logarithmic range.
const KEY: f64 = 0.32;

/// The scaled radiosity that becomes white.
const WHITE: f64 = 5.0;

/// How much of the light an edge of the wireframe leaves.
const EDGE: f64 = 0.35;

/// The colour where nothing is seen.
const BACKGROUND: Rgb = Rgb::gray(0.015);

/// Maps radiosities to bytes (Reinhard et al. 2002, eq. 1, 2 and 4), and averages `samples` times
/// `samples` of them for each pixel.
pub(super) fn map(buffer: &Buffer, samples: usize) -> Vec<[u8; 3]> {
    let scale = KEY / average(buffer);
    let color = |sample: usize| {
        let mapped = buffer.colors[sample].map_or(BACKGROUND, |color| (color * scale).map(compress));
        if buffer.edges[sample] { mapped * EDGE } else { mapped }
    };
    let (width, height) = (buffer.width / samples, buffer.height / samples);
    let mut bytes = Vec::with_capacity(width * height);
    for row in 0..height {
        for column in 0..width {
            let mut sum = Rgb::BLACK;
            for y in 0..samples {
                let first = (row * samples + y) * buffer.width + column * samples;
                (first..first + samples).for_each(|sample| sum += color(sample));
            }
            let mean = sum * (1.0 / (samples * samples) as f64);
            bytes.push(mean.0.map(|channel| (gamma(channel) * 255.0).round() as u8));
        }
    }
    bytes
}

/// The logarithmic average of the luminance. The floor keeps black surfaces from lifting the rest.
fn average(buffer: &Buffer) -> f64 {
    let luminances = || buffer.colors.iter().flatten().map(|color| color.luminance());
    let most = luminances().fold(0.0, f64::max);
    let (mut sum, mut count) = (0.0, 0.0);
    for luminance in luminances() {
        sum += luminance.max(most * 1e-4).ln();
        count += 1.0;
    }
    if most > 0.0 { (sum / count).exp() } else { 1.0 }
}

/// Maps 0 to 0, [`WHITE`] to 1, and all numbers to at most 1.
fn compress(channel: f64) -> f64 {
    (channel * (1.0 + channel / (WHITE * WHITE)) / (1.0 + channel)).min(1.0)
}

/// The transfer function of sRGB.
fn gamma(channel: f64) -> f64 {
    if channel <= 0.003_130_8 { 12.92 * channel } else { 1.055 * channel.powf(1.0 / 2.4) - 0.055 }
}
