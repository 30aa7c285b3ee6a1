//! How a worker looks for work before it sleeps.

#[cfg(not(loom))]
use std::time::{Duration, Instant};

use super::Idle;
use crate::sync::spin_loop;

/// How long a worker spins before it sleeps. Waking a thread takes about 30 µs. The time is longer,
/// so a worker that soon gets work saves the wake-up.
#[cfg(not(loom))]
const SPIN_BEFORE_SLEEP: Duration = Duration::from_micros(50);

/// How long a worker spins before it yields. On a busy machine a yield may cost milliseconds. The
/// time is longer than a thief's pause between two attempts (`stack/thief/search`).
#[cfg(not(loom))]
const SPIN_BEFORE_YIELD: Duration = Duration::from_micros(20);

/// The longest pause between two looks, as a power of two of spin-loop hints (10 to 40 ns each). A
/// worker that comes 1 µs later is of no use to a loop of 5 µs (decision 40).
const MAX_PAUSE_SHIFT: u32 = 3;

/// Looks for work for as long as `idle` says. Returns whether there was work.
pub(super) fn spin(idle: Idle, found: &dyn Fn() -> bool) -> bool {
    match idle {
        Idle::Sleep => false,
        Idle::Hybrid | Idle::ByPool => look_for_a_while(found),
        Idle::Busy => look(found, &|| Then::Yield),
    }
}

/// The next action after some looks that found nothing.
#[cfg_attr(loom, allow(dead_code, reason = "a model has no time"))]
enum Then {
    Look,
    /// With more workers than cores, the thread that this worker waits for may be ready to run.
    Yield,
    Stop,
}

#[cfg(not(loom))]
fn look_for_a_while(found: &dyn Fn() -> bool) -> bool {
    let start = Instant::now();
    look(found, &|| match start.elapsed() {
        time if time < SPIN_BEFORE_YIELD => Then::Look,
        time if time < SPIN_BEFORE_SLEEP => Then::Yield,
        _ => Then::Stop,
    })
}

/// A model has no time. The sleeper's last look finds everything that spinning would find.
#[cfg(loom)]
fn look_for_a_while(_found: &dyn Fn() -> bool) -> bool {
    false
}

/// Looks with pauses that double. A short wait ends soon. During a long wait, the cache lines of
/// the work stay with the threads that change them.
fn look(found: &dyn Fn() -> bool, then: &dyn Fn() -> Then) -> bool {
    loop {
        for pause in 0..=MAX_PAUSE_SHIFT {
            if found() {
                return true;
            }
            for _ in 0..1 << pause {
                spin_loop();
            }
        }
        match then() {
            Then::Look => {}
            Then::Yield => std::thread::yield_now(),
            Then::Stop => return false,
        }
    }
}
