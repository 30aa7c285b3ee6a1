//! Predicts the cost of a point from smaller ones, so that the suite skips points too expensive on
//! a scheme.

/// The costs of smaller points of the same series, smallest first.
#[derive(Debug)]
pub struct Trend {
    /// Smaller costs than this do not predict larger points.
    telling: f64,
    costs: Vec<(f64, f64)>,
}

/// The maximum exponent. A larger one between two measurements is noise. The quadratic schemes have
/// 2.
const MAX_EXPONENT: f64 = 2.3;

impl Trend {
    /// An empty trend.
    pub fn new(telling: f64) -> Self {
        Self { telling, costs: Vec::new() }
    }

    /// Records the cost of a point of this weight.
    pub fn note(&mut self, weight: f64, cost: f64) {
        self.costs.push((weight, cost));
    }

    /// The expected cost of a point of a greater weight, by the exponent between the last two
    /// points, at least 1. With one point, the exponent is `unknown`. The result is 0 if the last
    /// point does not predict.
    pub fn expect(&self, weight: f64, unknown: f64) -> f64 {
        let (power, last) = match self.costs[..] {
            [] => return 0.0,
            [.., last] if last.1 < self.telling => return 0.0,
            [last] => (unknown, last),
            [.., before, last] => ((last.1 / before.1).ln() / (last.0 / before.0).ln(), last),
        };
        let power = if power.is_finite() { power.clamp(1.0, MAX_EXPONENT) } else { unknown };
        last.1 * (weight / last.0).powf(power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_and_a_square_go_on() {
        let of = |power: i32| {
            let mut trend = Trend::new(0.0);
            [10.0, 100.0, 1000.0_f64].into_iter().for_each(|n| trend.note(n, 3.0 * n.powi(power)));
            trend.expect(10_000.0, 1.0)
        };
        assert!((of(1) / 3e4 - 1.0).abs() < 1e-9 && (of(2) / 3e8 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn little_is_known_of_little() {
        let mut trend = Trend::new(0.0);
        assert_eq!(trend.expect(100.0, 2.0), 0.0);
        trend.note(10.0, 1.0);
        assert_eq!((trend.expect(100.0, 1.0), trend.expect(100.0, 2.0)), (10.0, 100.0));
        // A slow first run is no falling trend.
        trend.note(100.0, 0.5);
        assert_eq!(trend.expect(1000.0, 1.0), 5.0);
        // A point below the bound still determines the exponent.
        let mut trend = Trend::new(50.0);
        [10.0, 100.0_f64].into_iter().for_each(|n| trend.note(n, n * n / 1000.0));
        assert_eq!(trend.expect(1000.0, 1.0), 0.0);
        trend.note(1000.0, 1000.0);
        assert!((trend.expect(10_000.0, 1.0) / 1e5 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn two_of_the_same_weight_say_nothing() {
        let mut trend = Trend::new(0.0);
        trend.note(100.0, 0.5);
        trend.note(100.0, 7.0);
        assert_eq!(trend.expect(1000.0, 1.0), 70.0);
    }
}
