//! Time in cycles of the processor's time stamp, as in the paper ([TG](crate#sources) §5), and in
//! seconds.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The unit of [`now`]. Without a time stamp it is a nanosecond, as if the clock had 1 GHz.
pub const UNIT: &str = if cfg!(target_arch = "x86_64") { "tsc" } else { "ns" };

/// The time stamp.
#[cfg(target_arch = "x86_64")]
#[inline]
#[expect(unsafe_code, reason = "the instruction has no safe wrapper")]
pub fn now() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, Linux lets user code run it, and it
    // touches no memory.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// The replacement of the time stamp.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Cycles per nanosecond.
pub fn per_ns() -> f64 {
    static RATE: OnceLock<f64> = OnceLock::new();
    *RATE.get_or_init(|| {
        let watch = Watch::start();
        std::thread::sleep(Duration::from_millis(10));
        let timed = watch.stop();
        timed.cycles / (timed.seconds * 1e9)
    })
}

/// A running stopwatch.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    start: Instant,
    cycles: u64,
}

/// A measured time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Timed {
    /// In seconds.
    pub seconds: f64,
    /// In cycles.
    pub cycles: f64,
}

impl Watch {
    /// Starts the stopwatch.
    #[inline]
    pub fn start() -> Self {
        Self { start: Instant::now(), cycles: now() }
    }

    /// Stops it, and returns the time.
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
