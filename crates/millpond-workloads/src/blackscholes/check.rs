//! Are the prices right? As PARSEC has it: none is further than 1e-4 from its reference, whatever its own size. The
//! polynomial's error allows for that as long as spot and strike prices are some hundreds.

use super::{Contract, Portfolio, Right};
use std::f64::consts::FRAC_1_SQRT_2;

/// How far a price may be from its reference.
pub const THRESHOLD: f64 = 1e-4;

/// The greatest distance of a price from its reference; the greatest of all numbers, if a price is none.
pub fn max_abs_error(portfolio: &Portfolio, prices: &[f64]) -> f64 {
    let Portfolio { contracts, references } = portfolio;
    if prices.len() != contracts.len() {
        return f64::MAX;
    }
    let reference = |nth: usize| references.as_ref().map_or_else(|| exact(&contracts[nth]), |given| given[nth]);
    let errors = prices.iter().enumerate().map(|(nth, price)| (price - reference(nth)).abs());
    // `max` would leave out what is not a number.
    errors.fold(0.0, |most, error| if error.is_finite() { error.max(most) } else { f64::MAX })
}

/// The price to about the last digit: the normal distribution is that of the error function, and not the polynomial.
pub fn exact(contract: &Contract) -> f64 {
    let normal = |x: f64| 0.5 * libm::erfc(-x * FRAC_1_SQRT_2);
    let (d1, d2, strike) = contract.terms();
    match contract.right {
        Right::Call => contract.spot * normal(d1) - strike * normal(d2),
        Right::Put => strike * normal(-d2) - contract.spot * normal(-d1),
    }
}
