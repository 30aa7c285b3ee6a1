//! Fig. 1 of TG: a sequence of tasks on one object, its versions and its generations (§3.2), under
//! every scheme. Also random sequences on several objects.

use crate::common::rng::Rng;
use crate::common::{deep, limit, sized};
use crate::stage::{How, Stage, Uses, on_every_stage, serial};
use millpond::Engine;

use How::{Commutative, Concurrent, Inout, Max, Read, Sum, Write};

/// T0 to T11, with `write` for "out".
const TASKS: [How; 12] = [Write, Read, Read, Read, Inout, Read, Read, Write, Commutative, Commutative, Read, Read];

/// The generations of each version, by the tasks' numbers.
const VERSIONS: [&[&[usize]]; 2] = [&[&[0], &[1, 2, 3], &[4], &[5, 6]], &[&[7], &[8, 9], &[10, 11]]];

/// Checks that exactly the right tasks have started after the release of the tasks in `gone`. These
/// are the members of each version's oldest incomplete generation and of all earlier generations.
/// Commutative tasks run one at a time.
fn check(started: &[usize], gone: &[usize]) -> bool {
    let mut right = started.is_sorted();
    for version in VERSIONS {
        let mut may = true;
        for generation in version {
            let held = generation.iter().filter(|who| started.contains(who) && !gone.contains(who)).count();
            let left = generation.iter().filter(|who| !gone.contains(who)).count();
            let most = if TASKS[generation[0]] == Commutative { left.min(1) } else { left };
            right &= held == if may { most } else { 0 };
            may &= left == 0;
        }
    }
    right
}

/// Version 1 runs after `held_at` generations of version 0 were released. Meanwhile the next
/// generation is held.
fn play_while<E: Engine>(stage: &Stage<E>, held_at: usize) {
    let play = stage.play(&[None]);
    TASKS.iter().for_each(|&how| play.hold(&[(how, 0)]));
    let (before, between, after) = (&VERSIONS[0][..held_at], VERSIONS[1], &VERSIONS[0][held_at..]);
    let mut gone = Vec::new();
    for generation in [before, between, after].concat() {
        for _ in generation {
            let started = play.settle_as(|started| check(started, &gone));
            assert!(check(&started, &gone), "under {}, {gone:?} were let go: {started:?} have started", stage.scheme());
            // Takes the youngest first. The order within a generation is free.
            let is_held = |who: &&usize| started.contains(who) && !gone.contains(*who);
            let next = *generation.iter().rev().find(is_held).expect("checked");
            play.release(next);
            gone.push(next);
        }
    }
    let acts: Vec<Uses> = TASKS.iter().map(|&how| vec![(how, 0)]).collect();
    let (saw, last) = play.end();
    assert_eq!((&saw, &last), (&serial::run(&acts, &[None]).0, &vec![819]), "under {}", stage.scheme());
    // Readers of version 0 see the writes of T0 and T4. Readers of version 1 do not.
    let seen = [1, 2, 3, 5, 6, 10, 11].map(|who| saw[who][0]);
    assert_eq!(seen, [100, 100, 100, 305, 305, 819, 819], "under {}", stage.scheme());
}

#[test]
fn versions_and_generations_under_every_scheme() {
    limit(60, "Fig. 1", || {
        on_every_stage!(false, true, stage => (0..=VERSIONS[0].len()).for_each(|held_at| play_while(&stage, held_at)));
    });
}

/// The modes of random sequences: all but `commutative`. With it, the tasks that start depend on
/// which ones came first.
const HOWS: [How; 6] = [Read, Write, Inout, Concurrent, Sum, Max];
const DATA: [Option<i64>; 3] = [Some(1), Some(2), Some(3)];

/// Spawns and releases tasks with up to three accesses, in any order. After each step, all tasks
/// that may start have started.
fn random<E: Engine>(stage: &Stage<E>, renames: bool, rng: &mut Rng) {
    let play = stage.play(&DATA);
    let (mut acts, mut gone, mut held): (Vec<Uses>, Vec<bool>, Vec<usize>) = Default::default();
    // Each sequence has few modes, so that generations are long.
    let hows = [(); 3].map(|()| rng.pick(&HOWS));
    let (count, most) = (rng.pick(&[3, 8, 20]), rng.pick(&[1, 2, 3]));
    while acts.len() < count || !held.is_empty() {
        if acts.len() < count && (held.is_empty() || rng.percent(60)) {
            let from = rng.below(DATA.len());
            let uses = (0..1 + rng.below(most)).map(|step| (rng.pick(&hows), (from + step) % DATA.len()));
            acts.push(uses.collect());
            gone.push(false);
            play.hold(&acts[acts.len() - 1]);
        } else {
            let who = held.swap_remove(rng.below(held.len()));
            gone[who] = true;
            play.release(who);
        }
        // Does not check each time, so that the worker meets several changes at once.
        if rng.percent(70) || held.is_empty() {
            let may: Vec<_> = (0..acts.len()).filter(|&who| serial::may_start(&acts, &gone, renames, who)).collect();
            let started = play.settle_as(|started| started == may);
            assert_eq!(started, may, "under {}, of {acts:?}, let go {gone:?}", stage.scheme());
            held = started.into_iter().filter(|&who| !gone[who]).collect();
        }
    }
    assert_eq!(play.end(), serial::run(&acts, &DATA), "under {}, of {acts:?}", stage.scheme());
}

#[test]
fn random_generations_under_every_scheme() {
    limit(120, "random generations", || {
        for (deterministic, renames) in [(false, true), (true, true), (false, false)] {
            on_every_stage!(deterministic, renames, stage => {
                (0..sized(15, deep(200, 1_000)) as u64).for_each(|seed| random(&stage, renames, &mut Rng::new(seed)));
            });
        }
    });
}

/// Checks `serial::may_start` with two tasks. The second one may start or not.
#[test]
fn which_tasks_may_start() {
    let both = |first, second, renames| {
        let acts = [vec![(first, 0)], vec![(second, 0)]];
        [vec![false; 2], vec![true, false]].map(|done| serial::may_start(&acts, &done, renames, 1))
    };
    for (first, second) in HOWS.into_iter().flat_map(|first| HOWS.map(|second| (first, second))) {
        let shares = first == second && ![Write, Inout].contains(&second);
        assert_eq!(both(first, second, true), [shares || second == Write, true], "{first:?}, then {second:?}");
        assert_eq!(both(first, second, false), [shares, true], "{first:?}, then {second:?}");
    }
    // No task waits for an older version.
    let acts = [Inout, Write, Read].map(|how| vec![(how, 0)]);
    assert!(serial::may_start(&acts, &[false, true, false], true, 2));
    assert!(!serial::may_start(&acts, &[true, false, false], true, 2));
}
