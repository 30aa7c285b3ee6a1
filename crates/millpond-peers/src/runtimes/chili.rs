//! chili: fork-join only.

use super::Peer;
use crate::graph::{Case, Graph};
use crate::work::{Outcome, measured};
use chili::{Config, Scope, ThreadPool};
use std::convert::Infallible;
use std::num::NonZero;
use std::time::Instant;

/// Makes one in `EVERY` joins stealable. Joins on an almost empty queue are always stealable.
struct Chili<const EVERY: u8>(NonZero<usize>);

/// Like `Scope::join`.
pub fn start(workers: usize) -> Result<Box<dyn Peer>, String> {
    start_with::<64>(workers)
}

/// With every join stealable.
pub fn start_every(workers: usize) -> Result<Box<dyn Peer>, String> {
    start_with::<1>(workers)
}

fn start_with<const EVERY: u8>(workers: usize) -> Result<Box<dyn Peer>, String> {
    Ok(Box::new(Chili::<EVERY>(NonZero::new(workers).ok_or("no workers")?)))
}

impl<const EVERY: u8> Peer for Chili<EVERY> {
    fn run(&mut self, case: &Case) -> Result<Outcome, String> {
        let Graph::Fib { n } = case.graph else { unreachable!("the table says that chili joins only") };
        // For this run only, because a pool's thread ticks during its whole life.
        let pool = ThreadPool::with_config(Config { thread_count: Some(self.0), ..Config::default() });
        let run = || {
            let mut scope = pool.scope();
            let start = Instant::now();
            let value = fib::<EVERY>(&mut scope, n);
            Ok((start.elapsed(), value))
        };
        measured::<Infallible>(run).map_err(|never| match never {})
    }
}

fn fib<const EVERY: u8>(scope: &mut Scope<'_>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) =
        scope.join_with_heartbeat_every::<EVERY, _, _, _, _>(|s| fib::<EVERY>(s, n - 1), |s| fib::<EVERY>(s, n - 2));
    a + b
}
