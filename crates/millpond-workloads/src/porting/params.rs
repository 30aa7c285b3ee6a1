use crate::matrix::generate;
use crate::options::{Opt, Options, Value};
use crate::{Error, collections};
use millpond_cnc::{Limit, Settings};

const GETS: Opt = Opt::integer("gets", "Gets of a task, each of which says the next one's key", (1, 1000), Some(4));
const TASKS: Opt = Opt::integer("tasks", "Tasks", (1, 1 << 26), Some(100_000));
const SEED: Opt = Opt::integer("seed", "Seed of the chains", (0, u64::MAX), Some(1));

/// The options of this workload.
pub const OPTIONS: [Opt; 6] = collections::options_without_table([GETS, TASKS, SEED]);

/// The number of items in the chains, which stay in a core's own cache.
const ITEMS: usize = 1 << 12;

/// The number of chains, and their length.
#[derive(Debug, Clone, Copy)]
pub struct Params {
    /// Gets per task.
    pub gets: u64,
    /// The number of tasks.
    pub tasks: u64,
    /// The seed of the values.
    pub seed: u64,
    /// The settings of the steps.
    pub settings: Settings,
}

impl Params {
    /// Checks the options.
    pub fn load(options: &Options) -> Result<Self, Error> {
        let settings = collections::settings(options, Limit::All)?;
        Ok(Self { gets: options.get(&GETS)?, tasks: options.get(&TASKS)?, seed: options.get(&SEED)?, settings })
    }

    /// Every parameter after defaults.
    pub fn values(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("gets", Value::Integer(self.gets)),
            ("tasks", Value::Integer(self.tasks)),
            ("seed", Value::Integer(self.seed)),
            collections::need(self.settings),
        ]
    }

    /// The first key of a task.
    pub fn first(&self, task: u64) -> u32 {
        (task % ITEMS as u64) as u32
    }
}

/// The value of each key: one cycle through all of them, by Sattolo's shuffle.
pub fn values(params: Params) -> Vec<u32> {
    let mut values: Vec<u32> = (0..ITEMS as u32).collect();
    let draw = |last: usize| generate::mix(params.seed ^ generate::mix(last as u64)) as usize % last;
    (1..ITEMS).rev().for_each(|last| values.swap(last, draw(last)));
    values
}
