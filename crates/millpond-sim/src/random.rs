//! Pseudorandom numbers from a seed.

/// A sequence (S. Vigna, *splitmix64*, 2015).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Sequence `number` of the sequences with this seed.
    pub(crate) fn of(seed: u64, number: u64) -> Self {
        Random(mix(seed ^ mix(number.wrapping_add(1))))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// The next number in 0..1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The next number, exponentially distributed with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }
}

/// A hash of the number.
pub(crate) fn mix(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}
