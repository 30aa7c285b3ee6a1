//! Clusters, sites and links: what travels, how long, and what the clusters share.

use millpond::depend::Mode::Inout;
use millpond_sim::programs::{Fib, Knary, NQueens, Stencil};
use millpond_sim::{Children, Cluster, Config, Costs, Link, Network, Outcome, Program, Size, draw, simulate};

const MS: u64 = 1_000_000;

/// A link without a limit on bandwidth.
fn link(latency: f64) -> Link {
    Link { latency, bandwidth: 1e18 }
}

/// One cluster per number of processors, each at its own site.
fn sites(sizes: &[usize], of_grid: Link) -> Network {
    let mut network = Network::new(link(1.0), of_grid);
    for (number, &processors) in sizes.iter().enumerate() {
        let cluster = Cluster { name: format!("c{number}"), site: format!("s{number}"), processors, link: None };
        network.add(cluster).unwrap();
    }
    network
}

fn grid(network: Network) -> Config {
    let bandwidth = 1e18;
    Config { bandwidth, send_results: true, network: Some(network.clone()), ..Config::of(network.processors()) }
}

fn whole(program: &impl Program, config: &Config) -> Outcome {
    let outcome = simulate(program, config).unwrap();
    assert_eq!(outcome.tasks, program.size(&program.root()).tasks, "every task runs once");
    // The work done is T₁: all speeds are 1.
    assert!((outcome.busy_seconds - outcome.work_seconds).abs() <= 1e-9 * outcome.work_seconds.max(1.0));
    assert!(outcome.seconds >= outcome.span_seconds.unwrap_or(0.0) * (1.0 - 1e-9));
    assert_eq!(outcome.local_steals + outcome.remote_steals, outcome.steals);
    outcome
}

/// This number of tasks of a millisecond. The third waits for the second.
struct Few(u64);

impl Program for Few {
    type Task = bool;

    fn root(&self) -> bool {
        true
    }
    fn size(&self, &root: &bool) -> Size {
        if root { Size { work: self.0 * MS, tasks: self.0 + 1 } } else { Size { work: MS, tasks: 1 } }
    }
    fn body(&self, &root: &bool) -> u64 {
        if root { 0 } else { MS }
    }
    fn children(&self, _: &bool, children: &mut Children<bool>) {
        (0..self.0).for_each(|number| children.spawn(false, (number > 0).then_some((1, Inout))));
    }
    fn span(&self) -> Option<u64> {
        Some(MS * (self.0 - 1))
    }
    fn bytes(&self, _: &bool) -> u64 {
        200
    }
    fn result_bytes(&self, _: &bool) -> u64 {
        300
    }
}

#[test]
fn closures_and_results_travel_over_the_link() {
    let mut config = grid(sites(&[1, 1], Link { latency: 4e-3, bandwidth: 1e6 }));
    assert_eq!(whole(&Few(2), &config).seconds, 2e-3, "the first processor is done before a request arrives");
    let mut slow = sites(&[1, 1], Link { latency: 1.6e-3, bandwidth: 1e6 });
    config.network = Some(slow.clone());
    let outcome = whole(&Few(2), &config);
    // A request of 0.8 ms, a closure of 0.8 and 0.2 ms, its body of 1 ms, and a result of 0.8 and
    // 0.3 ms.
    assert!((outcome.seconds - 3.9e-3).abs() < 1e-12, "{}", outcome.seconds);
    assert_eq!((outcome.remote_steals, outcome.distant_steals, outcome.results), (1, 1, 1));
    config.send_results = false;
    let free = whole(&Few(2), &config);
    assert!((free.seconds - 2.8e-3).abs() < 1e-12 && free.results == 0, "{}", free.seconds);
    // A link of their own between the two clusters.
    config.send_results = true;
    slow.connect("c0", "c1", link(1e-3)).unwrap();
    config.network = Some(slow);
    assert!((whole(&Few(2), &config).seconds - 2.5e-3).abs() < 1e-12);
}

/// The first processor waits from 1 ms on for the second task, which the other one runs until 2.8
/// ms.
#[test]
fn the_holder_of_a_stack_continues_with_it() {
    let mut config = grid(sites(&[1, 1], Link { latency: 1.6e-3, bandwidth: 1e6 }));
    let outcome = whole(&Few(3), &config);
    // The result arrives at 3.9 ms, and the first processor runs the third task.
    assert!((outcome.seconds - 4.9e-3).abs() < 1e-12, "{}", outcome.seconds);
    assert_eq!((outcome.steals, outcome.results), (1, 1));
    // A result that takes no time: the thief continues with the stack.
    config.send_results = false;
    assert!((whole(&Few(3), &config).seconds - 3.8e-3).abs() < 1e-12);
}

