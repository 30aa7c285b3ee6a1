//! Random programs on random machines. They are checked against bounds for every schedule, and
//! against a simple serial run with the same rules and one processor. `MILLPOND_CASES=N` sets the
//! number of cases.

use millpond::depend::Mode::{self, Commutative, Concurrent, Inout, Read, Write};
use millpond_sim::{
    Children, Cluster, ClusterOutcome, Config, Error, Link, Network, Program, Size, Speed, Work, simulate,
};

/// A sequence of numbers (G. Marsaglia, *Xorshift RNGs*, 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % bound
    }
}

struct Child {
    node: usize,
    accesses: Vec<(u64, Mode)>,
    /// The work of the body when it creates this child.
    created: Work,
}

/// A tree that is written down.
struct Tree {
    bodies: Vec<Work>,
    children: Vec<Vec<Child>>,
    sizes: Vec<Size>,
    spans: Vec<Work>,
}

impl Tree {
    fn random(random: &mut Random) -> Tree {
        let mut tree = Tree { bodies: Vec::new(), children: Vec::new(), sizes: Vec::new(), spans: Vec::new() };
        tree.grow(random, 5);
        tree
    }

    /// Adds a task with all its descendants. Returns its number.
    fn grow(&mut self, random: &mut Random, height: u64) -> usize {
        let node = self.bodies.len();
        // Some bodies have no work.
        self.bodies.push(random.below(4) * random.below(100_000));
        self.children.push(Vec::new());
        self.sizes.push(Size::default());
        self.spans.push(0);
        let count = if height == 0 { 0 } else { random.below(7) };
        let data = 1 + random.below(4);
        // Some of them in the middle of the body.
        let mut created: Vec<_> = (0..count).map(|_| random.below(2 * self.bodies[node] + 1)).collect();
        created.sort_unstable();
        for created in created {
            let accesses = (0..data)
                .filter_map(|datum| {
                    let mode = *[Read, Write, Inout, Commutative, Concurrent].get(random.below(9) as usize)?;
                    Some((datum, mode))
                })
                .collect();
            let child = self.grow(random, height - 1);
            self.children[node].push(Child { node: child, accesses, created });
        }
        self.measure(node);
        node
    }

    /// Work and span by a simple rule: each child runs after its creation and after all earlier
    /// children in conflict with it.
    fn measure(&mut self, node: usize) {
        let children = &self.children[node];
        let (body, below) = (self.bodies[node], children.iter().map(|child| self.sizes[child.node]).sum::<Size>());
        let mut ends: Vec<Work> = Vec::new();
        for (number, Child { node, accesses, created }) in children.iter().enumerate() {
            let conflicts = |other: &[(u64, Mode)]| {
                let among = |a: &(u64, Mode), b: &(u64, Mode)| {
                    a.0 == b.0 && (a.1 != b.1 || matches!(a.1, Write | Inout | Commutative))
                };
                accesses.iter().any(|a| other.iter().any(|b| among(a, b)))
            };
            let before = (0..number).filter(|&earlier| conflicts(&children[earlier].accesses));
            let start = before.map(|earlier| ends[earlier]).max().unwrap_or(0).max(body.min(*created));
            ends.push(start + self.spans[*node]);
        }
        self.spans[node] = ends.into_iter().max().unwrap_or(0).max(body);
        self.sizes[node] = Size { work: body + below.work, tasks: 1 + below.tasks };
    }
}

impl Program for Tree {
    type Task = usize;

    fn root(&self) -> usize {
        0
    }
    fn size(&self, &node: &usize) -> Size {
        self.sizes[node]
    }
    fn body(&self, &node: &usize) -> Work {
        self.bodies[node]
    }
    fn children(&self, &node: &usize, children: &mut Children<usize>) {
        for child in &self.children[node] {
            children.at(child.created);
            children.spawn(child.node, child.accesses.iter().copied());
        }
    }
    fn span(&self) -> Option<Work> {
        Some(self.spans[0])
    }
}

