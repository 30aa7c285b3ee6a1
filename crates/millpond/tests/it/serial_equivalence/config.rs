//! The runtimes that programs are run on.

use millpond::catalogue::{AnyRuntime, Names};
use millpond::stack::Theft;
use millpond::{Builder, Idle, Inline, Runtime};

use crate::common::rng::Rng;

/// What a case chooses at the builder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    pub workers: usize,
    pub window: usize,
    pub window_bytes: usize,
    pub rename_bytes: u64,
    pub deterministic: bool,
    pub inline: Inline,
    pub idle: Idle,
    pub stack_size: usize,
    /// How thieves steal, on a dataflow stack.
    pub theft: Theft,
    /// Whether the runtime records its tasks, and another thread dumps them meanwhile.
    pub dumps: bool,
    /// Whether the program's root is a session, if it can be one.
    pub session: bool,
    /// Its parts.
    pub names: Names<'static>,
}

/// Without optimization, the bodies of nested parents need several times as much.
const SMALL_STACK: usize = if cfg!(debug_assertions) { 512 << 10 } else { 128 << 10 };

impl Config {
    /// The configuration of a case. It depends only on the case's number, so that the case can run
    /// again.
    pub fn of(seed: u64) -> Self {
        let rng = &mut Rng::new(!seed);
        let mut config = Config {
            workers: rng.pick(&[1, 2, 8]),
            window: rng.pick(&[1, 2, 4, 64, 4096]),
            window_bytes: rng.pick(&[usize::MAX, usize::MAX, 1, 1000]),
            rename_bytes: u64::MAX,
            deterministic: rng.percent(50),
            inline: rng.pick(&[Inline::Never, Inline::Auto, Inline::Always]),
            idle: rng.pick(&[Idle::Sleep, Idle::Hybrid, Idle::Hybrid]),
            stack_size: rng.pick(&[SMALL_STACK, 2 * SMALL_STACK, 2 << 20]),
            theft: Theft::default(),
            session: rng.percent(20),
            dumps: false,
            names: Names::default(),
        };
        // Workers that never sleep take the processors from other tests.
        if config.workers <= 2 && rng.percent(10) {
            config.idle = Idle::Busy;
        }
        config.dumps = rng.percent(25);
        // Mostly the default ones, because most users run on them.
        if !rng.percent(40) {
            config.names = rng.pick(&Names::star().skip(1).collect::<Vec<_>>());
        }
        config.rename_bytes = rng.pick(&[u64::MAX, 0, 1000]);
        config.theft = rng.pick(&[Theft::Chains, Theft::Paper]);
        config
    }

    /// The same with other parts.
    pub fn with(self, names: Names<'static>) -> Self {
        Config { names, ..self }
    }

    pub fn build(&self) -> AnyRuntime {
        let builder: Builder = Runtime::builder()
            .workers(self.workers)
            .window(self.window)
            .window_bytes(self.window_bytes)
            .rename_bytes(self.rename_bytes)
            .deterministic(self.deterministic)
            .inline(self.inline)
            .idle(self.idle)
            .stack_size(self.stack_size)
            .theft(self.theft)
            .dumps(self.dumps);
        AnyRuntime::build(builder, self.names).expect("every choice is in its range")
    }
}
