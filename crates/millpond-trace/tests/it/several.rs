//! Several sinks of one recorder, and several runtimes in one program. Each recording has its own
//! events, and exact times.

use std::cell::Cell;
use std::thread;
use std::time::Duration;

use millpond::record::Recorder;
use millpond::{Handle, Inline, Runtime, Spawn};
use millpond_trace::{DotError, Profile, Recording, Report, Writer};

#[expect(dead_code, reason = "they are run only")]
#[path = "../../../millpond/tests/it/events/programs.rs"]
mod programs;

use crate::common::{builder, join_all, limit};
use programs::PROGRAMS;

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

/// The work of a body, in nanoseconds.
fn works(ns: u64) {
    NOW.set(NOW.get() + ns);
}

fn runtime(workers: usize, inline: Inline, recorder: &Recorder) -> Runtime {
    Runtime::builder().workers(workers).inline(inline).recorder(recorder).build().unwrap()
}

fn clock() -> Recorder {
    Recorder::with_clock(|| NOW.get())
}

/// Work and span in nanoseconds.
fn times(report: &Report) -> (u64, u64) {
    let ns = |seconds: f64| (seconds * 1e9).round() as u64;
    (ns(report.work), ns(report.span))
}

/// A sink starts while a scope is open. It gets the events of the scope's tasks, since there was an
/// earlier sink. But it does not know the scope.
#[test]
fn a_second_sink_knows_whole_scopes_only() {
    let recorder = clock();
    let (rt, first) = (runtime(2, Inline::Never, &recorder), Writer::of_clock("first", 2));
    let recording = recorder.add(first.clone());
    let mut second = None;
    let x = Handle::new(0);
    let late = Writer::of_clock("second", 2);
    rt.scope(|s| {
        s.spawn(x.inout(), |_| works(100));
        second = Some(recorder.add(late.clone()));
        s.nest(x.inout(), |s, x| drop(s.spawn(x.inout(), |_| works(10))));
    })
    .unwrap();
    rt.scope(|s| drop(s.spawn((), |()| works(1)))).unwrap();
    drop(second);
    drop(recording);
    let report = |writer: &Writer| writer.finish_in_memory().unwrap().report().unwrap();
    let (first, late) = (report(&first), report(&late));
    assert_eq!((first.tasks, times(&first)), (4, (111, 111)));
    assert_eq!((late.tasks, times(&late), late.graphs.len()), (1, (1, 1), 1));
    assert_eq!((first.incomplete, late.incomplete), (0, 0));
}

/// Bodies of two recorders never have the same number, so they cannot be confused.
#[test]
fn a_join_of_another_recorder_is_no_edge() {
    for _ in 0..20 {
        let (one, other) = (clock(), clock());
        let (outer, inner) = (runtime(1, Inline::Always, &one), runtime(1, Inline::Never, &other));
        let (result, recording) = inner.record(|| {
            let _outer_records = one.add(Writer::of_clock("outer", 1));
            outer.scope(|s| {
                let join = s.spawn((), |()| works(1000));
                inner.scope(|t| {
                    t.spawn((), |()| works(10));
                    t.block_on(join).unwrap();
                    works(4);
                })
            })
        });
        result.unwrap().unwrap();
        let report = recording.report().unwrap();
        assert_eq!(
            (report.tasks, report.span * 1e9),
            (1, 10.0),
            "the closure, whose own time is less, ran at the same time as the task"
        );
    }
}

/// Opens scopes of `inner` in tasks of `outer`. The two runtimes have one recorder.
fn nested(workers: usize, program: impl Fn(&Runtime, &Runtime)) -> Recording {
    let recorder = clock();
    let (outer, inner) = (runtime(workers, Inline::Never, &recorder), runtime(workers, Inline::Never, &recorder));
    outer.record(|| program(&outer, &inner)).1
}

#[test]
fn a_scope_of_another_runtime_with_the_same_recorder_is_a_part_of_the_body_that_opens_it() {
    for workers in [1, 2, 8] {
        let recording = nested(workers, |outer, inner| {
            let x = Handle::new(0);
            outer
                .scope(|s| {
                    s.spawn(x.inout(), |x| {
                        works(5);
                        inner.scope(|t| (0..4).for_each(|_| drop(t.spawn((), |()| works(20))))).unwrap();
                        works(7);
                        *x += 1;
                    });
                    s.spawn(x.inout(), |_| works(9));
                })
                .unwrap();
        });
        let report = recording.report().unwrap();
        assert_eq!(times(&report), (5 + 4 * 20 + 7 + 9, 5 + 20 + 7 + 9), "{workers} workers");
        assert_eq!((report.tasks, report.graphs.len(), report.incomplete), (6, 1, 0));
        // Its exports work.
        let mut trace = Vec::new();
        recording.write_trace(&mut trace).unwrap();
        let names = String::from_utf8(trace).unwrap();
        assert!(names.contains("worker 0, track "), "two workers 0 are told apart");
    }
}

