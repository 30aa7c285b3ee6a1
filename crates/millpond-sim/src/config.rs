//! The simulated machine: processors, their speeds, and the cost of a steal.

use millpond::stack::End;
use serde::Serialize;
use std::ops::RangeInclusive;

use crate::load::Load;
use crate::network::{Link, Network};
use crate::program::Work;
use crate::speed::Speed;

/// The maximum work: 10^8 seconds. In 64 bits this leaves room for the overhead.
pub(crate) const MAX_WORK_NANOS: Work = 100_000_000_000_000_000;

/// A machine.
#[derive(Clone, Debug)]
pub struct Config {
    /// The speed of each processor.
    pub speeds: Vec<Speed>,
    /// Seconds from a request for work to its answer, within a cluster; see [`Config::LATENCIES`].
    /// The request takes effect after half of them.
    pub latency: f64,
    /// Seconds for taking work from an own suspended stack; see [`Config::OWN_LATENCIES`].
    pub own_latency: f64,
    /// The average number of closures that a thief takes at once, if enough are ready; see
    /// [`Config::AT_ONCE`].
    pub at_once: f64,
    /// The bandwidth for stolen closures within a cluster, in bytes per second; see
    /// [`Config::BANDWIDTHS`].
    pub bandwidth: f64,
    /// The clusters and their links; `None`: all processors are one cluster.
    pub network: Option<Network>,
    /// Whether the result of a stolen closure is a message to the processor that holds the victim's
    /// stack ([DDS](crate#sources) §3, Fig. 3). That processor then continues with the stack.
    /// Otherwise results take no time, and the thief continues with a stack that waits for its
    /// result.
    pub send_results: bool,
    /// Processors slower than this count as faulty.
    pub fault_below: f64,
    /// The seed of the thieves' choices of victims.
    pub seed: u64,
    /// The end at which thieves begin to scan.
    pub end: End,
}

impl Config {
    /// The range of a latency. With a shorter one almost all events are requests. One of 10^-17 s
    /// would not advance the clock.
    pub const LATENCIES: RangeInclusive<f64> = 1e-9..=1e6;
    /// The range of a latency at an own stack. It may be 0.
    pub const OWN_LATENCIES: RangeInclusive<f64> = 0.0..=1e6;
    /// The range of the number of closures that a thief takes at once.
    pub const AT_ONCE: RangeInclusive<f64> = 1.0..=1e6;
    /// The range of a bandwidth. With a smaller one a closure would take minutes.
    pub const BANDWIDTHS: RangeInclusive<f64> = 1e3..=1e18;

    /// This number of processors of unit speed, with a steal in 0.1 ms and 100 Mbit/s, the
    /// bandwidth of the paper's cluster ([DDS](crate#sources) §5). Thieves take one closure at a
    /// time, from their own stacks at no cost.
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
            network: None,
            send_results: false,
            fault_below: 0.0,
            seed: 1,
            end: End::Oldest,
        }
    }

    /// Checks its numbers. Speeds check themselves.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let Config { latency, own_latency, at_once, bandwidth, fault_below, .. } = *self;
        Link { latency, bandwidth }.check()?;
        require("own-latency", own_latency, Self::OWN_LATENCIES.contains(&own_latency), "a time from 0 to 1e6 s")?;
        require("at-once", at_once, Self::AT_ONCE.contains(&at_once), "a number from 1 to 1e6")?;
        require("fault-below", fault_below, fault_below >= 0.0, "a speed")?;
        let (speeds, clusters) = (self.speeds.len(), self.network.as_ref().map(Network::processors));
        match clusters.filter(|&clusters| clusters != speeds) {
            Some(clusters) => Err(Error::Processors { speeds, clusters }),
            None => Ok(()),
        }
    }
}

/// The end of an error about slow processors, if there is a threshold.
fn or_below(threshold: f64) -> String {
    if threshold > 0.0 { format!(" or below {threshold}") } else { String::new() }
}

pub(crate) fn require(name: &'static str, value: f64, holds: bool, expected: &'static str) -> Result<(), Error> {
    if holds && value.is_finite() { Ok(()) } else { Err(Error::Number { name, value, expected }) }
}

