//! The formula of F. Black and M. Scholes, "The Pricing of Options and Corporate Liabilities",
//! Journal of Political Economy 81 (1973). The normal distribution is PARSEC's polynomial.

use std::f64::consts::{FRAC_2_SQRT_PI, SQRT_2};

/// The holder's right at an option's expiry, at the strike price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// Buy.
    Call,
    /// Sell.
    Put,
}

/// A European option on a stock without dividends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contract {
    /// The current price of the stock.
    pub spot: f64,
    /// The price at which the holder may buy or sell.
    pub strike: f64,
    /// The risk-free interest rate per year.
    pub rate: f64,
    /// The standard deviation of the stock's return per year.
    pub volatility: f64,
    /// The years until it expires.
    pub time: f64,
    /// The holder's right.
    pub right: Right,
}

impl Contract {
    /// The two arguments of the normal distribution, and the present value of the strike price.
    pub(super) fn terms(&self) -> (f64, f64, f64) {
        let deviation = self.volatility * self.time.sqrt();
        let drift = (self.rate + self.volatility * self.volatility * 0.5) * self.time;
        let d1 = ((self.spot / self.strike).ln() + drift) / deviation;
        (d1, d1 - deviation, self.strike * (-self.rate * self.time).exp())
    }
}

/// The present value of an option.
pub fn price(contract: &Contract) -> f64 {
    let (d1, d2, strike) = contract.terms();
    let (n1, n2) = (normal(d1), normal(d2));
    match contract.right {
        Right::Call => contract.spot * n1 - strike * n2,
        Right::Put => strike * (1.0 - n2) - contract.spot * (1.0 - n1),
    }
}

/// The normal distribution function with an error below 7.5e-8: M. Abramowitz and I. Stegun,
/// *Handbook of Mathematical Functions*, 26.2.17.
fn normal(x: f64) -> f64 {
    const FRAC_1_SQRT_2_PI: f64 = FRAC_2_SQRT_PI / (2.0 * SQRT_2);
    let k = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let sum = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_530]
        .iter()
        .fold(0.0, |sum, coefficient| (sum + coefficient) * k);
    let tail = FRAC_1_SQRT_2_PI * (-0.5 * x * x).exp() * sum;
    if x < 0.0 { tail } else { 1.0 - tail }
}

#[cfg(test)]
mod tests {
    use super::normal;

    #[test]
    fn the_polynomial_is_as_near_as_the_handbook_says() {
        for nth in -8000..=8000 {
            let x = f64::from(nth) / 1000.0;
            let exact = 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
            assert!((normal(x) - exact).abs() < 7.5e-8, "{x}");
        }
        assert_eq!((normal(f64::NEG_INFINITY), normal(f64::INFINITY)), (0.0, 1.0));
    }
}
