//! The largest possible times. A recording may come from any source, and no sum of its times may
//! overflow.

use std::panic::Location;

use crate::programs::told;
use millpond::depend::Mode;
use millpond::record::{Cause, Role, What};
use millpond_trace::{Recording, Writer};

const END: u64 = u64::MAX - 1;

fn spawned(task: u64, order: u64) -> [(u64, What); 3] {
    let place = Location::caller();
    [
        (0, What::Spawned { role: Role::Leaf, task, spawner: 1, order, place }),
        (0, What::Declared { mode: Mode::Commutative, datum: 1 }),
        (0, What::Named { name: "long" }),
    ]
}

/// Six tasks on a worker each, from the first moment to the last. Together they take longer than a
/// number can hold. Or the workers wait that long for the tasks, which are released at the last
/// moment.
fn recording(waits: bool) -> Recording {
    let writer = Writer::of_clock("long", 8);
    let opened = (0, What::Opened { scope: 1, within: 0, place: Location::caller() });
    let spawns = (0..6).flat_map(|n| spawned(2 + n, n));
    let stands = [
        (1, What::Waits { body: 1, cause: Cause::Datum, on: 1 }),
        (END, What::Resumed { body: 1 }),
        (END, What::Ended { body: 1, ok: true }),
        (END, What::Completed { body: 1 }),
    ];
    told(&writer, 0, [opened].into_iter().chain(spawns).chain(stands));
    for task in 2..8 {
        let track = task as u32 - 1;
        let released = [
            (END - 1, What::Granted { task, by: 1, access: 0 }),
            (END - 1, What::Handed { task, by: task - 1, access: 0 }),
        ];
        let from = if waits { END - 1 } else { 0 };
        let runs = [(from, What::Started { task }), (END, What::Ended { body: task, ok: true })];
        told(&writer, track, released.into_iter().filter(|_| waits).chain(runs));
    }
    writer.finish_in_memory().unwrap()
}

#[test]
fn what_is_reported_and_exported_of_them() {
    for waits in [false, true] {
        let (recording, mut out) = (recording(waits), Vec::new());
        let report = recording.report().unwrap();
        assert!(!report.to_string().contains("NaN"));
        report.write_speedup(&[(1, f64::MAX), (2, 1e-300)], &mut out).unwrap();
        out.clear();
        recording.write_trace(&mut out).unwrap();
        serde_json::from_slice::<serde_json::Value>(&out).unwrap();
        recording.write_dot(&mut out).unwrap();
        recording.write_schedule(&mut out).unwrap();
    }
}
