//! Checks the number of nodes.

/// The number of nodes of a tree of `n` levels with `k` children per node: `(k^n - 1) / (k - 1)`.
/// `None` if it exceeds 64 bits.
///
/// ```
/// use millpond_workloads::knary::nodes;
///
/// assert_eq!(nodes(3, 5), Some(1 + 5 + 25));
/// assert_eq!(nodes(35, 10), None);
/// ```
pub fn nodes(n: u64, k: u64) -> Option<u64> {
    if k == 1 {
        return Some(n);
    }
    // The last power may need more than 64 bits even if the sum does not.
    let power = u128::from(k).checked_pow(u32::try_from(n).ok()?)?;
    let sum = if k == 0 { u128::from(n > 0) } else { (power - 1) / u128::from(k - 1) };
    u64::try_from(sum).ok()
}

#[cfg(test)]
mod tests {
    use super::nodes;

    #[test]
    fn as_many_as_the_levels_have() {
        for k in 0..8 {
            let mut sum = 0;
            for n in 0..12 {
                assert_eq!(nodes(n, k), Some(sum), "n = {n}, k = {k}");
                sum += k.pow(n as u32);
            }
        }
    }

    #[test]
    fn up_to_the_last_that_can_be_counted() {
        // Cilk's sizes.
        assert_eq!((nodes(10, 5), nodes(10, 4)), (Some(2_441_406), Some(349_525)));
        assert_eq!((nodes(64, 2), nodes(65, 2)), (Some(u64::MAX), None));
        assert_eq!((nodes(20, 10), nodes(21, 10)), (Some(11_111_111_111_111_111_111), None));
        assert_eq!((nodes(64, 1), nodes(64, 1_000_000), nodes(u64::MAX, 2)), (Some(64), None, None));
    }
}
