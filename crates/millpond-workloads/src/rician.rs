//! The kernel of Rician denoising: one step of a descent, tile by tile.
//!
//! A magnetic resonance picture is the magnitude of a complex signal, so its noise is not Gaussian
//! but Rician. From a noisy picture `f`, the method computes the picture `u` that minimises a sum
//! of two terms. One is the total variation of `u`. The other is `lambda` times the negative
//! logarithm of the likelihood of `f`. (P. Getreuer, M. Tong, L. Vese, "A Variational Model for the
//! Restoration of MR Images Corrupted by Blur and Rician Noise", ISVC 2011.)
//!
//! The step is from Getreuer's program `riciandenoise`, with two changes. Cells are not updated in
//! place, so a picture's next state depends only on its last one, not on the order of its cells.
//! Cells also move only half way; otherwise neighbours would swap their values without end.

use std::cell::RefCell;

/// A tile's next state depends on the tile and this number of cells around it.
pub(crate) const HALO: usize = 2;

/// The size of a step.
const STEP: f32 = 5.0;
/// Added to the square of a gradient, which is a divisor.
const EPSILON: f32 = 1e-10;
/// A cell that moves by less has converged. White is 1. The usual value is four times as large, for
/// cells updated in place that move the whole way, in fewer and larger steps.
const TOLERANCE: f32 = 5e-4;
/// The weight of the likelihood relative to the total variation, per standard deviation of noise.
const FIDELITY: f32 = 1.3;

/// The noise of the picture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noise {
    /// 1 / variance.
    precision: f32,
    /// The weight of the likelihood's gradient.
    gamma: f32,
}

impl Noise {
    /// The noise with this standard deviation. White is 1.
    pub fn new(sigma: f32) -> Self {
        Noise { precision: 1.0 / (sigma * sigma), gamma: FIDELITY / sigma }
    }
}

/// The size of a tile in cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Cells in a row.
    pub width: usize,
    /// Cells in a column.
    pub height: usize,
}

impl Extent {
    /// The number of cells.
    pub fn cells(self) -> usize {
        self.width * self.height
    }

    /// The size with its halo.
    fn padded(self) -> Extent {
        Extent { width: self.width + 2 * HALO, height: self.height + 2 * HALO }
    }
}

/// The memory of a step. It belongs to a thread, so that a step allocates nothing.
#[derive(Default)]
struct Scratch {
    /// The tile and its halo, row by row.
    padded: Vec<f32>,
    /// 1 / gradient length, of the tile and one cell around it.
    weights: Vec<f32>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Computes a tile's next state into `next`, and returns whether the tile has converged. `fill`
/// writes the rows of the tile with its halo, [`HALO`] cells on each side. Its arguments are each
/// row's number, from 0, and its cells.
pub(crate) fn step(
    noise: Noise,
    extent: Extent,
    noisy: &[f32],
    fill: impl Fn(usize, &mut [f32]),
    next: &mut [f32],
) -> bool {
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.fill(extent, fill);
        scratch.advance(noise, extent, noisy, next)
    })
}

/// Computes the next state of a tile without neighbours, in place. Beyond its border, the border's
/// cells are repeated.
pub(crate) fn step_alone(noise: Noise, extent: Extent, noisy: &[f32], tile: &mut [f32]) -> bool {
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.fill(extent, |row, padded| {
            let row = row.saturating_sub(HALO).min(extent.height - 1);
            clamp_row(&tile[row * extent.width..][..extent.width], padded);
        });
        scratch.advance(noise, extent, noisy, tile)
    })
}

/// Copies a row and extends it: its first and its last cell are repeated.
fn clamp_row(row: &[f32], padded: &mut [f32]) {
    let (left, rest) = padded.split_at_mut(HALO);
    let (own, right) = rest.split_at_mut(row.len());
    own.copy_from_slice(row);
    left.fill(row[0]);
    right.fill(row[row.len() - 1]);
}

impl Scratch {
    fn fill(&mut self, extent: Extent, fill: impl Fn(usize, &mut [f32])) {
        let around = extent.padded();
        self.padded.resize(around.cells(), 0.0);
        self.padded.chunks_exact_mut(around.width).enumerate().for_each(|(at, row)| fill(at, row));
    }

    fn advance(&mut self, noise: Noise, extent: Extent, noisy: &[f32], next: &mut [f32]) -> bool {
        weigh(extent, &self.padded, &mut self.weights);
        let rows = next.chunks_exact_mut(extent.width).zip(noisy.chunks_exact(extent.width));
        let relax = |(y, (next, noisy))| relax(noise, &Row::new(extent, &self.padded, &self.weights, y), noisy, next);
        !rows.enumerate().map(relax).fold(false, |moved, row| moved | row)
    }
}

