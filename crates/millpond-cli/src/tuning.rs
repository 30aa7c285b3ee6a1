//! The options that tune a pool, a memory manager or a runtime. All but `--theft` and `--idle` are
//! of `run` and `profile` only.

use crate::args::integer;
use crate::failure::Failure;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches};
use millpond::catalogue::Row;
use millpond::memory::params::Params as MemoryParams;
use millpond::pool::params::{Filling, LockKind, Params, Share};
use millpond::stack::Theft;
use millpond::{Builder, Idle, Inline, StackEngine};
use serde_json::{Value, json};

/// The minimum and maximum stack of a body that may wait, in bytes, as in the runtime's builder.
const STACKS: (u64, u64) = (128 << 10, 1 << 30);

/// The maximum number of queues of a randomized pool, over all workers. A worker without a task
/// scans each of them, in its own order.
const MAX_QUEUES: usize = 1 << 14;

/// The parameters of the paper's pools: as options, and as in a pool's row.
const PARAMETERS: [(&str, &str); 6] = [
    ("pool-queues", "queues"),
    ("pool-threshold", "threshold"),
    ("pool-filling", "filling"),
    ("pool-share", "share"),
    ("pool-lock", "lock"),
    ("pool-capacity", "capacity"),
];

/// The parameter of the paper's memory managers, likewise.
const MEMORY_PARAMETERS: [(&str, &str); 1] = [("memory-at-start", "at_start")];

/// The largest array of a pool, in tasks.
const MAX_CAPACITY: u64 = 1 << 24;

/// The largest block of a size class, in bytes.
const MAX_AT_START: u64 = 4096;

/// How the row of a pool says that its workers never sleep.
const BUSY: (&str, &str) = ("wake-up", "busy wait");

const FILLINGS: &[(&str, Filling)] = &[("generous", Filling::Generous), ("greedy", Filling::Greedy)];
const SHARES: &[(&str, Share)] = &[("one", Share::One), ("half", Share::Half), ("workers", Share::Workers)];
const LOCKS: &[(&str, LockKind)] = &[("system", LockKind::System), ("spin", LockKind::Spin)];
const IDLES: &[(&str, Idle)] =
    &[("by-pool", Idle::ByPool), ("hybrid", Idle::Hybrid), ("busy", Idle::Busy), ("sleep", Idle::Sleep)];
const INLINES: &[(&str, Inline)] = &[("auto", Inline::Auto), ("always", Inline::Always), ("never", Inline::Never)];

const THEFTS: &[(&str, Theft)] = &[("chains", Theft::Chains), ("paper", Theft::Paper)];

/// The default stack of a body that may wait.
const DEFAULT_STACK: usize = 2 << 20;

/// The options.
pub fn args() -> [Arg; 10] {
    let share = Arg::new("pool-share").long("pool-share").value_name("TASKS").value_parser(share);
    [
        integer("pool-queues", "N", 1, 1024, "Queues per worker (rq1 to rq3) [default: 4]"),
        integer("pool-threshold", "N", 4, 1 << 20, "Tasks that a worker keeps to itself (sdq1) [default: 4]"),
        words("pool-filling", FILLINGS, "When a worker makes its tasks public (dq8) [default: generous]"),
        share.help("Tasks per steal (pools that steal): one, half, workers or a number [default: one]"),
        words("pool-lock", LOCKS, "Lock type (the paper's pools) [default: system]"),
        integer("pool-capacity", "TASKS", 1, MAX_CAPACITY, "Size of a queue's array (sq2, dq3, dq7) [default: 1024]"),
        integer("memory-at-start", "BYTES", 0, MAX_AT_START, AT_START),
        idle_arg(),
        words("inline", INLINES, "Whether a ready leaf runs at its spawn [default: auto]"),
        integer("stack-size", "BYTES", STACKS.0, STACKS.1, "Stack size of a body that may wait [default: 2097152]"),
    ]
}

/// The option that chooses the thieves of a dataflow stack.
pub fn theft_arg() -> Arg {
    words("theft", THEFTS, "How thieves choose victims, and how much they take (stack) [default: chains]")
}

