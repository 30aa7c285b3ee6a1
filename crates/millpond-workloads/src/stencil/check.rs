//! Checks the answer in two ways. It must equal the serial program's to the last bit, although the
//! serial program has another order of points. It must also equal the exact solution of the scheme,
//! up to rounding.

use super::Rod;

/// The allowed difference between the answer after `steps` steps and the exact solution. A step
/// rounds two sums below 4, and does not amplify earlier errors. The computed exact solution is
/// rounded, too.
pub fn allowed(steps: u64) -> f64 {
    (32.0 + 8.0 * steps as f64) * f64::EPSILON
}

/// The largest difference of any point from the exact solution.
pub fn max_error(rod: &Rod, steps: u64, answer: &[f64]) -> f64 {
    let distance = |(found, wanted): (&f64, f64)| (found - wanted).abs();
    let distances = answer.iter().zip(rod.after(steps)).map(distance);
    distances.fold(0.0, |worst, error| if error.is_finite() { error.max(worst) } else { f64::MAX })
}

/// Whether two answers are the same to the last bit.
pub(super) fn same_bits(one: &[f64], other: &[f64]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.to_bits() == other.to_bits())
}

/// A checksum of all bits of the answer: FNV-1a (64 bits) of its bytes, the least significant byte
/// of each point first.
///
/// ```
/// assert_eq!(millpond_workloads::stencil::checksum(&[]), 0xcbf2_9ce4_8422_2325);
/// ```
pub fn checksum(answer: &[f64]) -> u64 {
    let bytes = answer.iter().flat_map(|point| point.to_bits().to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stencil::{Params, serial};

    fn solved(n: usize, steps: u64) -> (Rod, Vec<f64>) {
        let rod = Rod::new(Params { n, steps, tile: 1 });
        (rod, serial(rod.start(), steps))
    }

    #[test]
    fn the_serial_program_is_right() {
        for (n, steps) in [(1, 0), (1, 1), (2, 3), (3, 1000), (10, 100_000), (1000, 1), (1000, 77), (5000, 2000)] {
            let (rod, answer) = solved(n, steps);
            let error = max_error(&rod, steps, &answer);
            assert!(error <= allowed(steps), "{n} points, {steps} steps: {error}");
        }
    }

    #[test]
    fn sees_what_is_wrong() {
        let steps = 500;
        let (rod, mut answer) = solved(2000, steps);
        // A tile that is a step behind, or a step ahead.
        assert!(max_error(&rod, steps - 1, &answer) > allowed(steps));
        assert!(max_error(&rod, steps + 1, &answer) > allowed(steps));
        let (right, sum) = (answer.clone(), checksum(&answer));
        answer[700] = f64::from_bits(answer[700].to_bits() ^ 1);
        assert!(!same_bits(&right, &answer) && checksum(&answer) != sum);
        assert!(!same_bits(&right, &right[1..]));
        answer[700] += 1e-9;
        assert!(max_error(&rod, steps, &answer) > allowed(steps));
        answer[700] = f64::NAN;
        assert_eq!(max_error(&rod, steps, &answer), f64::MAX);
    }

    /// The value from other programs for the same bytes.
    #[test]
    fn the_checksum_is_stable() {
        assert_eq!(checksum(&[0.0]), 0xa8c7_f832_281a_39c5);
        assert_eq!(checksum(&[1.0, 2.0]), 0x2f12_1cea_1c5c_97f8);
        assert_eq!(checksum(&[f64::from_le_bytes(*b"millpond")]), 0x6615_c38f_38f6_d450);
    }
}
