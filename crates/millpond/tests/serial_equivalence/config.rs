//! The runtimes that programs are run on.

use millpond::{Builder, Idle, Inline, Runtime};

use super::generate::Rng;

/// What a case chooses at the builder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    pub workers: usize,
    pub window: usize,
    pub window_bytes: u64,
    pub deterministic: bool,
    pub inline: Inline,
    pub idle: Idle,
    pub stack_size: usize,
}

impl Config {
    fn draw(rng: &mut Rng) -> Self {
        let mut config = Config {
            workers: rng.pick(&[1, 2, 8]),
            window: rng.pick(&[1, 2, 4, 64, 4096]),
            window_bytes: rng.pick(&[u64::MAX, u64::MAX, 1, 1000]),
            deterministic: rng.percent(50),
            inline: rng.pick(&[Inline::Never, Inline::Auto, Inline::Always]),
            idle: rng.pick(&[Idle::Sleep, Idle::Hybrid, Idle::Hybrid]),
            stack_size: rng.pick(&[128 << 10, 256 << 10, 2 << 20]),
        };
        // Workers that never sleep take the processors from everybody else.
        if config.workers <= 2 && rng.percent(10) {
            config.idle = Idle::Busy;
        }
        config
    }

    pub fn build(&self) -> Runtime {
        let builder: Builder = Runtime::builder()
            .workers(self.workers)
            .window(self.window)
            .window_bytes(self.window_bytes)
            .deterministic(self.deterministic)
            .inline(self.inline)
            .idle(self.idle)
            .stack_size(self.stack_size);
        builder.build().expect("every choice is in its range")
    }
}

/// The runtimes of neighbouring cases: starting threads takes longer than a case.
#[derive(Default)]
pub struct Hand {
    block: u64,
    runtimes: Vec<(u64, Config, Runtime)>,
}

impl Hand {
    /// Runtimes that take turns.
    const SIZE: u64 = 2;
    /// Cases on one set of runtimes. A case's number alone says its configuration, so that it can be run again.
    const CASES: u64 = 16;

    /// The runtime of a case.
    pub fn draw(&mut self, seed: u64) -> (Config, &Runtime) {
        let (block, turn) = (seed / Hand::CASES, seed % Hand::SIZE);
        let stays = |config: &Config| config.idle != Idle::Busy && block == self.block;
        self.runtimes.retain(|(_, config, _)| stays(config));
        self.block = block;
        let at = self.runtimes.iter().position(|one| one.0 == turn).unwrap_or_else(|| {
            let config = Config::draw(&mut Rng::new(!(block * Hand::SIZE + turn)));
            self.runtimes.push((turn, config, config.build()));
            self.runtimes.len() - 1
        });
        let (_, config, runtime) = &self.runtimes[at];
        (*config, runtime)
    }
}
