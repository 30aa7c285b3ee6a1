//! Known answers, and bounds that hold for every schedule.

use std::time::{Duration, Instant};

use millpond::depend::Mode::Inout;
use millpond::{Runtime, Scope, Spawn};
use millpond_sim::programs::{Fib, Knary, NQueens, Recorded, Stencil};
use millpond_sim::{Children, Config, Costs, Error, Outcome, Program, Size, Speed, simulate, speeds};
use millpond_trace::Profile;

const MS: u64 = 1_000_000;

/// A chain of tasks, or independent tasks.
struct Row {
    tasks: u64,
    chained: bool,
}

impl Program for Row {
    type Task = bool;

    fn root(&self) -> bool {
        true
    }
    fn size(&self, &root: &bool) -> Size {
        if root { Size { work: self.tasks * MS, tasks: self.tasks + 1 } } else { Size { work: MS, tasks: 1 } }
    }
    fn body(&self, &root: &bool) -> u64 {
        if root { 0 } else { MS }
    }
    fn children(&self, _: &bool, children: &mut Children<bool>) {
        (0..self.tasks).for_each(|_| children.spawn(false, self.chained.then_some((1, Inout))));
    }
    fn span(&self) -> Option<u64> {
        Some(if self.chained { self.tasks * MS } else { MS })
    }
}

fn all(program: &impl Program, processors: usize) -> Outcome {
    let outcome = simulate(program, &Config::of(processors)).unwrap();
    assert_eq!(outcome.tasks, program.size(&program.root()).tasks, "every task runs once");
    assert!(outcome.seconds >= outcome.least_seconds() * (1.0 - 1e-9));
    assert!(outcome.seconds >= outcome.span_seconds.unwrap_or(0.0) * (1.0 - 1e-9));
    assert!((outcome.busy_seconds - outcome.work_seconds).abs() <= 1e-6 * outcome.work_seconds);
    outcome
}

#[test]
fn one_processor_takes_the_work() {
    for outcome in [
        all(&Fib::new(25, 5, MS, Costs::PAPER), 1),
        all(&Knary::new(6, 4, 2, 0, MS, Costs::PAPER), 1),
        all(&NQueens::new(12, 6, 1000 * MS, Costs::PAPER, 1), 1),
        all(&Stencil::new(20, 1, 30, MS, Costs::PAPER), 1),
        all(&Stencil::new(20, 3, 30, MS, Costs::PAPER), 1),
    ] {
        assert_eq!((outcome.seconds, outcome.steals), (outcome.work_seconds, 0));
    }
}

#[test]
fn a_chain_is_no_faster() {
    let chain = Row { tasks: 100, chained: true };
    for processors in [1, 2, 7, 50] {
        assert_eq!(all(&chain, processors).seconds, 0.1);
    }
}

#[test]
fn independent_tasks_of_equal_length_are_shared_out() {
    let outcome = all(&Row { tasks: 1000, chained: false }, 2);
    // Each steal of one task takes 0.1 ms and the time to send it. Half of the tasks are stolen.
    assert!((0.5..0.56).contains(&outcome.seconds), "{outcome:?}");
}

#[test]
fn several_are_taken_at_once() {
    // The owner runs the first task until 1 ms. By then the thief has started the next four, one
    // after the other. The owner runs the rest, 0.25 ms later.
    let config = Config { latency: 5e-4, own_latency: 2.5e-4, at_once: 4.0, bandwidth: 1e18, ..Config::of(2) };
    let outcome = simulate(&Row { tasks: 9, chained: false }, &config).unwrap();
    assert_eq!((outcome.tasks, outcome.steals, outcome.own_steals), (10, 4, 4));
    assert!((outcome.seconds - 5.25e-3).abs() < 1e-9, "{}", outcome.seconds);
}

/// A body and a task of the same length. The body spawns the task at its start or at its end.
#[test]
fn a_recording_says_when_a_task_was_spawned() {
    let spin = || {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(5) {
            std::hint::spin_loop();
        }
    };
    let rt = Runtime::builder().workers(1).build().unwrap();
    let simulated = |soon: bool| {
        let body = |s: &Scope<'_, '_>| {
            (0..2).for_each(|nth| if soon == (nth == 0) { drop(s.spawn((), move |()| spin())) } else { spin() });
        };
        let (done, recording) = rt.record(|| rt.scope(body));
        done.unwrap();
        all(&Recorded::new(&recording, Costs::NONE).unwrap(), 2)
    };
    let (soon, late) = (simulated(true), simulated(false));
    // It takes as long as the longer of the two. Either may take longer than intended if other
    // processes run.
    assert!(soon.seconds < soon.span_seconds.unwrap() + 1e-3, "{soon:?}");
    assert!(late.seconds > 0.95 * late.work_seconds, "{late:?}");
}