/// The given choice of thieves, with its name. Only the scheme `stack` has one.
pub fn theft(matches: &ArgMatches, scheme: &str) -> Result<Option<(&'static str, Theft)>, Failure> {
    let given = matches.get_one::<String>("theft");
    let Some(&(name, theft)) = given.and_then(|given| THEFTS.iter().find(|(name, _)| name == given)) else {
        return Ok(None);
    };
    if scheme != StackEngine::NAME {
        return Err(Failure::Usage(format!(
            "--theft {name} needs --scheme {}: with the scheme {scheme}, workers steal from a pool",
            StackEngine::NAME
        )));
    }
    Ok(Some((name, theft)))
}

const AT_START: &str = "Allocate arrays for blocks up to this size at the start (bk, dbk, dbko) [default: 0]";

/// The option of the idle rule.
pub fn idle_arg() -> Arg {
    words("idle", IDLES, "What a worker does when it finds no task [default: by-pool]")
}

/// The word of that option for an idle rule.
pub fn idle_name(idle: Idle) -> &'static str {
    IDLES.iter().find(|(_, rule)| *rule == idle).expect("every rule has a word").0
}

/// The value of that option.
pub fn idle_of(matches: &ArgMatches) -> Idle {
    let mut idle = Idle::default();
    choose(&mut idle, IDLES, matches, "idle");
    idle
}