/// The result of a simulation.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The number of processors.
    pub processors: usize,
    /// The simulated time.
    pub seconds: f64,
    /// W, in seconds at unit speed.
    pub work_seconds: f64,
    /// D in seconds at unit speed, if it is known.
    pub span_seconds: Option<f64>,
    /// Π_ave: the total speed of all processors, averaged over time ([DDS](crate#sources) §4).
    pub average_speed: f64,
    /// The number of executed bodies. With faults, some ran more than once.
    pub tasks: u64,
    /// Closures stolen from another processor.
    pub steals: u64,
    /// Of these, closures stolen within a cluster.
    pub local_steals: u64,
    /// Of these, closures stolen from another cluster.
    pub remote_steals: u64,
    /// Of the remote ones, closures stolen from another site.
    pub distant_steals: u64,
    /// Results sent to another processor, if [`Config::send_results`].
    pub results: u64,
    /// Closures that a processor took from its own suspended stack.
    pub own_steals: u64,
    /// Refused requests for work.
    pub failed_attempts: u64,
    /// Work lost with faulty processors, in seconds at unit speed.
    pub lost_seconds: f64,
    /// The number of times that a processor became faulty.
    pub faults: u64,
    /// The number of times that the program began again.
    pub restarts: u64,
    /// The total time in which processors worked.
    pub busy_seconds: f64,
    /// The total time in which they could have worked.
    pub alive_seconds: f64,
    /// The share of that time in which they did not work.
    pub idle_share: f64,
    /// Bytes sent.
    pub bytes: u64,
    /// The share of each cluster in the run, if the machine has a network.
    pub clusters: Vec<ClusterOutcome>,
    /// The load over time.
    #[serde(skip)]
    pub load: Load,
}

/// The share of a cluster in a run.
#[derive(Clone, Debug, Serialize)]
pub struct ClusterOutcome {
    /// The cluster.
    pub name: String,
    /// Its site.
    pub site: String,
    /// The number of its processors.
    pub processors: usize,
    /// The total time in which its processors worked.
    pub busy_seconds: f64,
    /// The total time in which they could have worked.
    pub alive_seconds: f64,
    /// The share of that time in which they did not work.
    pub idle_share: f64,
    /// Closures that its processors stole from one another.
    pub local_steals: u64,
    /// Closures that its processors stole from other clusters.
    pub remote_steals: u64,
    /// Bytes sent between two of its processors, to other clusters, or from them.
    pub bytes: u64,
    /// The load over time.
    #[serde(skip)]
    pub load: Load,
}

impl Outcome {
    /// W/Π_ave: no schedule on these processors is faster.
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

/// Why a simulation fails.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// There are no processors, or none is ever fast enough.
    #[error("no processor is ever alive: {processors} processors, all of speed 0{}", or_below(*fault_below))]
    NoneAlive {
        /// The number of processors.
        processors: usize,
        /// The minimum speed.
        fault_below: f64,
    },
    /// All processors have left permanently, or are too slow from now on.
    #[error(
        "no processor is alive from {seconds} s on: {processors} processors, all of speed 0{} permanently, and the program has not ended",
        or_below(*fault_below)
    )]
    Deserted {
        /// The time of the last departure.
        seconds: f64,
        /// The number of processors.
        processors: usize,
        /// The minimum speed.
        fault_below: f64,
    },
    /// All remaining work is held by processors that have left permanently.
    #[error(
        "nothing happens after {seconds} s: the remaining work is held by processors that have left, such as processor \
         {processor}; with a threshold for faults, others would do it again"
    )]
    Stuck {
        /// The time of the last event.
        seconds: f64,
        /// One of these processors.
        processor: usize,
    },
    /// The processors fail too often for the program.
    #[error("the program began {restarts} times in {seconds} s and never ended: processors fail too often")]
    Hopeless {
        /// The number of restarts.
        restarts: u64,
        /// Their time.
        seconds: f64,
    },
    /// A number that is not finite, or out of range.
    #[error("{name}: {value} is not {expected}")]
    Number {
        /// The setting.
        name: &'static str,
        /// The number.
        value: f64,
        /// The expected values.
        expected: &'static str,
    },
    /// The network has another number of processors than the machine.
    #[error("the clusters have {clusters} processors, and the machine {speeds}")]
    Processors {
        /// The number of speeds.
        speeds: usize,
        /// The number of processors in all clusters.
        clusters: usize,
    },
    /// A network cannot have this cluster or link.
    #[error("'{name}' {why}")]
    Network {
        /// The cluster or site.
        name: String,
        /// The reason.
        why: &'static str,
    },
    /// More work or tasks than can be counted.
    #[error("the program is too large: more than 10^8 seconds of work, or more tasks than 64 bits count")]
    TooLarge,
    /// Thieves' requests are refused without end.
    #[error(
        "{refused} requests for work were refused until {seconds} s, when {:.1e} of the work was done: a latency of \
         {latency:e} s is too short for such long tasks, or there are too many processors",
        share
    )]
    Refused {
        /// The number of refusals.
        refused: u64,
        /// The share of the work that was done.
        share: f64,
        /// The simulated time so far.
        seconds: f64,
        /// The latency of a request.
        latency: f64,
    },
    /// Speeds change too often.
    #[error(
        "the speed of processor {processor} changes more than {changes} times before the program ends: speeds change too \
         often, or leave too little"
    )]
    Restless {
        /// The processor.
        processor: usize,
        /// The number of changes.
        changes: usize,
    },
}
