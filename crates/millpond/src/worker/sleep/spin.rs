//! How a worker looks for work before it sleeps.

#[cfg(not(loom))]
use std::time::{Duration, Instant};

use super::Idle;
use crate::sync::spin_loop;

/// Longer than it takes to wake a thread (some 30 µs), so that a worker that gets work soon does not pay for that.
#[cfg(not(loom))]
const PATIENCE: Duration = Duration::from_micros(50);

/// Before that it does not yield, either: if the processors have other things to do besides, that may cost milliseconds. Longer
/// than a thief's pause between two looks (`stack/thief/search`).
#[cfg(not(loom))]
const BRIEFLY: Duration = Duration::from_micros(20);

/// The longest pause between two looks, as a power of two of spin-loop hints (each 10 to 40 ns).
const LONGEST_PAUSE: u32 = 5;

/// Looks for work as long as `idle` says; whether there was some.
pub(super) fn spin(idle: Idle, found: &mut impl FnMut() -> bool) -> bool {
    match idle {
        Idle::Sleep => false,
        Idle::Hybrid => look_for_a_while(found),
        Idle::Busy => look(found, || Then::Yield),
    }
}

/// After some looks in vain.
#[cfg_attr(loom, allow(dead_code, reason = "a model has no time"))]
enum Then {
    Look,
    /// With more workers than cores, the one to wait for may be ready.
    Yield,
    Stop,
}

#[cfg(not(loom))]
fn look_for_a_while(found: &mut impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    look(found, || match start.elapsed() {
        time if time < BRIEFLY => Then::Look,
        time if time < PATIENCE => Then::Yield,
        _ => Then::Stop,
    })
}

/// A model has no time: what looking would find, the sleeper's last look finds.
#[cfg(loom)]
fn look_for_a_while(_found: &mut impl FnMut() -> bool) -> bool {
    false
}

/// Pauses double, so that a short wait is seen soon and a long one leaves the work's cache lines to those who change
/// them.
fn look(found: &mut impl FnMut() -> bool, then: impl Fn() -> Then) -> bool {
    loop {
        for pause in 0..=LONGEST_PAUSE {
            if found() {
                return true;
            }
            (0..1 << pause).for_each(|_| spin_loop());
        }
        match then() {
            Then::Look => {}
            Then::Yield => std::thread::yield_now(),
            Then::Stop => return false,
        }
    }
}
