//! millpond as in a program: with accesses, checks, poison, cancellation and labels.

use super::Peer;
use crate::graph::{Case, Graph, Sink};
use crate::work::{Outcome, item, loops, measured, work, work_many};
use millpond::{Engine, Handle, Inline, Joiner, Runtime, Spawn, StackEngine, for_each};
use std::array;
use std::time::{Duration, Instant};

struct Millpond<E: Engine>(Runtime<E>);

/// With its default settings.
pub fn start(workers: usize) -> Result<Box<dyn Peer>, String> {
    start_with(workers, Inline::default())
}

/// With every task through the pool.
pub fn start_queued(workers: usize) -> Result<Box<dyn Peer>, String> {
    start_with(workers, Inline::Never)
}

/// With the distributed dataflow stack as its engine.
pub fn start_stack(workers: usize) -> Result<Box<dyn Peer>, String> {
    let runtime = Runtime::builder().workers(workers).build_with::<StackEngine>();
    Ok(Box::new(Millpond(runtime.map_err(|error| error.to_string())?)))
}

fn start_with(workers: usize, inline: Inline) -> Result<Box<dyn Peer>, String> {
    let runtime = Runtime::builder().workers(workers).inline(inline).build();
    Ok(Box::new(Millpond(runtime.map_err(|error| error.to_string())?)))
}

impl<E: Engine> Peer for Millpond<E> {
    fn run(&mut self, case: &Case) -> Result<Outcome, String> {
        let outcome = match case.graph {
            Graph::Fib { n } => measured(|| join(&self.0, n)),
            Graph::Loop { times, .. } => {
                let (mut data, steps): (Vec<u64>, _) = (case.graph.start().collect(), case.steps);
                let run = |data: &mut [u64]| for_each(data, |x| item(steps, x));
                measured(|| self.0.scope(|_| loops(times, &mut data, run)))
            }
            _ => {
                let handles: Vec<Handle<u64>> = case.graph.start().map(Handle::new).collect();
                measured(|| spawn_all(&self.0, case, &handles))
            }
        };
        outcome.map_err(|error| error.to_string())
    }
}

/// Joins on the current worker.
struct Joining(Runtime);

pub fn start_joiner(workers: usize) -> Result<Box<dyn Peer>, String> {
    let runtime = Runtime::builder().workers(workers).build();
    Ok(Box::new(Joining(runtime.map_err(|error| error.to_string())?)))
}

impl Peer for Joining {
    fn run(&mut self, case: &Case) -> Result<Outcome, String> {
        let Graph::Fib { n } = case.graph else { unreachable!("it only joins") };
        let run = || {
            let start = Instant::now();
            let value = self.0.scope(|_| Joiner::with(|joiner| fib_by(joiner, n)))?;
            Ok((start.elapsed(), value))
        };
        measured(run).map_err(|error: millpond::Error| error.to_string())
    }
}

fn fib_by(joiner: &Joiner, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = joiner.join(|joiner| fib_by(joiner, n - 1), |joiner| fib_by(joiner, n - 2));
    a + b
}

fn spawn_all<E: Engine>(
    runtime: &Runtime<E>,
    case: &Case,
    handles: &[Handle<u64>],
) -> Result<(Duration, u64), millpond::Error> {
    let start = Instant::now();
    runtime.scope(|s| case.graph.walk(&mut Spawner { s, handles, steps: case.steps, long_steps: case.long_steps }))?;
    Ok((start.elapsed(), 0))
}

fn join<E: Engine>(runtime: &Runtime<E>, n: u64) -> Result<(Duration, u64), millpond::Error> {
    let start = Instant::now();
    let value = runtime.scope(|_| fib(n))?;
    Ok((start.elapsed(), value))
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = millpond::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

struct Spawner<'a, 's, S: Spawn<'s>> {
    s: &'a S,
    handles: &'a [Handle<u64, <S as Spawn<'s>>::Brand>],
    steps: u64,
    long_steps: u64,
}

impl<'s, S: Spawn<'s>> Sink for Spawner<'_, 's, S> {
    #[inline(always)]
    fn alone(&mut self, k: u64, long: bool) {
        let steps = if long { self.long_steps } else { self.steps };
        self.s.spawn((), move |()| _ = work(steps, k, 0, 0));
    }

    #[inline(always)]
    fn read(&mut self, a: usize) {
        let steps = self.steps;
        self.s.spawn(self.handles[a].read(), move |a| _ = work(steps, 0, *a, 0));
    }

    #[inline(always)]
    fn inout(&mut self, c: usize) {
        let steps = self.steps;
        self.s.spawn(self.handles[c].inout(), move |c| *c = work(steps, *c, 0, 0));
    }

    #[inline(always)]
    fn update(&mut self, a: usize, c: usize) {
        let (h, steps) = (self.handles, self.steps);
        self.s.spawn((h[a].read(), h[c].inout()), move |(a, c)| *c = work(steps, *c, *a, 0));
    }

    #[inline(always)]
    fn update_by_two(&mut self, a: usize, b: usize, c: usize) {
        let (h, steps) = (self.handles, self.steps);
        self.s.spawn((h[a].read(), h[b].read(), h[c].inout()), move |(a, b, c)| *c = work(steps, *c, *a, *b));
    }

    #[inline(always)]
    fn many<const N: usize>(&mut self, first: usize) {
        let (set, steps) = (&self.handles[first..first + N], self.steps);
        self.s.spawn(array::from_fn::<_, N, _>(|k| set[k].inout()), move |data| work_many(steps, data));
    }
}