/// Computes 1 / gradient length, for the tile and one cell around it.
fn weigh(extent: Extent, padded: &[f32], weights: &mut Vec<f32>) {
    let (stride, width) = (extent.padded().width, extent.width + 2);
    weights.resize(width * (extent.height + 2), 0.0);
    for (y, out) in weights.chunks_exact_mut(width).enumerate() {
        let row = |y: usize, x: usize| &padded[y * stride + x..][..width];
        let (own, up, down) = (row(y + 1, 1), row(y, 1), row(y + 2, 1));
        let (left, right) = (row(y + 1, 0), row(y + 1, 2));
        for x in 0..width {
            let square = |to: f32| (own[x] - to) * (own[x] - to);
            let squares = square(right[x]) + square(left[x]) + square(down[x]) + square(up[x]);
            out[x] = 1.0 / (EPSILON + squares).sqrt();
        }
    }
}

/// A row of a tile and its neighbours: values and weights.
struct Row<'a> {
    own: &'a [f32],
    /// Above, below, left and right.
    beside: [&'a [f32]; 4],
    weights: [&'a [f32]; 4],
}

impl<'a> Row<'a> {
    fn new(extent: Extent, padded: &'a [f32], weights: &'a [f32], y: usize) -> Self {
        let width = extent.width;
        let value = |y: usize, x: usize| &padded[y * extent.padded().width + x..][..width];
        let weight = |y: usize, x: usize| &weights[y * (width + 2) + x..][..width];
        Row {
            own: value(y + 2, 2),
            beside: [value(y + 1, 2), value(y + 3, 2), value(y + 2, 1), value(y + 2, 3)],
            weights: [weight(y, 1), weight(y + 2, 1), weight(y + 1, 0), weight(y + 1, 2)],
        }
    }
}

/// A semi-implicit step of a row. Returns whether any cell has moved.
fn relax(noise: Noise, row: &Row<'_>, noisy: &[f32], next: &mut [f32]) -> bool {
    let width = next.len();
    let (own, noisy) = (&row.own[..width], &noisy[..width]);
    let ([up, down, left, right], [wu, wd, wl, wr]) =
        (row.beside.map(|beside| &beside[..width]), row.weights.map(|weights| &weights[..width]));
    let mut moved = false;
    for x in 0..width {
        let expected = noisy[x] * bessel_ratio(own[x] * noisy[x] * noise.precision);
        let drawn = up[x] * wu[x] + down[x] * wd[x] + left[x] * wl[x] + right[x] * wr[x] + noise.gamma * expected;
        let weight = wu[x] + wd[x] + wl[x] + wr[x] + noise.gamma;
        let to = 0.5 * (own[x] + (own[x] + STEP * drawn) / (1.0 + STEP * weight));
        moved |= (to - own[x]).abs() > TOLERANCE;
        next[x] = to;
    }
    moved
}

/// I1(r) / I0(r) for r >= 0, modified Bessel functions of the first kind: the rational
/// approximation of `riciandenoise`.
fn bessel_ratio(r: f32) -> f32 {
    (r * (2.38944 + r * (0.950037 + r))) / (4.65314 + r * (2.57541 + r * (1.48937 + r)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_that_of_the_bessel_functions() {
        // Their power series (Abramowitz and Stegun, 9.6.10).
        let series = |order: u32, r: f64| {
            let first = if order == 0 { 1.0 } else { r / 2.0 };
            let terms = (1..60).scan(first, |term, k: u32| {
                *term *= r * r / 4.0 / f64::from(k * (k + order));
                Some(*term)
            });
            first + terms.sum::<f64>()
        };
        for r in [0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0] {
            let ratio = series(1, r) / series(0, r);
            assert!((f64::from(bessel_ratio(r as f32)) - ratio).abs() < 6e-3, "{r}");
        }
    }

    #[test]
    fn what_is_even_and_has_no_noise_stands_still() {
        let extent = Extent { width: 5, height: 3 };
        let (even, mut next) = ([0.5; 15], [0.0; 15]);
        let still = step(Noise::new(0.01), extent, &even, |_, row| row.fill(0.5), &mut next);
        assert!(still && next.iter().all(|&cell| (cell - 0.5).abs() < 1e-3), "{next:?}");
        let mut edge = even;
        // A single cell is pulled towards its neighbours.
        edge[7] = 1.0;
        assert!(!step_alone(Noise::new(0.1), extent, &edge.clone(), &mut edge));
        assert!((0.5..1.0).contains(&edge[7]), "{edge:?}");
    }
}
