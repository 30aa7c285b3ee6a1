//! The load of processors and network over time, in as many bins as fit into a plot.

use serde::Serialize;

const BINS: usize = 512;
const FIRST_WIDTH: f64 = 1e-6;

/// The load over time.
///
/// ```
/// use millpond_sim::{Config, Costs, programs::Fib, simulate};
///
/// let load = simulate(&Fib::new(20, 5, 1_000_000, Costs::PAPER), &Config::of(4))?.load;
/// assert!(load.cpu().all(|share| (0.0..=1.0).contains(&share)));
/// let sent: f64 = load.network().map(|bytes_a_second| bytes_a_second * load.bin_seconds).sum();
/// assert!((sent - load.bytes.iter().sum::<f64>()).abs() < 1e-6);
/// # Ok::<(), millpond_sim::Error>(())
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct Load {
    /// Seconds per bin.
    pub bin_seconds: f64,
    /// For each bin: the total seconds in which processors worked.
    pub busy: Vec<f64>,
    /// For each bin: the total seconds in which processors could have worked, neither gone nor
    /// faulty.
    pub alive: Vec<f64>,
    /// Bytes sent.
    pub bytes: Vec<f64>,
}

impl Load {
    pub(crate) fn new() -> Self {
        let [busy, alive, bytes] = std::array::from_fn(|_| vec![0.0; BINS]);
        Load { bin_seconds: FIRST_WIDTH, busy, alive, bytes }
    }

    /// Makes the bins wide enough to include a time.
    fn reach(&mut self, time: f64) {
        while time >= self.bin_seconds * BINS as f64 {
            self.bin_seconds *= 2.0;
            for bins in [&mut self.busy, &mut self.alive, &mut self.bytes] {
                for bin in 0..BINS / 2 {
                    bins[bin] = bins[2 * bin] + bins[2 * bin + 1];
                }
                bins[BINS / 2..].fill(0.0);
            }
        }
    }

    pub(crate) fn busy(&mut self, from: f64, to: f64) {
        self.reach(to);
        distribute(&mut self.busy, self.bin_seconds, from, to);
    }

    pub(crate) fn alive(&mut self, from: f64, to: f64) {
        self.reach(to);
        distribute(&mut self.alive, self.bin_seconds, from, to);
    }

    pub(crate) fn sent(&mut self, at: f64, bytes: u64) {
        self.reach(at);
        self.bytes[(at / self.bin_seconds) as usize] += bytes as f64;
    }

    /// Removes the bins after `end`.
    pub(crate) fn cut(&mut self, end: f64) {
        self.reach(end);
        let bins = ((end / self.bin_seconds).ceil() as usize).clamp(1, BINS);
        for all in [&mut self.busy, &mut self.alive, &mut self.bytes] {
            all.truncate(bins);
        }
    }

    /// The share of processors that worked, per bin.
    pub fn cpu(&self) -> impl Iterator<Item = f64> {
        let share = |(busy, alive): (&f64, &f64)| if *alive > 0.0 { (busy / alive).min(1.0) } else { 0.0 };
        self.busy.iter().zip(&self.alive).map(share)
    }

    /// Bytes per second, per bin.
    pub fn network(&self) -> impl Iterator<Item = f64> {
        self.bytes.iter().map(|bytes| bytes / self.bin_seconds)
    }
}

fn distribute(bins: &mut [f64], width: f64, from: f64, to: f64) {
    let (first, last) = ((from / width) as usize, (to / width) as usize);
    if first == last {
        bins[first] += to - from;
        return;
    }
    bins[first] += (first + 1) as f64 * width - from;
    bins[first + 1..last].iter_mut().for_each(|bin| *bin += width);
    bins[last] += to - last as f64 * width;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_stays_in() {
        let mut load = Load::new();
        for step in 0..1000 {
            let at = f64::from(step) * 3e-4;
            load.busy(at, at + 2e-4);
            load.sent(at, 10);
        }
        load.alive(0.0, 0.3);
        load.cut(0.3);
        assert!((load.busy.iter().sum::<f64>() - 0.2).abs() < 1e-9);
        assert!((load.alive.iter().sum::<f64>() - 0.3).abs() < 1e-9);
        assert_eq!(load.bytes.iter().sum::<f64>(), 10_000.0);
        assert!(load.cpu().all(|share| (0.0..=1.0).contains(&share)));
    }
}
