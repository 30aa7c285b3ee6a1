//! The configuration of a runtime, read from the command line.

use crate::args::MAX_WINDOW;
use crate::failure::Failure;
use crate::families::{Family, MEMORY, POOL, SCHEME};
use crate::tuning::{self, Tuning, not_with_stack};
use clap::ArgMatches;
use millpond::catalogue::{self, AnyRuntime, Names, Registry};
use millpond::stack::Theft;
use millpond::{BuildError, Builder, Inline, Runtime, StackEngine};
use millpond_workloads::matrix::memory;
use millpond_workloads::{PoolParts, RunsOn};
use serde_json::{Value, json};

/// The parts and settings of a runtime.
#[derive(Debug, Clone)]
pub struct Config {
    registry: Registry,
    runs_on: RunsOn,
    /// Threads that run tasks.
    pub workers: usize,
    scheme: String,
    pool: String,
    memory: String,
    deterministic: bool,
    window: usize,
    pin: bool,
    /// How thieves of a dataflow stack steal, if given, and its name.
    theft: Option<(&'static str, Theft)>,
    tuning: Tuning,
    /// For Collections: preconditions and blocked steps, and the item table if given.
    collections: Option<([String; 2], Option<String>)>,
}

impl Config {
    /// Reads the options of a suite's runtime.
    pub fn new(matches: &ArgMatches, registry: &Registry) -> Result<Self, Failure> {
        Self::read(RunsOn::Runtime, matches, registry)
    }

    /// Reads the options of a workload's runtime.
    pub fn of(runs_on: RunsOn, matches: &ArgMatches, registry: &Registry) -> Result<Self, Failure> {
        let config = Self::read(runs_on, matches, registry)?;
        let parts = (!config.is_stack()).then(|| {
            let pool = registry.pools().find(|row| row.name == config.pool).expect("a pool of the registry");
            let memory = registry.memory().find(|row| row.name == config.memory).expect("a manager of the registry");
            [pool, memory]
        });
        let tuning = Tuning::new(matches, parts, config.workers)?;
        Ok(Self { tuning, ..config })
    }

    fn read(runs_on: RunsOn, matches: &ArgMatches, registry: &Registry) -> Result<Self, Failure> {
        let word = |name, default: &str| matches.get_one::<String>(name).map_or(default, String::as_str).to_owned();
        let size = |name| matches.get_one::<u64>(name).map(|n| *n as usize);
        let scheme = member(matches, &SCHEME);
        let this = Self {
            registry: registry.clone(),
            runs_on,
            workers: size("workers").unwrap_or_else(default_workers),
            theft: tuning::theft(matches, &scheme)?,
            scheme,
            pool: member(matches, &POOL),
            memory: member(matches, &MEMORY),
            deterministic: matches.get_flag("deterministic"),
            window: size("window").unwrap_or(Builder::DEFAULT_WINDOW),
            pin: matches.get_flag("pin"),
            tuning: Tuning::default(),
            collections: (runs_on == RunsOn::Collections).then(|| {
                let modes = [word("preconditions", "flexible"), word("blocked", "resume")];
                (modes, matches.get_one::<String>("item-table").cloned())
            }),
        };
        if this.is_stack() {
            let given = [&POOL, &MEMORY].into_iter().find_map(|family| Some((family.option, named(matches, family)?)));
            given.map_or(Ok(()), |(option, name)| Err(not_with_stack(option, &format!(" {name}"))))?;
        }
        Ok(this)
    }

    /// Whether it is a runtime of the dataflow stack, without other parts.
    fn is_stack(&self) -> bool {
        self.runs_on != RunsOn::TaskPool && self.scheme == StackEngine::NAME
    }

    /// Subtracts the address space of the runtime's threads from a job's memory.
    pub fn reserve_addresses(&self) {
        memory::reserve_for_threads(self.workers, self.tuning.stack_size());
    }

    /// Builds the runtime from the named parts.
    pub fn build(&self) -> Result<AnyRuntime, Failure> {
        self.build_by(|builder| builder)
    }

    /// Builds the runtime with another rule for inline tasks.
    pub fn build_inline(&self, inline: Inline) -> Result<AnyRuntime, Failure> {
        self.build_by(|builder| builder.inline(inline))
    }

    fn build_by(&self, change: impl FnOnce(Builder) -> Builder) -> Result<AnyRuntime, Failure> {
        let builder = Runtime::builder().workers(self.workers).window(self.window);
        let builder = self.tuning.apply(builder.deterministic(self.deterministic).pin(self.pin));
        let builder = builder.theft(self.theft.map_or(Theft::default(), |(_, theft)| theft));
        let names = Names { scheme: &self.scheme, pool: &self.pool, memory: &self.memory };
        let (params, memory) = (self.tuning.params(), self.tuning.memory_params());
        let built = self.registry.build_tuned(change(builder), names, params, memory);
        built.map_err(|error| Failure::Failed(format!("cannot start the runtime: {error}")))
    }

    /// The named parts of a task pool.
    pub fn pool_parts(&self) -> Result<PoolParts, Failure> {
        let failed = |error: BuildError| Failure::Failed(format!("cannot make the task pool: {error}"));
        Ok(PoolParts {
            workers: self.workers,
            pool: self.registry.pool(&self.pool, self.tuning.params()).map_err(failed)?,
            memory: self.registry.memory_manager_with(&self.memory, self.tuning.memory_params()).map_err(failed)?,
            idle: self.tuning.idle(),
        })
    }

    /// The same with another number of workers.
    pub fn with_workers(&self, workers: usize) -> Self {
        Self { workers, ..self.clone() }
    }

