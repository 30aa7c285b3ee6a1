//! The two-sided Wilcoxon rank-sum test ([TG](crate#sources) §5.6.1): could two samples come from
//! the same distribution?
//!
//! F. Wilcoxon, "Individual Comparisons by Ranking Methods", Biometrics Bulletin 1(6), 1945; H. B.
//! Mann and D. R. Whitney, "On a Test of Whether one of Two Random Variables is Stochastically
//! Larger than the Other", Annals of Mathematical Statistics 18(1), 1947. W is the sum of ranks
//! minus its minimum, as in R, which the paper uses.

use std::f64::consts::{PI, SQRT_2};

/// Samples smaller than this, and without ties, get the exact distribution.
const EXACT_BELOW_VALUES: usize = 50;

/// The result of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Test {
    /// The number of pairs whose first sample has the greater value. A tie counts as a half.
    pub w: f64,
    /// The probability of an at least as uneven W, if both samples have the same distribution.
    pub p: f64,
}

/// Compares two samples; `None` if one is empty.
pub fn test(one: &[f64], other: &[f64]) -> Option<Test> {
    if one.is_empty() || other.is_empty() {
        return None;
    }
    let (sum, ties) = ranks(one, other);
    let (n, m) = (one.len(), other.len());
    let w = sum - (n * (n + 1)) as f64 / 2.0;
    let p = if n < EXACT_BELOW_VALUES && m < EXACT_BELOW_VALUES && ties.is_empty() {
        exact(w as usize, n, m)
    } else {
        approximate(w, n, m, &ties)
    };
    Some(Test { w, p })
}

/// The sum of the first sample's ranks, and the size of each group of equal values.
fn ranks(one: &[f64], other: &[f64]) -> (f64, Vec<usize>) {
    let mut all: Vec<(f64, bool)> = one.iter().map(|x| (*x, true)).chain(other.iter().map(|x| (*x, false))).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut sum, mut ties, mut before) = (0.0, Vec::new(), 0);
    for equal in all.chunk_by(|a, b| a.0 == b.0) {
        // Equal values share the mean of their ranks.
        let rank = before as f64 + (equal.len() + 1) as f64 / 2.0;
        sum += rank * equal.iter().filter(|(_, first)| *first).count() as f64;
        ties.extend((equal.len() > 1).then_some(equal.len()));
        before += equal.len();
    }
    (sum, ties)
}

/// The fraction of at least as uneven choices, among all choices of the first sample's ranks.
fn exact(w: usize, n: usize, m: usize) -> f64 {
    let ways = ways(n, m);
    let all: f64 = ways.iter().sum();
    // The distribution is symmetric, so the lower tail serves for both.
    let tail: f64 = ways[..=w.min(n * m - w)].iter().sum();
    (2.0 * tail / all).min(1.0)
}

/// The number of choices of `n` ranks out of `n + m` for each W.
fn ways(n: usize, m: usize) -> Vec<f64> {
    // For each number of chosen ranks: the number of choices by the excess of their sum over its
    // minimum. Each rank is taken or not.
    let mut chosen = vec![vec![0.0; n * m + 1]; n + 1];
    chosen[0][0] = 1.0;
    for rank in 1..=n + m {
        for count in (1..=n.min(rank)).rev() {
            // The minimum of the k-th chosen rank is k.
            let more = rank - count;
            for w in (more..=n * m).rev() {
                chosen[count][w] += chosen[count - 1][w - more];
            }
        }
    }
    chosen.swap_remove(n)
}

/// The normal distribution of the same mean and variance. Ties reduce the variance. W is discrete,
/// so it moves half a step towards the mean.
fn approximate(w: f64, n: usize, m: usize, ties: &[usize]) -> f64 {
    let (n, m) = (n as f64, m as f64);
    let all = n + m;
    let tied: f64 = ties.iter().map(|&t| t as f64).map(|t| t * t * t - t).sum();
    let variance = n * m / 12.0 * (all + 1.0 - tied / (all * (all - 1.0)));
    let uneven = ((w - n * m / 2.0).abs() - 0.5).max(0.0);
    // Without variance all values are equal.
    if variance > 0.0 { erfc(uneven / variance.sqrt() / SQRT_2) } else { 1.0 }
}

