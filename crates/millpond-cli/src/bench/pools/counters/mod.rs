//! Cache misses of the tasks, as in [TP](crate#sources) Tables 6 and 9.
//!
//! The processor counts them, if the system lets this process read its counters. Otherwise each
//! point runs a second time, in the simulated caches of cachegrind.

pub mod cachegrind;
pub mod perf;

use crate::failure::Failure;
use cachegrind::Cachegrind;
use serde_json::{Value, json};

/// The cache misses of some tasks, over all workers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Misses {
    /// The number of tasks; not 0.
    pub tasks: u64,
    /// Misses of the first-level data cache.
    pub l1: u64,
    /// Misses of the last-level cache.
    pub last_level: u64,
}

impl Misses {
    /// The misses of both's tasks.
    pub fn plus(self, other: Self) -> Self {
        Self { tasks: self.tasks + other.tasks, l1: self.l1 + other.l1, last_level: self.last_level + other.last_level }
    }
}

/// The way to count.
#[derive(Debug, PartialEq)]
pub enum Method<C = Cachegrind> {
    /// The processor counts while the time is measured.
    PerfEvent,
    /// Cachegrind counts in runs of its own.
    Cachegrind(C),
}

impl Method {
    /// The best way on this machine. If it is cachegrind, prints the reason on stderr.
    pub fn new() -> Result<Self, Failure> {
        choose(perf::probe(), Cachegrind::new)
    }
}

impl<C> Method<C> {
    /// Its name in the output.
    fn name(&self) -> &'static str {
        match self {
            Self::PerfEvent => "perf_event",
            Self::Cachegrind(_) => "cachegrind",
        }
    }

    /// The fields of a row. Misses that were left out are `null`.
    pub fn fields(&self, misses: Option<Misses>) -> Vec<(&'static str, Value)> {
        let per_task = |count: u64, tasks: u64| count as f64 / tasks as f64;
        vec![
            ("l1_misses_per_task", json!(misses.map(|of| per_task(of.l1, of.tasks)))),
            ("ll_misses_per_task", json!(misses.map(|of| per_task(of.last_level, of.tasks)))),
            ("counters", json!(self.name())),
            ("counted_tasks", json!(misses.map(|of| of.tasks))),
            ("l1_misses", json!(misses.map(|of| of.l1))),
            ("ll_misses", json!(misses.map(|of| of.last_level))),
        ]
    }
}

/// The processor's counters, or else cachegrind. An `Err` of these says why they cannot count.
fn choose<C>(
    processor: Result<(), String>,
    cachegrind: impl FnOnce() -> Result<C, String>,
) -> Result<Method<C>, Failure> {
    let Err(refused) = processor else { return Ok(Method::PerfEvent) };
    let chosen = cachegrind().map_err(|missing| {
        let tried = format!("perf_event: {refused}; cachegrind: {missing}");
        Failure::Failed(format!("--counters: no way to count cache misses: {tried}"))
    })?;
    let (caches, k) = (cachegrind::CACHES_TEXT, cachegrind::MAX_K);
    let how = format!("cachegrind simulates one processor with caches of {caches}, and --k {k} at most");
    eprintln!("--counters: {how} (perf_event: {refused})");
    Ok(Method::Cachegrind(chosen))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_counts_if_it_can() {
        let chosen = choose(Ok(()), || -> Result<(), String> { panic!("cachegrind is not needed") });
        assert_eq!(chosen.expect("a method"), Method::PerfEvent);
    }

    #[test]
    fn otherwise_cachegrind_counts() {
        let chosen = choose(Err("refused".to_owned()), || Ok(17));
        assert_eq!(chosen.expect("a method"), Method::Cachegrind(17));
    }

    #[test]
    fn without_both_one_line_says_why() {
        let chosen = choose(Err("refused".to_owned()), || Err::<(), _>("missing".to_owned()));
        let Err(Failure::Failed(line)) = chosen else { panic!("{chosen:?}") };
        let says = "--counters: no way to count cache misses: perf_event: refused; cachegrind: missing";
        assert_eq!(line, says);
    }

    #[test]
    fn a_row_has_counts_and_their_quotients() {
        let misses = Misses { tasks: 4, l1: 3, last_level: 1 }.plus(Misses { tasks: 4, l1: 1, last_level: 0 });
        let fields = Method::<()>::PerfEvent.fields(Some(misses));
        let values: Vec<_> = fields.iter().map(|(_, value)| value.clone()).collect();
        assert_eq!(values, [json!(0.5), json!(0.125), json!("perf_event"), json!(8), json!(4), json!(1)]);
        let left_out = Method::Cachegrind(()).fields(None);
        assert!(left_out.iter().map(|field| field.0).eq(fields.iter().map(|field| field.0)));
        assert_eq!(left_out.iter().filter(|(_, value)| value.is_null()).count(), 5);
    }
}
