//! Matrices with very large, very small and nearly symmetric entries.

use crate::common::{Dir, f8, fails, json, npy};
use serde_json::Value;

/// The entries of a positive definite matrix of order `n`, times `factor`.
fn definite(n: usize, factor: f64) -> Vec<f64> {
    let entry = |i: usize, j: usize| {
        if i == j { n as f64 } else { ((i.min(j) * 7 + i.max(j) * 3) % 11) as f64 / 11.0 - 0.5 }
    };
    (0..n * n).map(|at| entry(at / n, at % n) * factor).collect()
}

fn file(dir: &Dir, n: usize, entries: &[f64]) -> String {
    dir.file("a.npy", npy("<f8", false, &format!("({n}, {n})"), &f8(entries)))
}

fn verified(run: &Value) -> bool {
    run["verified"] == true && run["result"]["scaled_residual"].as_f64().is_some_and(|residual| residual < 30.0)
}

#[test]
fn every_scale_is_factored_and_checked() {
    let dir = Dir::new("scales");
    for factor in [1e-310, 1e-305, 1e-300, 1e-170, 1e-100, 1.0, 1e160, 1e300, 1e304] {
        let input = file(&dir, 30, &definite(30, factor));
        for workload in ["cholesky", "cholesky-cnc"] {
            let run = json(&format!("run {workload} --input {input} --tile 7 --serial --json"));
            assert!(verified(&run), "{factor:e}: {run}");
            assert_eq!(run["result"]["asymmetry"], 0.0);
        }
        // The inverse of the smallest matrix exceeds the range of numbers.
        if factor >= 1e-305 {
            let run = json(&format!("run inverse --input {input} --tile 7 --json"));
            assert!(verified(&run), "{factor:e}: {run}");
        }
    }
}

#[test]
fn a_multiple_of_the_identity_has_its_root_as_its_factor() {
    let dir = Dir::new("identity");
    let output = dir.path("L.npy");
    // Powers of four, whose roots are exact. The first one is 2^-1030, about 1e-310.
    for square in [f64::MIN_POSITIVE / 256.0, 2.0_f64.powi(-1000), 2.0_f64.powi(1012)] {
        let input = file(&dir, 2, &[square, 0.0, 0.0, square]);
        let run = json(&format!("run cholesky --input {input} --output {output} --json"));
        assert_eq!(run["result"]["scaled_residual"], 0.0, "{run}");
        let factor = std::fs::read(&output).expect("the factor");
        assert_eq!(factor[factor.len() - 32..], f8(&[square.sqrt(), 0.0, 0.0, square.sqrt()]));
    }
}

#[test]
fn asymmetry_is_seen_at_every_scale() {
    let dir = Dir::new("asymmetric");
    for (factor, shown) in [(1e160, "1e160"), (1e-170, "1e-170"), (1.0, "1"), (1e307, "1e307")] {
        let input = file(&dir, 2, &[4.0 * factor, 2.0 * factor, factor, 4.0 * factor]);
        let twice = shown.replacen('1', "2", 1);
        let says = format!(
            "{input}: row 2, column 1: the matrix is not symmetric: {shown} here, {twice} in the opposite entry (--lower uses the lower half only)"
        );
        fails(&["run", "cholesky", "--input", &input], 1, &says);
        let rounded = file(&dir, 2, &[4.0 * factor, factor * (1.0 + 1e-15), factor, 4.0 * factor]);
        assert!(verified(&json(&format!("run cholesky --input {rounded} --json"))), "{factor:e}");
    }
    // Opposite entries whose difference exceeds the range of numbers.
    let input = file(&dir, 2, &[f64::MAX, f64::MAX, -f64::MAX, f64::MAX]);
    let says = format!(
        "{input}: row 2, column 1: the matrix is not symmetric: -1.7976931348623157e308 here, 1.7976931348623157e308 in the opposite entry (--lower uses the lower half only)"
    );
    fails(&["run", "cholesky", "--input", &input], 1, &says);
}

#[test]
fn nearly_symmetric_matrices_are_factored_and_their_asymmetry_is_reported() {
    let dir = Dir::new("nearly");
    let asymmetry = |run: &Value| run["result"]["asymmetry"].as_f64().expect("a number");
    let input = file(&dir, 2, &[4.0, 1.0 + 4e-11, 1.0, 4.0]);
    for workload in ["cholesky", "cholesky-cnc"] {
        let run = json(&format!("run {workload} --input {input} --json"));
        assert!(verified(&run) && (asymmetry(&run) - 1e-11).abs() < 1e-14, "{run}");
    }
    // This much is rounding in 32 bits only.
    let entries = [4.0, 1.0 + 1e-5, 1.0, 4.0_f32];
    let single = dir.file("f.npy", npy("<f4", false, "(2, 2)", &entries.map(f32::to_le_bytes).concat()));
    let run = json(&format!("run cholesky --input {single} --json"));
    assert!(verified(&run) && (1e-6..1e-5).contains(&asymmetry(&run)), "{run}");
    let double = file(&dir, 2, &entries.map(f64::from));
    let says = format!(
        "{double}: row 2, column 1: the matrix is not symmetric: 1 here, {} in the opposite entry (--lower uses the lower half only)",
        f64::from(entries[1])
    );
    fails(&["run", "cholesky", "--input", &double], 1, &says);
}

#[test]
fn one_half_is_enough_with_lower() {
    let dir = Dir::new("lower");
    let input = file(&dir, 2, &[4.0, 99.0, 2.0, 10.0]);
    let output = dir.path("L.npy");
    for workload in ["cholesky", "cholesky-cnc"] {
        let run = json(&format!("run {workload} --input {input} --lower --output {output} --json"));
        assert!(verified(&run), "{run}");
        assert_eq!((&run["params"]["lower"], run["result"].get("asymmetry")), (&Value::Bool(true), None));
        let factor = std::fs::read(&output).expect("the factor");
        assert_eq!(factor[factor.len() - 32..], f8(&[2.0, 1.0, 0.0, 3.0]));
    }
}