#[test]
fn one_cluster_is_no_network() {
    let fib = Fib::new(25, 8, MS, Costs::PAPER);
    for send_results in [false, true] {
        let alone = Config { send_results, ..Config::of(20) };
        let cluster = Config { network: Some(sites(&[20], link(1.0))), ..alone.clone() };
        let [alone, cluster] = [alone, cluster].map(|config| whole(&fib, &config));
        assert_eq!((alone.seconds, alone.steals, alone.bytes), (cluster.seconds, cluster.steals, cluster.bytes));
        assert_eq!((cluster.remote_steals, cluster.local_steals), (0, cluster.steals));
        assert_eq!(cluster.clusters[0].idle_share, cluster.idle_share);
        assert!(alone.clusters.is_empty() && (alone.results > 0) == send_results);
    }
}

#[test]
fn with_equal_links_and_any_victim_two_clusters_are_one() {
    let stencil = Stencil::new(200, 4, 20, MS, Costs::PAPER);
    for send_results in [false, true] {
        let one = Config { send_results, ..Config::of(24) };
        let mut network = sites(&[10, 14], Link { latency: one.latency, bandwidth: one.bandwidth });
        network.local_tries = 0;
        let two = Config { network: Some(network.clone()), ..one.clone() };
        let [alone, both] = [one.clone(), two].map(|config| whole(&stencil, &config));
        let figures = |o: &Outcome| (o.seconds, o.steals, o.own_steals, o.failed_attempts, o.bytes, o.results);
        assert_eq!(figures(&alone), figures(&both));
        assert!(both.remote_steals > 0 && both.local_steals > 0);
        // Thieves that prefer their cluster send fewer requests to the other one.
        network.local_tries = Network::LOCAL_TRIES;
        let local = whole(&stencil, &Config { network: Some(network), ..one });
        let share = |o: &Outcome| o.remote_steals as f64 / o.steals as f64;
        assert!(share(&local) < 0.5 * share(&both), "{} and {}", share(&local), share(&both));
    }
}

/// Ten times the latency between the clusters makes the run longer. A small change need not: each
/// request then meets other stacks, so that a longer latency can be a lucky one.
#[test]
fn a_longer_way_between_clusters_takes_longer() {
    let fib = Fib::new(28, 10, MS, Costs::PAPER);
    let queens = NQueens::new(12, 7, 4_000 * MS, Costs::PAPER, 1);
    let run = |latency: f64| {
        let config = grid(sites(&[8, 8], link(latency)));
        [whole(&fib, &config).seconds, whole(&queens, &config).seconds]
    };
    let seconds: Vec<_> = [1e-4, 1e-3, 1e-2, 1e-1].map(run).into_iter().collect();
    for two in seconds.windows(2) {
        assert!(two[0][0] < two[1][0] && two[0][1] < two[1][1], "{seconds:?}");
    }
    let fine: Vec<_> = (10..30).map(|step| run(f64::from(step) * 1e-4)[0]).collect();
    assert!(!fine.is_sorted(), "each step is longer: {fine:?}");
}

#[test]
fn work_and_messages_belong_to_their_clusters() {
    let knary = Knary::new(6, 5, 1, 0, MS, Costs::PAPER);
    let outcome = whole(&knary, &grid(sites(&[4, 4, 2], link(2e-3))));
    let of = |value: fn(&millpond_sim::ClusterOutcome) -> f64| outcome.clusters.iter().map(value).sum::<f64>();
    assert!((of(|c| c.busy_seconds) - outcome.busy_seconds).abs() < 1e-9);
    assert!((of(|c| c.alive_seconds) - outcome.alive_seconds).abs() < 1e-9);
    assert_eq!(of(|c| c.local_steals as f64), outcome.local_steals as f64);
    assert_eq!(of(|c| c.remote_steals as f64), outcome.remote_steals as f64);
    // A message between two clusters belongs to both.
    let bytes = of(|c| c.bytes as f64);
    assert!(bytes > outcome.bytes as f64 && bytes < 2.0 * outcome.bytes as f64);
    for cluster in &outcome.clusters {
        let sent: f64 = cluster.load.bytes.iter().sum();
        let busy: f64 = cluster.load.busy.iter().sum();
        assert_eq!(sent, cluster.bytes as f64);
        assert!((busy - cluster.busy_seconds).abs() < 1e-9);
        assert!(cluster.load.busy.len() as f64 * cluster.load.bin_seconds >= outcome.seconds);
    }
    let mut picture = Vec::new();
    draw(&[("knary", &outcome)], &mut picture).unwrap();
    let picture = String::from_utf8(picture).unwrap();
    let curves = |class: &str| picture.matches(&format!("<path class=\"{class}\"")).count();
    assert_eq!((curves("cpu"), curves("net")), (4, 4), "the grid and three clusters");
    assert!(picture.contains("knary, cluster c2 at s2: 2 processors, "));
}

#[test]
fn clusters_must_have_the_processors_of_the_machine() {
    let config = Config { network: Some(sites(&[3, 4], link(1e-3))), ..Config::of(8) };
    let says = simulate(&Few(2), &config).unwrap_err().to_string();
    assert_eq!(says, "the clusters have 7 processors, and the machine 8");
}
