//! Routes in a network whose links fail, including disconnected networks. The check detects a wrong
//! route.

use millpond_cnc::{Blocked, Limit, Preconditions, Settings, graph_with};
use millpond_workloads::routing::{Converged, Route, Topology, UNREACHABLE, mismatches, serial, steps};
use millpond_workloads::{Options, Stopwatch, find};
use std::sync::Arc;

/// The answer with one route replaced.
fn with(answer: &[Converged], (epoch, from, to): (usize, usize, usize), wrong: Route) -> Vec<Converged> {
    let mut answer = answer.to_vec();
    Arc::make_mut(&mut answer[epoch].tables[from])[to] = wrong;
    answer
}

#[test]
fn the_check_sees_a_wrong_route() {
    let topology = Topology::generate(30, 3, 1);
    let answer = serial(&topology);
    assert_eq!((answer.len(), mismatches(&topology, &answer)), (4, 0));
    let Route { distance, next } = answer[2].tables[4][17];
    // A router that is not a neighbour, or the destination itself.
    let far = (0..30).find(|&to| topology.links(2, 4).iter().all(|link| link.to != to) && to != 4).expect("one is far");
    for wrong in [
        Route { distance: distance + 1, next },
        Route { distance: distance - 1, next },
        Route { distance: UNREACHABLE, next: UNREACHABLE },
        Route { distance, next: far },
        Route { distance, next: 4 },
        Route { distance, next: UNREACHABLE },
        Route { distance: 0, next: 4 },
    ] {
        assert_eq!(mismatches(&topology, &with(&answer, (2, 4, 17), wrong)), 1, "{wrong:?}");
    }
    assert_eq!(mismatches(&topology, &with(&answer, (0, 5, 5), Route { distance: 0, next: UNREACHABLE })), 1);
    // If an epoch is missing, all its routes are.
    assert_eq!(mismatches(&topology, &answer[..3]), 900);
    // The routes before a failure differ from those after it.
    assert!(mismatches(&topology, &[answer[0].clone(), answer[0].clone(), answer[0].clone(), answer[0].clone()]) > 0);
}

/// The number of missing routes.
fn unreachable(answer: &[Converged]) -> usize {
    let routes = answer.iter().flat_map(|epoch| &epoch.tables).flat_map(|table| table.iter());
    routes.filter(|route| route.distance == UNREACHABLE).count()
}

#[test]
fn networks_that_fall_apart_are_routed_as_far_as_they_go() {
    let rt = millpond::Runtime::builder().workers(3).build().expect("a runtime");
    let mut apart = 0;
    for seed in 0..20 {
        let topology = Arc::new(Topology::generate(9, 9, seed));
        let expected = serial(&topology);
        assert_eq!(mismatches(&topology, &expected), 0, "seed {seed}");
        assert_eq!(unreachable(&expected[..1]), 0, "seed {seed}");
        apart += usize::from(unreachable(&expected) != 0);
        for preconditions in [Preconditions::Flexible, Preconditions::Eager, Preconditions::Strict] {
            for (blocked, limit) in
                [(Blocked::Resume, Limit::First(2)), (Blocked::Replay, Limit::First(0)), (Blocked::Fiber, Limit::All)]
            {
                let settings = Settings { preconditions, blocked, limit, ..Settings::default() };
                let run =
                    |g: &millpond_cnc::Graph<'_, '_, '_>| steps(g, preconditions, &topology, &mut Stopwatch::default());
                let found = graph_with(&rt, settings, run).expect("a graph").expect("routes");
                // The rounds are the same. So are the first routes among several of the same
                // length.
                assert!(found == expected, "seed {seed}, {settings:?}");
            }
        }
    }
    assert!(apart > 5, "{apart}");
}

#[test]
fn an_epoch_ends_with_the_first_round_that_changes_nothing() {
    let two = serial(&Topology::generate(2, 1, 1));
    assert_eq!(two.iter().map(|epoch| epoch.rounds).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(unreachable(&two), 2);
}

#[test]
fn steps_are_counted() {
    let rt = millpond::catalogue::AnyRuntime::build(
        millpond::Runtime::builder().workers(2),
        millpond::catalogue::Names::star().next().expect("a row"),
    )
    .expect("a runtime");
    let prepare = |preconditions| {
        let options = Options::new().integer("routers", 12).text("preconditions", preconditions);
        (find("routing").expect("a workload").prepare)(&options).expect("a job")
    };
    for preconditions in ["flexible", "strict"] {
        let mut job = prepare(preconditions);
        let before = job.tasks();
        job.run(&rt, &mut Stopwatch::default()).expect("the steps");
        assert_eq!(job.tasks(), before);
        assert!(job.check().expect("a check").verified);
    }
    let (one, two) = (prepare("flexible").tasks(), prepare("strict").tasks());
    assert_eq!((one % 13, two % 25, one / 13), (0, 0, two / 25));
}
