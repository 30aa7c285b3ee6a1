//! The visibility of an interaction, by rays.

use super::interaction::{Link, Visibility};
use crate::bsp::Scratch;
use crate::mesh::Mesh;

/// How much of each other two elements see: rays between points of both (Hanrahan et al. 1991,
/// visibility).
///
/// A ray counts by the power along it: the cosines at both ends over the squared distance. Rays
/// that leave or reach a back do not count, because the form factor leaves those parts out. The
/// result is the same for both directions of a link, and in every run.
///
/// `scratch` can be reused for any links and trees.
pub fn visibility(mesh: &Mesh, link: Link, scratch: &mut Scratch) -> Visibility {
    let (one, other) = (mesh.element(link.receiver), mesh.element(link.source));
    // The same rays for both directions.
    let (one, other) = if one.key() < other.key() { (one, other) } else { (other, one) };
    let planes = (&mesh.patch_of(one).plane, &mesh.patch_of(other).plane);
    let limit = mesh.limits().distance;
    // Rays between elements that touch are short, and would count too much.
    let blur = 0.05 * one.area().min(other.area());
    scratch.forget();
    let (mut visible, mut all, mut blocked) = (0.0, 0.0, 0_u32);
    for [u, v, s, t] in Points::new(mix(one.key(), other.key()), mesh.parameters().rays) {
        let (from, to) = (one.shape().point(u, v), other.shape().point(s, t));
        let (out, into) = (planes.1.distance(from), planes.0.distance(to));
        if out <= limit || into <= limit {
            continue;
        }
        let squared = (to - from).dot(to - from);
        // `into` and `out` are the cosines times the distance.
        let weight = out * into / (squared * (squared + blur));
        all += weight;
        if mesh.bsp().is_blocked(from, to, scratch) {
            blocked += 1;
        } else {
            visible += weight;
        }
    }
    if visible == 0.0 {
        Visibility::NONE
    } else if blocked == 0 {
        Visibility::COMPLETE
    } else {
        Visibility::partial((visible / all).min(1.0))
    }
}

/// Pairs of points in unit squares: `[u, v, s, t]`. The first points cover their square evenly, and
/// so do the second ones. A seed shifts them.
pub(super) struct Points {
    shift: [f64; 4],
    at: u32,
    count: u32,
    /// Second points are in another order: this many further each time.
    stride: u32,
}

/// The steps of an additive recurrence that covers a square: the inverse of the root of x³ = x + 1,
/// and its square.
const STEPS: [f64; 2] = [0.754_877_666_246_692_7, 0.569_840_290_998_053_2];

impl Points {
    pub(super) fn new(seed: u64, count: u32) -> Self {
        let mut state = seed;
        let shift = [(); 4].map(|()| {
            state = mix(state, 0x9E37_79B9_7F4A_7C15);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        });
        let is_coprime = |stride: &u32| greatest_divisor(*stride, count) == 1;
        // Near the golden section.
        let stride = (count * 5 / 8..count).find(is_coprime).unwrap_or(1);
        Self { shift, at: 0, count, stride }
    }
}

impl Iterator for Points {
    type Item = [f64; 4];

    fn next(&mut self) -> Option<[f64; 4]> {
        if self.at == self.count {
            return None;
        }
        let other = u64::from(self.at) * u64::from(self.stride) % u64::from(self.count);
        let (first, second) = (f64::from(self.at), other as f64);
        self.at += 1;
        let [u, v] = STEPS.map(|step| first * step);
        let [s, t] = STEPS.map(|step| second * step);
        let mut points = [u, v, s, t];
        for (point, shift) in points.iter_mut().zip(self.shift) {
            *point = (*point + shift).fract();
        }
        Some(points)
    }
}

fn greatest_divisor(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { greatest_divisor(other, one % other) }
}

/// A number that depends on all bits of two numbers (the finalizer of SplitMix64).
fn mix(one: u64, other: u64) -> u64 {
    let mut mixed = one.rotate_left(32) ^ other.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::Points;

    #[test]
    fn points_cover_both_squares_evenly() {
        for seed in 0..20 {
            let mut cells = [[0; 16]; 2];
            let cell = |u: f64, v: f64| (u * 4.0) as usize * 4 + (v * 4.0) as usize;
            for [u, v, s, t] in Points::new(seed, 160) {
                cells[0][cell(u, v)] += 1;
                cells[1][cell(s, t)] += 1;
            }
            assert!(cells.iter().flatten().all(|count| (6..=14).contains(count)), "{cells:?}");
            assert_eq!(Points::new(seed, 1).count(), 1);
        }
    }
}
