//! Random programs of declared loops give the result of the serial loops: with each member of each
//! family, and in each kind of scope.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use millpond::catalogue::{AnyRuntime, Names};
use millpond::{Error, Handle, Idle, Inline, Spawn, each, on_runtime};

use super::{Costs, Plan, after, run, work};
use crate::common::rng::Rng;
use crate::common::{builder, limit, sized};

const LISTS: usize = 3;

/// The ways to write a loop.
const WAYS: usize = 10;

/// A loop of a program: it changes one list, and may read another one.
#[derive(Clone, Copy, Debug)]
struct Step {
    plan: Plan,
    way: usize,
    list: usize,
    other: usize,
    /// The size of its chunks, or the start of its range.
    size: usize,
}

/// The lengths of the lists, and the loops.
#[derive(Clone, Debug)]
struct Program {
    lengths: [usize; LISTS],
    steps: Vec<Step>,
}

impl Program {
    fn random(rng: &mut Rng) -> Self {
        let lengths = [rng.below(4), rng.below(50), rng.below(400)];
        let step = |rng: &mut Rng| {
            let list = rng.below(LISTS);
            let plan = Plan { items: lengths[list], steps: 1 << rng.below(8), ..Plan::random(rng) };
            let other = (list + 1 + rng.below(LISTS - 1)) % LISTS;
            Step { plan, way: rng.below(WAYS), list, other, size: 1 + rng.below(70) }
        };
        Program { lengths, steps: (0..1 + rng.below(16)).map(|_| step(rng)).collect() }
    }

    fn lists(&self) -> impl Iterator<Item = Vec<u64>> {
        self.lengths.into_iter().map(|length| (0..length as u64).map(|i| i * i).collect())
    }

    /// What the serial program leaves in the lists, and the sum.
    fn expected(&self) -> (Vec<Vec<u64>>, u64) {
        let (mut lists, mut sum) = (self.lists().collect::<Vec<_>>(), 0);
        for step in &self.steps {
            let other = lists[step.other].clone();
            step.serially(&mut lists[step.list], &other, &mut sum);
        }
        (lists, sum)
    }
}

/// An item's change to an element of a list.
fn change(i: usize, x: &mut u64, other: u64) {
    *x = after(i, *x ^ other);
}

fn element(list: &[u64], i: usize) -> u64 {
    list.get(i).copied().unwrap_or(7)
}

impl Step {
    fn serially(&self, list: &mut [u64], other: &[u64], sum: &mut u64) {
        let mut each = |length: usize, other: &dyn Fn(usize) -> u64| {
            list.iter_mut().take(length).enumerate().for_each(|(i, x)| change(i, x, other(i)));
        };
        let mut add = |n: u64| *sum = sum.wrapping_add(n);
        match self.way {
            0 | 1 | 9 => each(usize::MAX, &|_| 0),
            2 => each(other.len(), &|i| other[i]),
            3 => each(usize::MAX, &|i| element(other, i)),
            4 => (self.size..self.size + self.plan.items).for_each(|i| add(after(i, element(other, i)))),
            5 => each(other.len().div_ceil(self.size) * self.size, &|i| element(other, i)),
            6 => other.iter().for_each(|n| add(n ^ 5)),
            7 => list.iter_mut().for_each(|x| *x = x.wrapping_add(3)),
            _ => {
                each(usize::MAX, &|_| 0);
                each(usize::MAX, &|i| element(other, i));
            }
        }
    }