/// A body that panics out of a scope of another runtime leaves the recording consistent.
#[test]
fn a_panic_out_of_a_nested_scope() {
    let recording = nested(2, |outer, inner| {
        let result = outer.scope(|s| {
            let join = s.spawn((), |()| {
                works(3);
                inner.scope(|t| {
                    t.spawn((), |()| works(20));
                    panic!("on purpose");
                })
            });
            s.wait(join).map(drop)
        });
        assert!(result.unwrap_err().to_string().contains("on purpose"));
    });
    let report = recording.report().unwrap();
    assert_eq!((times(&report), report.incomplete), ((23, 23), 0));
}

/// Makes all exports of a recording. Returns whether it has tasks.
fn export_all(recording: &Recording) -> bool {
    let report = recording.report().unwrap();
    assert!(report.tasks == 0 || !report.graphs.is_empty(), "tasks without a scope:\n{report}");
    recording.write_trace(&mut Vec::new()).unwrap();
    recording.write_schedule(&mut Vec::new()).unwrap();
    let drawn = recording.write_dot(&mut Vec::new());
    assert!(matches!(drawn, Ok(()) | Err(DotError::TooLarge { .. })), "{drawn:?}");
    report.tasks > 0
}

/// Work that started before a recording, or continues after it, is truncated.
#[test]
fn recordings_that_begin_and_end_at_any_moment() {
    limit(60, "recordings of any moment", || {
        for dumps in [false, true] {
            let rt = builder(3).inline(Inline::Never).dumps(dumps).build().unwrap();
            let export = || export_all(&rt.record(|| thread::sleep(Duration::from_micros(300))).1);
            thread::scope(|threads| {
                let with_tasks = || assert_eq!((0..).filter(|_| export()).take(30).count(), 30);
                let exporters = [(); 2].map(|()| threads.spawn(with_tasks));
                // They end when they fail, too.
                while !exporters.iter().all(|exporter| exporter.is_finished()) {
                    PROGRAMS.iter().for_each(|program| (program.run)(&rt));
                }
                join_all(exporters.into());
            });
        }
    });
}

/// The closure of a scope may use an enclosing scope. The inner closure spawns and waits, and the
/// tasks and data belong to the outer scope.
#[test]
fn an_outer_scope_in_the_closure_of_an_inner_one() {
    for inline in [Inline::Never, Inline::Always] {
        let rt = runtime(1, inline, &clock());
        let mut x = Handle::new(0);
        let joined = rt.profile(|s| {
            let result = rt.scope(|t| {
                s.spawn(x.inout(), |_| works(30));
                s.wait(s.spawn(x.inout(), |_| works(70))).unwrap();
                t.spawn((), |()| works(50));
            });
            result.unwrap();
            works(60);
        });
        let waited = rt.profile(|s| {
            let result = rt.scope(|t| {
                s.nest(x.inout(), |_, _| works(100));
                s.wait_on(&mut x).unwrap();
                s.set(&x, 1);
                s.spawn(x.inout(), |_| works(40));
                t.spawn((), |()| works(50));
            });
            result.unwrap();
            works(60);
        });
        let (joined, waited) = (joined.unwrap(), waited.unwrap());
        assert_eq!((times(&joined), times(&waited)), ((210, 210), (250, 210)), "{inline:?}");
        assert_eq!((joined.incomplete, waited.incomplete), (0, 0));
    }
}

/// As above, with two runtimes and one recorder. The outer closure waits while its tasks are
/// spawned, and a wait for those tasks cannot be replayed. The report says so.
#[test]
fn an_outer_scope_in_a_closure_of_another_runtime() {
    let recorder = clock();
    let (rt, other) = (runtime(1, Inline::Never, &recorder), runtime(1, Inline::Never, &recorder));
    let report = rt.profile(|s| {
        other.scope(|_| s.wait(s.spawn((), |()| works(100)))).unwrap().unwrap();
        works(60);
    });
    let report = report.unwrap();
    assert_eq!((report.work * 1e9, report.incomplete), (160.0, 3));
    assert!(report.to_string().contains("3 bodies have completed that"));
}