    /// The same without a bound on the tasks in flight.
    pub fn without_window(&self) -> Self {
        Self { window: MAX_WINDOW as usize, ..self.clone() }
    }

    /// The options that select the same parts: only the scheme, if it is `stack`.
    pub fn parts(&self) -> Vec<String> {
        let named = [(&SCHEME, &self.scheme), (&POOL, &self.pool), (&MEMORY, &self.memory)];
        let named = &named[..if self.is_stack() { 1 } else { 3 }];
        let mut args: Vec<_> =
            named.iter().flat_map(|(family, name)| [format!("--{}", family.option), (*name).clone()]).collect();
        args.extend(self.deterministic.then(|| "--deterministic".to_owned()));
        args.extend(self.pin.then(|| "--pin".to_owned()));
        args.extend(self.theft.into_iter().flat_map(|(name, _)| ["--theft".to_owned(), name.to_owned()]));
        args
    }

    /// The configuration for reports: `null` for settings that do not apply.
    pub fn json(&self) -> Value {
        let is_pool = self.runs_on == RunsOn::TaskPool;
        let of_runtime = |value: Value| if is_pool { Value::Null } else { value };
        let with_scheme = |name: &str| if is_pool { json!(name) } else { with(&self.scheme, name) };
        let mut config = json!({
            "workers": self.workers,
            "scheme": of_runtime(json!(self.scheme)),
            "pool": with_scheme(&self.pool),
            "memory": with_scheme(&self.memory),
            "deterministic": of_runtime(json!(self.deterministic)),
            "window": of_runtime(json!(self.window)),
        });
        if let Some(([preconditions, blocked], table)) = &self.collections {
            config["preconditions"] = json!(preconditions);
            config["blocked"] = json!(blocked);
            if let Some(table) = table {
                config["item_table"] = json!(table);
            }
        }
        if let Some((name, _)) = self.theft {
            config["theft"] = json!(name);
        }
        for (option, value) in self.tuning.given() {
            config[option.replace('-', "_")] = value.clone();
        }
        config
    }

    /// The configuration as a line of text.
    pub fn text(&self) -> String {
        if self.runs_on == RunsOn::TaskPool {
            let tuning = self.tuning.text();
            return format!("{} workers, pool {}, memory {}{tuning}", self.workers, self.pool, self.memory);
        }
        let parts = match with(&self.scheme, &self.pool) {
            Value::Null => String::new(),
            _ => format!(", pool {}, memory {}", self.pool, self.memory),
        };
        format!(
            "{} workers, scheme {}{parts}, window {}{}{}{}{}{}",
            self.workers,
            self.scheme,
            self.window,
            if self.deterministic { ", deterministic" } else { "" },
            if self.pin { ", pinned" } else { "" },
            self.theft.map_or(String::new(), |(name, _)| format!(", theft {name}")),
            self.collections.as_ref().map_or(String::new(), |([preconditions, blocked], table)| {
                let table = table.as_ref().map_or(String::new(), |table| format!(", item-table {table}"));
                format!(", preconditions {preconditions}, blocked {blocked}{table}")
            }),
            self.tuning.text(),
        )
    }
}

/// The configuration of a runtime with a scheme, for reports.
pub fn of_scheme(scheme: &str, workers: usize) -> Value {
    json!({
        "workers": workers,
        "scheme": scheme,
        "pool": with(scheme, catalogue::POOLS[0].name),
        "memory": with(scheme, catalogue::MEMORY[0].name),
    })
}

/// A pool or a memory manager, for reports. The stack has neither.
fn with(scheme: &str, part: &str) -> Value {
    if scheme == StackEngine::NAME { Value::Null } else { json!(part) }
}

fn default_workers() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn named(matches: &ArgMatches, family: &Family) -> Option<String> {
    matches.get_one::<String>(family.option).cloned()
}

fn member(matches: &ArgMatches, family: &Family) -> String {
    named(matches, family).unwrap_or_else(|| family.default.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(option: &str, name: &str) -> Config {
        let given = ["millpond", "run", "--workers", "1", option, name, "fib"];
        let matches = crate::args::command(&Registry::default()).try_get_matches_from(given).expect("arguments");
        let (_, matches) = crate::run::named(matches.subcommand_matches("run").expect("run")).expect("a workload");
        Config::new(matches, &Registry::default()).expect("a configuration")
    }

    #[test]
    fn the_runtime_has_the_scheme_that_was_named() {
        for name in SCHEME.names(&Registry::default()) {
            let config = config("--scheme", name);
            assert_eq!(config.build().expect("a runtime").names().scheme, name);
            assert_eq!(config.json()["scheme"], name);
        }
    }

    #[test]
    fn a_dataflow_stack_is_pool_and_memory_manager_too() {
        let config = config("--scheme", "stack");
        assert_eq!([&config.json()["pool"], &config.json()["memory"]], [&Value::Null; 2]);
        assert!(!config.text().contains("pool"), "{}", config.text());
    }

    #[test]
    fn the_runtime_has_the_pool_that_was_named() {
        for name in POOL.names(&Registry::default()) {
            let config = config("--pool", name);
            assert_eq!(config.build().expect("a runtime").names().pool, name);
            assert_eq!(config.json()["pool"], name);
        }
    }

    #[test]
    fn the_runtime_has_the_memory_manager_that_was_named() {
        for name in MEMORY.names(&Registry::default()) {
            let config = config("--memory", name);
            assert_eq!(config.build().expect("a runtime").names().memory, name);
            assert_eq!(config.json()["memory"], name);
        }
    }
}
