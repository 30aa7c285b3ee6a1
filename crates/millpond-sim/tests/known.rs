//! Known answers, and bounds that hold for every schedule.

use millpond::depend::Mode::Inout;
use millpond_sim::programs::{Fib, Knary, NQueens, Stencil};
use millpond_sim::{Children, Config, Costs, Error, Outcome, Program, Size, Speed, simulate};

const MS: u64 = 1_000_000;

/// Tasks one after the other, or independent.
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
    // Each steal of one task takes 0.1 ms and the time to send it: half of the tasks cost that.
    assert!((0.5..0.56).contains(&outcome.seconds), "{outcome:?}");
}

#[test]
fn twice_as_fast_takes_half_the_time() {
    let fib = Fib::new(25, 5, MS, Costs::PAPER);
    let mut config = Config::of(1);
    let unit = simulate(&fib, &config).unwrap();
    config.speeds = vec![Speed::constant(2.0)];
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
    config.speeds = vec![Speed::steps(&[(0.0, 1.0), (1.0, 0.0), (11.0, 1.0)])];
    let outcome = simulate(&fib, &config).unwrap();
    assert!((outcome.seconds - whole - 10.0).abs() < 1e-6);
    assert!(outcome.idle_share < 1e-9, "away is not idle: {outcome:?}");
    // Another one comes when half is done.
    config.speeds = vec![Speed::constant(1.0), Speed::steps(&[(0.0, 0.0), (whole / 2.0, 1.0)])];
    let outcome = simulate(&fib, &config).unwrap();
    assert!((outcome.seconds / whole - 0.75).abs() < 0.01);
}

#[test]
fn who_leaves_for_good_with_a_task_stops_the_program() {
    let fib = Fib::new(25, 5, MS, Costs::PAPER);
    let mut config = Config::of(3);
    config.speeds[1] = Speed::steps(&[(0.0, 1.0), (1.0, 0.0)]);
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
fn the_program_begins_again_when_its_root_is_lost() {
    let fib = Fib::new(25, 5, MS, Costs::PAPER);
    let mut config = Config::of(4);
    config.fault_below = 0.5;
    config.speeds[0] = Speed::steps(&[(0.0, 1.0), (0.0001, 0.2), (3.0, 1.0)]);
    let outcome = simulate(&fib, &config).unwrap();
    assert_eq!((outcome.faults, outcome.restarts), (1, 1));
}

#[test]
fn nobody_and_nonsense() {
    let fib = Fib::new(10, 5, MS, Costs::PAPER);
    let with = |change: &dyn Fn(&mut Config)| {
        let mut config = Config::of(2);
        change(&mut config);
        simulate(&fib, &config).unwrap_err().to_string()
    };
    assert!(with(&|c| c.speeds.clear()).starts_with("no processor is ever alive"));
    assert!(with(&|c| c.speeds.fill(Speed::constant(0.0))).starts_with("no processor is ever alive"));
    assert!(with(&|c| c.fault_below = 2.0).starts_with("no processor is ever alive"));
    assert_eq!(with(&|c| c.latency = 0.0), "latency: 0 is not a time above 0");
    assert_eq!(with(&|c| c.bandwidth = f64::NAN), "bandwidth: NaN is not a number of bytes a second above 0");
    let often = with(&|c| {
        c.fault_below = 0.5;
        let steps: Vec<_> = (0..30_000).map(|step| (f64::from(step) * 1e-4, f64::from(step % 2 + 1) / 2.5)).collect();
        c.speeds = vec![Speed::steps(&steps)];
    });
    assert!(often.contains("processors fail too often"), "{often}");
}
