//! The processor's time stamp.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The time stamp. Its rate is constant on all processors of the last decade.
#[inline]
pub(crate) fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction, and Linux lets user code run it.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    nanoseconds()
}

fn nanoseconds() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// The rate of [`ticks`], from a short measurement.
pub(crate) fn ticks_per_ns() -> f64 {
    static RATE: OnceLock<f64> = OnceLock::new();
    *RATE.get_or_init(|| {
        let (ns, start) = (nanoseconds(), ticks());
        while nanoseconds() - ns < Duration::from_micros(200).as_nanos() as u64 {
            std::hint::spin_loop();
        }
        ticks().wrapping_sub(start) as f64 / (nanoseconds() - ns) as f64
    })
}

/// The inverse of [`ticks_per_ns`].
#[inline]
pub(crate) fn ns_per_tick() -> f64 {
    static TIME: OnceLock<f64> = OnceLock::new();
    *TIME.get_or_init(|| 1.0 / ticks_per_ns())
}
