//! Hostile recordings: files as they should be, of events as no program makes them. They are
//! refused, or reported and drawn as something; never with a panic, never for ever, and in time for
//! the size of the file.
//!
//! `MILLPOND_CASES` and `MILLPOND_SEED` as in the test `nested`.

use std::ops::Range;
use std::panic::Location;
use std::time::Duration;

use millpond::depend::Mode;
use millpond::record::{Cause, Event, Role, Sink, Track, What};
use millpond_trace::{DotError, Recording, Writer};
use rustix::time::{ClockId, clock_gettime};
use serde::de::IgnoredAny;

use crate::cases::{self, Random};
use crate::common::watchdog::Watchdog;

/// As many as a plain `cargo test` has time for: some seconds.
const CASES: u64 = 10_000;

/// Times and what happens then, on a track.
type Told = Vec<(u64, What)>;

fn recording(workers: usize, tracks: &[(Track, Told)]) -> Recording {
    let writer = Writer::of_clock("hostile", workers);
    for (track, told) in tracks {
        let events: Vec<_> = told.iter().map(|&(at, what)| Event { at, what }).collect();
        // In blocks, as tapes are.
        events.chunks(1000).for_each(|block| writer.take(*track, block));
    }
    writer.finish_in_memory().expect("what was just written can be read")
}

const TRACK: Track = Track { number: 0, worker: Some(0) };

#[track_caller]
fn here() -> &'static Location<'static> {
    Location::caller()
}

fn trace(recording: &Recording) -> Vec<u8> {
    let mut bytes = Vec::new();
    recording.write_trace(&mut bytes).expect("its events can be read");
    bytes
}

fn schedule(recording: &Recording) -> Vec<u8> {
    let mut bytes = Vec::new();
    recording.write_schedule(&mut bytes).expect("its events can be read");
    bytes
}

/// Makes everything that can be made of a recording; false if its events cannot be read.
fn look_at(recording: &Recording) -> bool {
    let Ok(report) = recording.report() else { return false };
    serde_json::from_slice::<IgnoredAny>(&trace(recording)).expect("a trace is JSON");
    let mut text = serde_json::to_vec(&report).expect("a report is JSON");
    text.extend(report.to_string().bytes());
    text.extend(schedule(recording));
    report.write_speedup(&[(1, 0.5), (2, 0.0), (0, 1.0)], &mut text).expect("memory takes all");
    assert!(!String::from_utf8(text).expect("text").contains("NaN"));
    match recording.write_dot(&mut Vec::new()) {
        Ok(()) | Err(DotError::TooLarge { .. }) => true,
        Err(error) => panic!("{error}"),
    }
}

/// What contradicts itself: few bodies and data, of which anything is told, anywhere.
fn contradictory(random: &mut Random) -> Recording {
    let bodies = 2 + random.below(8);
    let track = |random: &mut Random| {
        let number = random.pick(&[0, 1, 2, u32::MAX]);
        let mut at = random.below(10) as u64;
        let mut told = Vec::new();
        for _ in 0..random.below(60) {
            // Mostly on, sometimes back, seldom to the end of time.
            at = match random.below(100) {
                0 => u64::MAX - random.below(3) as u64,
                1..5 => random.below(100) as u64,
                _ => at.saturating_add(random.below(5) as u64),
            };
            told.push((at, anything(random, bodies)));
        }
        (Track { number, worker: random.pick(&[None, Some(0), Some(1), Some(u32::MAX)]) }, told)
    };
    let tracks: Vec<_> = (0..=random.below(4)).map(|_| track(random)).collect();
    recording(1 + random.below(3), &tracks)
}