fn cases(default: u64, mut each: impl FnMut(&mut Random, u64)) {
    let count = std::env::var("MILLPOND_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(default);
    (1..=count).for_each(|case| each(&mut Random(case.wrapping_mul(0x9E37_79B9_7F4A_7C15)), case));
}

fn machine(random: &mut Random, case: u64) -> Config {
    let mut config = Config::of(1 + random.below(20) as usize);
    config.latency = (1 + random.below(1000)) as f64 * 1e-7;
    config.seed = case;
    // Half of them use the settings of the paper.
    if random.below(2) == 0 {
        config.own_latency = random.below(3) as f64 * random.below(500) as f64 * 1e-7;
        config.at_once = 1.0 + random.below(60) as f64 / 16.0;
    }
    for speed in &mut config.speeds {
        *speed = Speed::constant(1.0 + random.below(4) as f64).unwrap();
    }
    config.send_results = random.below(2) == 0;
    if random.below(2) == 0 {
        config.network = Some(network(random, config.speeds.len()));
    }
    config
}

/// The greatest latency of a link between clusters.
const FARTHEST: f64 = 1e-3;

/// Divides the processors among clusters at several sites.
fn network(random: &mut Random, mut processors: usize) -> Network {
    let latency = (1 + random.below(1000)) as f64 * 1e-6;
    let mut network = Network::new(Link { latency: latency / 8.0, bandwidth: 1e8 }, Link { latency, bandwidth: 1e8 });
    let mut site = 0;
    while processors > 0 {
        let of_cluster = 1 + random.below(processors.min(8) as u64) as usize;
        let name = format!("c{}", network.clusters().len());
        let cluster = Cluster { name, site: format!("s{site}"), processors: of_cluster, link: None };
        network.add(cluster).unwrap();
        processors -= of_cluster;
        site += random.below(2);
    }
    network.local_tries = [0, 3, Network::LOCAL_TRIES][random.below(3) as usize];
    network
}

#[test]
fn every_task_once_and_never_faster_than_work_and_span() {
    cases(3000, |random, case| {
        let tree = Tree::random(random);
        let config = machine(random, case);
        let outcome = simulate(&tree, &config).unwrap();
        let (size, exact) = (tree.sizes[0], 1.0 - 1e-9);
        assert_eq!(outcome.tasks, size.tasks, "case {case}");
        assert_eq!(outcome.lost_seconds, 0.0, "case {case}");
        assert!(outcome.seconds >= outcome.least_seconds() * exact, "case {case}");
        // No processor is faster than 4.
        assert!(outcome.seconds >= tree.spans[0] as f64 / 4e9 * exact, "case {case}");
        if config.speeds.len() == 1 {
            assert_eq!(outcome.steals, 0);
            let speed = config.speeds[0].clone().at(0.0);
            assert!((outcome.seconds * speed * 1e9 - size.work as f64).abs() < 1e-3, "case {case}");
        }
        assert_eq!(outcome.local_steals + outcome.remote_steals, outcome.steals, "case {case}");
        assert!(outcome.distant_steals <= outcome.remote_steals, "case {case}");
        let clusters = config.network.as_ref().map_or(1, |network| network.clusters().len());
        assert!(clusters > 1 || outcome.remote_steals == 0, "case {case}");
        if !outcome.clusters.is_empty() {
            let sum = |of: fn(&ClusterOutcome) -> f64| outcome.clusters.iter().map(of).sum::<f64>();
            assert_eq!(sum(|c| c.remote_steals as f64), outcome.remote_steals as f64, "case {case}");
            assert!((sum(|c| c.busy_seconds) - outcome.busy_seconds).abs() < 1e-9, "case {case}");
            assert!((sum(|c| c.alive_seconds) - outcome.alive_seconds).abs() < 1e-9, "case {case}");
        }
        // A run is never slower than one processor alone, except for the cost of steals. A steal
        // delays its closure once, and its result once.
        let alone = size.work as f64 / 1e9;
        let latency = if clusters > 1 { config.latency.max(FARTHEST) } else { config.latency };
        let messages = outcome.steals + outcome.failed_attempts + outcome.results + 1;
        let at_others = messages as f64 * (latency + 1e-4);
        let held_up = at_others + outcome.own_steals as f64 * config.own_latency;
        assert!(outcome.seconds <= alone + held_up, "case {case}");
    });
}

#[test]
fn with_faults_every_task_at_least_once_and_an_end() {
    let (mut faults, mut restarts, mut stuck, mut deserted) = (0, 0, 0, 0);
    cases(3000, |random, case| {
        let tree = Tree::random(random);
        let mut config = machine(random, case);
        let faulty = random.below(2) == 0;
        config.fault_below = if faulty { 0.5 } else { 0.0 };
        let mut one_stays = false;
        for speed in &mut config.speeds {
            let mut at = 0.0;
            let mut steps = vec![(0.0, 1.0)];
            for step in 0..random.below(12) {
                at += (1 + random.below(1000)) as f64 * 1e-6;
                steps.push((at, if step % 2 == 0 { 0.0 } else { 1.0 + random.below(4) as f64 }));
            }
            one_stays |= steps.last().is_some_and(|&(_, last)| last > 0.0);
            *speed = Speed::steps(&steps).unwrap();
        }
        match simulate(&tree, &config) {
            Ok(outcome) => {
                assert!(outcome.tasks >= tree.sizes[0].tasks, "case {case}");
                assert!(outcome.lost_seconds > 0.0 || outcome.tasks == tree.sizes[0].tasks, "case {case}");
                assert!(faulty || outcome.tasks == tree.sizes[0].tasks, "case {case}");
                (faults, restarts) = (faults + outcome.faults, restarts + outcome.restarts);
            }
            // A processor that holds a task has left forever.
            Err(Error::Stuck { .. }) => {
                assert!(!faulty && one_stays, "case {case}: what was lost was not run again");
                stuck += 1;
            }
            Err(Error::Deserted { .. }) => {
                assert!(!one_stays, "case {case}: a processor is alive");
                deserted += 1;
            }
            Err(error) => panic!("case {case}: {error}"),
        }
    });
    assert!(
        faults > 0 && restarts > 0 && stuck > 0 && deserted > 0,
        "{faults} faults, {restarts} restarts, {stuck} stuck, {deserted} deserted"
    );
}
