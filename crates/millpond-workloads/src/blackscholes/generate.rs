//! Options made from a seed. Each depends only on the seed and its number.

use super::{Contract, Right};
use crate::matrix::generate::mix;

/// Generates plausible options: near the money, up to a few years, calls and puts.
pub fn generate(count: usize, seed: u64) -> Vec<Contract> {
    let seed = mix(seed);
    (0..count as u64).map(|nth| contract(mix(seed ^ nth))).collect()
}

fn contract(seed: u64) -> Contract {
    let between = |field: u64, least: f64, most: f64| {
        let bits = mix(seed.wrapping_add(field)) >> 11;
        least + (most - least) * bits as f64 / (1_u64 << 53) as f64
    };
    let spot = between(0, 20.0, 150.0);
    Contract {
        spot,
        strike: spot * between(1, 0.7, 1.3),
        rate: between(2, 0.01, 0.1),
        volatility: between(3, 0.05, 0.65),
        time: between(4, 0.05, 3.0),
        right: if seed & 1 == 0 { Right::Call } else { Right::Put },
    }
}
