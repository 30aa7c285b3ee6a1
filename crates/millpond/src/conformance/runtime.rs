//! Programs on a runtime whose parts are selected by name.

use std::panic::resume_unwind;
use std::process::abort;

use super::limit::limit;
use crate::catalogue::{Names, Registry};
use crate::depend::Mode;
use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};
use crate::{Engine, Handle, Inline, Kind, Runtime, Spawn, Sum, on_runtime};

/// Tests a runtime of these parts. Random programs give the result of the serial program, and
/// sessions, failures and cancellation work. The test uses several numbers of workers, windows, and
/// rules for inline leaves, with and without an issue to the scheme.
///
/// Test your part first with default parts, then with others: a part relies on the contracts of the
/// other two.
///
/// # Panics
///
/// If the registry has no such parts, or a program gives another result.
pub fn runtime(registry: &Registry, names: Names<'_>) {
    let scheme = registry.schemes().find(|row| row.name == names.scheme);
    let modes = scheme.and_then(|row| row.modes).unwrap_or(Mode::ALL);
    let seconds = 120;
    limit(seconds, format!("conformance of a runtime, {names}"), || {
        let whole = 4096;
        for (workers, inline, window, issues) in [
            (1, Inline::Never, whole, false),
            (2, Inline::Auto, whole, false),
            (2, Inline::Never, 3, false),
            (4, Inline::Never, whole, false),
            (8, Inline::Always, 64, false),
            (3, Inline::Always, whole, true),
        ] {
            let builder = Runtime::builder().workers(workers).inline(inline).window(window).issue_inline(issues);
            let any = registry.build(builder, names).unwrap_or_else(|error| panic!("{names}: {error}"));
            let what = format!("{names}, {workers} workers, inline {inline:?}, window {window}, issued {issues}");
            on_runtime!(&any, rt => all(rt, modes, &what));
        }
    });
}

fn all<E: Engine>(rt: &Runtime<E>, modes: &[Mode], what: &str) {
    let programs = if cfg!(any(millpond_tsan, millpond_asan)) { 5 } else { 200 };
    for seed in 0..programs {
        let program = Program::random(seed, modes);
        let (expected, got) = (program.serial(), program.run(rt));
        assert_eq!(got, expected, "{what}: program {seed}, what its tasks saw and the last values: {program:?}");
    }
    session(rt);
    failure(rt);
    cancellation(rt);
}

/// A small generator of random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        (mix(self.0, 0) % n as u64) as usize
    }
}

fn mix(a: u64, b: u64) -> u64 {
    let x = (a ^ b.rotate_left(29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB) ^ (x >> 31)
}

/// Tasks on a few data, in spawn order.
#[derive(Debug)]
struct Program {
    tasks: Vec<Task>,
}

const DATA: usize = 4;

#[derive(Debug)]
struct Task {
    /// The data that the task uses: one list per mode, in the order of [`Mode::ALL`].
    uses: [Vec<usize>; Mode::ALL.len()],
    /// Whether it is a parent. It then has a child for each datum that it reads, and two for each
    /// that it changes.
    nest: bool,
    /// The datum that the scope's body waits for after the spawn.
    wait: Option<usize>,
}

/// The value that each task saw, and the last values of the data.
type Outcome = (Vec<u64>, Vec<u64>);

impl Task {
    fn of(&self, mode: Mode) -> &[usize] {
        &self.uses[mode as usize - 1]
    }

    fn random(random: &mut Random, modes: &[Mode]) -> Task {
        let nest = random.below(4) == 0;
        let modes = if nest { &[Mode::Read, Mode::Inout] } else { modes };
        let mut uses = [const { Vec::new() }; Mode::ALL.len()];
        let first = random.below(DATA);
        for step in 0..1 + random.below(3) {
            let mode = modes[random.below(modes.len())];
            uses[mode as usize - 1].push((first + step) % DATA);
        }
        Task { uses, nest, wait: (random.below(10) == 0).then(|| random.below(DATA)) }
    }
}

/// Combines the values that a task reads.
fn fold<'a>(number: u64, values: impl IntoIterator<Item = &'a u64>) -> u64 {
    values.into_iter().fold(number, |seen, value| mix(seen, *value))
}

impl Program {
    fn random(seed: u64, modes: &[Mode]) -> Program {
        let random = &mut Random(seed);
        // Each program uses only a few modes, so that generations get long.
        let few: Vec<_> = (0..3).map(|_| modes[random.below(modes.len())]).collect();
        Program { tasks: (0..60).map(|_| Task::random(random, &few)).collect() }
    }

    fn serial(&self) -> Outcome {
        let mut data: Vec<_> = (0..DATA as u64).collect();
        let mut seen = Vec::new();
        for (task, number) in self.tasks.iter().zip(0..) {
            if task.nest {
                let saw = fold(number, task.of(Mode::Read).iter().map(|&at| &data[at]));
                task.of(Mode::Inout).iter().for_each(|&at| data[at] = mix(mix(data[at], saw), 1));
                seen.push(saw);
                continue;
            }
            let reads = [Mode::Read, Mode::Inout, Mode::Concurrent].into_iter().flat_map(|mode| task.of(mode));
            let saw = fold(number, reads.map(|&at| &data[at]));
            task.of(Mode::Inout).iter().for_each(|&at| data[at] = mix(data[at], saw));
            task.of(Mode::Write).iter().for_each(|&at| data[at] = saw);
            let sums = [Mode::Commutative, Mode::Reduce].into_iter().flat_map(|mode| task.of(mode));
            sums.for_each(|&at| data[at] = data[at].wrapping_add(saw));
            seen.push(saw);
        }
        (seen, data)
    }

