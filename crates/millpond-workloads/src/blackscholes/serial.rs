//! The serial program: one option after the other.

use super::{Contract, price};

/// The price of each option.
pub fn serial(contracts: &[Contract]) -> Vec<f64> {
    contracts.iter().map(price).collect()
}
