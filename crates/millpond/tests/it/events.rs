//! Events of programs whose tasks run, wait, fail or never run, in every possible way. Each body
//! has all required events exactly once, in a possible order.
//!
//! A quarter of `MILLPOND_CASES` is the number of configurations. `MILLPOND_SEED` is the first
//! number.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use millpond::record::{Event, Recorder, Sink, Track, What};
use millpond::{Builder, Inline, Runtime};

mod ledger;
mod programs;

use crate::common::watchdog::Watchdog;
use crate::common::{Mutex, builder, limit, number};
use ledger::{Told, breach};
use programs::{PROGRAMS, Program};

/// Every configuration, several times if that is fast, since the threads interleave differently.
const CASES: u64 = 3 * 3 * 2 * 2 * 2 * if cfg!(debug_assertions) { 1 } else { 4 };

/// The builder settings of a case.
#[derive(Clone, Copy, Debug)]
struct Config {
    workers: usize,
    inline: Inline,
    window: usize,
    dumps: bool,
    deterministic: bool,
}

impl Config {
    /// The settings of the case with that number. The number alone determines them, so that a case
    /// can be repeated.
    fn of(case: u64) -> Self {
        let mut left = case;
        let mut choice = |of: u64| {
            let choice = left % of;
            left /= of;
            choice as usize
        };
        Config {
            workers: [1, 2, 4][choice(3)],
            inline: [Inline::Never, Inline::Auto, Inline::Always][choice(3)],
            window: [2, Builder::DEFAULT_WINDOW][choice(2)],
            dumps: [false, true][choice(2)],
            deterministic: [false, true][choice(2)],
        }
    }

    fn build(&self) -> Runtime {
        let Config { workers, inline, window, dumps, deterministic } = *self;
        let builder = builder(workers).inline(inline).window(window).dumps(dumps).deterministic(deterministic);
        builder.recorder(&Recorder::with_clock(moment)).build().expect("every choice is in its range")
    }
}

/// A clock that returns each time once. A later event has a later time, on any track.
fn moment() -> u64 {
    static NOW: AtomicU64 = AtomicU64::new(0);
    NOW.fetch_add(1, Relaxed)
}

/// A sink that keeps all events.
#[derive(Default)]
struct Kept(Mutex<Told>);

impl Sink for Kept {
    fn take(&self, track: Track, events: &[Event]) {
        self.0.lock().extend(events.iter().map(|event| (track, *event)));
    }
}

/// Runs a program. Returns its events.
fn record(rt: &Runtime, program: &Program) -> Told {
    let kept = Arc::new(Kept::default());
    let recording = rt.recorder().add(kept.clone());
    (program.run)(rt);
    drop(recording);
    std::mem::take(&mut *kept.0.lock())
}

fn roots(told: &Told) -> usize {
    told.iter().filter(|(_, event)| matches!(event.what, What::Opened { within: 0, .. })).count()
}

#[test]
fn every_body_has_its_events() {
    let dog = Watchdog::new(Duration::from_secs(20));
    let (from, cases) = (number("MILLPOND_SEED", 0), number("MILLPOND_CASES", 4 * CASES).div_ceil(4));
    for case in from..from + cases {
        let config = Config::of(case);
        let rt = dog.over(move || format!("the start of {config:?}"), || config.build());
        for program in PROGRAMS {
            let name = program.name;
            let show = move || format!("{name} on {config:?}; again: MILLPOND_SEED={case} MILLPOND_CASES=1");
            let told = dog.over(show, || record(&rt, program));
            if let Some(breach) = breach(&told) {
                panic!("{}\n{breach}", show());
            }
            assert_eq!(roots(&told), program.roots, "scopes within no body: {}", show());
            let dump = rt.dump();
            assert!(dump.unfinished.is_empty(), "{}\n{dump}", show());
        }
        dog.over(move || format!("the end of {config:?}"), || drop(rt));
    }
}

/// The check can fail: it reports each missing event, if a rule requires the event.
#[test]
fn missing_events_are_noticed() {
    let rt = Config::of(1).build();
    for program in PROGRAMS {
        let told = limit(20, program.name, || record(&rt, program));
        for nth in (0..told.len()).filter(|&nth| must_be_there(&told, told[nth].1.what)) {
            let mut less = told.clone();
            let missing = less.remove(nth);
            assert!(breach(&less).is_some(), "{} without {missing:?}", program.name);
        }
    }
}

fn must_be_there(told: &Told, what: What) -> bool {
    match what {
        // A body that fails may not have started.
        What::Started { task } => {
            let is_well = |what| matches!(what, What::Ended { body, ok: true } if body == task);
            told.iter().any(|(_, event)| is_well(event.what))
        }
        What::Opened { .. } | What::Session { .. } | What::Spawned { .. } | What::Ended { .. } => true,
        What::Completed { .. } | What::Waits { .. } | What::Resumed { .. } => true,
        _ => false,
    }
}
