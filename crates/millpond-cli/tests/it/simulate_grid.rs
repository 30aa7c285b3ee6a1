//! `millpond simulate` with clusters, with task graphs, and the span of n queens.

use crate::common::{Dir, fails, json, words};
use serde_json::json;

#[test]
fn two_clusters_have_local_and_remote_steals() {
    let dir = Dir::new("simulate-grid");
    let svg = dir.path("grid.svg");
    let line = "simulate fib --n 30 --cutoff 10 --clusters 8/8";
    let object = json(&format!("{line} --svg {svg} --json"));
    let simulated = &object["simulated"];
    let of = |name: &str| simulated[name].as_u64().unwrap();
    assert!(of("local_steals") > of("remote_steals") && of("remote_steals") > 0, "{simulated}");
    assert_eq!(of("local_steals") + of("remote_steals"), of("steals"));
    assert_eq!((of("distant_steals"), of("processors")), (of("remote_steals"), 16));
    assert!(of("results") > 0);
    let clusters = simulated["clusters"].as_array().unwrap();
    assert_eq!((clusters.len(), &clusters[1]["name"], &clusters[1]["site"]), (2, &json!("2.1"), &json!("2")));
    let cpu = object["cluster_load"]["2.1"]["cpu"].as_array().unwrap();
    assert!(cpu.iter().any(|share| share.as_f64().unwrap() > 0.5));
    let machine = &object["machine"];
    assert_eq!((&machine["results"], &machine["local_tries"]), (&json!("sent"), &json!(10)));
    assert_eq!(machine["links"][0][1], json!({ "latency": 1e-2, "bandwidth": 12.5e6 }));
    // The grid and its clusters, each with two curves.
    let picture = std::fs::read_to_string(&svg).unwrap();
    assert_eq!(picture.matches("<path class=\"cpu\"").count(), 3);
    assert!(picture.contains("fib, cluster 1.1 at 1: 8 processors"));
    let ran = words(line);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let steals = format!("{} local, {} remote", of("local_steals"), of("remote_steals"));
    for part in [&*steals, "cluster 1.1", "8 processors at 1", "CPU 2.1", "network 2.1"] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    let one = json("simulate fib --n 30 --cutoff 10 --clusters 16 --json");
    assert_eq!(one["simulated"]["remote_steals"], 0);
}

#[test]
fn a_file_of_clusters() {
    let dir = Dir::new("simulate-clusters");
    let file = dir.file("grid", "cluster azur sophia 6 1e-5 1e9\ncluster sol sophia 4\nlink sophia sophia 2e-4 1e8\n");
    let object = json(&format!("simulate knary --clusters {file} --results free --local-tries 3 --json"));
    assert_eq!(object["machine"]["links"][0][0]["latency"], 1e-5);
    assert_eq!(
        (&object["machine"]["links"][1][0]["latency"], &object["simulated"]["results"]),
        (&json!(2e-4), &json!(0))
    );
    assert_eq!((&object["simulated"]["distant_steals"], &object["simulated"]["processors"]), (&json!(0), &json!(10)));
    let refused = |content: &str, says: &str| {
        let file = dir.file("bad", content);
        fails(&["simulate", "fib", "--clusters", &file], 1, &format!("{file}:{says}"));
    };
    refused("cluster a s 3\nlink a b 1e-3 1e6\n", "2: 'b' is neither a cluster nor a site");
    refused("cluster a s none\n", "1: processors 'none' is not a number from 1 to 1000000");
    refused("", "1: it has no line 'cluster NAME SITE PROCESSORS [LATENCY BANDWIDTH]'");
    let missing = dir.path("missing");
    let says = format!("{missing}: cannot read it: No such file or directory (os error 2)");
    fails(&["simulate", "fib", "--clusters", &missing], 1, &says);
    let args = ["simulate", "fib", "--clusters", &file, "--svg", &file];
    fails(&args, 2, &format!("--svg and --clusters name the same file: {file}"));
}

