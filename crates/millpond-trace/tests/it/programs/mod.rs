//! Programs to export, with every kind of access, wait and failure.

use std::time::{Duration, Instant};

use millpond::record::{Event, Sink, Track, What};
use millpond::{Handle, Inline, Runtime, Spawn};
use millpond_trace::{Profile, Recording, Writer};

/// Takes some time.
pub fn work(micros: u64) {
    let until = Instant::now() + Duration::from_micros(micros);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

pub fn recorded(rt: &Runtime, program: impl FnOnce(&Runtime)) -> Recording {
    rt.record(|| program(rt)).1
}

pub fn runtime(workers: usize, window: usize, inline: Inline) -> Runtime {
    Runtime::builder().workers(workers).window(window).inline(inline).build().unwrap()
}

pub fn chain(rt: &Runtime) {
    let x = Handle::new(0_u64);
    let step = |x: &mut u64| {
        work(30);
        *x += 1;
    };
    rt.scope(|s| (0..10).for_each(|n| drop(s.task("step").index([n]).spawn(x.inout(), step)))).unwrap();
}

pub fn contention(rt: &Runtime) {
    let (x, y) = (Handle::new(0_u64), Handle::new(0_u64));
    rt.scope(|s| {
        for n in 0..10 {
            s.task("one").index([n, 2 * n]).nest(x.commutative(), |_, _| work(20));
            s.task("both").nest((x.commutative(), y.commutative()), |_, _| work(20));
        }
    })
    .unwrap();
}

pub fn nested_waits(rt: &Runtime) {
    let (mut a, b) = (Handle::new(0_u64), Handle::new(1_u64));
    rt.scope(|s| {
        for n in 0..4 {
            let join = s.task("outer").index([n]).nest((a.inout(), b.read()), |s, (mut a, b)| {
                (0..3).for_each(|_| drop(s.task("inner").nest(a.inout(), |_, _| work(20))));
                *s.wait_on(&mut a).unwrap() += 1;
                let join = s.task("late").nest((a.read(), b.read()), |_, _| work(20));
                s.wait(join).unwrap();
            });
            s.task("other").nest(b.read(), |_, _| work(30));
            s.wait(join).unwrap();
        }
        s.wait_on(&mut a).unwrap();
    })
    .unwrap();
}

pub fn joins(rt: &Runtime) {
    fn halves(depth: u32) {
        if depth == 0 {
            return work(10);
        }
        millpond::join(|| halves(depth - 1), || halves(depth - 1));
    }
    rt.scope(|s| (0..3).for_each(|_| drop(s.task("halves").spawn((), |()| halves(4))))).unwrap();
}

pub fn scope_within_a_body(rt: &Runtime) {
    rt.scope(|s| {
        s.task("opens").nest((), |_, ()| {
            rt.scope(|s| (0..5).for_each(|_| drop(s.task("below").nest((), |_, ()| work(10))))).unwrap();
            work(10);
        });
        s.task("other").nest((), |_, ()| work(50));
    })
    .unwrap();
}

/// A task that fails poisons the readers of its output. The names contain characters that are
/// special in the formats.
pub fn failures_and_names(rt: &Runtime) {
    let (x, y) = (Handle::new(0_u64), Handle::new(0_u64));
    let failed = rt.scope(|s| {
        let fails = |_: &mut u64| std::panic::resume_unwind(Box::new("on purpose"));
        s.task("\"quoted\" <&> \\ end").spawn(x.inout(), fails);
        s.task("refused").index([1]).spawn((x.read(), y.commutative()), |_| ());
        s.task("concurrent").spawn(y.concurrent(), |_| ());
        s.task("sum").spawn(y.reduce(millpond::Sum), |y| *y += 1);
        s.task("set").spawn(x.write(), |x| x.set(1));
    });
    assert!(failed.is_err());
}

pub fn session(rt: &Runtime) {
    let session = rt.session();
    let join = session.task("of a session").spawn((), |()| work(50));
    drop(join);
    session.close().wait().unwrap();
}

/// Every program with one and two workers, inline or not, with a window that fills.
pub fn recordings() -> Vec<(String, Recording)> {
    let programs: [(&str, fn(&Runtime)); 7] = [
        ("chain", chain),
        ("contention", contention),
        ("nested waits", nested_waits),
        ("joins", joins),
        ("scope within a body", scope_within_a_body),
        ("failures and names", failures_and_names),
        ("session", session),
    ];
    let mut all = Vec::new();
    for (name, program) in programs {
        for (workers, window, inline) in
            [(1, 2048, Inline::Never), (2, 2048, Inline::Always), (2, 2, Inline::Never), (2, 3, Inline::Always)]
        {
            let rt = runtime(workers, window, inline);
            all.push((format!("{name} ({workers}, {window}, {inline:?})"), recorded(&rt, program)));
        }
    }
    all
}

/// Writes what a worker printed.
pub fn told(writer: &Writer, worker: u32, events: impl IntoIterator<Item = (u64, What)>) {
    let events: Vec<_> = events.into_iter().map(|(at, what)| Event { at, what }).collect();
    writer.take(Track { number: worker, worker: Some(worker) }, &events);
}
