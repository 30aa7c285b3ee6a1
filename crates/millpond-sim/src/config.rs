//! The simulated machine: processors, their speeds, what a steal costs.

use millpond::stack::policy::End;
use serde::Serialize;

use crate::load::Load;
use crate::speed::Speed;

/// A machine.
#[derive(Clone, Debug)]
pub struct Config {
    /// The speed of each processor.
    pub speeds: Vec<Speed>,
    /// Seconds from a request for work to its answer. The request takes effect in the middle.
    pub latency: f64,
    /// Bytes a second, with which what is stolen is sent besides.
    pub bandwidth: f64,
    /// Slower processors count as faulty.
    pub fault_below: f64,
    /// Decides whom thieves ask.
    pub seed: u64,
    /// Where thieves begin to look.
    pub end: End,
}

impl Config {
    /// So many processors of unit speed, a steal in 0.1 ms, 100 Mbit/s (the paper's cluster has that, DDS §5).
    ///
    /// ```
    /// use millpond_sim::Config;
    ///
    /// assert_eq!(Config::of(32).speeds.len(), 32);
    /// ```
    pub fn of(processors: usize) -> Self {
        Config {
            speeds: vec![Speed::constant(1.0); processors],
            latency: 1e-4,
            bandwidth: 12.5e6,
            fault_below: 0.0,
            seed: 1,
            end: End::Oldest,
        }
    }
}

/// What happened.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// How many processors there were.
    pub processors: usize,
    /// How long it took.
    pub seconds: f64,
    /// W, in seconds at unit speed.
    pub work_seconds: f64,
    /// D, the same, if it is known.
    pub span_seconds: Option<f64>,
    /// Π_ave: the speed of all processors, added up, in the mean over time (DDS §4).
    pub average_speed: f64,
    /// Bodies that ran; with faults some more than once.
    pub tasks: u64,
    /// Closures that were taken from another processor.
    pub steals: u64,
    /// Closures that a processor took from a suspended stack of its own.
    pub own_steals: u64,
    /// Requests for work that were refused.
    pub failed_attempts: u64,
    /// Work that was done and lost with a faulty processor, in seconds at unit speed.
    pub lost_seconds: f64,
    /// How often a processor became faulty.
    pub faults: u64,
    /// How often the program had to begin again.
    pub restarts: u64,
    /// How long processors worked, added up.
    pub busy_seconds: f64,
    /// How long they could have worked.
    pub alive_seconds: f64,
    /// The share of that in which they did not.
    pub idle_share: f64,
    /// Bytes sent.
    pub bytes: u64,
    /// The same over time.
    #[serde(skip)]
    pub load: Load,
}

impl Outcome {
    /// W/Π_ave: no machine of these processors is faster.
    pub fn least_seconds(&self) -> f64 {
        if self.average_speed > 0.0 { self.work_seconds / self.average_speed } else { 0.0 }
    }

    /// c in T = W/Π_ave + c·p·D/Π_ave (DDS Theorem 2), if D is known.
    pub fn constant(&self) -> Option<f64> {
        let span = self.span_seconds.filter(|span| *span > 0.0)?;
        Some((self.seconds - self.least_seconds()).max(0.0) * self.average_speed / (self.processors as f64 * span))
    }
}

/// Why nothing can be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// There are no processors, or none is ever fast enough.
    #[error("no processor is ever alive: {processors} processors, all of speed 0 or below {fault_below}")]
    NobodyAlive {
        /// How many there are.
        processors: usize,
        /// The slowest that counts.
        fault_below: f64,
    },
    /// All that is left to do is held by processors that have left for good.
    #[error(
        "nothing moves after {seconds} s: what is left is held by processors that have left, processor {processor} among \
         them; with a threshold for faults it would be run again elsewhere"
    )]
    Stuck {
        /// Since when.
        seconds: f64,
        /// One of them.
        processor: usize,
    },
    /// The processors fail too often for the program.
    #[error("the program began {restarts} times in {seconds} s without coming to its end: processors fail too often")]
    Hopeless {
        /// How often.
        restarts: u64,
        /// Within which time.
        seconds: f64,
    },
    /// A number that is none, or out of range.
    #[error("{name}: {value} is not {expected}")]
    Number {
        /// What it was given for.
        name: &'static str,
        /// The number.
        value: f64,
        /// What was expected.
        expected: &'static str,
    },
}
