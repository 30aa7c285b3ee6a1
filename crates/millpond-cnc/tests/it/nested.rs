//! Steps that wait during a poll, for a scope or a graph within them, on the same runtime. Their
//! thread runs other steps meanwhile, on other stacks.

use std::thread::sleep;
use std::time::Duration;

use crate::common::{limited, runtime};
use millpond::{Runtime, Spawn};
use millpond_cnc::{Blocked, By, Error, Kind, Preconditions, Settings, StepName, graph_with};

const STEPS: u32 = 60;

fn microseconds(n: u32) -> Duration {
    Duration::from_micros(n.into())
}

/// Waits for tasks of a scope.
fn scope(rt: &Runtime, n: u32) {
    let tasks = rt.scope(|s| {
        for _ in 0..3 {
            s.spawn((), move |()| sleep(microseconds(n % 7 * 20)));
        }
    });
    tasks.unwrap();
}

/// Waits for steps of another graph, and reads their items as its environment.
fn inner(rt: &Runtime, settings: Settings) -> u32 {
    let sum = graph_with(rt, settings, |g| {
        let (deep, tags) = (g.items::<u32, u32>("deep"), g.tags::<u32>("tags"));
        tags.prescribes(g.steps::<u32>("deep").execute(move |m| async move {
            sleep(microseconds(m % 5 * 20));
            deep.put(m, m);
        }));
        tags.put_all(0..3);
        g.wait().unwrap();
        (0..3).map(|m| *deep.try_get(&m).unwrap()).sum::<u32>()
    });
    sum.unwrap()
}

/// Each step puts two items, one after each wait. The environment puts `twice` once more.
fn run(rt: &Runtime, settings: Settings, twice: Option<(u32, u32)>) -> Result<u32, Error> {
    graph_with(rt, settings, |g| {
        let (items, tags) = (g.items::<u32, u32>("item"), g.tags::<u32>("tags"));
        let results = g.items::<(u32, u32), u32>("result");
        let step = g.steps::<u32>("step").preconditions(move |&n, need| need.wait_on(items, n));
        tags.prescribes(step.execute(move |n| async move {
            let first = *items.get(n).await;
            scope(rt, n);
            results.put((n, 0), first);
            let second = inner(rt, settings);
            results.put((n, 1), second);
        }));
        tags.put_all(0..STEPS);
        (0..STEPS).for_each(|n| items.put(n, n));
        let mut sum = *g.get(results, (0, 1)).unwrap();
        // Other steps wait now, perhaps on this thread. This is the environment, which may call
        // `try_get`.
        sum += results.try_get(&(0, 0)).unwrap();
        g.wait().unwrap();
        sum += (1..STEPS).flat_map(|n| [(n, 0), (n, 1)]).map(|key| results.try_get(&key).unwrap()).sum::<u32>();
        twice.into_iter().for_each(|key| results.put(key, 0));
        sum
    })
}

#[test]
fn what_steps_do_after_a_wait_is_theirs() {
    limited(|| {
        for workers in [1, 2, 4] {
            let rt = runtime(workers);
            for blocked in [Blocked::Resume, Blocked::Fiber, Blocked::Replay] {
                for preconditions in [Preconditions::Eager, Preconditions::Strict, Preconditions::Flexible] {
                    let settings = Settings { blocked, preconditions, ..Settings::default() };
                    let sum = run(&rt, settings, None).unwrap_or_else(|error| panic!("{error}, {settings:?}"));
                    assert_eq!(sum, STEPS * (STEPS - 1) / 2 + STEPS * 3, "{settings:?}, {workers} workers");
                }
                for key in [(0, 0), (7, 1), (31, 0), (59, 1)] {
                    let settings = Settings { blocked, ..Settings::default() };
                    let error = run(&rt, settings, Some(key)).unwrap_err();
                    let Kind::SecondPut { first, second, .. } = error.kind() else { panic!("{error}") };
                    let step = StepName { step: "step".to_owned(), tag: key.0.to_string() };
                    assert_eq!((first, second), (&By::Step(step), &By::Environment), "{settings:?}");
                }
            }
        }
    });
}
