//! The random draws of a task. They depend on the seed and on the task's position in the tree,
//! never on the schedule.

/// G. Steele, D. Lea, C. Flood, *Fast splittable pseudorandom number generators*, OOPSLA 2014:
/// SplitMix64.
#[derive(Debug, Clone)]
pub struct Random(u64);

/// The odd number closest to 2^64 divided by the golden ratio.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The sequence of a task.
    pub fn new(seed: u64) -> Self {
        // It differs from the sequence that gives its children's seeds.
        Self(mix(seed ^ GAMMA))
    }

    /// The seed of a task's child with this number.
    pub fn of_child(seed: u64, number: u64) -> u64 {
        mix(seed.wrapping_add(GAMMA.wrapping_mul(number.wrapping_add(1))))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix(self.0)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u128) -> u128 {
        let wide = u128::from(self.next()) << 64 | u128::from(self.next());
        wide % bound
    }

    /// A number above 0, up to 1.
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// From the exponential distribution with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }

    /// From the normal distribution with mean 0 and deviation 1 (G. Box, M. Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        let (radius, angle) = ((2.0 * self.exponential()).sqrt(), std::f64::consts::TAU * self.unit());
        radius * angle.cos()
    }
}

fn mix(seed: u64) -> u64 {
    let seed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let seed = (seed ^ (seed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    seed ^ (seed >> 31)
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn the_distributions_have_their_means_and_deviations() {
        let mut random = Random::new(1);
        let of = |draw: &mut dyn FnMut() -> f64| {
            let drawn: Vec<f64> = (0..100_000).map(|_| draw()).collect();
            let mean = drawn.iter().sum::<f64>() / 1e5;
            (mean, (drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e5).sqrt())
        };
        let near = |found: (f64, f64), (mean, deviation): (f64, f64)| {
            assert!((found.0 - mean).abs() < 0.02 && (found.1 - deviation).abs() < 0.02, "{found:?}");
        };
        near(of(&mut || random.exponential()), (1.0, 1.0));
        near(of(&mut || random.normal()), (0.0, 1.0));
        near(of(&mut || random.below(4) as f64), (1.5, 1.25_f64.sqrt()));
    }

    #[test]
    fn children_differ() {
        let seeds: std::collections::HashSet<_> = (0..1000).map(|n| Random::of_child(7, n)).collect();
        assert_eq!(seeds.len(), 1000);
    }
}
