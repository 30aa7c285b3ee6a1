//! The minimum effective task granularity, METG(50 %): the body length with an efficiency of one
//! half. E. Slaughter et al., "Task Bench: A Parameterized Benchmark for Evaluating Parallel
//! Runtime Performance", SC 2020.

use serde_json::{Value, json};

/// The length, in nanoseconds. Shorter bodies have an efficiency below a half.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Metg {
    /// Between two measured lengths: interpolated, linear in the logarithm of the length.
    At(f64),
    /// Below the shortest measured length, whose efficiency is at least a half.
    Below(f64),
    /// Above the longest measured length, whose efficiency is less than a half.
    Above(f64),
}

impl Metg {
    /// Computes it from efficiencies by length, shortest first. If noise crosses the half more than
    /// once, the longest crossing counts.
    pub fn of(points: &[(u64, f64)]) -> Self {
        let length = |point: Option<&(u64, f64)>| point.map_or(0.0, |(ns, _)| *ns as f64);
        let Some(last_low) = points.iter().rposition(|(_, efficiency)| *efficiency < 0.5) else {
            return Self::Below(length(points.first()));
        };
        let Some(&(high_ns, high)) = points.get(last_low + 1) else {
            return Self::Above(length(points.last()));
        };
        let (low_ns, low) = points[last_low];
        let part = (0.5 - low) / (high - low);
        Self::At(low_ns as f64 * (high_ns as f64 / low_ns as f64).powf(part))
    }

    /// The fields of a row: the length, and whether it is exact or a bound.
    pub fn fields(self) -> [(&'static str, Value); 2] {
        let (ns, is) = match self {
            Self::At(ns) => (ns, "at"),
            Self::Below(ns) => (ns, "below"),
            Self::Above(ns) => (ns, "above"),
        };
        [("metg50_ns", json!(ns)), ("metg50", json!(is))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_way_in_the_logarithm() {
        let Metg::At(ns) = Metg::of(&[(100, 0.4), (400, 0.6), (1000, 0.9)]) else { panic!("between two") };
        assert!((ns - 200.0).abs() < 1e-9, "{ns}");
        assert_eq!(Metg::of(&[(100, 0.4), (400, 0.5)]), Metg::At(400.0));
    }

    #[test]
    fn the_longest_crossing_counts() {
        let Metg::At(ns) = Metg::of(&[(10, 0.6), (100, 0.4), (400, 0.6)]) else { panic!("between two") };
        assert!((ns - 200.0).abs() < 1e-9, "{ns}");
    }

    #[test]
    fn beyond_what_was_measured_is_only_a_bound() {
        assert_eq!(Metg::of(&[(50, 0.5), (100, 0.8)]), Metg::Below(50.0));
        assert_eq!(Metg::of(&[(50, 0.1), (100, 0.49)]), Metg::Above(100.0));
        assert_eq!(Metg::of(&[(50, 0.9), (100, 0.4)]), Metg::Above(100.0));
    }
}