fn words<T>(name: &'static str, choices: &'static [(&'static str, T)], help: &'static str) -> Arg {
    let parser = PossibleValuesParser::new(choices.iter().map(|(word, _)| *word));
    Arg::new(name).long(name).value_name("WHICH").value_parser(parser).help(help)
}

fn share(text: &str) -> Result<Share, String> {
    let word = SHARES.iter().find(|(word, _)| *word == text).map(|(_, share)| *share);
    let number = || text.parse().ok().filter(|number| (1..=1 << 20).contains(number)).map(Share::Constant);
    word.or_else(number).ok_or_else(|| format!("expected one, half, workers, or 1..={}", 1 << 20))
}

/// The given values, applied to the defaults.
#[derive(Debug, Clone, Default)]
pub struct Tuning {
    params: Params,
    memory: MemoryParams,
    idle: Idle,
    inline: Inline,
    stack_size: Option<usize>,
    /// Each given option, and its value.
    given: Vec<(&'static str, Value)>,
}

impl Tuning {
    /// Reads the options. Refuses parameters that the pool or the memory manager does not have.
    /// With the scheme `stack` there is neither.
    pub fn new(matches: &ArgMatches, parts: Option<[&Row; 2]>, workers: usize) -> Result<Self, Failure> {
        let mut tuning = Self::default();
        let number = |option| matches.get_one::<u64>(option).map(|number| *number as usize);
        check(matches, "pool", &PARAMETERS, parts.map(|[pool, _]| pool))?;
        check(matches, "memory manager", &MEMORY_PARAMETERS, parts.map(|[_, memory]| memory))?;
        let params = &mut tuning.params;
        let mut given = |option, value: Option<Value>| tuning.given.extend(value.map(|value| (option, value)));
        given("pool-queues", set(&mut params.queues, number("pool-queues")));
        if matches.contains_id("pool-queues") && params.queues * workers > MAX_QUEUES {
            let queues = params.queues;
            return Err(Failure::Usage(format!(
                "--pool-queues {queues} with --workers {workers} makes {} queues: at most {MAX_QUEUES} are possible",
                queues * workers
            )));
        }
        given("pool-threshold", set(&mut params.threshold, number("pool-threshold")));
        given("pool-filling", choose(&mut params.filling, FILLINGS, matches, "pool-filling"));
        if let Some(&share) = matches.get_one::<Share>("pool-share") {
            params.share = share;
            let word = SHARES.iter().find(|(_, of)| *of == share).map(|(word, _)| json!(word));
            given("pool-share", word.or(if let Share::Constant(tasks) = share { Some(json!(tasks)) } else { None }));
        }
        given("pool-lock", choose(&mut params.lock, LOCKS, matches, "pool-lock"));
        given("pool-capacity", set(&mut params.capacity, number("pool-capacity")));
        given("memory-at-start", set(&mut tuning.memory.at_start, number("memory-at-start")));
        given("idle", choose(&mut tuning.idle, IDLES, matches, "idle"));
        if let Some([pool, _]) = parts
            && pool.columns.contains(&BUSY)
            && [Idle::Hybrid, Idle::Sleep].contains(&tuning.idle)
        {
            return Err(Failure::Usage(format!(
                "--idle: the pool {} waits busily, so its workers cannot sleep; its values: by-pool, busy",
                pool.name
            )));
        }
        given("inline", choose(&mut tuning.inline, INLINES, matches, "inline"));
        tuning.stack_size = number("stack-size");
        given("stack-size", tuning.stack_size.map(|bytes| json!(bytes)));
        Ok(tuning)
    }

    /// The pool's parameters.
    pub fn params(&self) -> Params {
        self.params
    }

    /// The memory manager's parameters.
    pub fn memory_params(&self) -> MemoryParams {
        self.memory
    }

    /// The idle rule: what a worker without a task does.
    pub fn idle(&self) -> Idle {
        self.idle
    }

    /// The stack of a body that may wait, in bytes.
    pub fn stack_size(&self) -> usize {
        self.stack_size.unwrap_or(DEFAULT_STACK)
    }

    /// Each given option, and its value.
    pub fn given(&self) -> &[(&'static str, Value)] {
        &self.given
    }

    /// The same, as the end of a line of text.
    pub fn text(&self) -> String {
        let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        self.given.iter().map(|(option, value)| format!(", {option} {}", word(value))).collect()
    }

    /// Applies the options to the builder of a runtime.
    pub fn apply(&self, builder: Builder) -> Builder {
        builder.idle(self.idle).inline(self.inline).stack_size(self.stack_size())
    }
}

fn set(place: &mut usize, given: Option<usize>) -> Option<Value> {
    let number = given?;
    *place = number;
    Some(json!(number))
}

fn choose<T: Copy>(place: &mut T, choices: &[(&'static str, T)], matches: &ArgMatches, option: &str) -> Option<Value> {
    let given = matches.get_one::<String>(option)?;
    let (word, choice) = choices.iter().find(|(word, _)| word == given)?;
    *place = *choice;
    Some(json!(word))
}

/// The error of an option that chooses or tunes a pool or a memory manager. `value` is empty or
/// begins with a space.
pub fn not_with_stack(option: &str, value: &str) -> Failure {
    Failure::Usage(format!(
        "--{option}{value} cannot be used with --scheme stack, which has no pool and no memory manager: leave out --{option}"
    ))
}

/// Refuses the given ones of these parameters that the part does not have.
fn check(
    matches: &ArgMatches,
    noun: &str,
    parameters: &[(&'static str, &str)],
    part: Option<&Row>,
) -> Result<(), Failure> {
    for (option, name) in parameters.iter().filter(|(option, _)| matches.contains_id(option)) {
        let part = part.ok_or_else(|| not_with_stack(option, ""))?;
        if !part.params.contains(name) {
            return Err(has_not(noun, parameters, part, option));
        }
    }
    Ok(())
}

fn has_not(noun: &str, parameters: &[(&'static str, &str)], part: &Row, option: &str) -> Failure {
    let has: Vec<_> = parameters.iter().filter(|(_, name)| part.params.contains(name)).collect();
    let has: Vec<_> = has.into_iter().map(|(option, _)| format!("--{option}")).collect();
    Failure::Usage(if has.is_empty() {
        format!("--{option}: the {noun} {} has no parameters", part.name)
    } else {
        format!("--{option}: the {noun} {} has no such parameter; its parameters: {}", part.name, has.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use millpond::catalogue::{MEMORY, POOLS};

    #[test]
    fn every_parameter_of_a_pool_has_an_option() {
        for row in POOLS {
            assert!(row.params.iter().all(|name| PARAMETERS.iter().any(|parameter| parameter.1 == *name)), "{row:?}");
        }
        for row in MEMORY {
            assert!(row.params.iter().all(|name| MEMORY_PARAMETERS[0].1 == *name), "{row:?}");
        }
    }

    #[test]
    fn only_one_pool_waits_busily() {
        let busy: Vec<_> = POOLS.iter().filter(|row| row.columns.contains(&BUSY)).map(|row| row.name).collect();
        assert_eq!(busy, ["dq10"]);
    }

    #[test]
    fn defaults_are_those_that_help_names() {
        let Params { queues, threshold, filling, share, lock, capacity } = Params::default();
        assert_eq!((queues, threshold, capacity, MemoryParams::default().at_start), (4, 4, 1024, 0));
        assert_eq!((filling, share, lock), (FILLINGS[0].1, SHARES[0].1, LOCKS[0].1));
        assert_eq!((Idle::default(), Inline::default()), (IDLES[0].1, INLINES[0].1));
        assert_eq!(Theft::default(), THEFTS[0].1);
    }
}
