//! A Monte Carlo estimate of π with a custom reducer. Each task adds its samples to a tally, and
//! the runtime combines the tallies. With `deterministic(true)` each task has a tally of its own,
//! and the result is the same to the last bit for any number of workers.

use millpond::{Handle, Reducer, Runtime, Spawn};

/// Mean and variance of samples, which can be combined (Chan, Golub and LeVeque, 1979).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tally {
    n: f64,
    mean: f64,
    m2: f64,
}

impl Tally {
    fn add(&mut self, x: f64) {
        self.n += 1.0;
        let delta = x - self.mean;
        self.mean += delta / self.n;
        self.m2 += delta * (x - self.mean);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Merge;

impl Reducer<Tally> for Merge {
    fn identity(&self, _like: &Tally) -> Tally {
        Tally::default()
    }

    fn combine(&self, into: &mut Tally, part: Tally) {
        let n = into.n + part.n;
        if n > 0.0 {
            let delta = part.mean - into.mean;
            into.mean += delta * part.n / n;
            into.m2 += part.m2 + delta * delta * into.n * part.n / n;
            into.n = n;
        }
    }
}

/// A random number below 1, and the next state.
fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

fn estimate(workers: usize) -> Result<Tally, Box<dyn std::error::Error>> {
    let rt = Runtime::builder().workers(workers).deterministic(true).build()?;
    let tally = Handle::new(Tally::default());
    rt.scope(|s| {
        for seed in 1..=64_u64 {
            s.spawn(tally.accumulate(Merge), move |mut total| {
                let (tally, mut state) = (total.partial(), seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
                for _ in 0..10_000 {
                    let (x, y) = (random(&mut state), random(&mut state));
                    tally.add(if x * x + y * y < 1.0 { 4.0 } else { 0.0 });
                }
            });
        }
    })?;
    Ok(tally.into_inner()?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tally = estimate(1)?;
    let error = (tally.m2 / (tally.n - 1.0) / tally.n).sqrt();
    println!("π is about {:.4}, standard error {error:.4}", tally.mean);
    assert!((tally.mean - std::f64::consts::PI).abs() < 5.0 * error);
    assert_eq!(estimate(4)?, tally);
    Ok(())
}

#[test]
fn it_runs() {
    main().expect("it checks its result");
}
