//! The problem: the initial rod, a step, and the exact solution of the scheme.

use super::Params;
use libm::{asin, cos, pow, sin, sqrt};
use std::f64::consts::PI;

/// The temperature before the first point.
pub const LEFT: f64 = 1.0;
/// The temperature after the last point.
pub const RIGHT: f64 = 2.0;

/// A rod of `n` points between two ends. It begins with a straight line from end to end, plus a
/// decaying sine wave.
///
/// Both are exact solutions of the discrete scheme, not only of its limit. A step leaves the line
/// unchanged, and multiplies the wave by one factor. The sines are from `libm`, so that the bits
/// are the same on all machines.
#[derive(Debug, Clone, Copy)]
pub struct Rod {
    n: u64,
    /// The number of half waves between the ends.
    waves: u64,
}

impl Rod {
    /// The rod whose wave has about a third of its height after the steps. So a missing or
    /// additional step is visible.
    pub fn new(params: Params) -> Self {
        let n = params.n as u64;
        let half_angle = asin(1.0 / sqrt(params.steps.max(1) as f64));
        let waves = (half_angle * 2.0 / PI * (n + 1) as f64).round() as u64;
        Self { n, waves: waves.clamp(1, n) }
    }

    /// The initial temperatures.
    pub fn start(&self) -> Vec<f64> {
        self.after(0).collect()
    }

    /// The temperatures after this number of steps: the scheme's solution, except for rounding.
    pub fn after(&self, steps: u64) -> impl Iterator<Item = f64> {
        let Self { n, waves } = *self;
        let intervals = n + 1;
        let left = pow(self.factor(), steps as f64);
        (1..=n).map(move |point| {
            let line = LEFT + (RIGHT - LEFT) * (point as f64 / intervals as f64);
            // The angle is reduced while it is an integer, so that no digits are lost.
            let part = (u128::from(point) * u128::from(waves) % u128::from(2 * intervals)) as f64;
            line + left * sin(PI * part / intervals as f64)
        })
    }

    /// The factor by which a step multiplies the wave: `1/4 (e^-ia + e^ia) + 1/2 = cos^2(a/2)` for
    /// an angle `a` from point to point.
    fn factor(&self) -> f64 {
        let half = PI * self.waves as f64 / (2 * (self.n + 1)) as f64;
        cos(half) * cos(half)
    }
}

/// Computes `next`, one step later, from `now` and its neighbours: `left` is the point before it,
/// `right` the point after it.
///
/// # Panics
///
/// If the two are not of the same length.
pub fn update(left: f64, now: &[f64], right: f64, next: &mut [f64]) {
    assert_eq!(now.len(), next.len(), "a tile has as many points as before");
    let Some(last) = now.len().checked_sub(1) else { return };
    for (next, near) in next.iter_mut().skip(1).zip(now.windows(3)) {
        *next = point(near[0], near[1], near[2]);
    }
    next[0] = point(left, now[0], *now.get(1).unwrap_or(&right));
    if last > 0 {
        next[last] = point(now[last - 1], now[last], right);
    }
}

/// A point's next temperature. The factors are powers of two, so only the sums round.
fn point(left: f64, own: f64, right: f64) -> f64 {
    0.25 * (left + right) + 0.5 * own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_by_hand() {
        let mut next = [0.0; 4];
        update(1.0, &[4.0, 8.0, 0.0, 2.0], 6.0, &mut next);
        assert_eq!(next, [4.25, 5.0, 2.5, 2.5]);
        update(1.0, &[4.0, 8.0], 6.0, &mut next[..2]);
        assert_eq!(next[..2], [4.25, 6.5]);
        update(1.0, &[4.0], 6.0, &mut next[..1]);
        assert_eq!(next[0], 3.75);
        update(1.0, &[], 6.0, &mut []);
    }

    #[test]
    fn the_line_stays_and_the_wave_fades() {
        let rod = |n, steps| Rod::new(Params { n, steps, tile: 1 });
        // One point, a half wave: its sine is 1, its factor cos^2(pi/4).
        let one: Vec<_> = (0..3).map(|steps| rod(1, 1).after(steps).next().unwrap()).collect();
        for (found, wanted) in one.iter().zip([2.5, 2.0, 1.75]) {
            assert!((found - wanted).abs() < 1e-15, "{one:?}");
        }
        let last: Vec<_> = rod(3, 1_000_000).after(1_000_000).collect();
        assert_eq!(last, [1.25, 1.5, 1.75]);
        // For any size, a third of the wave is left.
        for (n, steps) in [(1000, 100), (1_000_000, 1000), (1 << 20, 3)] {
            let left = pow(rod(n, steps).factor(), steps as f64);
            assert!((0.25..0.45).contains(&left), "{n} points, {steps} steps: {left}");
        }
    }
}
