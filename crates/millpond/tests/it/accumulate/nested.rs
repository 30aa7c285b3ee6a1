//! Random trees of parents that accumulate, on every scheme, against a serial sum.

use super::*;

/// The places where numbers are added, and what else happens there.
#[derive(Debug)]
struct Node {
    id: u64,
    children: Vec<Node>,
    is_leaf: bool,
    adds: u32,
    fails: bool,
}

fn tree(rng: &mut Rng, ids: &mut u64, depth: usize, faults: usize) -> Node {
    *ids += 1;
    let (id, is_leaf) = (*ids, depth == 0 || rng.percent(30));
    let count = if is_leaf { 0 } else { rng.below(6) };
    let children = (0..count).map(|_| tree(rng, ids, depth - 1, faults)).collect();
    Node { id, children, is_leaf, adds: rng.below(3) as u32, fails: rng.percent(faults) }
}

impl Node {
    /// What it adds, with all below it.
    fn sum(&self) -> u64 {
        u64::from(self.adds) * self.id + self.children.iter().map(Node::sum).sum::<u64>()
    }

    fn has_failures(&self) -> bool {
        self.fails || self.children.iter().any(Node::has_failures)
    }

    /// The last step of its body.
    fn end(&self) {
        assert!(!self.fails, "expected from {}", self.id);
    }
}

fn body<'s, S: Spawn<'s>>(s: &S, node: &'s Node, total: &Accumulator<u64, Sum, S::Brand>) {
    for child in &node.children {
        if child.is_leaf {
            s.spawn(total.accumulate(), move |mut total| {
                (0..child.adds).for_each(|_| total.add(child.id));
                child.end();
            });
        } else {
            // A named task has no compact form in a stack.
            match child.id % 3 {
                0 => drop(s.task("parent").nest(total.accumulate(), move |s, total| body(s, child, &total))),
                _ => drop(s.nest(total.accumulate(), move |s, total| body(s, child, &total))),
            }
        }
    }
    (0..node.adds).for_each(|_| total.add(node.id));
    node.end();
}

fn builder(rng: &mut Rng, deterministic: bool) -> Builder {
    let inline = rng.pick(&[Inline::Always, Inline::Never, Inline::Auto]);
    Runtime::builder().workers(rng.pick(&[1, 2, 8])).inline(inline).deterministic(deterministic)
}

#[test]
fn random_trees_give_the_serial_sum() {
    silence_expected_panics();
    let dog = Watchdog::new(Duration::from_secs(20));
    let (cases, from) = (number("MILLPOND_CASES", 300).div_ceil(10), number("MILLPOND_SEED", 0));
    for seed in from..from + cases {
        for names in Names::star() {
            let rng = &mut Rng::new(seed);
            let faults = rng.pick(&[0, 0, 0, 2]);
            let deterministic = rng.percent(30);
            let tree = tree(rng, &mut 0, 4, faults);
            let runtime = AnyRuntime::build(builder(rng, deterministic), names).expect("valid choices");
            let show = format!("seed {seed}, {names}, deterministic: {deterministic}\n{tree:?}");
            let (said, before) = (show.clone(), 7);
            let (result, total): (Result<(), Error>, _) = dog.over(
                move || said.clone(),
                || {
                    let total = Handle::new(before);
                    let result = on_runtime!(&runtime, rt => rt.scope(|s| {
                        s.nest(total.accumulate(Sum), |s, total| body(s, &tree, &total));
                        s.spawn(total.accumulate(Sum), |mut total| total.add(1));
                        s.spawn(total.reduce(Sum), |total| *total += 1);
                    }));
                    (result, total.into_inner())
                },
            );
            match (tree.has_failures(), result, total) {
                (false, Ok(()), Ok(total)) => assert_eq!(total, before + tree.sum() + 2, "{show}"),
                (true, Err(error), Err(total)) => {
                    assert!(matches!(error.kind(), Kind::Panicked(_)), "{error}\n{show}");
                    assert!(matches!(total.kind(), Kind::Poisoned { .. }), "{total}\n{show}");
                }
                (_, result, total) => panic!("{result:?}, {total:?}\n{show}"),
            }
        }
    }
}

/// Under `deterministic`, numbers whose sum depends on the order are added in the same order in
/// every run.
#[test]
fn a_deterministic_total_is_bitwise_the_same() {
    fn grow<'s, S: Spawn<'s>>(s: &S, depth: u32, at: f64, total: &Accumulator<f64, Sum, S::Brand>) {
        total.add(at);
        for child in 0..if depth == 0 { 0 } else { 3 } {
            let at = at * 1.1 + f64::from(child) * 1e-3;
            if depth.is_multiple_of(2) {
                s.spawn(total.accumulate(), move |mut total| total.add(at));
            }
            s.nest(total.accumulate(), move |s, total| grow(s, depth - 1, at, &total));
        }
        total.add(at * 1e9);
    }
    let mut totals = Vec::new();
    for names in Names::star() {
        for workers in [1, 4] {
            let builder = Runtime::builder().workers(workers).deterministic(true);
            let (rt, total) = (AnyRuntime::build(builder, names).expect("valid choices"), Handle::new(0.1));
            let result = on_runtime!(&rt, rt => rt.scope(|s| {
                for n in 0..20 {
                    s.nest(total.accumulate(Sum), move |s, total| grow(s, 4, f64::from(n), &total));
                    s.spawn(total.accumulate(Sum), move |mut total| total.add(f64::from(n) * 1e-9));
                    s.spawn(total.reduce(Sum), move |total| *total += f64::from(n) * 1e-8);
                }
            }));
            result.expect("nothing fails");
            totals.push(total.into_inner().expect("produced").to_bits());
        }
    }
    assert!(totals.iter().all(|total| *total == totals[0]), "{totals:?}");
}

/// Bodies that wait between their additions share a thread with others, and no addition is lost.
#[test]
fn bodies_that_wait_keep_their_copies() {
    let rt = Runtime::builder().workers(2).inline(Inline::Never).build().expect("valid choices");
    let (total, count) = (Handle::new(0), AtomicU64::new(0));
    rt.scope(|s| {
        s.nest(total.accumulate(Sum), |s, total| {
            for _ in 0..50 {
                s.nest(total.accumulate(), |s, total| {
                    let mut acc = total.acc();
                    acc.add(1);
                    let inner = s.spawn(total.accumulate(), |mut total| total.add(10));
                    s.wait(inner).expect("nothing fails");
                    acc.add(100);
                    count.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
    })
    .expect("nothing fails");
    assert_eq!((total.into_inner().expect("produced"), count.into_inner()), (5550, 50));
}
