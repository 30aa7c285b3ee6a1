//! Checks the prices like PARSEC: each is within 1e-4 of its reference, whatever its size. The
//! polynomial's error is smaller if spot and strike prices are in the hundreds.

use super::{Contract, Portfolio, Right};
use std::f64::consts::FRAC_1_SQRT_2;

/// The maximum difference between a price and its reference.
pub const THRESHOLD: f64 = 1e-4;

/// The largest difference between a price and its reference; `f64::MAX` if a price is not finite.
pub fn max_abs_error(portfolio: &Portfolio, prices: &[f64]) -> f64 {
    let Portfolio { contracts, references } = portfolio;
    if prices.len() != contracts.len() {
        return f64::MAX;
    }
    let reference = |nth: usize| references.as_ref().map_or_else(|| exact(&contracts[nth]), |given| given[nth]);
    let errors = prices.iter().enumerate().map(|(nth, price)| (price - reference(nth)).abs());
    // `max` would ignore NaN.
    errors.fold(0.0, |most, error| if error.is_finite() { error.max(most) } else { f64::MAX })
}

/// The price to about the last digit. It uses the error function for the normal distribution, not
/// the polynomial.
pub fn exact(contract: &Contract) -> f64 {
    let normal = |x: f64| 0.5 * libm::erfc(-x * FRAC_1_SQRT_2);
    let (d1, d2, strike) = contract.terms();
    match contract.right {
        Right::Call => contract.spot * normal(d1) - strike * normal(d2),
        Right::Put => strike * normal(-d2) - contract.spot * normal(-d1),
    }
}
