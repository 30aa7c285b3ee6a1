//! The simulated machine: processors, their speeds, what a steal costs.

use millpond::stack::policy::End;
use serde::Serialize;
use std::ops::RangeInclusive;

use crate::load::Load;
use crate::program::Work;
use crate::speed::Speed;

/// So much work is counted exactly, with room for what comes on top: 10^8 seconds.
pub(crate) const MOST_WORK: Work = 100_000_000_000_000_000;

/// A machine.
#[derive(Clone, Debug)]
pub struct Config {
    /// The speed of each processor.
    pub speeds: Vec<Speed>,
    /// Seconds from a request for work to its answer, one of [`Config::LATENCIES`]. The request takes effect in the middle.
    pub latency: f64,
    /// Seconds that a processor needs for what it takes from a suspended stack of its own, one of [`Config::OWN_LATENCIES`].
    pub own_latency: f64,
    /// How many closures a thief takes at once in the mean, if as many are ready: one of [`Config::AT_ONCE`].
    pub at_once: f64,
    /// Bytes a second, with which what is stolen is sent besides, one of [`Config::BANDWIDTHS`].
    pub bandwidth: f64,
    /// Slower processors count as faulty.
    pub fault_below: f64,
    /// Decides whom thieves ask.
    pub seed: u64,
    /// Where thieves begin to look.
    pub end: End,
}

impl Config {
    /// What a latency may be. With a shorter one nothing happens but requests, and one of 10^-17 s would not move the clock.
    pub const LATENCIES: RangeInclusive<f64> = 1e-9..=1e6;
    /// What a latency at home may be: none at all, too.
    pub const OWN_LATENCIES: RangeInclusive<f64> = 0.0..=1e6;
    /// What a thief may take at once.
    pub const AT_ONCE: RangeInclusive<f64> = 1.0..=1e6;
    /// What a bandwidth may be. With a smaller one a closure would be on its way for minutes.
    pub const BANDWIDTHS: RangeInclusive<f64> = 1e3..=1e18;

    /// So many processors of unit speed, a steal in 0.1 ms, 100 Mbit/s (the paper's cluster has that, [DDS](crate#sources) §5);
    /// thieves take one closure at a time, and look at home for nothing.
    ///
    /// ```
    /// use millpond_sim::Config;
    ///
    /// assert_eq!(Config::of(32).speeds.len(), 32);
    /// ```
    pub fn of(processors: usize) -> Self {
        Config {
            speeds: vec![Speed::unit(); processors],
            latency: 1e-4,
            own_latency: 0.0,
            at_once: 1.0,
            bandwidth: 12.5e6,
            fault_below: 0.0,
            seed: 1,
            end: End::Oldest,
        }
    }

    /// Whether its numbers make sense; those of speeds do.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let Config { latency, own_latency, at_once, bandwidth, fault_below, .. } = *self;
        require("latency", latency, Self::LATENCIES.contains(&latency), "a time from 1e-9 to 1e6 s")?;
        require("own-latency", own_latency, Self::OWN_LATENCIES.contains(&own_latency), "a time from 0 to 1e6 s")?;
        require("at-once", at_once, Self::AT_ONCE.contains(&at_once), "a number from 1 to 1e6")?;
        require("bandwidth", bandwidth, Self::BANDWIDTHS.contains(&bandwidth), "bytes a second from 1e3 to 1e18")?;
        require("fault-below", fault_below, fault_below >= 0.0, "a speed")
    }
}

/// The end of a sentence on what is too slow, if there is a threshold.
fn or_below(threshold: f64) -> String {
    if threshold > 0.0 { format!(" or below {threshold}") } else { String::new() }
}

pub(crate) fn require(name: &'static str, value: f64, holds: bool, expected: &'static str) -> Result<(), Error> {
    if holds && value.is_finite() { Ok(()) } else { Err(Error::Number { name, value, expected }) }
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
    /// Π_ave: the speed of all processors, added up, in the mean over time ([DDS](crate#sources) §4).
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

    /// c in T = W/Π_ave + c·p·D/Π_ave ([DDS](crate#sources) Theorem 2), if D is known.
    ///
    /// ```
    /// use millpond_sim::{Config, Costs, programs::Fib, simulate};
    ///
    /// let outcome = simulate(&Fib::new(25, 5, 1_000_000, Costs::PAPER), &Config::of(8))?;
    /// let bound = outcome.constant().unwrap() * 8.0 * outcome.span_seconds.unwrap() / outcome.average_speed;
    /// assert!((outcome.least_seconds() + bound - outcome.seconds).abs() < 1e-9);
    /// # Ok::<(), millpond_sim::Error>(())
    /// ```
    pub fn constant(&self) -> Option<f64> {
        let span = self.span_seconds.filter(|span| *span > 0.0)?;
        Some((self.seconds - self.least_seconds()).max(0.0) * self.average_speed / (self.processors as f64 * span))
    }
}

/// Why nothing can be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// There are no processors, or none is ever fast enough.
    #[error("no processor is ever alive: {processors} processors, all of speed 0{}", or_below(*fault_below))]
    NoneAlive {
        /// How many there are.
        processors: usize,
        /// The slowest that counts.
        fault_below: f64,
    },
    /// All processors have left for good, or are too slow from now on.
    #[error(
        "no processor is alive from {seconds} s on: {processors} processors, all of speed 0{} for good, and the program has not ended",
        or_below(*fault_below)
    )]
    Deserted {
        /// Since when.
        seconds: f64,
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
    /// More work or tasks than can be counted.
    #[error("the program is too large: more than 10^8 seconds of work, or more tasks than 64 bits count")]
    TooLarge,
    /// Thieves ask and ask.
    #[error(
        "{refused} requests for work were refused until {seconds} s, when {:.1e} of the work was done: a latency of \
         {latency:e} s is too short for tasks that long, or there are too many processors",
        share
    )]
    Refused {
        /// How many were refused.
        refused: u64,
        /// How much of the work was done.
        share: f64,
        /// Until when.
        seconds: f64,
        /// What was to lie between each and its answer.
        latency: f64,
    },
    /// Speeds change again and again.
    #[error(
        "the speed of processor {processor} changes more than {changes} times before the program ends: speeds change too \
         often, or leave too little"
    )]
    Restless {
        /// Which one.
        processor: usize,
        /// How often.
        changes: usize,
    },
}
