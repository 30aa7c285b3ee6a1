//! Time in cycles of the processor's time stamp, as the paper has it (TG §5), and in seconds.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// What [`now`] counts: where there is no time stamp, nanoseconds pass for cycles of 1 GHz.
pub const UNIT: &str = if cfg!(target_arch = "x86_64") { "tsc" } else { "ns" };

/// The time stamp.
#[cfg(target_arch = "x86_64")]
#[inline]
#[expect(unsafe_code, reason = "the instruction has no safe wrapper")]
pub fn now() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, Linux lets user code run it, and it touches no memory.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// What stands for the time stamp.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// How many cycles take a nanosecond.
pub fn per_ns() -> f64 {
    static RATE: OnceLock<f64> = OnceLock::new();
    *RATE.get_or_init(|| {
        let watch = Watch::start();
        std::thread::sleep(Duration::from_millis(10));
        let timed = watch.stop();
        timed.cycles / (timed.seconds * 1e9)
    })
}

/// A time that has begun.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    start: Instant,
    cycles: u64,
}

/// How long something took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Timed {
    /// In seconds.
    pub seconds: f64,
    /// In cycles.
    pub cycles: f64,
}

impl Watch {
    /// Begins.
    #[inline]
    pub fn start() -> Self {
        Self { start: Instant::now(), cycles: now() }
    }

    /// Ends.
    #[inline]
    pub fn stop(self) -> Timed {
        let cycles = now().wrapping_sub(self.cycles);
        Timed { cycles: cycles as f64, seconds: self.start.elapsed().as_secs_f64() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_of_some_gigahertz() {
        assert!((0.1..20.0).contains(&per_ns()), "{}", per_ns());
    }
}
