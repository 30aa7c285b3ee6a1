//! rayon, for graphs without an order between tasks, and for loops.

use super::Peer;
use crate::graph::{Case, Graph, Sink};
use crate::work::{Outcome, item, loops, measured, work};
use rayon::prelude::*;
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};
use std::convert::Infallible;
use std::time::Instant;

struct Rayon(ThreadPool);

/// Its own pool.
pub fn start(workers: usize) -> Result<Box<dyn Peer>, String> {
    let pool = ThreadPoolBuilder::new().num_threads(workers).build();
    Ok(Box::new(Rayon(pool.map_err(|error| error.to_string())?)))
}

/// The time of a chunk of a loop. With shorter ones, most of the time is rayon's overhead.
const CHUNK_NS: u64 = 1000;

impl Peer for Rayon {
    fn run(&mut self, case: &Case) -> Result<Outcome, String> {
        if let Graph::Loop { ns, times, .. } = case.graph {
            let (mut data, steps): (Vec<u64>, _) = (case.graph.start().collect(), case.steps);
            let size = (CHUNK_NS / ns).max(1) as usize;
            let chunk = |chunk: &mut [u64]| chunk.iter_mut().for_each(|x| item(steps, x));
            let run = |data: &mut [u64]| data.par_chunks_mut(size).for_each(chunk);
            let run = || measured::<Infallible>(|| Ok(loops(times, &mut data, run)));
            return self.0.install(run).map_err(|never| match never {});
        }
        let run = || {
            // The call into the pool is not measured.
            let start = Instant::now();
            let value = match case.graph {
                Graph::Fib { n } => fib(n),
                graph => {
                    rayon::scope(|scope| graph.walk(&mut Spawner { scope, case }));
                    0
                }
            };
            Ok((start.elapsed(), value))
        };
        self.0.install(|| measured::<Infallible>(run)).map_err(|never| match never {})
    }
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = rayon::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

struct Spawner<'a, 's> {
    scope: &'a Scope<'s>,
    case: &'a Case,
}

impl Sink for Spawner<'_, '_> {
    fn alone(&mut self, k: u64, long: bool) {
        let steps = if long { self.case.long_steps } else { self.case.steps };
        self.scope.spawn(move |_| _ = work(steps, k, 0, 0));
    }

    fn read(&mut self, _: usize) {
        unreachable!("the table says that rayon has no accesses");
    }

    fn inout(&mut self, c: usize) {
        self.read(c);
    }

    fn update(&mut self, _: usize, c: usize) {
        self.read(c);
    }

    fn update_by_two(&mut self, _: usize, _: usize, c: usize) {
        self.read(c);
    }

    fn many<const N: usize>(&mut self, first: usize) {
        self.read(first);
    }
}