fn anything(random: &mut Random, bodies: usize) -> What {
    let (body, task, place) = (random.below(bodies) as u64, random.below(bodies) as u64, here());
    let (datum, order) = (random.below(3) as u64, random.below(5) as u64);
    let access = random.pick(&[0, 1, Event::WAIT, Event::PRECONDITION]);
    match random.below(23) {
        0 | 1 => What::Opened { scope: task, within: body, place },
        2 => What::Session { scope: body, place },
        3 => What::Spawning { body },
        4..7 => {
            let role = random.pick(&[Role::Leaf, Role::Parent, Role::Combine, Role::Fork]);
            What::Spawned { role, task, spawner: body, order, place }
        }
        7 => What::Named { name: random.pick(&["a", "b\"<&", "", "\n"]) },
        8 => What::Indexed { count: random.below(5) as u8, indices: [1, 2, 3, u32::MAX] },
        9 | 10 => {
            let modes = [Mode::Read, Mode::Write, Mode::Inout, Mode::Commutative, Mode::Concurrent, Mode::Reduce];
            What::Declared { mode: random.pick(&modes), datum }
        }
        11 => What::Granted { task, by: body, access },
        12 => What::Handed { task, by: body, access },
        13 | 14 => What::Started { task },
        15 => What::Ended { body, ok: random.percent(50) },
        16 => What::Completed { body },
        17 => {
            let causes = [Cause::Join, Cause::Datum, Cause::Written, Cause::Window, Cause::Others];
            What::Waits { body, cause: random.pick(&causes), on: task }
        }
        18 => What::Resumed { body },
        19 => What::Joined { body, task },
        20 => What::Set { body, order: random.next(), datum },
        21 => What::StoleClosures { closures: random.pick(&[0, 1, 7, u32::MAX]) },
        _ => random.pick(&[What::Stole, What::AtTheft, What::Idle, What::Awake, What::Issued { body }]),
    }
}

#[test]
fn contradictions_are_reported_and_drawn() {
    let dog = Watchdog::new(Duration::from_secs(20));
    cases::run(CASES, |seed, random| {
        let recording = contradictory(random);
        assert!(dog.over(move || format!("seed {seed}"), || look_at(&recording)));
    });
}

/// Where the payloads of a recording are: after the head of each block, which ends with length and
/// checksum.
fn payloads(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = "millpond".len() + 2;
    while start < bytes.len() {
        let (from, length) = (start + 9, u32::from_le_bytes(bytes[start + 1..start + 5].try_into().unwrap()));
        start = from + length as usize;
        found.push(from..start);
    }
    found
}

#[test]
fn bytes_that_are_wrong_in_spite_of_their_checksums() {
    let dog = Watchdog::new(Duration::from_secs(20));
    cases::run(CASES, |seed, random| {
        let mut bytes = contradictory(random).bytes().to_vec();
        let payloads = payloads(&bytes);
        for _ in 0..=random.below(3) {
            let payload = payloads[random.below(payloads.len())].clone();
            bytes[payload.start + random.below(payload.len())] = random.next() as u8;
            let sum = crc32fast::hash(&bytes[payload.clone()]).to_le_bytes();
            bytes[payload.start - 4..payload.start].copy_from_slice(&sum);
        }
        if let Ok(recording) = Recording::parse(bytes) {
            dog.over(move || format!("seed {seed}"), || look_at(&recording));
        }
    });
}

#[test]
fn more_workers_than_a_runtime_has_are_refused() {
    let refused = Writer::of_clock("hostile", 20_000_000).finish_in_memory().unwrap_err().to_string();
    assert_eq!(refused, "offset 10: damaged: a block of kind 1 that is none");
}

fn one_track(told: impl IntoIterator<Item = (u64, What)>) -> Recording {
    recording(1, &[(TRACK, told.into_iter().collect())])
}

fn opened(scope: u64, within: u64) -> What {
    What::Opened { scope, within, place: here() }
}

/// What the closure of a scope does, which is body 1.
fn in_scope(does: impl Iterator<Item = (u64, What)>) -> Recording {
    let mut told: Told = std::iter::once((0, opened(1, 0))).chain(does).collect();
    let end = told.iter().map(|(at, _)| *at).max().expect("there is one event at least");
    told.extend([(end, What::Ended { body: 1, ok: true }), (end, What::Completed { body: 1 })]);
    one_track(told)
}

/// So many tasks, spawned at once, run one after the other. Body 1 is their scope.
fn tasks(count: u64, accesses: impl Fn(u64) -> Vec<(Mode, u64)>) -> Recording {
    let (mut spawns, mut runs) = (vec![(0, opened(1, 0))], Vec::new());
    for (task, order) in (2..).zip(0..count) {
        spawns.push((0, What::Spawned { role: Role::Leaf, task, spawner: 1, order, place: here() }));
        spawns.extend(accesses(order).into_iter().map(|(mode, datum)| (0, What::Declared { mode, datum })));
        runs.extend([(3 * order, What::Started { task }), (3 * order + 2, What::Ended { body: task, ok: true })]);
    }
    spawns.extend([(0, What::Ended { body: 1, ok: true }), (3 * count, What::Completed { body: 1 })]);
    recording(2, &[(TRACK, spawns), (Track { number: 1, worker: Some(1) }, runs)])
}

