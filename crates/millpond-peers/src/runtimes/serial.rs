//! The bodies in a plain loop: the reference for the answers and times of the others.

use super::Peer;
use crate::graph::{Case, Graph, Sink};
use crate::work::{Outcome, item, loops, measured, work, work_many};
use std::convert::Infallible;
use std::hint::black_box;
use std::time::Instant;

struct Serial;

/// It is the same for any number of workers.
pub fn start(_: usize) -> Result<Box<dyn Peer>, String> {
    Ok(Box::new(Serial))
}

impl Peer for Serial {
    fn run(&mut self, case: &Case) -> Result<Outcome, String> {
        let mut data: Vec<u64> = case.graph.start().collect();
        let outcome = measured::<Infallible>(|| {
            if let Graph::Loop { times, .. } = case.graph {
                let steps = case.steps;
                return Ok(loops(times, &mut data, |data| data.iter_mut().for_each(|x| item(steps, x))));
            }
            let start = Instant::now();
            let value = match case.graph {
                Graph::Fib { n } => fib(n),
                graph => {
                    graph.walk(&mut Loop { data: &mut data, case });
                    0
                }
            };
            Ok((start.elapsed(), value))
        });
        outcome.map_err(|never| match never {})
    }
}

#[inline(never)]
fn fib(n: u64) -> u64 {
    if n < 2 { n } else { black_box(fib(n - 1)) + fib(n - 2) }
}

/// Runs each visited task.
pub struct Loop<'a> {
    /// The graph's data.
    pub data: &'a mut [u64],
    /// The bodies.
    pub case: &'a Case,
}

impl Sink for Loop<'_> {
    fn alone(&mut self, k: u64, long: bool) {
        work(if long { self.case.long_steps } else { self.case.steps }, k, 0, 0);
    }

    fn read(&mut self, a: usize) {
        work(self.case.steps, 0, self.data[a], 0);
    }

    fn inout(&mut self, c: usize) {
        self.data[c] = work(self.case.steps, self.data[c], 0, 0);
    }

    fn update(&mut self, a: usize, c: usize) {
        self.data[c] = work(self.case.steps, self.data[c], self.data[a], 0);
    }

    fn update_by_two(&mut self, a: usize, b: usize, c: usize) {
        self.data[c] = work(self.case.steps, self.data[c], self.data[a], self.data[b]);
    }

    fn many<const N: usize>(&mut self, first: usize) {
        let set = self.data[first..].first_chunk_mut::<N>();
        work_many(self.case.steps, set.expect("the data of a set").each_mut());
    }
}