/// The complementary error function of `x` ≥ 0. Near 0 it uses the series, otherwise the continued
/// fraction, so that small values have full precision.
fn erfc(x: f64) -> f64 {
    if x < 2.0 {
        let (mut term, mut sum) = (x, x);
        for k in 1..60 {
            term *= -x * x / f64::from(k);
            sum += term / f64::from(2 * k + 1);
        }
        1.0 - sum * 2.0 / PI.sqrt()
    } else {
        let fraction = (1..80).rev().fold(x, |below, k| x + f64::from(k) / 2.0 / below);
        (-x * x).exp() / (fraction * PI.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, wanted: f64, part: f64) {
        assert!((found / wanted - 1.0).abs() < part, "{found} is not {wanted}");
    }

    /// The paper's samples: tickets against graph, and against embedded graph, 30 runs each.
    #[test]
    fn values_of_the_paper() {
        // In its tail, the exact distribution is thinner than the paper's normal one.
        assert!(exact(132, 30, 30) < 2.58e-6);
        close(exact(321, 30, 30), 0.0575, 0.02);
        close(approximate(132.0, 30, 30, &[]), 2.58e-6, 0.05);
        close(approximate(321.0, 30, 30, &[]), 0.0575, 0.01);
    }

    #[test]
    fn all_below_all() {
        let test = test(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).expect("two samples");
        assert_eq!(test.w, 0.0);
        close(test.p, 2.0 / 20.0, 1e-12);
        let five = super::test(&[9.0, 8.0, 7.0, 6.0, 5.0], &[0.0, 1.0, 2.0, 3.0, 4.0]).expect("two samples");
        assert_eq!(five.w, 25.0);
        close(five.p, 2.0 / 252.0, 1e-12);
    }

    #[test]
    fn evenly_mixed_is_no_difference() {
        let test = test(&[1.0, 4.0], &[2.0, 3.0]).expect("two samples");
        assert_eq!(test, Test { w: 2.0, p: 1.0 });
        assert_eq!(super::test(&[], &[1.0]), None);
    }

    #[test]
    fn every_choice_is_counted_once() {
        let ways = ways(3, 4);
        assert_eq!(ways.iter().sum::<f64>(), 35.0);
        assert_eq!(ways, [1.0, 1.0, 2.0, 3.0, 4.0, 4.0, 5.0, 4.0, 4.0, 3.0, 2.0, 1.0, 1.0]);
    }

    #[test]
    fn ties_share_their_ranks() {
        let (sum, ties) = ranks(&[1.0, 2.0, 2.0], &[2.0, 3.0]);
        assert_eq!((sum, ties), (7.0, vec![3]));
        let same = test(&[1.0; 4], &[1.0; 4]).expect("two samples");
        assert_eq!(same, Test { w: 8.0, p: 1.0 });
        // W is 1.5, which differs from the mean by 3. The variance, by hand, is 9/12 × (7 − 6/30).
        let tied = test(&[1.0, 2.0, 3.0], &[2.0, 4.0, 5.0]).expect("two samples");
        close(tied.p, erfc(2.5 / (0.75_f64 * (7.0 - 0.2)).sqrt() / SQRT_2), 1e-12);
        assert_eq!(tied.w, 1.5);
    }

    #[test]
    fn the_two_halves_of_the_error_function_meet() {
        close(erfc(1.0), 0.157_299_207_050_285_13, 1e-12);
        close(erfc(2.0), 0.004_677_734_981_047_266, 1e-12);
        close(erfc(1.999_999_999), erfc(2.0), 1e-7);
        close(erfc(5.0), 1.537_459_794_428_035e-12, 1e-9);
    }
}
