//! The processor's time stamp.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::sync::process::once;

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
    once(&START, Instant::now).elapsed().as_nanos() as u64
}

/// The rate of [`ticks`], from a short measurement.
pub(crate) fn ticks_per_ns() -> f64 {
    static RATE: OnceLock<f64> = OnceLock::new();
    if let Some(rate) = RATE.get() {
        return *rate;
    }
    // Before, because one initialization must not contain another.
    let _started = nanoseconds();
    *once(&RATE, || {
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
    if let Some(time) = TIME.get() {
        return *time;
    }
    let rate = ticks_per_ns();
    *once(&TIME, || 1.0 / rate)
}