#[test]
fn clusters_that_make_no_sense() {
    let says = "clusters '16+': expected a file, or the processors of each cluster: 16+32 at one site, 16/32 at two, 9x158 \
                at nine sites";
    fails(&["simulate", "fib", "--clusters", "16+"], 2, says);
    let says = "--clusters says how many processors there are: it cannot be used with --processors";
    fails(&["simulate", "fib", "--clusters", "16+16", "--processors", "32"], 2, says);
    for option in ["site-link", "grid-link"] {
        fails(&["simulate", "fib", &format!("--{option}"), "1:1e6"], 2, &format!("--{option} needs --clusters"));
    }
    let says = "--clusters: 400000 processors are too many: at most 100000";
    fails(&["simulate", "fib", "--clusters", "400000"], 2, says);
    let says = "invalid value '1' for '--grid-link <SECONDS:BYTES>': expected SECONDS:BYTES, such as 1e-2:12.5e6";
    fails(&["simulate", "fib", "--clusters", "1/1", "--grid-link", "1"], 2, says);
    let says = "invalid value '0:1e6' for '--grid-link <SECONDS:BYTES>': expected a number from 1e-9 to 1e6";
    fails(&["simulate", "fib", "--clusters", "1/1", "--grid-link", "0:1e6"], 2, says);
    let says = "--experiment brings its own machine: it cannot be used with --clusters";
    fails(&["simulate", "--experiment", "fig4", "--clusters", "1/1"], 2, says);
}

const GRAPH: &str = "3\n0 0 0\n1 4 1 0\n2 5 1 0\n3 2 2 1 2\n4 0 1 3\n# Optimal Schedule Length on 2 processors : 7\n";

#[test]
fn a_task_graph_beside_its_optimum() {
    let dir = Dir::new("simulate-stg");
    let file = dir.file("three.stg", GRAPH);
    let object = json(&format!("simulate --stg {file} --json"));
    assert_eq!((&object["workload"], &object["machine"]["processors"]), (&json!("three.stg"), &json!(2)));
    assert_eq!((&object["optimal_seconds"], &object["simulated"]["span_seconds"]), (&json!(7.0), &json!(7.0)));
    let seconds = object["simulated"]["seconds"].as_f64().unwrap();
    assert!((7.0..7.001).contains(&seconds), "{object}");
    assert!(words(&format!("simulate --stg {file}")).stdout.contains("7.000000 s (simulated +0.00 %)"));
    // Units of a millisecond, and processors without a known optimum.
    let object = json(&format!("simulate --stg {file} --leaf-cost 1e-3 --processors 3 --json"));
    assert_eq!((&object["optimal_seconds"], &object["optima"][0]["seconds"]), (&json!(null), &json!(7e-3)));
    let fast = words(&format!("simulate --stg {file} --speeds constant:2"));
    assert!(fast.stdout.contains("known for 2 processors of speed 1"), "{fast:?}");
}

#[test]
fn task_graphs_that_are_none() {
    let dir = Dir::new("simulate-bad-stg");
    let refused = |content: &[u8], says: &str| {
        let file = dir.file("bad.stg", content);
        fails(&["simulate", "--stg", &file], 1, &format!("{file}:{says}"));
    };
    refused(b"", "1: it has no number of tasks");
    refused(b"3\n0 0\n", "2: expected a task's number, its processing time, and the number of its predecessors");
    refused(b"1\n0 0 0\n1 1 1 0\n", "3: task 2 is missing: the first line promises the tasks 0 to 2");
    refused(b"1\n0 0 0\n1 1 1 2\n2 0 1 1\n", "3: task 1 waits for a task that waits for it: there is a cycle");
    refused(b"\xff\xfe", " cannot read it: stream did not contain valid UTF-8");
    let file = dir.file("large.stg", "1\n0 0 0\n1 18446744073709551615 1 0\n2 0 1 1\n");
    let says = "the program is too large: more than 10^8 seconds of work, or more tasks than 64 bits count";
    fails(&["simulate", "--stg", &file], 2, says);
    let both = "a program, --trace, --stg and --experiment exclude one another";
    fails(&["simulate", "--stg", &file, "fib"], 2, both);
    let args = ["simulate", "--stg", &file, "--svg", &file];
    fails(&args, 2, &format!("--svg and --stg name the same file: {file}"));
}

#[test]
fn the_queens_of_the_paper_have_a_span_and_a_constant() {
    // The paper's 1422 processors take as many seconds in a build without optimization.
    let object = json("simulate nqueens --n 23 --processors 100 --json");
    let of = |name: &str| object["simulated"][name].as_f64().unwrap();
    let bound = of("least_seconds") + of("constant") * 100.0 * of("span_seconds") / of("average_speed");
    assert!(of("span_seconds") > 0.1 && (bound / of("seconds") - 1.0).abs() < 1e-9, "{object}");
    let ran = words("simulate nqueens --n 23");
    assert!(ran.stdout.contains("p·D/Π_ave"), "{ran:?}");
    // A tree of 10^13 nodes.
    let large = words("simulate nqueens --n 30 --leaf-cost 1e-9 --task-cost 0 --arg-cost 0 --processors 1");
    assert!(
        large.stdout.contains("not known: the search for the longest path would visit more than 4000000"),
        "{large:?}"
    );
}