#[test]
fn twice_as_fast_takes_half_the_time() {
    let fib = Fib::new(25, 5, MS, Costs::PAPER);
    let mut config = Config::of(1);
    let unit = simulate(&fib, &config).unwrap();
    config.speeds = vec![Speed::constant(2.0).unwrap()];
    assert_eq!(simulate(&fib, &config).unwrap().seconds * 2.0, unit.seconds);
}

#[test]
fn a_seed_decides_everything() {
    let fib = Fib::new(30, 10, MS, Costs::PAPER);
    let config = Config::of(33);
    let [one, other] = [simulate(&fib, &config).unwrap(), simulate(&fib, &config).unwrap()];
    assert_eq!((one.seconds, one.steals, one.load.bytes), (other.seconds, other.steals, other.load.bytes));
    let other = simulate(&fib, &Config { seed: 2, ..config }).unwrap();
    assert_ne!(one.seconds, other.seconds);
}

#[test]
fn more_processors_take_their_share() {
    let fib = Fib::new(32, 10, MS, Costs::PAPER);
    for processors in [2, 8, 32, 100] {
        let outcome = all(&fib, processors);
        assert!(outcome.seconds < outcome.least_seconds() * 1.05, "{processors}: {}", outcome.seconds);
    }
}

#[test]
fn leaving_and_enrolling() {
    let fib = Fib::new(25, 5, MS, Costs::PAPER);
    let whole = simulate(&fib, &Config::of(1)).unwrap().seconds;
    // Alone, and away for ten seconds in the middle.
    let mut config = Config::of(1);
    config.speeds = vec![Speed::steps(&[(0.0, 1.0), (1.0, 0.0), (11.0, 1.0)]).unwrap()];
    let outcome = simulate(&fib, &config).unwrap();
    assert!((outcome.seconds - whole - 10.0).abs() < 1e-6);
    assert!(outcome.idle_share < 1e-9, "away is not idle: {outcome:?}");
    // Another processor joins when half of the work is done.
    config.speeds = vec![Speed::constant(1.0).unwrap(), Speed::steps(&[(0.0, 0.0), (whole / 2.0, 1.0)]).unwrap()];
    let outcome = simulate(&fib, &config).unwrap();
    assert!((outcome.seconds / whole - 0.75).abs() < 0.01);
}

#[test]
fn a_processor_that_leaves_with_a_task_stops_the_program() {
    let fib = Fib::new(25, 5, MS, Costs::PAPER);
    let mut config = Config::of(3);
    config.speeds[1] = Speed::steps(&[(0.0, 1.0), (1.0, 0.0)]).unwrap();
    let Err(Error::Stuck { processor, .. }) = simulate(&fib, &config) else { panic!("it cannot end") };
    assert_eq!(processor, 1);
    // With a threshold its work is done again.
    config.fault_below = 0.5;
    let outcome = simulate(&fib, &config).unwrap();
    assert!(outcome.faults == 1 && outcome.lost_seconds > 0.0 && outcome.restarts == 0, "{outcome:?}");
    let tasks = fib.size(&fib.root()).tasks;
    assert!(outcome.tasks > tasks);
}

#[test]
fn when_all_have_left_no_other_is_named() {
    let fib = Fib::new(25, 5, MS, Costs::PAPER);
    let mut config = Config::of(2);
    config.speeds =
        vec![Speed::steps(&[(0.0, 1.0), (0.5, 0.2)]).unwrap(), Speed::steps(&[(0.0, 1.0), (0.25, 0.0)]).unwrap()];
    config.fault_below = 0.5;
    let error = simulate(&fib, &config).unwrap_err();
    assert_eq!(error, Error::Deserted { seconds: 0.5, processors: 2, fault_below: 0.5 });
    assert!(
        error.to_string().starts_with("no processor is alive from 0.5 s on: 2 processors, all of speed 0 or below 0.5"),
        "{error}"
    );
}

#[test]
fn the_program_begins_again_when_its_root_is_lost() {
    let fib = Fib::new(25, 5, MS, Costs::PAPER);
    let mut config = Config::of(4);
    config.fault_below = 0.5;
    config.speeds[0] = Speed::steps(&[(0.0, 1.0), (0.0001, 0.2), (3.0, 1.0)]).unwrap();
    let outcome = simulate(&fib, &config).unwrap();
    assert_eq!((outcome.faults, outcome.restarts), (1, 1));
}