    /// Spawns the loop.
    fn spawn<'s, S: Spawn<'s>>(self, s: &S, data: &Data<S::Brand>) {
        let Step { plan, size, .. } = self;
        let (list, other, sum) = (&data.lists[self.list], &data.lists[self.other], &data.sum);
        match self.way {
            0 => drop(s.for_each(each::indexed(list.inout()), move |(i, x)| {
                plan.cost(i);
                change(i, x, 0);
            })),
            1 => drop(s.for_each(each::indexed(list.chunks_mut(size)), move |(chunk, part)| {
                plan.cost(chunk * size);
                part.iter_mut().enumerate().for_each(|(k, x)| change(chunk * size + k, x, 0));
            })),
            2 => drop(s.task("zip").for_each(
                each::indexed(each::zip(list.inout(), other.read())),
                move |(i, (x, other))| {
                    plan.cost(i);
                    change(i, x, *other);
                },
            )),
            3 => drop(s.for_each((each::indexed(list.inout()), other.read()), move |((i, x), other)| {
                plan.cost(i);
                change(i, x, element(other, i));
            })),
            4 => {
                let range = (size..size + plan.items, other.read(), sum.concurrent());
                s.task(format!("range from {}", size % 4)).for_each(range, move |(i, other, sum)| {
                    plan.cost(i - size);
                    sum.fetch_add(after(i, element(other, i)), Relaxed);
                });
            }
            5 => {
                let chunks = each::zip(list.chunks_mut(size), other.chunks(size));
                s.for_each(each::indexed(chunks), move |(chunk, (part, other))| {
                    plan.cost(chunk * size);
                    part.iter_mut().enumerate().for_each(|(k, x)| change(chunk * size + k, x, element(other, k)));
                });
            }
            6 => drop(s.for_each((other.chunks(size), sum.concurrent()), move |(part, sum)| {
                work(plan.steps);
                part.iter().for_each(|n| _ = sum.fetch_add(n ^ 5, Relaxed));
            })),
            7 => drop(s.for_each(list.commutative(), move |x| {
                plan.cost(1);
                *x = x.wrapping_add(3);
            })),
            8 => drop(s.nest((list.inout(), other.read()), move |s, (list, other)| {
                s.for_each(each::indexed(list.inout()), |(i, x)| change(i, x, 0));
                s.for_each((each::indexed(list.inout()), other.read()), move |((i, x), other)| {
                    plan.cost(i);
                    change(i, x, element(other, i));
                });
            })),
            // The free function, in a leaf.
            _ => drop(s.spawn(list.inout(), move |list| run(plan, size % 5, list))),
        }
    }
}

/// The data of a program.
struct Data<B> {
    lists: Vec<Handle<Vec<u64>, B>>,
    sum: Handle<AtomicU64, B>,
}

/// Runs a program in a scope.
fn runs<'s, S: Spawn<'s>>(s: &S, program: &Program) -> Result<(Vec<Vec<u64>>, u64), Error> {
    let data = Data { lists: program.lists().map(|list| s.handle(list)).collect(), sum: s.handle(AtomicU64::new(0)) };
    program.steps.iter().for_each(|step| step.spawn(s, &data));
    let lists = s.wait_all(data.lists.iter().map(|list| s.spawn(list.read(), |list| list.clone())))?;
    Ok((lists, s.wait(s.spawn(data.sum.read(), |sum| sum.load(Relaxed)))?))
}

#[test]
fn random_declared_loops_give_the_result_of_the_serial_loops() {
    let choices = [
        (1, Inline::Auto, Idle::Hybrid),
        (2, Inline::Never, Idle::Hybrid),
        (2, Inline::Auto, Idle::Sleep),
        (3, Inline::Always, Idle::Hybrid),
        (4, Inline::Never, Idle::Hybrid),
    ];
    for (turn, names) in Names::star().enumerate() {
        let mut rng = Rng::new(turn as u64);
        let (workers, inline, idle) = choices[turn % choices.len()];
        let what = format!("random declared loops, {names}, {workers} workers");
        limit(120, what.clone(), || {
            let any = AnyRuntime::build(builder(workers).inline(inline).idle(idle), names).unwrap();
            on_runtime!(&any, rt => for _ in 0..sized(12, 120) {
                let program = &Program::random(&mut rng);
                let result = match rng.below(3) {
                    0 => rt.scope(|s| runs(s, program)).unwrap(),
                    1 => rt.scope(|s| s.wait(s.nest((), move |s, ()| runs(s, program)))).unwrap().unwrap(),
                    _ => {
                        let session = rt.session();
                        let result = runs(&session, program);
                        session.close().wait().unwrap();
                        result
                    }
                };
                assert_eq!(result.unwrap(), program.expected(), "{what}: {program:?}");
            });
        });
    }
}

/// The test can fail: the order of two loops shows.
#[test]
fn the_serial_loops_depend_on_their_order() {
    let plan = Plan { items: 9, steps: 0, costs: Costs::Even };
    let step = |way, list, other| Step { plan, way, list, other, size: 4 };
    let program = |steps: &[Step]| Program { lengths: [9, 10, 3], steps: steps.to_vec() }.expected();
    limit(20, "exchanged loops", || {
        for (one, two) in [(0, 3), (1, 2), (7, 5), (8, 9)] {
            let (one, two) = (step(one, 0, 1), step(two, 1, 0));
            assert_ne!(program(&[one, two]), program(&[two, one]), "{one:?}, {two:?}");
        }
    });
}