/// What a file of any size may be full of.
const FAMILIES: [(&str, fn(u64) -> Recording); 11] = [
    ("tracks", |n| {
        let track = |number| (Track { number, worker: None }, vec![(0, What::Stole)]);
        recording(1, &(0..n as u32).map(track).collect::<Vec<_>>())
    }),
    ("one scope, opened again and again", |n| one_track((0..n).map(|at| (at, opened(1, 1))))),
    ("scopes within one another", |n| one_track((1..2 * n).map(|scope| (scope, opened(scope, scope - 1))))),
    ("tasks that wait for one another", |n| tasks(n, |_| vec![(Mode::Inout, 1)])),
    ("a task of many accesses", |n| tasks(1, |_| vec![(Mode::Inout, 1); n as usize])),
    ("turns at one datum", |n| tasks(n, |_| vec![(Mode::Commutative, 1)])),
    ("turns at two data of three", |n| {
        let two = |random: &mut Random| {
            let first = random.below(3);
            [first, (first + 1 + random.below(2)) % 3].map(|datum| (Mode::Commutative, 1 + datum as u64)).to_vec()
        };
        tasks(n, |task| two(&mut Random::new(task)))
    }),
    ("a task that needs the turn of each other", |n| {
        let turns = |data: Range<u64>| data.map(|datum| (Mode::Commutative, 1 + datum)).collect();
        tasks(n, |task| turns(if task + 1 < n { task..task + 1 } else { 0..n }))
    }),
    ("a body that waits for a datum", |n| {
        let waits = What::Waits { body: 1, cause: Cause::Datum, on: 1 };
        let granted = What::Granted { task: 1, by: 0, access: Event::WAIT };
        in_scope((0..n).flat_map(|at| [waits, granted, What::Resumed { body: 1 }].map(|what| (at, what))))
    }),
    ("a body that waits, and never goes on", |n| {
        in_scope((0..n).map(|at| (at, What::Waits { body: 1, cause: Cause::Datum, on: 1 })))
    }),
    ("a body that waits, its worker idle", |n| {
        let waits = What::Waits { body: 1, cause: Cause::Others, on: 0 };
        let told = [waits, What::Idle, What::Awake, What::Resumed { body: 1 }];
        in_scope((0..4 * n).flat_map(|nth| (4 * nth..).zip(told)))
    }),
];

type Output = fn(&Recording) -> Vec<u8>;

/// What is made of it.
const OUTPUTS: [(&str, Output); 3] = [
    ("report", |recording| recording.report().expect("its events can be read").to_string().into_bytes()),
    ("trace", trace),
    ("schedule", schedule),
];

/// How many times as large as a small recording a large one is.
const FOLD: u64 = 16;

/// How many times the time and the bytes of as many small recordings as are as large a large one
/// takes: 1 if linear, `FOLD` if quadratic. The time is the processor's that this thread has had,
/// which a busy machine does not make longer.
fn growth(output: Output, small: &Recording, large: &Recording) -> (f64, f64) {
    let cost = |recording: &Recording, times: usize| {
        let began = processor_time();
        let bytes: usize = (0..times).map(|_| output(recording).len()).sum();
        (processor_time() - began, bytes as f64)
    };
    let ((short, few), (long, many)) = (cost(small, FOLD as usize), cost(large, 1));
    (long / short, many / few)
}

/// Of this thread, in seconds.
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[test]
fn time_and_size_are_those_of_the_file() {
    for (family, make) in FAMILIES {
        let (small, large) = (make(500), make(500 * FOLD));
        for (name, output) in OUTPUTS {
            // With some room for caches and logarithms. One good try is enough.
            let bad = |(time, size): &(f64, f64)| *time > 3.0 || *size > 3.0;
            let tries: Vec<_> = (0..5).map(|_| growth(output, &small, &large)).take_while(bad).collect();
            assert!(tries.len() < 5, "{family}: the {name} grows, in time and size, as in {tries:?}");
        }
    }
}
