//! Random nested programs. A recursive reference computes their work, span and critical path.
//!
//! `MILLPOND_CASES` is the number of programs, `MILLPOND_SEED` the first number. A failure prints
//! both, the configuration, and the smallest program found that fails. To run many, optimized:
//!
//! ```text
//! MILLPOND_CASES=20000 cargo test --release -p millpond-trace --test it -- nested::
//! ```

use std::time::Duration;

use millpond::{Error, Inline, Runtime};

mod execute;
mod generate;
mod program;
mod reference;
mod shrink;
mod slots;

use crate::cases::{self, Random};
use crate::common::watchdog::Watchdog;
use program::Body;

/// As many as a plain `cargo test` has time for: some seconds.
const CASES: u64 = if cfg!(debug_assertions) { 1000 } else { 4000 };

/// The builder settings of a case.
#[derive(Clone, Copy, Debug)]
struct Config {
    workers: usize,
    inline: Inline,
    window: usize,
    deterministic: bool,
}

impl Config {
    fn draw(random: &mut Random) -> Self {
        Config {
            workers: random.pick(&[1, 2, 3, 8]),
            inline: random.pick(&[Inline::Never, Inline::Auto, Inline::Always]),
            window: random.pick(&[1, 2, 5, 1000]),
            deterministic: random.pick(&[false, true]),
        }
    }

    fn build(&self) -> Runtime {
        let builder = Runtime::builder().workers(self.workers).inline(self.inline).window(self.window);
        let builder = builder.deterministic(self.deterministic).recorder(&execute::recorder());
        builder.build().expect("every choice is in its range")
    }
}

/// The expected results of a program, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Figures {
    work: u64,
    span: u64,
    /// The length of the critical path: the span.
    path: u64,
}

#[derive(Debug)]
#[expect(dead_code, reason = "printed")]
struct Mismatch {
    got: Result<Figures, Error>,
    wanted: Figures,
}

/// Runs a program on its own runtime, and compares the results.
fn mismatch(program: &Body, config: Config, dog: &Watchdog) -> Option<Mismatch> {
    let show = {
        let program = program.clone();
        move || format!("{config:?}\n{program:?}")
    };
    let got = dog.over(show, || execute::figures(program, &config.build()));
    let wanted = reference::figures(program);
    (!got.as_ref().is_ok_and(|got| *got == wanted)).then_some(Mismatch { got, wanted })
}

#[test]
fn nested_programs_have_the_work_and_span_of_the_reference() {
    let dog = Watchdog::new(Duration::from_secs(20));
    cases::run(CASES, |seed, random| {
        let config = Config::draw(random);
        let program = generate::program(random);
        let Some(first) = mismatch(&program, config, &dog) else { return };
        // A failure may depend on timing, so each candidate gets several runs.
        let fails = |program: &Body, runs| (0..runs).find_map(|_| mismatch(program, config, &dog));
        let small = shrink::shrink(&program, |program| fails(program, 20).is_some());
        let last = fails(&small, 100);
        panic!("seed {seed}, {config:?}\n{first:?}\n\nthe program, made small:\n{small:?}\n{last:?}");
    });
}