#[test]
fn none_and_nonsense() {
    let fib = Fib::new(10, 5, MS, Costs::PAPER);
    let with = |change: &dyn Fn(&mut Config)| {
        let mut config = Config::of(2);
        change(&mut config);
        simulate(&fib, &config).unwrap_err().to_string()
    };
    assert!(with(&|c| c.speeds.clear()).starts_with("no processor is ever alive"));
    assert!(with(&|c| c.speeds.fill(Speed::constant(0.0).unwrap())).starts_with("no processor is ever alive"));
    assert!(with(&|c| c.fault_below = 2.0).starts_with("no processor is ever alive"));
    for latency in [0.0, -1.0, 1e-17, 1e-12, 1e300, f64::NAN, f64::INFINITY] {
        let says = format!("latency: {latency} is not a time from 1e-9 to 1e6 s");
        assert_eq!(with(&|c| c.latency = latency), says);
    }
    let says = "bandwidth: NaN is not bytes per second from 1e3 to 1e18";
    assert_eq!(with(&|c| c.bandwidth = f64::NAN), says);
    let often = with(&|c| {
        c.fault_below = 0.5;
        let steps: Vec<_> = (0..30_000).map(|step| (f64::from(step) * 1e-4, f64::from(step % 2 + 1) / 2.5)).collect();
        c.speeds = vec![Speed::steps(&steps).unwrap()];
    });
    assert!(often.contains("processors fail too often"), "{often}");
}

#[test]
fn a_draw_never_reaches_the_upper_bound() {
    let fib = Fib::new(10, 5, MS, Costs::PAPER);
    let with = |of: &str, fault_below| {
        let speeds = speeds(of, 2, 1).unwrap();
        simulate(&fib, &Config { speeds, fault_below, ..Config::of(2) })
    };
    for (of, fault_below) in [
        ("uniform:0..1:5", 1.0),
        ("uniform:0..1", 1.0),
        ("uniform:1..2:5", 3.0),
        ("uniform:0..0:5", 0.0),
        ("churn:1:1", 1.5),
        ("constant:0", 0.0),
    ] {
        let Err(Error::NoneAlive { .. }) = with(of, fault_below) else { panic!("{of}: a processor is alive") };
    }
    assert!(with("uniform:1..1:5", 1.0).is_ok() && with("churn:1:1", 1.0).is_ok());
    // Some draws are that fast, but no task waits for them.
    let error = with("uniform:0..1:5", 1.0 - 1e-12).unwrap_err().to_string();
    let says = "the speed of processor 0 changes more than 5000000 times before the program ends: speeds change too often, \
                or leave too little";
    assert_eq!(error, says);
}

#[test]
fn speeds_that_leave_next_to_nothing() {
    let fib = Fib::new(20, 5, 1000 * MS, Costs::PAPER);
    for of in ["churn:1e-6:1e9", "uniform:0..1e-3:1e-6"] {
        let config = Config { speeds: speeds(of, 3, 1).unwrap(), ..Config::of(3) };
        let Err(Error::Restless { .. }) = simulate(&fib, &config) else { panic!("{of}: it cannot end") };
    }
}

#[test]
fn speeds_that_are_none() {
    for speed in [-1.0, f64::NAN, f64::INFINITY, 1e-300, 1e300] {
        let says = format!("speed: {speed} is not 0 or from 1e-3 to 1e6");
        assert_eq!(Speed::constant(speed).unwrap_err().to_string(), says);
        assert_eq!(Speed::steps(&[(0.0, 1.0), (1.0, speed)]).unwrap_err().to_string(), says);
    }
    let wrong = |steps: &[(f64, f64)]| Speed::steps(steps).unwrap_err().to_string();
    assert_eq!(wrong(&[]), "number of steps of a speed: 0 is not 1 or more");
    assert_eq!(wrong(&[(1.0, 1.0)]), "first time of a speed: 1 is not 0");
    for time in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e13] {
        let says = format!("time of a speed: {time} is not a time after the one before, up to 1e12 s");
        assert_eq!(wrong(&[(0.0, 1.0), (time, 1.0)]), says);
    }
}

#[test]
fn work_beyond_what_is_counted_is_refused_and_does_not_wrap() {
    let much = u64::MAX / 2;
    let costs = Costs { task: much, argument: much };
    let refused = |program: &dyn Fn() -> Result<Outcome, Error>| assert_eq!(program().unwrap_err(), Error::TooLarge);
    let two = Config::of(2);
    refused(&|| simulate(&Fib::new(40, 15, much, Costs::PAPER), &two));
    refused(&|| simulate(&Fib::new(40, 15, MS, costs), &two));
    refused(&|| simulate(&Knary::new(5, 4, 2, 0, much, Costs::PAPER), &two));
    refused(&|| simulate(&Knary::new(5, 4, 2, 0, MS, costs), &two));
    refused(&|| simulate(&Knary::new(60, 1000, 2, 0, 0, Costs::NONE), &two));
    refused(&|| simulate(&NQueens::new(12, 6, much, Costs::PAPER, 1), &two));
    for block in [1, 3] {
        refused(&|| simulate(&Stencil::new(20, block, 30, much, Costs::PAPER), &two));
        refused(&|| simulate(&Stencil::new(20, block, 30, MS, costs), &two));
    }
}