    fn run<E: Engine>(&self, rt: &Runtime<E>) -> Outcome {
        let mut data: Vec<_> = (0..DATA as u64).map(Handle::new).collect();
        let seen: Vec<_> = self.tasks.iter().map(|_| AtomicU64::new(0)).collect();
        rt.scope(|s| {
            for ((task, number), seen) in self.tasks.iter().zip(0..).zip(&seen) {
                let of = |mode| task.of(mode).iter().map(|&at| &data[at]);
                let reads: Vec<_> = of(Mode::Read).map(Handle::read).collect();
                let inouts: Vec<_> = of(Mode::Inout).map(Handle::inout).collect();
                if task.nest {
                    s.nest((reads, inouts), move |s, (reads, inouts)| {
                        let reads = || reads.iter().map(|read| read.read()).collect::<Vec<_>>();
                        s.spawn(reads(), move |reads| seen.store(fold(number, reads), Relaxed));
                        for inout in inouts {
                            let both = (reads(), inout.inout());
                            s.spawn(both, move |(reads, value)| *value = mix(*value, fold(number, reads)));
                            s.spawn(inout.inout(), |value| *value = mix(*value, 1));
                        }
                    });
                } else {
                    let writes: Vec<_> = of(Mode::Write).map(Handle::write).collect();
                    let commutative: Vec<_> = of(Mode::Commutative).map(Handle::commutative).collect();
                    let concurrent: Vec<_> = of(Mode::Concurrent).map(Handle::concurrent).collect();
                    let parts: Vec<_> = of(Mode::Reduce).map(|datum| datum.reduce(Sum)).collect();
                    let accesses = (reads, inouts, concurrent, writes, commutative, parts);
                    s.spawn(accesses, move |(reads, inouts, concurrent, writes, commutative, parts)| {
                        let old: Vec<_> = inouts.iter().map(|value| **value).collect();
                        let saw = fold(number, reads.into_iter().chain(&old).chain(concurrent));
                        seen.store(saw, Relaxed);
                        inouts.into_iter().for_each(|value| *value = mix(*value, saw));
                        writes.into_iter().for_each(|out| out.set(saw));
                        let sums = commutative.into_iter().chain(parts);
                        sums.for_each(|sum| *sum = sum.wrapping_add(saw));
                    });
                }
                if let Some(at) = task.wait {
                    s.wait_on(&mut data[at]).expect("nothing fails");
                }
            }
        })
        .expect("nothing fails");
        let data = data.into_iter().map(|datum| datum.into_inner().expect("nothing fails"));
        (seen.into_iter().map(AtomicU64::into_inner).collect(), data.collect())
    }
}

/// Called in a body that must not run. It aborts: the scope would report a panic as one of its
/// failures.
fn must_not_run() -> ! {
    eprintln!("a body has run that must not: {}", std::backtrace::Backtrace::force_capture());
    abort();
}

fn session<E: Engine>(rt: &Runtime<E>) {
    let (session, mut sum) = (rt.session(), Handle::new(0));
    for round in 0..50 {
        session.spawn(sum.inout(), |sum| *sum += 1);
        let reads = [(); 3].map(|()| session.spawn(sum.read(), |sum| *sum));
        session.nest(sum.inout(), |s, sum| drop(s.spawn(sum.inout(), |sum| *sum += 1)));
        if round % 4 == 0 {
            assert_eq!(*session.wait_on(&mut sum).expect("nothing fails"), 2 * round + 2);
        }
        assert_eq!(reads.map(|read| session.wait(read).expect("nothing fails")), [2 * round + 1; 3]);
    }
    session.close().wait().expect("nothing fails");
    assert_eq!(sum.into_inner().ok(), Some(100));
}

/// A failed task poisons its readers and nothing else; a later `write` clears the error.
fn failure<E: Engine>(rt: &Runtime<E>) {
    let data: Vec<_> = (0..4).map(Handle::new).collect();
    let error = rt.scope(|s| {
        s.task("source").spawn(data[0].inout(), |_| resume_unwind(Box::new("expected")));
        let poisoned = [
            s.spawn((data[0].read(), data[3].read()), |_| must_not_run()),
            s.spawn((data[0].read(), data[1].inout()), |_| must_not_run()),
            s.spawn((data[1].read(), data[2].inout()), |_| must_not_run()),
        ];
        s.spawn(data[0].write(), |out| out.set(10));
        s.spawn((data[0].read(), data[3].inout()), |(a, b)| *b += *a);
        for join in poisoned {
            let error = s.wait(join).expect_err("its input was not produced");
            assert!(matches!(error.kind(), Kind::Poisoned { by } if by.name() == Some("source")), "{error}");
        }
    });
    assert_eq!(error.expect_err("a task fails").to_string(), "task `source` panicked: expected");
    let values: Vec<_> = data.into_iter().map(|datum| datum.into_inner().ok()).collect();
    assert_eq!(values, [Some(10), None, None, Some(13)]);
}

/// A task cancels its scope: the later tasks do not run.
fn cancellation<E: Engine>(rt: &Runtime<E>) {
    let (data, other, untouched) = (Handle::new(0), Handle::new(0), Handle::new(0));
    let result = rt.scope(|s| {
        s.wait(s.spawn(untouched.inout(), |value| *value += 1)).expect("nothing fails yet");
        let token = s.cancel_token();
        s.spawn(data.inout(), move |_| token.cancel());
        for _ in 0..20 {
            s.spawn(data.read(), |_| must_not_run());
            s.nest((other.inout(), data.inout()), |_, _| must_not_run());
        }
    });
    assert_eq!(result.expect_err("it is cancelled").kind(), &Kind::Cancelled);
    assert!(data.into_inner().is_err(), "the tasks that were to change it are cancelled");
    assert_eq!(untouched.into_inner().ok(), Some(1));
}
