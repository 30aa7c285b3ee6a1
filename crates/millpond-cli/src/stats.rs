//! Statistics of repeated measurements.

/// The median; 0 for no values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

/// The minimum; 0 for no values.
pub fn least(values: &[f64]) -> f64 {
    values.iter().copied().min_by(f64::total_cmp).unwrap_or(0.0)
}

/// The maximum; 0 for no values.
pub fn greatest(values: &[f64]) -> f64 {
    values.iter().copied().max_by(f64::total_cmp).unwrap_or(0.0)
}

/// The arithmetic mean; 0 for no values.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The standard deviation of a sample, with n − 1 degrees of freedom; 0 for fewer than two values.
pub fn deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// The cumulative distribution of a sample: each of its values once, in ascending order, with the
/// fraction of the sample that is at most this value.
pub fn distribution(values: &[f64]) -> Vec<[f64; 2]> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut steps: Vec<[f64; 2]> = Vec::new();
    for (before, &value) in sorted.iter().enumerate() {
        let fraction = (before + 1) as f64 / sorted.len() as f64;
        match steps.last_mut() {
            Some(step) if step[0] == value => step[1] = fraction,
            _ => steps.push([value, fraction]),
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!((least(&[2.0, 1.0]), greatest(&[2.0, 1.0])), (1.0, 2.0));
    }

    #[test]
    fn means_and_deviations() {
        assert_eq!((mean(&[]), deviation(&[])), (0.0, 0.0));
        assert_eq!((mean(&[3.0]), deviation(&[3.0])), (3.0, 0.0));
        // The squares of the differences are 9, 1, 1, 9, and their sum is 20.
        let values = [2.0, 4.0, 6.0, 8.0];
        assert_eq!((mean(&values), deviation(&values)), (5.0, (20.0_f64 / 3.0).sqrt()));
    }

    #[test]
    fn distributions() {
        assert!(distribution(&[]).is_empty());
        assert_eq!(distribution(&[2.0, 1.0, 2.0, 4.0]), [[1.0, 0.25], [2.0, 0.75], [4.0, 1.0]]);
    }
}
